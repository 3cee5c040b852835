// Reads which requests are traced and where their spans are sent, from kube-apiserver's TracingConfiguration or from
// the environment variables of OpenTelemetry. This file imports no OpenTelemetry package, so that a gateway without
// tracing loads none.
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { readYaml } from '../../lib/yaml/checked-yaml.ts';
import type { ConfigurationFault } from '../../lib/configuration-error.ts';
import { onOff, path } from '../settings/kinds.ts';
import { readSettings } from '../settings/settings.ts';
import type { Settings, Written } from '../settings/settings.ts';

/** Which requests are traced and where their spans are sent. */
export interface TracingConfig {
  /** Whole URL of the collector, OTLP over HTTP, for example `http://collector:4318/v1/traces`. */
  readonly url: string;
  /** Share of requests to trace, from 0 to 1, unless the caller's `traceparent` header decides. */
  readonly ratio: number;
  /** True when the caller's `traceparent` header, if there is one, decides whether a request is traced. */
  readonly parentBased: boolean;
  /** True when spans contain the name of the user. */
  readonly userNames: boolean;
  /** How many spans may wait in memory. Further spans are dropped and counted. */
  readonly queueSize: number;
  /** Maximum number of spans in one request to the collector. */
  readonly batchSize: number;
  /** Milliseconds after which waiting spans are sent even when their batch is not full. */
  readonly delayMs: number;
}

/** The settings of tracing. Environment variables of OpenTelemetry turn tracing on as well. */
export const tracingSettings = {
  tracingConfigFile: {
    kind: path,
    otherwise: 'none: nothing is traced, unless `OTEL_EXPORTER_OTLP_ENDPOINT` is set',
    text: "where spans go and how many: kube-apiserver's TracingConfiguration, its endpoint for OTLP over HTTP; read at start",
  },
  tracingUserNames: { kind: onOff, default: false, text: 'let spans say who asked' },
} satisfies Settings;

/**
 * Schema of kube-apiserver's TracingConfiguration (component-base/tracing/api/v1/types.go). In kube-apiserver,
 * `endpoint` is for OTLP over gRPC; here it is for OTLP over HTTP.
 */
const configuration = z.strictObject({
  apiVersion: z.enum(['apiserver.config.k8s.io/v1', 'apiserver.config.k8s.io/v1beta1']),
  kind: z.literal('TracingConfiguration'),
  endpoint: z.string().min(1).nullish(),
  samplingRatePerMillion: z.number().int().min(0).max(1_000_000).nullish(),
});

const defaultOrigin = 'http://localhost:4318';
const tracesPath = '/v1/traces';
/** Defaults for batches of spans, from the OpenTelemetry specification (`OTEL_BSP_*`). */
const defaults = { queueSize: 2048, batchSize: 512, delayMs: 5000 } as const;

type Sampling = Pick<TracingConfig, 'ratio' | 'parentBased'>;

type Environment = (name: string) => string | undefined;
type Wrong = (name: string, message: string) => undefined;

/**
 * Reads the configuration of tracing; undefined when nothing is to be traced.
 * @param written `written.fault` is called for each setting that is wrong, with its flag, file or variable
 * @param ofFile called for each fault within the file that `--tracing-config-file` names
 */
export function readTracingConfig(
  written: Written,
  environment: NodeJS.ProcessEnv,
  ofFile: (fault: ConfigurationFault) => void,
): TracingConfig | undefined {
  const { tracingConfigFile: file, tracingUserNames: userNames } = readSettings(tracingSettings, written);
  const variable: Environment = (name) => environment[name]?.trim() || undefined;
  const wrong: Wrong = (name, message) => void written.fault(name, message);
  if (variable('OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return undefined;
  if (file === undefined && !asksForTraces(variable)) {
    if (written.flags['tracingUserNames'] !== undefined && userNames)
      wrong('--tracing-user-names', 'goes with --tracing-config-file or OTEL_EXPORTER_OTLP_ENDPOINT');
    return undefined;
  }
  checkExporter(variable, wrong);
  const read = file === undefined ? undefined : readConfiguration(file, ofFile);
  const url = collectorUrl(file, read?.endpoint ?? undefined, variable, wrong);
  if (url === undefined) return undefined;
  const sampling: Sampling =
    file === undefined
      ? samplerOf(variable, wrong)
      : { ratio: (read?.samplingRatePerMillion ?? 0) / 1_000_000, parentBased: true };
  return Object.freeze({ url, ...sampling, userNames, ...batching(variable, wrong) });
}

function asksForTraces(variable: Environment): boolean {
  if (variable('OTEL_TRACES_EXPORTER') === 'none') return false;
  return (
    variable('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT') !== undefined ||
    variable('OTEL_EXPORTER_OTLP_ENDPOINT') !== undefined
  );
}

function checkExporter(variable: Environment, wrong: Wrong): void {
  const exporter = variable('OTEL_TRACES_EXPORTER') ?? 'otlp';
  if (exporter !== 'otlp' && exporter !== 'none') wrong('OTEL_TRACES_EXPORTER', 'must be "otlp" or "none"');
  if ((variable('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL') ?? variable('OTEL_EXPORTER_OTLP_PROTOCOL')) === 'grpc')
    wrong(
      'OTEL_EXPORTER_OTLP_PROTOCOL',
      'spans are sent over HTTP only: use "http/json" and the port for it, mostly 4318',
    );
}

/**
 * URL of the collector: from the file, otherwise from the environment. OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is used
 * unchanged; `/v1/traces` is added to the other values.
 */
function collectorUrl(
  path: string | undefined,
  written: string | undefined,
  variable: Environment,
  wrong: Wrong,
): string | undefined {
  const ofTraces = variable('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT');
  const url =
    written === undefined && ofTraces !== undefined
      ? endpointUrl(ofTraces, false)
      : endpointUrl(written ?? variable('OTEL_EXPORTER_OTLP_ENDPOINT') ?? defaultOrigin, true);
  if (url === undefined)
    wrong(
      written === undefined ? 'OTEL_EXPORTER_OTLP_ENDPOINT' : path!,
      'the endpoint must be HOST:PORT or an http or https URL without a user, for example http://collector:4318',
    );
  return url;
}

function batching(variable: Environment, wrong: Wrong): Pick<TracingConfig, 'queueSize' | 'batchSize' | 'delayMs'> {
  const number = (name: string, otherwise: number): number => {
    const text = variable(name);
    if (text === undefined) return otherwise;
    if (/^[1-9]\d{0,6}$/.test(text)) return Number(text);
    wrong(name, 'must be a whole number from 1 to 9999999');
    return otherwise;
  };
  const queueSize = number('OTEL_BSP_MAX_QUEUE_SIZE', defaults.queueSize);
  return {
    queueSize,
    batchSize: Math.min(queueSize, number('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', defaults.batchSize)),
    delayMs: number('OTEL_BSP_SCHEDULE_DELAY', defaults.delayMs),
  };
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

/**
 * Parses the URL of a collector; undefined when the text is no URL. A value without a scheme, such as `HOST:PORT` in
 * kube-apiserver's file, means plain HTTP.
 * @param isOrigin true to add the path `/v1/traces`
 */
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
 * Reads `OTEL_TRACES_SAMPLER`. When the variable is not set, every request is traced unless its caller decided
 * otherwise, as OpenTelemetry's specification says.
 */
function samplerOf(variable: Environment, wrong: Wrong): Sampling {
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
