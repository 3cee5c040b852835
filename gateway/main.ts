// `portcullis serve`: reads the configuration, starts the gateway, waits for a signal, ends in good order, chooses the
// exit code; nothing else.
import { createRequire, findPackageJSON } from 'node:module';
import { ConfigurationError } from '../lib/configuration-error.ts';
import { GatewayError } from '../cache/model/errors.ts';
import { readConfig } from './config/config.ts';
import type { Config } from './config/configuration.ts';
import type { ConfigInput } from './config/written.ts';
import type { Gateway } from './start/gateway.ts';
import { makeLog } from './operations/log.ts';
import { timeScaleVariable } from './config/time-scale.ts';

/**
 * Runs a gateway until SIGTERM or SIGINT.
 * @returns the exit code: 0 after an orderly end, 2 when the configuration is wrong (with the faults on standard error)
 */
export async function serve(flags: ConfigInput): Promise<number> {
  try {
    const config = readConfig(flags);
    const log = makeLog(config.logLevel);
    if (config.timeScale !== 1)
      log.warn({ scale: config.timeScale }, `${timeScaleVariable} shortens deadlines for a test`);
    // Loaded on use: the first of several processes needs little of what a gateway is.
    const start =
      config.workers === 1
        ? (await import('./start/gateway.ts')).startGateway
        : (await import('./workers/first-process.ts')).startWorkers;
    const gateway = await start(config, log, portcullisVersion());
    process.stdout.write(banner(config, gateway));
    log.info({ url: gateway.url, ops: gateway.opsUrl }, 'serving');
    void gateway.indexNote?.then((note) => note !== undefined && process.stdout.write(`${note}\n`));
    const signal = await nextSignal();
    log.info({ signal }, 'draining');
    await gateway.drain();
    log.info({}, 'drained');
    return 0;
  } catch (error) {
    // Faults of a token file or rules file are thrown by the code that reads it.
    if (!(error instanceof ConfigurationError || error instanceof GatewayError)) throw error;
    process.stderr.write(`${error.message.replaceAll(/^/gm, 'portcullis: ')}\n`);
    return 2;
  }
}

/** Version of the package. */
export function portcullisVersion(): string {
  // The nearest one above: a checkout has it one folder up, a release two.
  const file = findPackageJSON(import.meta.url)!;
  const { version } = createRequire(import.meta.url)(file) as { version: string };
  return version;
}

/** A signal that follows another this closely is the same one, told again. */
const sameSignalMs = 1000;

/** Resolves with the first signal that asks the process to end. A second one ends the process at once. */
export function nextSignal(): Promise<'SIGTERM' | 'SIGINT'> {
  const { promise, resolve } = Promise.withResolvers<'SIGTERM' | 'SIGINT'>();
  let firstAtMs: number | undefined;
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, () => {
      // A whole process group is told by systemd and by Ctrl-C, and then a parent such as npm passes it on.
      if (firstAtMs !== undefined && performance.now() - firstAtMs > sameSignalMs) process.exit(130);
      firstAtMs ??= performance.now();
      resolve(signal);
    });
  return promise;
}

function banner(config: Config, gateway: Gateway): string {
  const trust = gateway.caFile === undefined ? '' : ` --certificate-authority ${gateway.caFile}`;
  const token = gateway.selfToken === undefined ? '--token TOKEN' : `--token "$(cat ${gateway.selfToken.file})"`;
  const hurry =
    config.timeScale === 1
      ? []
      : [`FOR TESTS ONLY: ${timeScaleVariable} makes every deadline ${config.timeScale} times as long.`];
  const lines = [
    `Portcullis serves ${origins(config)} at ${gateway.url} (metrics: ${gateway.opsUrl}/metrics)`,
    ...hurry,
    '',
    'Add a kubectl context for every cluster:',
    `  portcullis kubeconfig --server ${gateway.url}${trust || ' --certificate-authority CA.crt'} ${token} --all --merge ~/.kube/config`,
    '',
  ];
  return `${lines.join('\n')}\n`;
}

function origins({ kubeconfigs, hub }: Config): string {
  const parts: string[] = [];
  if (kubeconfigs.length === 1) parts.push('the clusters of one kubeconfig');
  if (kubeconfigs.length > 1) parts.push(`the clusters of ${kubeconfigs.length} kubeconfigs`);
  if (hub !== undefined) parts.push(`the clusters of the hub (${hub.sources.join(', ')})`);
  return parts.join(' and ');
}
