// FLT-13 and FLT-14: clients that stop reading and clients that vanish. A client that does not read keeps its
// connection alive with its kernel's help, so silence is no sign; and what one of them holds up must stay in the
// member's sockets, not in the gateway's memory.
// Runs alone: it says within which seconds a fault is seen.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { after, before, test } from 'node:test';

import { http1Client, http2Client } from '../clients/stream-client.ts';
import { execOverWebSocket } from '../clients/websocket-client.ts';
import { boxPod } from '../e2e/kubectl/pods.ts';
import { eventually } from '../site/polling.ts';
import { figure, isReal, printScale, slackMs, timeScale } from './scale.ts';
import { carol, configMapsOf, startFaultSite } from './site.ts';
import type { FaultSite } from './site.ts';

const mebibyte = 1024 * 1024;
/** What a stalled stream may cost, kernel buffers of the way not counted. */
const stalledBytes = 32 * mebibyte;
const vanished = isReal ? 5_000 : 300;
const execs = isReal ? 30 : 10;
/**
 * These tests move much data: members must have time to answer PINGs meanwhile, so the gateway hurries half as much.
 */
const clientScale = Math.min(1, timeScale * 2);
const clientEnvironment: Record<string, string> =
  clientScale === 1 ? {} : { PORTCULLIS_TEST_TIME_SCALE: String(clientScale) };
/** All come from one address and go to one member. */
const manyClients = ['--max-cluster-streams', '--max-user-cluster-streams', '--max-address-connections'].flatMap(
  (flag) => [flag, '10000'],
);
/** What a client that takes nothing of a stream is given. */
const lostMs = 60_000 * clientScale;
let site: FaultSite;
/** kube-apiserver watches a ConfigMap of its own. */
let ownWatches = 0;

before(async () => {
  printScale('client faults', `its gateway at ${clientScale}, ${vanished} watches and ${execs} execs vanish`);
  site = await startFaultSite({
    proxied: ['m1'],
    kubelet: true,
    gateway: { env: clientEnvironment, args: manyClients },
  });
  ownWatches = await openAtMember();
  const m1 = site.member('m1');
  await m1.apply(boxPod('box', 'default'), { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'hot' } });
  const ready = await m1.kubectl(['wait', '--for=condition=Ready', 'pod/box', '--timeout=60s']);
  assert.equal(ready.code, 0, ready.stderr);
});

after(() => site?.stop());

