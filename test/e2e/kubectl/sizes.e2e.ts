// Large bodies pass unchanged in both directions, refusals of the member arrive as its own, and a client that stops
// reading holds the member back instead of filling the gateway. A member may answer before it has read the body; that
// answer must get through.
// Runs alone: it measures the memory of a gateway.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { connect as connectTcp, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { gunzipSync } from 'node:zlib';

import { http1Client, http2Client } from '../../clients/stream-client.ts';
import type { StreamClient, StreamServer } from '../../clients/stream-client.ts';
import { startControlPlane } from '../../controlplane/fixture.ts';
import type { ControlPlane, Member } from '../../controlplane/fixture.ts';
import { runCommand } from '../../controlplane/processes.ts';
import { startGatewayProcess } from '../../gateway-process.ts';
import type { GatewayProcess } from '../../gateway-process.ts';
import { clusterAt, writeContexts } from './contexts.ts';
import type { TestContext } from './contexts.ts';
import { eventually } from '../../site/polling.ts';
import { customResource } from '../../site/custom-resource.ts';
import { serve } from '../../pretend/server.ts';

const carol = { token: 'carol-at-the-gateway', name: 'carol', groups: ['operators'] };
const mebibyte = 1024 * 1024;
/** What may be on its way to one client that does not read, in the gateway and in all socket buffers. */
const stalledBytes = 64 * mebibyte;
const things = '/apis/sizes.test/v1/namespaces/default/things';
const bigMaps = '/api/v1/namespaces/big/configmaps';
let plane: ControlPlane;
let member: Member;
let gateway: GatewayProcess;
let throughServer: StreamServer;
let directServer: StreamServer;
let relay: Relay;

before(async () => {
  plane = await startControlPlane({ members: ['m1'] });
  member = plane.member('m1');
  relay = await startRelay(Number(new URL(member.url).port));
  const cluster = clusterAt(`https://127.0.0.1:${relay.port}`, member.caPem) as TestContext['cluster'];
  const kubeconfig = join(plane.dir, 'relayed.kubeconfig');
  writeContexts(kubeconfig, [{ name: 'm1', cluster, user: { token: member.gatewayToken } }]);
  gateway = await startGatewayProcess({ kubeconfigs: [kubeconfig], users: [carol] });
  const bearer = (token: string): { authorization: string } => ({ authorization: `Bearer ${token}` });
  throughServer = { url: `${gateway.url}/clusters/m1/proxy`, caPem: gateway.caPem, headers: bearer(carol.token) };
  directServer = { url: member.url, caPem: member.caPem, headers: bearer(member.users.carol.token) };
  await member.apply(
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'big' } },
    customResource('things.sizes.test', 'Thing'),
  );
  await eventually('the new kind is served', async () => (await member.request('GET', things)).status === 200);
});

after(async () => {
  await gateway?.stop('SIGKILL');
  relay?.stop();
  await plane?.stop();
});

/** Passes connections on to the member and counts what it sends. */
interface Relay {
  readonly port: number;
  readonly bytes: () => number;
  readonly stop: () => void;
}

async function startRelay(memberPort: number): Promise<Relay> {
  let bytes = 0;
  const server = createServer((client) => {
    const upstream = connectTcp(memberPort, '127.0.0.1');
    for (const socket of [client, upstream]) {
      socket.on('error', () => undefined);
      socket.on('close', () => [client, upstream].forEach((each) => each.destroy()));
    }
    upstream.on('data', (chunk: Buffer) => (bytes += chunk.length));
    upstream.pipe(client).pipe(upstream);
  });
  const { port, close } = await serve(server);
  return { port, bytes: () => bytes, stop: () => void close() };
}

/** A kind that keeps whatever is in its objects. */
/** A Thing of so many bytes of JSON. */
function thing(bytes: number): string {
  const make = (text: string): string =>
    JSON.stringify({ apiVersion: 'sizes.test/v1', kind: 'Thing', metadata: { name: 'large' }, text });
  return make('0123456789abcdef'.repeat(Math.ceil(bytes / 16)).slice(0, bytes - make('').length));
}

