import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import type { ConfigurationFault } from '../../lib/configuration-error.ts';
import { readTracingConfig } from './tracing-config.ts';
import { flagsAlone } from '../settings/settings.ts';
import { tempDir } from '../../test/pretend/temp-dir.ts';

const folder = tempDir('tracing');

function read(environment: NodeJS.ProcessEnv, flags: Readonly<Record<string, unknown>> = {}) {
  const faults: ConfigurationFault[] = [];
  const config = readTracingConfig(
    flagsAlone(flags, (name, message) => void faults.push({ file: name, message })),
    environment,
    (fault) => void faults.push(fault),
  );
  return { config, faults };
}

let written = 0;
function file(lines: string): { readonly tracingConfigFile: string } {
  written += 1;
  const tracingConfigFile = join(folder, `${written}-tracing.yaml`);
  writeFileSync(tracingConfigFile, `apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\n${lines}`);
  return { tracingConfigFile };
}

test('nothing is traced unless somebody asks', () => {
  for (const environment of [
    {},
    { OTEL_SERVICE_NAME: 'x', OTEL_TRACES_SAMPLER: 'always_on' },
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318', OTEL_TRACES_EXPORTER: 'none' },
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318', OTEL_SDK_DISABLED: 'True' },
  ]) {
    assert.deepEqual(read(environment), { config: undefined, faults: [] });
  }
});

test("kube-apiserver's file: its endpoint and rate, and without a rate only what the caller samples", () => {
  const { config } = read({}, file('endpoint: collector:4318\nsamplingRatePerMillion: 10000\n'));
  const defaults = { queueSize: 2048, batchSize: 512, delayMs: 5000, userNames: false };
  assert.deepEqual(config, {
    url: 'http://collector:4318/v1/traces',
    ratio: 0.01,
    parentBased: true,
    ...defaults,
  });
  assert.deepEqual(read({}, file('')).config, {
    url: 'http://localhost:4318/v1/traces',
    ratio: 0,
    parentBased: true,
    ...defaults,
  });
  assert.equal(read({}, file('endpoint: https://c/otlp/\n')).config?.url, 'https://c/otlp/v1/traces');
});

test("OpenTelemetry's variables: endpoint, sampler and queue as its specification has them", () => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318/' };
  const sampling = (environment: NodeJS.ProcessEnv) => {
    const { config } = read({ ...endpoint, ...environment });
    return [config?.ratio, config?.parentBased];
  };
  assert.deepEqual(sampling({}), [1, true]);
  assert.deepEqual(sampling({ OTEL_TRACES_SAMPLER: 'always_off' }), [0, false]);
  const ratio = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.01' };
  assert.deepEqual(sampling(ratio), [0.01, true]);
  const { config } = read({
    ...endpoint,
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://t:1/as-it-is',
    OTEL_BSP_MAX_QUEUE_SIZE: '10',
    OTEL_BSP_SCHEDULE_DELAY: '50',
  });
  assert.equal(config?.url, 'http://t:1/as-it-is');
  assert.deepEqual([config?.queueSize, config?.batchSize, config?.delayMs], [10, 10, 50]);
});

test('faults are reported with file and line, and values that may be secrets are not quoted', () => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318' };
  const cases: [NodeJS.ProcessEnv, Readonly<Record<string, unknown>>, RegExp][] = [
    [{ ...endpoint, OTEL_TRACES_SAMPLER: 'jaeger_remote' }, {}, /^OTEL_TRACES_SAMPLER must be always_on/],
    [{ ...endpoint, OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '2' }, {}, /SAMPLER_ARG must be a/],
    [{ ...endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, {}, /over HTTP only/],
    [{ ...endpoint, OTEL_TRACES_EXPORTER: 'zipkin' }, {}, /^OTEL_TRACES_EXPORTER/],
    [{ ...endpoint, OTEL_BSP_MAX_QUEUE_SIZE: '0' }, {}, /^OTEL_BSP_MAX_QUEUE_SIZE/],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://me:hush@c:4318' }, {}, /without a user/],
    [{}, file('endpoint: unix:///run/otel.sock\n'), /tracing\.yaml the endpoint must be HOST:PORT/],
    [{}, file('samplingRatePerMillion: 2000000\n'), /tracing\.yaml:3 .*1000000/],
    [{}, file('sampleRate: 1\n'), /tracing\.yaml:3 is not a field/],
    [{}, { tracingConfigFile: join(folder, 'none') }, /none cannot be read: ENOENT/],
    [{}, { tracingUserNames: 'true' }, /^--tracing-user-names goes with/],
    [endpoint, { tracingUserNames: 'perhaps' }, /^--tracing-user-names must be/],
  ];
  for (const [environment, flags, expected] of cases) {
    const { faults } = read(environment, flags);
    const reported = faults.map(({ file: place, line, message }) => `${place}${line ? `:${line}` : ''} ${message}`);
    assert.match(reported.join('\n'), expected);
    assert.equal(reported.length, 1);
    assert.doesNotMatch(reported[0]!, /hush/);
  }
});
