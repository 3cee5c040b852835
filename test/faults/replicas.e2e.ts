// FLT-01 and FLT-02: of two replicas behind a balancer one is told to end, then one is killed, under watches and
// requests. A balancer takes a replica out when readyz says so, some time after that; the requests in between are what
// the listener must stay open for.
// Runs alone: it says within which seconds a fault is seen.
import assert from 'node:assert/strict';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { after, before, test } from 'node:test';

import { startControlPlane } from '../controlplane/fixture.ts';
import type { ControlPlane, Member } from '../controlplane/fixture.ts';
import { gatewayUser } from '../controlplane/fixture-types.ts';
import { eventually } from '../site/polling.ts';
import { startGatewayProcess } from '../gateway-process.ts';
import type { GatewayProcess } from '../gateway-process.ts';
import { startBalancer } from '../hub/balancer.ts';
import type { Balancer } from '../hub/balancer.ts';
import { figure, isReal, printScale, scaledEnvironment } from './scale.ts';
import { startShortRequests } from './short-requests.ts';
import type { ShortRequest } from './short-requests.ts';
import { carol, configMapsOf } from './site.ts';
import { startWatching } from './watching.ts';
import type { Watching } from './watching.ts';

/**
 * Each change goes to every watch: with 10,000 of them a change is seconds of work for clients, replicas and the API
 * server on the same cores.
 */
const watchCount = isReal ? 10_000 : 400;
const requestsPerSecond = 100;
const changeCount = isReal ? 16 : 40;
const changeEveryMs = isReal ? 5_000 : 150;
/** One person has all of them, to one cluster. */
const limits = ['--max-cluster-streams', '--max-user-cluster-streams', '--max-user-streams'].flatMap((flag) => [
  flag,
  String(watchCount * 2),
]);
/** How long a balancer may take to notice. */
const noticedAfterMs = 300;
const own = '/api/v1/namespaces/team-a/configmaps';
const dataDir = mkdtempSync(join(tmpdir(), 'portcullis-replicas-'));
const alive = new Map<number, GatewayProcess>();
/** The very list the balancer reads. */
const ports: number[] = [];
let plane: ControlPlane;
let member: Member;
let balancer: Balancer;
let watching: Watching | undefined;
let readiness: NodeJS.Timeout;

before(async () => {
  printScale('replicas', `${watchCount} watches, ${requestsPerSecond} requests/s`);
  plane = await startControlPlane({ members: ['m1'] });
  member = plane.member('m1');
  for (let i = 0; i < 2; i++) await startReplica();
  balancer = await startBalancer(ports);
  readiness = setInterval(() => void takeOutUnready(), noticedAfterMs);
});

after(async () => {
  clearInterval(readiness);
  watching?.close();
  balancer?.close();
  for (const replica of alive.values()) await replica.stop('SIGKILL');
  await plane?.stop();
});

/** Both have one data folder, so one authority; as replicas of a Secret do. */
async function startReplica(): Promise<GatewayProcess> {
  const replica = await startGatewayProcess({
    kubeconfigs: [plane.gatewayKubeconfig],
    users: [carol],
    dataDir,
    env: scaledEnvironment,
    args: limits,
    config: { shutdownDelaySeconds: 5, shutdownGraceSeconds: 30 },
  });
  alive.set(replica.port, replica);
  ports.push(replica.port);
  return replica;
}

