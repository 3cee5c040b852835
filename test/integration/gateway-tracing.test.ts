// Traces of a whole gateway: a collector over OTLP/HTTP, members that tell which headers came, and requests as people
// send them. Spans are right only when the ids join: client to gateway, gateway to member.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, test } from 'node:test';
import { exchange, requestBytes } from '../site/raw-client.ts';
import type { RawAnswer } from '../site/raw-client.ts';
import { startSite } from '../site/site.ts';
import { waitFor } from '../site/polling.ts';
import type { Site } from '../site/site.ts';
import { startGatewayProcess } from '../gateway-process.ts';
import { tempDir } from '../pretend/temp-dir.ts';
import { newServer, sendJson, type TestHttpServer } from '../pretend/server.ts';

// As an operator sets them; read when a gateway starts.
process.env['OTEL_BSP_SCHEDULE_DELAY'] = '20';
process.env['OTEL_EXPORTER_OTLP_TIMEOUT'] = '300';

const pods = '/clusters/m1/proxy/api/v1/namespaces/default/pods';
const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const sampledParent = `00-${traceId}-00f067aa0ba902b7-01`;
const serverKind = 2;
const clientKind = 3;

/** OTLP/JSON, the parts that are looked at (opentelemetry-proto trace.proto). */
interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status: { readonly code?: number };
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
}

const folder = tempDir('tracing');
let site: Site | undefined;
let collector: TestHttpServer | undefined;
const bodies: string[] = [];

afterEach(() => {
  site?.close();
  void collector?.close();
  site = undefined;
  collector = undefined;
  bodies.length = 0;
});

async function startCollector(): Promise<number> {
  collector = await newServer(async (request, response) => {
    const body = await text(request);
    if (request.url === '/v1/traces') bodies.push(body);
    sendJson(response, 200, {});
  });
  return collector.port;
}

async function start(rate: number, port: number, options: { members?: number; userNames?: boolean } = {}) {
  const file = join(folder, 'tracing.yaml');
  const configuration = {
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'TracingConfiguration',
    endpoint: `127.0.0.1:${port}`,
    samplingRatePerMillion: rate,
  };
  writeFileSync(file, JSON.stringify(configuration));
  site = await startSite({
    members: options.members ?? 1,
    users: [{ token: 'alice-token', name: 'alice-in-person' }],
    config: { tracingConfigFile: file, tracingUserNames: options.userNames ?? false },
  });
  return site;
}

function ask(path: string, headers: readonly string[] = []): Promise<RawAnswer> {
  return exchange(site!, requestBytes(`GET ${path}`, ['Authorization: Bearer alice-token', ...headers]));
}

function spans(): Span[] {
  return bodies.flatMap((body) => {
    const { resourceSpans } = JSON.parse(body) as {
      readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: readonly Span[] }[] }[];
    };
    return resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans));
  });
}

function attribute(span: Span, key: string): unknown {
  const found = span.attributes.find((one) => one.key === key);
  return found === undefined ? undefined : Object.values(found.value)[0];
}

/** A span that never comes must fail the test, not hold it. */
async function eventually<T>(found: () => T | undefined | false | Promise<T | undefined | false>): Promise<T> {
  const giveUpAtMs = performance.now() + 20_000;
  return await waitFor(() => {
    assert.ok(performance.now() < giveUpAtMs, `20 s, and there is: ${bodies.join('\n')}`);
    return found();
  });
}

async function metric(line: string): Promise<number> {
  const text = await (await fetch(`${site!.gateway.opsUrl}/metrics`)).text();
  return Number(new RegExp(`^${line.replaceAll(/[{}"]/g, '\\$&')} (\\S+)$`, 'm').exec(text)?.[1]);
}

