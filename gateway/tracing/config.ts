// The part of the configuration that says whether requests are traced, where spans go and how many: kube-apiserver's
// TracingConfiguration, or the environment variables of OpenTelemetry. Easy to get wrong: with neither, nothing of
// OpenTelemetry is loaded, so nothing here imports it.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { z } from 'zod';
import { readYaml } from '../../lib/yaml/checked-yaml.ts';
import type { ConfigurationFault } from '../../lib/configuration-error.ts';

/** Where spans go and which requests have any. */
export interface TracingConfig {
  /** OTLP over HTTP: the whole URL, `http://collector:4318/v1/traces`. */
  readonly url: string;
  /** Part of the requests without a caller's decision that are traced, 0 to 1. */
  readonly ratio: number;
  /** Whether the decision of the caller's `traceparent` holds. */
  readonly parentBased: boolean;
  /** Whether spans say who asked. */
  readonly userNames: boolean;
  /** Spans that wait in memory; what does not fit is dropped and counted. */
  readonly queueSize: number;
  /** Spans in one request to the collector. */
  readonly batchSize: number;
  /** Longest wait of a span for its batch to fill. */
  readonly delayMs: number;
}

/** What a person may write; flags are text. */
export interface TracingInput {
  readonly tracingConfigFile?: string;
  readonly tracingUserNames?: string | boolean;
}

/** The same in the configuration file. */
export const tracingFileFields = {
  tracingConfigFile: z.string().min(1).optional(),
  tracingUserNames: z.boolean().optional(),
};

/**
 * kube-apiserver's format (component-base/tracing/api/v1/types.go). Its endpoint is for OTLP over gRPC; ours is for
 * OTLP over HTTP.
 */
const configuration = z.strictObject({
  apiVersion: z.enum(['apiserver.config.k8s.io/v1', 'apiserver.config.k8s.io/v1beta1']),
  kind: z.literal('TracingConfiguration'),
  endpoint: z.string().min(1).nullish(),
  samplingRatePerMillion: z.number().int().min(0).max(1_000_000).nullish(),
});

const defaultOrigin = 'http://localhost:4318';
const tracesPath = '/v1/traces';
/** The defaults of the specification (`OTEL_BSP_*`). */
const defaults = { queueSize: 2048, batchSize: 512, delayMs: 5000 } as const;

type Sampling = Pick<TracingConfig, 'ratio' | 'parentBased'>;

/**
 * Reads it; undefined when nothing asks for traces.
 * @param file what the configuration file says, its paths from `folder` on
 * @param fault told what is wrong, by flag, file or variable
 */
