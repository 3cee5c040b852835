// FLT-03, FLT-04, FLT-15: a member's API server is killed, stopped in its tracks, comes and goes. A stopped process
// keeps its sockets, and its kernel still takes connections, so nothing but silence tells of it; a quiet exec looks
// just the same and must not be cut for it.
// Runs alone: it says within which seconds a fault is seen.
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { after, before, test } from 'node:test';

import { http1Client, http2Client } from '../clients/stream-client.ts';
import type { OpenAnswer } from '../clients/stream-client.ts';
import { execOverWebSocket } from '../clients/websocket-client.ts';
import type { ExecSession } from '../clients/exec-session.ts';
import { startLoad } from '../e2e/load.ts';
import type { LoadRecord } from '../e2e/load.ts';
import { boxPod } from '../e2e/kubectl/pods.ts';
import { eventually } from '../site/polling.ts';
import { figure, isReal, printScale, scaled, slackMs } from './scale.ts';
import { configMapsOf, startFaultSite } from './site.ts';
import type { FaultSite } from './site.ts';

const watchCount = 40;
/** How soon clients must hear of a killed member. */
const endsWithinMs = 1_000;
const stoppedForMs = isReal ? 300_000 : scaled(100_000);
/** A flap is twice {@link flapMs}: ninety take half an hour. */
const flaps = isReal ? 90 : 5;
const flapMs = isReal ? 10_000 : 1_000;
const execPath = '/clusters/m1/proxy/api/v1/namespaces/default/pods/box/exec';
let site: FaultSite;

before(async () => {
  printScale(
    'member faults',
    `${watchCount} watches, stopped for ${stoppedForMs / 1000} s, ${flaps} flaps of ${flapMs / 1000} s`,
  );
  site = await startFaultSite({ members: ['m1', 'm2'], proxied: ['m3'], kubelet: true, bare: ['m2', 'm3'] });
  const m1 = site.member('m1');
  await m1.apply(boxPod('box', 'default'));
  const ready = await m1.kubectl(['wait', '--for=condition=Ready', 'pod/box', '--timeout=60s']);
  assert.equal(ready.code, 0, ready.stderr);
  await m1.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'big' } });
  for (let i = 0; i < 20; i++) {
    const object = { metadata: { name: `big-${i}` }, data: { text: 'x'.repeat(900_000) } };
    assert.equal((await m1.request('POST', '/api/v1/namespaces/big/configmaps', object)).status, 201);
  }
});

after(() => site?.stop());

/** Watches over both protocols, and how to close their clients. */
async function openWatches(cluster: string): Promise<{ readonly open: readonly OpenAnswer[]; close(): void }> {
  const clients = [http1Client(site.server), await http2Client(site.server)];
  const open = await Promise.all(
    Array.from({ length: watchCount }, (_, i) =>
      clients[i % 2]!.get(`${configMapsOf(cluster)}?watch=true&timeoutSeconds=3000`),
    ),
  );
  for (const { status } of open) assert.equal(status, 200);
  return {
    open,
    close() {
      for (const client of clients) client.close();
    },
  };
}

async function openShell(): Promise<ExecSession> {
  const session = await execOverWebSocket(site.raw, { path: execPath, command: ['cat'], stdin: true });
  await session.write('before\n');
  await session.waitForOutput('before');
  return session;
}

function percentile(records: readonly LoadRecord[], share: number): number {
  const sorted = records.map(({ tookMs }) => tookMs).toSorted((one, other) => one - other);
  return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0);
}

function failures(records: readonly LoadRecord[]): readonly LoadRecord[] {
  return records.filter(({ outcome }) => outcome !== 200);
}

