// One cycle of the soak test: watches of both clusters, requests of all users, exec sessions, rotations of files, and
// network faults of one cluster in an order that the seed decides. Easy to get wrong: every watch must get each change
// exactly once and in order, whatever happens. So a cycle ends only when all watches have got all changes.
import { setTimeout as delay } from 'node:timers/promises';

import { execOverWebSocket } from '../../test/clients/websocket-client.ts';
import { eventually } from '../../test/site/polling.ts';
import { startShortRequests } from '../../test/faults/short-requests.ts';
import { startWatching } from '../../test/faults/watching.ts';
import { createRandom } from '../figures/statistics.ts';
import type { SoakSite } from './site.ts';

export interface CyclePlan {
  readonly seconds: number;
  readonly watches: number;
  readonly perSecond: number;
  readonly seed: number;
}

export interface CycleOutcome {
  readonly requests: number;
  readonly failedAtFaults: number;
  readonly events: number;
  readonly execs: number;
  readonly resumed: number;
  /** Names of the faults and rotations that the cycle caused on purpose. */
  readonly happened: readonly string[];
  /** Descriptions of what went wrong in the cycle; empty when the cycle passed. */
  readonly faults: readonly string[];
}

const clusters = ['straight', 'faulty'] as const;
const changesPerSecond = 1;
/** Milliseconds that one network fault lasts. */
const faultMs = 2_000;

export async function runCycle(site: SoakSite, plan: CyclePlan, cycle: number): Promise<CycleOutcome> {
  const random = createRandom(plan.seed);
  const namespace = `soak-${cycle}`;
  const own = `/api/v1/namespaces/${namespace}/configmaps`;
  await site.member.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  const list = JSON.parse((await site.member.request('GET', own)).body) as { metadata: { resourceVersion: string } };
  const pathTo = (cluster: string): string => `/clusters/${cluster}/proxy${own}`;
  const perUser = Math.ceil(plan.watches / site.users.length);
  const groups = site.users.map((user, at) =>
    startWatching(
      site.serverOf(user),
      Math.min(perUser, Math.max(0, plan.watches - at * perUser)),
      (index) => pathTo(clusters[index % 2]!),
      () => list.metadata.resourceVersion,
      `soak=${user.name}`,
    ),
  );
  const watches = groups.flatMap((group) => group.watches);
  await eventually('all watches are open', () => watches.every(({ isOpen }) => isOpen), { timeoutMs: 120_000 });

  // Requests to the cluster `straight` must never fail. Requests to the cluster `faulty` may fail, but only with 502,
  // 503 or 504.
  const load = clusters.flatMap((cluster, which) =>
    site.users.map((user) => ({
      cluster: which,
      run: startShortRequests(
        site.serverOf(user),
        plan.perSecond / 2 / site.users.length,
        (number) => `${pathTo(cluster)}?limit=1&number=${number}&soak=${user.name}`,
      ),
    })),
  );
  const ending = new AbortController();
  const execFaults: string[] = [];
  let execs = 0;
  const churn = (async () => {
    for (; !ending.signal.aborted; execs++) {
      const user = site.users[execs % site.users.length]!;
      const word = `exec-${cycle}-${execs}`;
      const path = '/clusters/straight/proxy/api/v1/namespaces/default/pods/box/exec';
      const { url, caPem, headers } = site.serverOf(user);
      const raw = {
        host: '127.0.0.1',
        port: Number(new URL(url).port),
        ca: caPem,
        headers: [['Authorization', headers['authorization']!]] as const,
        timeoutMs: 30_000,
      };
      try {
        const session = await execOverWebSocket(raw, { path, command: ['cat'], stdin: true });
        await session.write(`${word}\n`);
        await session.waitForOutput(word);
        // Exec sessions end alternately by the end of their input and by closing the connection.
        if (execs % 2 === 0) session.endInput();
        else session.close();
        await session.result;
      } catch (error) {
        execFaults.push(`exec ${execs}: ${String(error)}`);
      }
      await delay(200);
    }
  })();

  const happened: string[] = [];
  const trouble = (async () => {
    const kinds = ['cut', 'silent', 'tokens', 'contexts'] as const;
    while (!ending.signal.aborted) {
      await delay(faultMs * (1 + random()), undefined, { signal: ending.signal }).catch(() => undefined);
      if (ending.signal.aborted) break;
      const kind = kinds[Math.floor(random() * kinds.length)]!;
      happened.push(kind);
      if (kind === 'tokens') site.rotateTokens();
      else if (kind === 'contexts') site.rotateContexts();
      else {
        site.proxy.set(kind);
        await delay(faultMs);
        // While the proxy was silent, it dropped bytes. A connection with missing bytes cannot go on, so the proxy cuts
        // it.
        site.proxy.set('cut');
        site.proxy.set('open');
      }
    }
  })();

  const written: string[] = [];
  const changes = Math.max(1, Math.floor(plan.seconds * changesPerSecond));
  for (let at = 0; at < changes; at++) {
    const answer = await site.member.request('POST', own, { metadata: { name: `change-${at}` } });
    if (answer.status !== 201) throw new Error(answer.body);
    const { metadata } = JSON.parse(answer.body) as { metadata: { name: string; resourceVersion: string } };
    written.push(`ADDED ${metadata.name} ${metadata.resourceVersion}`);
    await delay(1000 / changesPerSecond);
  }
  ending.abort();
  await Promise.all([churn, trouble]);
  site.proxy.set('open');
  const faults = [...execFaults];
  await eventually('every watch has every change', () => watches.every(({ seen }) => seen.length >= written.length), {
    timeoutMs: 60_000,
  }).catch((error: unknown) => faults.push(String(error)));
  const expected = written.join('\n');
  const wrong = watches.filter(({ seen }) => seen.join('\n') !== expected).length;
  if (wrong > 0) faults.push(`${wrong} of ${watches.length} watches lost, doubled or disordered events`);
  for (const fault of new Set(watches.flatMap((watch) => watch.faults))) faults.push(`a watch was told: ${fault}`);
  const asked = await Promise.all(load.map(async ({ cluster, run }) => ({ cluster, all: await run.stop() })));
  let requests = 0;
  let failedAtFaults = 0;
  for (const { cluster, all } of asked) {
    requests += all.length;
    for (const { outcome } of all) {
      if (outcome === 200) continue;
      if (cluster === 1 && (outcome === 502 || outcome === 503 || outcome === 504)) failedAtFaults++;
      else if (faults.length < 50) faults.push(`a request to ${clusters[cluster]} ended with ${outcome}`);
    }
  }
  const resumed = watches.reduce((sum, watch) => sum + watch.resumed, 0);
  const events = watches.reduce((sum, watch) => sum + watch.seen.length, 0);
  for (const group of groups) group.close();
  return { requests, failedAtFaults, events, execs, resumed, happened, faults };
}