export function readTracingConfig(
  flags: TracingInput,
  file: TracingInput,
  folder: string,
  environment: NodeJS.ProcessEnv,
  fault: (fault: ConfigurationFault) => void,
): TracingConfig | undefined {
  const path =
    flags.tracingConfigFile === undefined
      ? file.tracingConfigFile && resolve(folder, file.tracingConfigFile)
      : resolve(flags.tracingConfigFile);
  const names = String(flags.tracingUserNames ?? file.tracingUserNames ?? false);
  const userNames = names === 'true';
  const variable = (name: string): string | undefined => environment[name]?.trim() || undefined;
  const wrong = (name: string, message: string): undefined => void fault({ file: name, message });
  if (names !== 'true' && names !== 'false') wrong('--tracing-user-names', 'must be "true" or "false"');
  if (variable('OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return undefined;
  const ofTraces = variable('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT');
  const ofAll = variable('OTEL_EXPORTER_OTLP_ENDPOINT');
  const exporter = variable('OTEL_TRACES_EXPORTER') ?? 'otlp';
  if (path === undefined && ((ofTraces === undefined && ofAll === undefined) || exporter === 'none')) {
    if (flags.tracingUserNames !== undefined && userNames)
      wrong('--tracing-user-names', 'goes with --tracing-config-file or OTEL_EXPORTER_OTLP_ENDPOINT');
    return undefined;
  }
  if (exporter !== 'otlp' && exporter !== 'none') wrong('OTEL_TRACES_EXPORTER', 'must be "otlp" or "none"');
  if ((variable('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL') ?? variable('OTEL_EXPORTER_OTLP_PROTOCOL')) === 'grpc')
    wrong(
      'OTEL_EXPORTER_OTLP_PROTOCOL',
      'spans are sent over HTTP only: use "http/json" and the port for it, mostly 4318',
    );
  const written = path === undefined ? undefined : readConfiguration(path, fault);
  const fromFile = written?.endpoint ?? undefined;
  const url =
    fromFile === undefined && ofTraces !== undefined
      ? endpointUrl(ofTraces, false)
      : endpointUrl(fromFile ?? ofAll ?? defaultOrigin, true);
  if (url === undefined) {
    wrong(
      fromFile === undefined ? 'OTEL_EXPORTER_OTLP_ENDPOINT' : path!,
      'the endpoint must be HOST:PORT or an http or https URL without a user, for example http://collector:4318',
    );
    return undefined;
  }
  const sampling: Sampling =
    path === undefined
      ? samplerOf(variable, wrong)
      : { ratio: (written?.samplingRatePerMillion ?? 0) / 1_000_000, parentBased: true };
  const number = (name: string, otherwise: number): number => {
    const text = variable(name);
    if (text === undefined) return otherwise;
    if (/^[1-9]\d{0,6}$/.test(text)) return Number(text);
    wrong(name, 'must be a whole number from 1 to 9999999');
    return otherwise;
  };
  const queueSize = number('OTEL_BSP_MAX_QUEUE_SIZE', defaults.queueSize);
  return Object.freeze({
    url,
    ...sampling,
    userNames,
    queueSize,
    batchSize: Math.min(queueSize, number('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', defaults.batchSize)),
    delayMs: number('OTEL_BSP_SCHEDULE_DELAY', defaults.delayMs),
  });
}

function readConfiguration(
  path: string,
  fault: (fault: ConfigurationFault) => void,
): z.output<typeof configuration> | undefined {
  let source: string;
  try {
    source = readFileSync(path, 'utf8');
  } catch (error) {
    fault({ file: path, message: `cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown fault'}` });
    return undefined;
  }
  const read = readYaml(source, path, configuration);
  if ('value' in read) return read.value;
  for (const one of read.faults) fault(one);
  return undefined;
}

/** `HOST:PORT` as in kube-apiserver's file is plain HTTP. */
function endpointUrl(written: string, isOrigin: boolean): string | undefined {
  const text = written.includes('//') ? written : `http://${written}`;
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  if ((url.protocol !== 'http:' && url.protocol !== 'https:') || url.username !== '' || url.password !== '')
    return undefined;
  if (isOrigin) url.pathname = `${url.pathname.replace(/\/+$/, '')}${tracesPath}`;
  return url.href;
}

/**
 * `OTEL_TRACES_SAMPLER`; as the specification has it, without one every request is traced whose caller did not say
 * otherwise.
 */
function samplerOf(
  variable: (name: string) => string | undefined,
  wrong: (name: string, message: string) => undefined,
): Sampling {
  const name = variable('OTEL_TRACES_SAMPLER') ?? 'parentbased_always_on';
  const [, parent, kind] = /^(parentbased_)?(always_on|always_off|traceidratio)$/.exec(name) ?? [];
  const parentBased = parent !== undefined;
  if (kind === 'always_on') return { ratio: 1, parentBased };
  if (kind === 'always_off') return { ratio: 0, parentBased };
  if (kind === undefined) {
    wrong('OTEL_TRACES_SAMPLER', 'must be always_on, always_off or traceidratio, or one of them behind "parentbased_"');
    return { ratio: 0, parentBased: true };
  }
  const argument = variable('OTEL_TRACES_SAMPLER_ARG') ?? '1';
  const ratio = Number(argument);
  if (!(ratio >= 0 && ratio <= 1)) wrong('OTEL_TRACES_SAMPLER_ARG', 'must be a number from 0 to 1');
  return { ratio: ratio >= 0 && ratio <= 1 ? ratio : 0, parentBased };
}