function residentBytes(): number {
  const [, kibibytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${site.gateway.pid}/status`, 'utf8'))!;
  return Number(kibibytes) * 1024;
}

/** Replaces one object of the namespace `hot` again and again, about 500 KB each time. */
async function change(times: number): Promise<void> {
  const path = '/api/v1/namespaces/hot/configmaps';
  const text = 'z'.repeat(500_000);
  for (let at = 0; at < times; at++) {
    const object = { metadata: { name: 'hot' }, data: { at: String(at), text } };
    let { status } = await site.member('m1').request('PUT', `${path}/hot`, object);
    if (status === 404) ({ status } = await site.member('m1').request('POST', path, object));
    assert.ok(status < 300, String(status));
  }
}

/** Watches the member has open beside its own. */
async function openAtMember(): Promise<number> {
  const labels = { verb: 'WATCH', resource: 'configmaps', scope: 'namespace' };
  return (await site.member('m1').metric('apiserver_longrunning_requests', labels)) - ownWatches;
}

for (const protocol of ['HTTP/1.1', 'HTTP/2'] as const) {
  test(`a client that stops reading a hot watch over ${protocol} holds the member back and costs others nothing (FLT-13)`, async () => {
    const client = protocol === 'HTTP/2' ? await http2Client(site.server) : http1Client(site.server);
    const others = await http2Client(site.server);
    await change(1);
    const stalled = await client.get(`${configMapsOf('m1', 'hot')}?watch=true`);
    const reading = await others.get(`${configMapsOf('m1', 'hot')}?watch=true`);
    stalled.pause();
    const [memoryBefore, bytesBefore] = [residentBytes(), site.proxy('m1').bytes];
    const changes = 60;
    await change(changes);
    await reading.until((body) => body.includes(`"at":"${changes - 1}"`));
    const grown = residentBytes() - memoryBefore;
    const sent = site.proxy('m1').bytes - bytesBefore;
    // Everything went once, to the one who reads; compressed or not, the other's share is what was sent beyond it.
    const beyond = sent - reading.body().length;
    figure(
      'FLT-13',
      `${protocol}: ${Math.round(reading.body().length / mebibyte)} MiB of events, ${(Math.max(0, beyond) / mebibyte).toFixed(1)} MiB sent for the stalled client, gateway grew by ${(grown / mebibyte).toFixed(1)} MiB`,
    );
    assert.ok(beyond < stalledBytes, `${beyond} bytes for a client that reads nothing`);
    assert.ok(grown < stalledBytes * 2, `the gateway grew by ${grown} bytes`);
    client.close();
    others.close();
    await eventually('both are over at the member', async () => (await openAtMember()) === 0);
  });
}

test('a client that takes nothing of its watch for a minute is given up, and whoever shares its connection to the member is not (FLT-13)', async () => {
  const { gateway } = site;
  const socket = connectTls({ host: '127.0.0.1', port: gateway.port, ca: gateway.caPem });
  const target = `${configMapsOf('m1', 'hot')}?watch=true&resourceVersion=0`;
  socket.on('error', () => undefined);
  socket.write(`GET ${target} HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ${carol.token}\r\n\r\n`);
  await new Promise((resolve) => socket.once('data', resolve));
  socket.pause();
  // On the same connection to the member, and to stay there.
  const others = await http2Client(site.server);
  const reading = await others.get(`${configMapsOf('m1', 'hot')}?watch=true`);
  // More than all buffers on the way take.
  await change(30);
  const startedMs = performance.now();
  await eventually('both are open at the member', async () => (await openAtMember()) === 2, { everyMs: 50 });
  await eventually('its watch is over', async () => (await openAtMember()) === 1, {
    timeoutMs: lostMs + 20_000,
    everyMs: 200,
  });
  const tookMs = performance.now() - startedMs;
  figure('FLT-13', `given up ${Math.round(tookMs)} ms after the last byte it took`);
  assert.ok(tookMs < lostMs + 5_000 + slackMs, `after ${tookMs} ms`);
  socket.destroy();
  await change(2);
  await reading.until((body) => body.length > 32 * 400_000);
  others.close();
});

/** A watch on a connection of its own that only knows how to vanish: the TCP socket below its TLS. */
async function bareWatch(): Promise<Socket> {
  const tcp = connect(site.gateway.port, '127.0.0.1');
  const socket = connectTls({ socket: tcp, host: '127.0.0.1', ca: site.gateway.caPem });
  for (const one of [tcp, socket]) one.on('error', () => undefined);
  socket.write(
    `GET ${configMapsOf('m1')}?watch=true HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ${carol.token}\r\n\r\n`,
  );
  await new Promise((resolve, reject) => {
    socket.once('data', resolve);
    socket.once('close', () => reject(new Error('closed before an answer')));
  });
  return tcp;
}

test(`${vanished} watches and ${execs} execs whose clients vanish leave nothing at the member and nothing in the gateway (FLT-14)`, async () => {
  const idle = (): Promise<unknown> =>
    eventually(
      'idle connections are closed',
      async () =>
        (await site.metric('portcullis_upstream_connections', { cluster: 'm1', state: 'http2-sessions' })) === 0 &&
        (await site.metric('portcullis_longrunning_requests')) === 0,
      { timeoutMs: 60_000 * clientScale + 20_000 },
    );
  await idle();
  const baseline = await site.gateway.holdings();
  const path = '/clusters/m1/proxy/api/v1/namespaces/default/pods/box/exec';
  const watches: Socket[] = [];
  for (let i = 0; i < vanished; i += 50) {
    const batch = Array.from({ length: Math.min(50, vanished - i) }, () => bareWatch());
    watches.push(...(await Promise.all(batch)));
  }
  const shells = await Promise.all(
    Array.from({ length: execs }, () => execOverWebSocket(site.raw, { path, command: ['cat'], stdin: true })),
  );
  assert.equal(await openAtMember(), vanished);
  const held = await site.gateway.holdings();
  const goneMs = performance.now();
  for (const [i, socket] of watches.entries()) {
    // By turns: reset, half closed, closed.
    if (i % 3 === 0) socket.resetAndDestroy();
    else if (i % 3 === 1) socket.end();
    else socket.destroy();
  }
  for (const shell of shells) shell.close();
  await eventually('no watch is left at the member', async () => (await openAtMember()) === 0);
  await eventually(
    'no exec is left',
    async () => (await site.member('m1').metric('apiserver_longrunning_requests', { subresource: 'exec' })) === 0,
  );
  const tookMs = performance.now() - goneMs;
  for (const socket of watches) socket.destroy();
  await idle();
  await delay(1_000);
  const after = await site.gateway.holdings();
  figure(
    'FLT-14',
    `${vanished} watches and ${execs} execs over at the member after ${Math.round(tookMs)} ms; sockets ${baseline.sockets} -> ${held.sockets} -> ${after.sockets}, timers ${baseline.timers} -> ${after.timers}, descriptors ${baseline.descriptors} -> ${held.descriptors} -> ${after.descriptors}`,
  );
  assert.ok(tookMs < 5_000 + slackMs, `${tookMs} ms`);
  for (const what of ['sockets', 'timers', 'descriptors'] as const)
    assert.ok(after[what] <= baseline[what] + 3, `${what}: ${baseline[what]} -> ${after[what]}`);
});
