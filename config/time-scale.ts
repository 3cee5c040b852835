// Shortens all timeouts and lifetimes of a gateway by one factor, so that tests which would take minutes take seconds.
// For tests only. Security: a factor above 1 would weaken every limit at once and is refused, and a gateway with a
// factor logs this when it starts.
import type { Config } from './configuration.ts';

/**
 * Environment variable with the factor by which tests shorten all timeouts, for example `0.2`. No flag and no key of
 * the configuration file sets this factor.
 */
export const timeScaleVariable = 'PORTCULLIS_TEST_TIME_SCALE';

/** The smallest allowed factor. With a smaller one, timeouts would be reached merely because the machine is busy. */
const smallest = 0.01;

/**
 * Reads the factor for timeouts from {@link timeScaleVariable}; 1 when the variable is not set. `fault` is called for
 * anything but a number from 0.01 to 1.
 */
export function readTimeScale(environment: NodeJS.ProcessEnv, fault: (where: string, message: string) => void): number {
  const written = environment[timeScaleVariable] ?? '';
  if (written === '') return 1;
  const scale = Number(written);
  if (scale >= smallest && scale <= 1) return scale;
  fault(
    timeScaleVariable,
    `"${written}" is no number from ${smallest} to 1; it shortens the gateway's deadlines for tests and never lengthens them: unset it`,
  );
  return 1;
}

/** The configuration with all its durations multiplied by `scale`. */
export function withTimeScale(config: Config, scale: number): Config {
  if (scale === 1) return config;
  const { hub } = config;
  return Object.freeze({
    ...config,
    timeScale: scale,
    shutdownDelayMs: config.shutdownDelayMs * scale,
    shutdownGraceMs: config.shutdownGraceMs * scale,
    firstByteTimeoutMs: config.firstByteTimeoutMs * scale,
    probeIntervalMs: config.probeIntervalMs * scale,
    limits: Object.freeze({
      ...config.limits,
      queueTimeoutMs: config.limits.queueTimeoutMs * scale,
      slowClientTimeoutMs: config.limits.slowClientTimeoutMs * scale,
    }),
    hub:
      hub === undefined
        ? undefined
        : Object.freeze({
            ...hub,
            tokenReviewTtlMs: hub.tokenReviewTtlMs * scale,
            authorizedTtlMs: hub.authorizedTtlMs * scale,
            unauthorizedTtlMs: hub.unauthorizedTtlMs * scale,
          }),
  });
}