test('a member that is killed: watches, a list and an exec end within a second, the breaker opens, another member is not touched (FLT-03)', async () => {
  const watches = await openWatches('m1');
  const shell = await openShell();
  const lister = http1Client(site.server);
  const list = await lister.get(configMapsOf('m1', 'big'));
  list.pause();
  const calm = await startLoad(site.server, ['m2'], 50);
  await delay(3_000);
  const before = await calm.stop();
  const load = await startLoad(site.server, ['m2'], 50);

  await site.member('m1').kill();
  const killedMs = performance.now();
  // What the kernel of this machine already holds of the list is read first; then it must look cut.
  list.resume();
  const ends = [...watches.open.map(({ ended }) => ended), list.ended];
  assert.deepEqual(new Set(await Promise.all(ends)), new Set(['cut']));
  await shell.result;
  const tookMs = performance.now() - killedMs;
  assert.ok(tookMs < endsWithinMs, `after ${tookMs} ms`);

  const statuses = new Set<number>();
  await eventually('the breaker opens', async () => {
    statuses.add((await site.get(configMapsOf('m1'))).status);
    return (await site.metric('portcullis_breaker_open', { cluster: 'm1' })) === 1;
  });
  const refused = await site.get(configMapsOf('m1'));
  statuses.add(refused.status);
  assert.ok(
    [...statuses].every((status) => status === 502 || status === 503),
    [...statuses].join(),
  );
  assert.match(refused.body.toString(), /m1/);
  await eventually('it is told', async () => (await site.availability('m1')).startsWith('False '));
  await delay(2_000);
  const during = await load.stop();
  assert.deepEqual([failures(before), failures(during)], [[], []], 'requests to m2');
  await site.member('m1').restart();
  await eventually('it is back', async () => (await site.get(configMapsOf('m1'))).status === 200);
  figure(
    'FLT-03',
    `${watchCount} watches, a list and an exec ended ${Math.round(tookMs)} ms after SIGKILL; then ${[...statuses].join(', ')}; other member: ${during.length} requests, 0 failed, p99 ${percentile(before, 0.99)} ms before, ${percentile(during, 0.99)} ms during`,
  );
  watches.close();
  lister.close();
});

test('a member that is stopped: 504 for short requests, watches end within 60 s, an exec stays, and all of it recovers alone (FLT-04)', async () => {
  const member = site.member('m1');
  await eventually('a shell opens', async () => (await site.get('/clusters/m1/proxy/readyz')).status === 200);
  const shell = await openShell();
  let isShellOpen = true;
  void shell.result.then(() => (isShellOpen = false));
  const watches = await openWatches('m1');
  assert.ok((await site.metric('portcullis_upstream_connections', { state: 'http2-streams' })) >= watchCount);
  // Open already, so that it waits for an answer and not for a handshake.
  assert.equal((await site.get(configMapsOf('m1'))).status, 200);
  member.pauseProcess();
  const stoppedMs = performance.now();
  try {
    const waiting = site.get(configMapsOf('m1'));
    const ended = Promise.all(watches.open.map(({ ended }) => ended));
    const endedAtMs = ended.then(() => performance.now());
    const answer = await waiting;
    assert.equal(answer.status, 504, answer.body.toString());
    assert.equal(answer.headers['retry-after'], undefined);
    assert.ok(answer.tookMs < scaled(60_000) + slackMs, `504 after ${answer.tookMs} ms`);
    assert.deepEqual(new Set(await ended), new Set(['cut']));
    const closedMs = (await endedAtMs) - stoppedMs;
    assert.ok(closedMs < scaled(60_000) + slackMs, `watches ended after ${closedMs} ms`);
    await eventually('it is Unknown', async () => (await site.availability('m1')) === 'Unknown NotAnswering');
    const unknownMs = performance.now() - stoppedMs;
    const next = await site.get(configMapsOf('m1'));
    assert.ok(next.status === 503 || next.status === 504, String(next.status));
    assert.ok(next.tookMs < slackMs, `nobody waits for it any more: ${next.tookMs} ms`);
    assert.equal((await site.get(configMapsOf('m2'))).status, 200);
    await delay(Math.max(0, stoppedForMs - (performance.now() - stoppedMs)));
    assert.equal(isShellOpen, true, 'a quiet exec is not cut');
    assert.equal(await site.metric('portcullis_upstream_connections', { state: 'http2-streams', cluster: 'm1' }), 0);
    figure(
      'FLT-04',
      `504 after ${Math.round(answer.tookMs)} ms, ${watchCount} watches ended after ${Math.round(closedMs)} ms, Unknown after ${Math.round(unknownMs)} ms at the latest, then ${next.status} in ${Math.round(next.tookMs)} ms`,
    );
  } finally {
    member.resumeProcess();
  }
  const resumedMs = performance.now();
  await eventually('requests pass again', async () => (await site.get(configMapsOf('m1'))).status === 200, {
    timeoutMs: scaled(60_000) + 20_000,
  });
  figure('FLT-04', `requests pass ${Math.round(performance.now() - resumedMs)} ms after SIGCONT`);
  await eventually('it is available', async () => (await site.availability('m1')) === 'True Answering');
  await shell.write('after\n');
  await shell.waitForOutput('after');
  shell.close();
  watches.close();
});