const clients = {
  'HTTP/1.1': async (server: StreamServer): Promise<StreamClient> => http1Client(server),
  'HTTP/2': http2Client,
} as const;

/** Status and body of a POST; `uid` and times, which differ between two creations, are made equal. */
async function post(
  server: StreamServer,
  protocol: keyof typeof clients,
  target: string,
  body: string,
): Promise<{ readonly status: number; readonly body: string }> {
  const client = await clients[protocol](server);
  const answer = await client.post(target, body);
  assert.equal(await answer.ended, 'complete');
  client.close();
  const text = answer.body().toString();
  return {
    status: answer.status,
    body: text
      .replaceAll(/"uid":"[0-9a-f-]{36}"/g, '"uid":"UID"')
      .replaceAll(/"(creationTimestamp|time)":"[0-9TZ:-]{20}"/g, '"$1":"TIME"'),
  };
}

for (const protocol of ['HTTP/1.1', 'HTTP/2'] as const) {
  test(`over ${protocol} a custom resource of 2 MB passes both ways as it does directly`, async () => {
    const body = thing(2 * mebibyte);
    const dryRun = `${things}?dryRun=All`;
    const through = await post(throughServer, protocol, dryRun, body);
    assert.equal(through.status, 201);
    assert.ok(through.body.includes(JSON.parse(body).text as string));
    assert.ok(sameText(through.body, (await post(directServer, protocol, dryRun, body)).body));
    const stored = await post(throughServer, protocol, things, body);
    assert.notEqual(stored.status, 201, 'etcd takes 1.5 MiB');
    assert.deepEqual(stored, await post(directServer, protocol, things, body));
    assert.match(stored.body, /larger than max|too large/);
  });

  test(`over ${protocol} the 413 of the member for 4 MB is its own`, async () => {
    const body = thing(4 * mebibyte);
    const through = await post(throughServer, protocol, things, body);
    assert.equal(through.status, 413);
    // Directly over HTTP/1.1 the member's reset may overtake its answer; the gateway waits for the client instead.
    assert.deepEqual(through, await post(directServer, 'HTTP/2', things, body));
    for (let i = 0; i < 5; i++) assert.deepEqual(await post(throughServer, protocol, things, body), through);
  });
}

/** Equal texts, without printing megabytes when they are not. */
function sameText(a: string, b: string): boolean {
  return createHash('sha256').update(a).digest('hex') === createHash('sha256').update(b).digest('hex');
}

