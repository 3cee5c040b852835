// FLT-05: the network between gateway and member loses every packet while clients stay connected. HTTP/2 is found out
// by PINGs within their times; an HTTP/1.1 stream only by the kernel's keepalive (30 s of silence, ten probes a
// second), which no time scale shortens.
// Runs alone: it says within which seconds a fault is seen.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test } from 'node:test';

import { http1Client, http2Client } from '../clients/stream-client.ts';
import { handshake } from '../clients/websocket-client.ts';
import { clusterAt, writeContexts } from '../e2e/kubectl/contexts.ts';
import type { TestContext } from '../e2e/kubectl/contexts.ts';
import { eventually } from '../site/polling.ts';
import { startFarMember, whyNoNamespace } from './namespace.ts';
import type { FarMember } from './namespace.ts';
import { figure, printScale, scaled, slackMs } from './scale.ts';
import { configMapsOf, startFaultSite } from './site.ts';
import type { FaultSite } from './site.ts';

const boundMs = 60_000;
const watchCount = 20;
const skip = (await whyNoNamespace()) ?? false;
let site: FaultSite;
let far: FarMember;

before(async () => {
  if (skip !== false) return;
  printScale('network loss', `${watchCount} watches; TCP keepalive is the kernel's and in real time`);
  site = await startFaultSite({ members: ['m1'] });
  const member = site.member('m1');
  far = await startFarMember(Number(new URL(member.url).port));
  const user = { token: member.gatewayToken };
  writeContexts(site.kubeconfig, [
    { name: 'm1', cluster: clusterAt(member.url, member.caPem), user },
    {
      name: 'far',
      cluster: clusterAt(`https://${far.host}:${far.port}`, member.caPem, { 'tls-server-name': 'localhost' }),
      user,
    },
  ] as readonly TestContext[]);
  await eventually('far is available', async () => (await site.availability('far')) === 'True Answering');
});

after(async () => {
  await far?.stop();
  await site?.stop();
});

test(
  'when every packet is lost, watches over HTTP/2 and a stream over HTTP/1.1 end within 60 s, and all recovers alone (FLT-05)',
  { skip },
  async () => {
    const clients = [http1Client(site.server), await http2Client(site.server)];
    const open = await Promise.all(
      Array.from({ length: watchCount }, (_, i) =>
        clients[i % 2]!.get(`${configMapsOf('far')}?watch=true&timeoutSeconds=3000`),
      ),
    );
    // kube-apiserver's watches refuse a WebSocket without an origin.
    const raw = { ...site.raw, headers: [...site.raw.headers, ['Origin', 'https://portcullis.test'] as const] };
    const target = `${configMapsOf('far')}?watch=true&timeoutSeconds=3000`;
    const stream = await handshake(raw, { target, protocols: [] });
    stream.upgraded.socket.on('error', () => undefined).resume();
    assert.equal((await site.get(configMapsOf('far'))).status, 200);
    await far.setLink('down');
    const lostMs = performance.now();
    const since = (): number => Math.round(performance.now() - lostMs);
    const streamClosed = once(stream.upgraded.socket, 'close').then(since);
    const ending = Promise.all(open.map(async ({ ended }) => ({ end: await ended, ms: since() })));
    const short = await site.get(configMapsOf('far'));
    assert.equal(short.status, 504, short.body.toString());
    const ends = await ending;
    assert.deepEqual(new Set(ends.map(({ end }) => end)), new Set(['cut']));
    const slowestMs = Math.max(...ends.map(({ ms }) => ms));
    assert.ok(slowestMs < scaled(boundMs) + slackMs, `watches ended after ${slowestMs} ms`);
    await eventually('it is Unknown', async () => (await site.availability('far')) === 'Unknown NotAnswering', {
      timeoutMs: scaled(boundMs),
    });
    assert.equal((await site.get(configMapsOf('m1'))).status, 200, 'the same member over another way');
    const streamMs = await streamClosed;
    assert.ok(streamMs < boundMs, `the stream ended after ${streamMs} ms`);
    await far.setLink('up');
    const upMs = performance.now();
    await eventually('requests pass again', async () => (await site.get(configMapsOf('far'))).status === 200, {
      timeoutMs: 30_000,
    });
    figure(
      'FLT-05',
      `504 after ${Math.round(short.tookMs)} ms; ${watchCount} HTTP/2 watches ended after ${slowestMs} ms, the HTTP/1.1 stream after ${streamMs} ms; requests pass ${Math.round(performance.now() - upMs)} ms after the link is up`,
    );
    for (const client of clients) client.close();
  },
);