test(`a member that comes and goes ${flaps} times leaves no socket and no timer behind, and is not hammered meanwhile (FLT-15)`, async () => {
  const proxy = site.proxy('m3');
  const flap = async (): Promise<void> => {
    proxy.set('cut');
    await delay(flapMs);
    proxy.set('open');
    await delay(flapMs);
  };
  /** Load and watches while `work` is done, everything closed and idle connections timed out at the end. */
  const underLoad = async (work: () => Promise<void>): Promise<readonly LoadRecord[]> => {
    const load = await startLoad(site.server, ['m3'], 50);
    const keep = { on: true };
    const client = http1Client(site.server);
    const watching = Promise.all(
      Array.from({ length: 10 }, async () => {
        while (keep.on) {
          const watch = await client.get(`${configMapsOf('m3')}?watch=true`).catch(() => undefined);
          if (watch?.status === 200) await watch.ended;
          else await delay(100);
        }
      }),
    );
    await work();
    const records = await load.stop();
    keep.on = false;
    client.close();
    await watching;
    await idle();
    return records;
  };
  const idle = (): Promise<unknown> =>
    eventually(
      'idle connections are closed',
      async () => {
        const open = await Promise.all(
          ['http1-active', 'http2-streams', 'pending', 'upgraded', 'http2-sessions'].map((state) =>
            site.metric('portcullis_upstream_connections', { state, cluster: 'm3' }),
          ),
        );
        // The probe keeps one.
        const kept = await site.metric('portcullis_upstream_connections', { state: 'http1-idle', cluster: 'm3' });
        return open.every((count) => count === 0) && kept <= 1;
      },
      { timeoutMs: scaled(60_000) + 30_000 },
    );
  await underLoad(flap);
  const baseline = await site.gateway.holdings();
  const refusedBefore = proxy.refused;
  const records = await underLoad(async () => {
    for (let i = 0; i < flaps; i++) await flap();
  });
  const failed = failures(records);
  assert.ok(failed.length > 0, 'it was away');
  assert.ok(records.length > failed.length, 'it was there');
  assert.ok(
    failed.every(({ outcome }) => outcome === 502 || outcome === 503 || outcome === 504 || typeof outcome === 'string'),
    JSON.stringify(new Set(failed.map(({ outcome }) => outcome))),
  );
  const after = await site.gateway.holdings();
  const refused = proxy.refused - refusedBefore;
  figure(
    'FLT-15',
    `${flaps} flaps of ${flapMs} ms: ${records.length} requests, ${failed.length} failed fast; ${refused} connection attempts met the cut line; sockets ${baseline.sockets} -> ${after.sockets}, timers ${baseline.timers} -> ${after.timers}, descriptors ${baseline.descriptors} -> ${after.descriptors}`,
  );
  // One idle connection of the probe more or less is no leak; each flap would leave one.
  for (const what of ['sockets', 'timers', 'descriptors'] as const)
    assert.ok(after[what] <= baseline[what] + 3, `${what}: ${baseline[what]} -> ${after[what]}`);
  assert.ok(refused < failed.length, 'the breaker kept requests from knocking');
  await eventually('it is available', async () => (await site.availability('m3')) === 'True Answering');
});
