// Three replicas over one PostgreSQL are replaced one after the other, as a rolling upgrade does, while objects of real
// members change and clients list and watch through a balancer: no request fails, and no event is lost.
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { after, before, test } from 'node:test';
import { startBalancer, type Balancer } from '../../../hub/balancer.ts';
import { eventually } from '../../../site/polling.ts';
import { needsPostgres } from '../../../site/postgres.fixture.ts';
import { startReplayedWatch, type ReplayedWatch } from '../../streams/replayed-watch.ts';
import { changesTold, churn } from '../churn/churn.ts';
import { allWhole, carol, configMaps, equalMembers, get, indexPath, listPath } from '../churn/fleet-site.ts';
import { startFleet, versionsOfMembers, type Fleet } from '../churn/fleet-site.ts';

let fleet: Fleet;
let balancer: Balancer;
/** Replicas that the balancer leads to: it takes one out before that one is told to end. */
const ports: number[] = [];
const watches: ReplayedWatch[] = [];

before(async () => {
  if (needsPostgres.skip !== false) return;
  fleet = await startFleet({ members: ['m1', 'm2'], replicas: 3 });
  ports.push(...fleet.replicas.map(({ port }) => port));
  balancer = await startBalancer(ports);
  const whom = { port: balancer.port, ca: fleet.replicas[0]!.caPem, token: carol.token, isSetBack: () => false };
  for (const name of ['one', 'two', 'three']) watches.push(startReplayedWatch({ ...whom, name, path: listPath }));
  await eventually('all watch', () => watches.every(({ counts }) => counts.watches > 0));
});
after(async () => {
  await Promise.all(watches.map((watch) => watch.close()));
  balancer?.close();
  await fleet?.close();
});

/** Asks the balancer all the time. @returns what failed, once `signal` is aborted */
async function load(path: string, signal: AbortSignal): Promise<{ asked: number; failed: readonly string[] }> {
  const failed: string[] = [];
  let asked = 0;
  for (; !signal.aborted; asked += 1) {
    const front = { ...fleet.replicas[0]!, url: `https://127.0.0.1:${balancer.port}` };
    const { status, text } = await get(front, path).catch((error: unknown) => ({ status: 0, text: String(error) }));
    if (status !== 200) failed.push(`${path}: ${status} ${text.slice(0, 300)}`);
    await delay(20);
  }
  return { asked, failed };
}

test('three replicas are replaced under load without a failed request or a lost event', needsPostgres, async (t) => {
  const over = new AbortController();
  const { signal } = over;
  const paths = [`/clusters/m1/proxy${configMaps}`, listPath, `${indexPath}/counts?resource=configmaps`];
  const loads = Promise.all(paths.map((path) => load(path, signal)));
  const options = { collection: configMaps, changesPerSecond: 20, signal };
  const churning = Promise.all(fleet.plane.members.map((member) => churn(member, options)));
  for (const old of [...fleet.replicas]) {
    const next = await fleet.start();
    await allWhole({ replicas: [next], plane: fleet.plane });
    ports.push(next.port);
    ports.splice(ports.indexOf(old.port), 1);
    assert.equal(await fleet.stop(old, 'SIGTERM'), 0);
  }
  over.abort();
  const churned = await churning;
  for (const { asked, failed } of await loads) {
    assert.deepEqual(failed, []);
    assert.ok(asked > 20, `${asked} requests`);
  }
  await equalMembers(fleet);
  for (const { name, versions, faults, counts } of watches) {
    await eventually(
      `${name} has what the members have`,
      async () => {
        const seen = [...versions()].map(([uid, version]) => [uid, String(version)] as const);
        assert.deepEqual(new Map(seen.toSorted()), await versionsOfMembers(fleet.plane));
        return true;
      },
      { timeoutMs: 60_000 },
    );
    assert.deepEqual(faults, []);
    assert.equal(counts.lists, 1, 'no watch had to list again');
  }
  t.diagnostic(`${(await loads).map(({ asked }) => asked).join(' + ')} requests, changes ${changesTold(churned)}`);
  t.diagnostic(watches.map(({ counts }) => JSON.stringify(counts)).join());
});