async function takeOutUnready(): Promise<void> {
  for (const [port, { opsUrl }] of alive) {
    const isReady = await fetch(`${opsUrl}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (!isReady && ports.includes(port)) ports.splice(ports.indexOf(port), 1);
  }
}

/** Watches and requests while `fault` happens to the first replica, and changes all along. */
async function endOne(
  name: string,
  fault: (replica: GatewayProcess) => Promise<unknown>,
): Promise<{ readonly watching: Watching; readonly requests: readonly ShortRequest[]; readonly faultMs: number }> {
  const list = JSON.parse((await member.request('GET', own)).body) as { metadata: { resourceVersion: string } };
  const headers = { authorization: `Bearer ${carol.token}` };
  const first = [...alive.values()][0]!;
  const server = { url: `https://127.0.0.1:${balancer.port}`, caPem: first.caPem, headers };
  watching = startWatching(
    server,
    watchCount,
    () => configMapsOf('m1'),
    () => list.metadata.resourceVersion,
  );
  const { watches } = watching;
  await eventually('all watches are open', () => watches.every(({ isOpen }) => isOpen), { timeoutMs: 300_000 });
  const requests = startShortRequests(server, requestsPerSecond, (n) => `${configMapsOf('m1')}?limit=1&n=${n}`);
  const written: string[] = [];
  let faultMs = 0;
  let isOver: Promise<unknown> = Promise.resolve();
  for (let at = 0; at < changeCount; at++) {
    const answer = await member.request('POST', own, { metadata: { name: `${name}-${at}` } });
    assert.equal(answer.status, 201, answer.body);
    const { metadata } = JSON.parse(answer.body) as { metadata: { name: string; resourceVersion: string } };
    written.push(`ADDED ${metadata.name} ${metadata.resourceVersion}`);
    if (at === Math.floor(changeCount / 4)) {
      faultMs = performance.now();
      isOver = fault(first);
    }
    await delay(changeEveryMs);
  }
  await isOver;
  alive.delete(first.port);
  await eventually('every watch has every change', () => watches.every(({ seen }) => seen.length >= changeCount), {
    timeoutMs: 300_000,
  });
  const done = await requests.stop();
  for (const { seen, faults } of watches) {
    assert.deepEqual(seen, written, 'each change once and in order');
    assert.deepEqual(faults, [], 'nothing that makes an informer list again');
  }
  const strangers = (await member.audit()).filter(
    ({ user, impersonatedUser, requestURI }) =>
      user.username === gatewayUser && requestURI.startsWith(own) && impersonatedUser?.username !== carol.name,
  );
  assert.deepEqual(strangers, [], 'nobody came to the member as somebody else');
  watching.close();
  return { watching, requests: done, faultMs };
}

function summary({ watching: { watches }, requests }: Awaited<ReturnType<typeof endOne>>): string {
  const resumed = watches.filter((watch) => watch.resumed > 0);
  const gaps = resumed.map(({ longestGapMs }) => longestGapMs).toSorted((one, other) => one - other);
  const p99 = Math.round(gaps[Math.floor(gaps.length * 0.99)] ?? 0);
  const repeated = requests.filter(({ repeated }) => repeated > 0).length;
  return `${watches.length} watches, ${resumed.length} resumed (p99 ${p99} ms), 0 events lost or doubled; ${requests.length} requests, ${repeated} repeated by the client`;
}

test('SIGTERM: readyz fails first, the listener stays, no short request fails, watches end in order and at a rate (FLT-01)', async () => {
  let unreadyMs = Number.POSITIVE_INFINITY;
  let refusedMs = Number.POSITIVE_INFINITY;
  const result = await endOne('drained', async (replica) => {
    const exit = replica.stop('SIGTERM');
    const gone = new AbortController();
    void exit.then(() => gone.abort());
    while (!gone.signal.aborted) {
      const ready = await fetch(`${replica.opsUrl}/readyz`).then(
        ({ ok }) => ok,
        () => undefined,
      );
      if (ready === false) unreadyMs = Math.min(unreadyMs, performance.now());
      const answers = await fetch(`http://127.0.0.1:${replica.port}`).then(
        () => true,
        (error: { cause?: { code?: string } }) => error.cause?.code !== 'ECONNREFUSED',
      );
      if (!answers) refusedMs = Math.min(refusedMs, performance.now());
      await delay(20);
    }
    assert.equal(await exit, 0);
  });
  assert.ok(unreadyMs < refusedMs - noticedAfterMs, 'readyz told before the listener closed');
  assert.deepEqual(
    result.requests.filter(({ outcome }) => outcome !== 200),
    [],
    'no short request failed',
  );
  const ends = result.watching.watches.flatMap((watch) => watch.ends.slice(0, watch.resumed));
  assert.deepEqual(new Set(ends), new Set(['complete']), 'watches end in good order');
  const times = result.watching.endedAtMs.slice(0, ends.length);
  const spreadMs = times.at(-1)! - times[0]!;
  assert.ok(spreadMs > (ends.length / 200) * 1000 * 0.5, `${ends.length} watches ended within ${spreadMs} ms`);
  figure(
    'FLT-01',
    `${summary(result)}; readyz failed ${Math.round(unreadyMs - result.faultMs)} ms and the listener closed ${Math.round(refusedMs - result.faultMs)} ms after SIGTERM; ${ends.length} watches ended over ${Math.round(spreadMs)} ms`,
  );
});

test('SIGKILL: watches resume on the other replica without a lost or doubled event and without listing again (FLT-02)', async () => {
  await startReplica();
  const result = await endOne('killed', (replica) => replica.stop('SIGKILL'));
  const failed = result.requests.filter(({ outcome }) => outcome !== 200);
  // Those the killed replica had in its hands: nobody can know what became of them, and client-go's callers ask again.
  assert.ok(failed.length <= 10, JSON.stringify(failed.slice(0, 20)));
  assert.ok(
    failed.every(({ outcome }) => typeof outcome === 'string'),
    JSON.stringify(failed),
  );
  const lists = (await member.audit()).filter(
    ({ verb, requestURI, stage }) => stage === 'ResponseComplete' && verb === 'list' && !requestURI.includes('limit=1'),
  );
  assert.ok(lists.length < 10, `${lists.length} lists of ${watchCount} watchers`);
  figure('FLT-02', `${summary(result)}, ${failed.length} cut in mid-air`);
});