test("a trace goes on through the gateway: the caller's span, ours, the call, and the member knows the call", async () => {
  await start(0, await startCollector());
  const answer = await ask(`${pods}/a?token=hush`, [`traceparent: ${sampledParent}`, 'tracestate: vendor=1']);
  assert.equal(answer.status, 200);
  const [server, client] = await eventually(() => {
    const all = spans();
    return all.length === 2 && all.toSorted((a, b) => a.kind - b.kind);
  });
  assert.deepEqual([server!.kind, server!.traceId, server!.parentSpanId], [serverKind, traceId, '00f067aa0ba902b7']);
  assert.deepEqual([client!.kind, client!.traceId, client!.parentSpanId], [clientKind, traceId, server!.spanId]);
  const seen = await site!.members[0]!.request(0);
  assert.deepEqual(seen.values('traceparent'), [`00-${traceId}-${client!.spanId}-01`]);
  assert.deepEqual(seen.values('tracestate'), ['vendor=1']);

  assert.equal(server!.name, 'GET /clusters/{cluster}/proxy/api/v1/namespaces/{namespace}/pods/{name}');
  assert.equal(client!.name, 'GET /api/v1/namespaces/{namespace}/pods/{name}');
  assert.equal(attribute(server!, 'http.response.status_code'), 200);
  assert.equal(attribute(client!, 'http.response.status_code'), 200);
  assert.equal(attribute(server!, 'k8s.cluster.name'), 'm1');
  assert.equal(attribute(server!, 'k8s.request.verb'), 'get');
  assert.equal(attribute(server!, 'k8s.request.resource'), 'pods');
  assert.deepEqual(answer.values('audit-id'), [attribute(server!, 'audit-id')]);
  assert.equal(attribute(client!, 'server.port'), site!.members[0]!.port);
  assert.ok(BigInt(server!.startTimeUnixNano) <= BigInt(client!.startTimeUnixNano));
  assert.ok(BigInt(client!.endTimeUnixNano) <= BigInt(server!.endTimeUnixNano));
  const said = bodies.join('');
  for (const secret of ['alice', 'hush', 'member-credential']) assert.ok(!said.includes(secret), secret);
  assert.match(said, /"service\.name","value":\{"stringValue":"portcullis"/);
});

test('one request in so many begins a trace of its own; a state without a parent goes no further', async () => {
  await start(1_000_000, await startCollector(), { userNames: true });
  await ask(pods, ['tracestate: vendor=1', 'traceparent: nonsense']);
  const [server, client] = await eventually(() => {
    const all = spans();
    return all.length === 2 && all.toSorted((a, b) => a.kind - b.kind);
  });
  assert.equal(server!.parentSpanId ?? '', '');
  const seen = await site!.members[0]!.request(0);
  assert.deepEqual(seen.values('traceparent'), [`00-${server!.traceId}-${client!.spanId}-01`]);
  assert.deepEqual(seen.values('tracestate'), []);
  assert.equal(attribute(server!, 'user.name'), 'alice-in-person', 'asked for by the operator');
});

test('what is not sampled sends nothing, and passes the caller its own parent on untouched', async () => {
  await start(0, await startCollector());
  const unsampled = sampledParent.replace(/01$/, '00');
  await ask(pods);
  await ask(pods, [`traceparent: ${unsampled}`, 'tracestate: vendor=1']);
  // Behind them in the same queue, so that waiting for it is waiting for them.
  await ask('/version', [`traceparent: ${sampledParent}`]);
  const all = await eventually(() => spans().length > 0 && spans());
  assert.deepEqual(
    all.map(({ kind, name }) => [kind, name]),
    [[serverKind, 'GET']],
  );
  const seen = await Promise.all([0, 1].map((index) => site!.members[0]!.request(index)));
  assert.deepEqual(
    seen.map((request) => [request.values('traceparent'), request.values('tracestate')]),
    [
      [[], []],
      [[unsampled], ['vendor=1']],
    ],
  );
});

test('a refused request and a member that cannot be reached have spans that say so', async () => {
  await start(1_000_000, await startCollector());
  site!.members[0]!.answer = (request) => void request.socket.destroy();
  assert.equal((await ask('/clusters/none/proxy/api/v1/pods')).status, 404);
  assert.equal((await ask(pods)).status, 503);
  const all = await eventually(() => spans().length === 3 && spans());
  const errors = all.map((span) => [span.kind, attribute(span, 'error.type'), span.status.code ?? 0]);
  assert.deepEqual(errors.toSorted().map(String), [
    `${serverKind},,0`,
    `${serverKind},MEMBER_UNAVAILABLE,2`,
    `${clientKind},MEMBER_UNAVAILABLE,2`,
  ]);
});

test('a request to every cluster has a span for each call, and each member knows its own', async () => {
  await start(0, await startCollector(), { members: 2 });
  for (const member of site!.members) {
    const list = { kind: 'PodList', apiVersion: 'v1', metadata: { resourceVersion: '1' }, items: [] };
    member.answer = (request) => request.reply(200, ['Content-Type: application/json'], JSON.stringify(list));
  }
  const answer = await ask('/clusters/*/proxy/api/v1/pods', [`traceparent: ${sampledParent}`]);
  assert.equal(answer.status, 200, answer.body);
  const all = await eventually(() => spans().length === 3 && spans());
  const server = all.find(({ kind }) => kind === serverKind)!;
  const clients = all.filter(({ kind }) => kind === clientKind);
  assert.deepEqual(
    clients.map((span) => span.parentSpanId),
    [server.spanId, server.spanId],
  );
  for (const [index, member] of site!.members.entries()) {
    const call = clients.find((span) => attribute(span, 'k8s.cluster.name') === `m${index + 1}`)!;
    const seen = await member.request(0);
    assert.deepEqual(seen.values('traceparent'), [`00-${traceId}-${call.spanId}-01`]);
  }
});

test('without a collector nothing is lost but spans, and those are counted', async () => {
  const port = await startCollector();
  collector!.close();
  await start(1_000_000, port);
  const answers = await Promise.all(Array.from({ length: 20 }, () => ask(pods)));
  assert.ok(answers.every(({ status, complete }) => status === 200 && complete));
  await eventually(async () => (await metric('portcullis_trace_spans_total{outcome="failed"}')) === 40);
  assert.equal(await metric('portcullis_trace_spans_total{outcome="exported"}'), 0);
  assert.match(site!.log(), /spans do not reach the collector/);
});

test('a gateway that ends sends what it still has', async () => {
  process.env['OTEL_BSP_SCHEDULE_DELAY'] = '3600000';
  try {
    await start(1_000_000, await startCollector());
  } finally {
    process.env['OTEL_BSP_SCHEDULE_DELAY'] = '20';
  }
  await ask(pods);
  assert.equal(spans().length, 0);
  await site!.gateway.drain();
  assert.equal(spans().length, 2);
});

test('who does not ask for traces loads nothing of OpenTelemetry', async () => {
  const hook = join(folder, 'hook.mjs');
  writeFileSync(
    hook,
    `import { registerHooks } from 'node:module';
     registerHooks({ resolve(name, from, next) {
       // The metrics library brings the interface without anything behind it.
       if (/opentelemetry/.test(name) && !/prom-client/.test(from.parentURL)) process.stderr.write('loaded ' + name + '\\n');
       if (/serve\\.ts$/.test(name)) process.stderr.write('hook is on\\n');
       return next(name, from);
     } });`,
  );
  site = await startSite({ users: [{ token: 'alice-token', name: 'alice' }] });
  await using gateway = await startGatewayProcess({
    kubeconfigs: [site.files.kubeconfig],
    users: [{ token: 'alice-token', name: 'alice' }],
    nodeArgs: ['--import', hook],
  });
  const endpoint = { port: gateway.port, ca: gateway.caPem };
  const request = requestBytes(`GET ${pods}`, ['Authorization: Bearer alice-token', `traceparent: ${sampledParent}`]);
  assert.equal((await exchange(endpoint, request)).status, 200);
  assert.match(gateway.log(), /hook is on/);
  assert.doesNotMatch(gateway.log(), /loaded/);
});