test('the 413 arrives while the client still has most of its body to send', async () => {
  const socket = connectTls({ host: '127.0.0.1', port: gateway.port, ca: gateway.caPem, ALPNProtocols: ['http/1.1'] });
  await once(socket, 'secureConnect');
  const body = thing(4 * mebibyte);
  const head = [
    `POST /clusters/m1/proxy${things} HTTP/1.1`,
    `Host: 127.0.0.1:${gateway.port}`,
    `Authorization: Bearer ${carol.token}`,
    'Content-Type: application/json',
    `Content-Length: ${1024 * mebibyte}`,
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  const [first] = (await once(socket, 'data')) as [Buffer];
  assert.match(first.toString(), /^HTTP\/1\.1 413 /);
  socket.destroy();
});

test('kubectl create says the same through the gateway as directly', async () => {
  const file = (name: string, bytes: number): string => {
    writeFileSync(join(plane.dir, name), thing(bytes));
    return join(plane.dir, name);
  };
  const trust = (server: string, caFile: string, token: string): string[] => {
    const cache = join(plane.dir, `cache-${token.slice(0, 5)}`);
    return ['--server', server, '--certificate-authority', caFile, '--token', token, '--cache-dir', cache];
  };
  const through = trust(throughServer.url, gateway.caFile, carol.token);
  const direct = trust(member.url, member.caFile, member.users.carol.token);
  for (const [args, code] of [
    [['create', '--dry-run=server', '-f', file('two.json', 2 * mebibyte)], 0],
    [['create', '-f', file('two.json', 2 * mebibyte)], 1],
    [['create', '-f', file('four.json', 4 * mebibyte)], 1],
  ] as const) {
    const kubectl = plane.binaries['kubectl']!;
    const result = await runCommand(kubectl, [...through, ...args], { env: { KUBECONFIG: '/dev/null' } });
    assert.equal(result.code, code, result.stderr);
    assert.deepEqual(result, await runCommand(kubectl, [...direct, ...args], { env: { KUBECONFIG: '/dev/null' } }));
  }
});

/** Fills the namespace `big` with about 100 MB and returns a query that always gives the same list of it. */
async function fill(): Promise<string> {
  const text = '0123456789abcdef'.repeat(62_500);
  for (let i = 0; i < 101; i++) {
    const object = { metadata: { name: `map-${String(i).padStart(3, '0')}` }, data: { text } };
    assert.equal((await member.request('POST', bigMaps, object)).status, 201);
  }
  const { body } = await member.request('GET', `${bigMaps}?limit=1`);
  const { metadata } = JSON.parse(body) as { metadata: { resourceVersion: string } };
  return `${bigMaps}?resourceVersion=${metadata.resourceVersion}&resourceVersionMatch=Exact`;
}

function gatewayBytes(): number {
  const [, kibibytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${gateway.pid}/status`, 'utf8'))!;
  return Number(kibibytes) * 1024;
}

test('a list of 100 MB arrives byte for byte, plain and with gzip, and a stalled client holds back the member', async (t) => {
  const list = await fill();
  const read = async (server: StreamServer, protocol: keyof typeof clients, encoding: string): Promise<Buffer> => {
    const client = await clients[protocol](server);
    const answer = await client.get(list, { 'accept-encoding': encoding });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers['content-encoding'], encoding === 'gzip' ? 'gzip' : undefined);
    assert.equal(await answer.ended, 'complete');
    client.close();
    return answer.body();
  };
  const plain = await read(directServer, 'HTTP/2', 'identity');
  const zipped = await read(directServer, 'HTTP/2', 'gzip');
  assert.ok(plain.length > 100_000_000, `${plain.length} bytes`);
  for (const protocol of ['HTTP/1.1', 'HTTP/2'] as const) {
    assert.ok((await read(throughServer, protocol, 'identity')).equals(plain), `plain over ${protocol}`);
    const received = await read(throughServer, protocol, 'gzip');
    assert.ok(received.equals(zipped), `gzip over ${protocol}`);
    assert.ok(gunzipSync(received).equals(plain), `unzipped over ${protocol}`);
  }

  for (const protocol of ['HTTP/1.1', 'HTTP/2'] as const) {
    const [memoryBefore, sentBefore] = [gatewayBytes(), relay.bytes()];
    const client = await clients[protocol](throughServer);
    const answer = await client.get(list);
    answer.pause();
    let grown = 0;
    let quietSince = performance.now();
    // Until nothing has moved for two seconds; a whole list takes less.
    for (let sent = 0; performance.now() - quietSince < 2_000; await delay(50)) {
      if (relay.bytes() - sentBefore !== sent) quietSince = performance.now();
      sent = relay.bytes() - sentBefore;
      grown = Math.max(grown, gatewayBytes() - memoryBefore);
    }
    const sent = relay.bytes() - sentBefore;
    const figures = `the member sent ${toMebibytes(sent)} MiB, the gateway grew by ${toMebibytes(grown)} MiB`;
    t.diagnostic(`${protocol}, stalled list of 100 MB: ${figures}`);
    assert.ok(sent < stalledBytes && grown < stalledBytes, `${protocol}: ${figures}`);
    answer.resume();
    assert.equal(await answer.ended, 'complete');
    assert.ok(answer.body().equals(plain));
    client.close();
  }
});

function toMebibytes(bytes: number): string {
  return (bytes / mebibyte).toFixed(1);
}
