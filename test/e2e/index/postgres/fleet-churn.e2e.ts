// Three replicas over one PostgreSQL while objects of real members change all the time: replicas are killed, one sleeps
// longer than its leases, one loses the database. Whoever watches goes on at another replica at each cut and is told of
// each change once; in the end everybody has what the members have.
// PORTCULLIS_CHURN_SECONDS (40), PORTCULLIS_CHURN_RATE (25 changes a second in each of 3 members) choose the size.
// Runs alone: shards of a killed replica are taken over within seconds.
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { after, before, test } from 'node:test';
import type { GatewayProcess } from '../../../gateway-process.ts';
import { startBalancer, type Balancer } from '../../../hub/balancer.ts';
import { startLine, type Line } from '../../../site/line.fixture.ts';
import { eventually } from '../../../site/polling.ts';
import { needsPostgres } from '../../../site/postgres.fixture.ts';
import { startReplayedWatch, type ReplayedWatch } from '../../streams/replayed-watch.ts';
import { changesTold, churn } from '../churn/churn.ts';
import { carol, configMaps, equalMembers, indexPath, listPath, startFleet, type Fleet } from '../churn/fleet-site.ts';
import { versionsOfMembers } from '../churn/fleet-site.ts';

const seconds = Number(process.env['PORTCULLIS_CHURN_SECONDS'] ?? '40');
const changesPerSecond = Number(process.env['PORTCULLIS_CHURN_RATE'] ?? '25');
const members = ['m1', 'm2', 'm3'];
const killEveryMs = 10_000;
/** Longer than a lease. */
const sleepMs = Math.max(18_000, Math.min(60_000, seconds * 500));
const cutMs = 8_000;
/** What nobody follows must be followed again within this, milliseconds. */
const takeOverMs = 20_000;

let fleet: Fleet;
/** The database's end of one replica. */
let thin: Line;
let balancer: Balancer;
/** Replicas that a balancer may lead to: it would take one that sleeps out. */
const ports: number[] = [];
const watches: ReplayedWatch[] = [];

before(async () => {
  if (needsPostgres.skip !== false) return;
  fleet = await startFleet({ members, replicas: 2 });
  thin = await startLine(fleet.server.port);
  await fleet.start({ env: { PORTCULLIS_INDEX_STORE: fleet.database(thin.port) } });
  ports.push(...fleet.replicas.map(({ port }) => port));
  balancer = await startBalancer(ports, (count) => Math.floor(Math.random() * count));
  const merged = ['merged 1', 'merged 2', 'merged 3'].map((name) => [name, listPath] as const);
  const single = members.map((name) => [name, `${indexPath}/proxy/clusters/${name}${configMaps}`] as const);
  for (const [name, path] of [...merged, ...single]) {
    const whom = { port: balancer.port, ca: fleet.replicas[0]!.caPem, token: carol.token };
    watches.push(startReplayedWatch({ ...whom, name, path, isSetBack: () => false }));
  }
  await equalMembers(fleet);
  const owners = async (): Promise<number> => new Set((await shards()).flatMap(({ owner }) => owner || [])).size;
  await eventually('each replica owns a shard', async () => (await owners()) === 3, { timeoutMs: 60_000 });
  await eventually('all watch', () => watches.every(({ counts }) => counts.watches > 0));
});
after(async () => {
  await Promise.all(watches.map((watch) => watch.close()));
  balancer?.close();
  await fleet?.close();
  thin?.close();
});

/** Shards with rows: owner, and how often they were written. */
async function shards(): Promise<readonly { readonly id: number; readonly owner: string; readonly writes: string }[]> {
  return await fleet.sql(
    `SELECT id, owner, epoch || '/' || writes AS writes FROM shard
    WHERE id IN (SELECT shard FROM follow) ORDER BY id`,
  );
}

/** Looks how long each shard was not written while its objects changed. */
function measureGaps(signal: AbortSignal): { readonly longestMs: () => number; readonly ended: Promise<void> } {
  const since = new Map<number, { writes: string; atMs: number }>();
  let longestMs = 0;
  const look = async (): Promise<void> => {
    for (const { id, writes } of await shards()) {
      const known = since.get(id);
      const atMs = performance.now();
      if (known !== undefined) longestMs = Math.max(longestMs, atMs - known.atMs);
      if (known?.writes !== writes) since.set(id, { writes, atMs });
    }
  };
  const ended = (async () => {
    while (!signal.aborted) {
      await look();
      await delay(200);
    }
  })();
  return { longestMs: () => longestMs, ended };
}

function takeOut({ port }: GatewayProcess): void {
  ports.splice(ports.indexOf(port), 1);
}

/** Kills a replica, and starts another in its place. */
async function kill(victim: GatewayProcess): Promise<void> {
  takeOut(victim);
  await fleet.stop(victim, 'SIGKILL');
  ports.push((await fleet.start()).port);
}

/** Lets the replica that was started first sleep, until others have taken what it owned. */
async function sleep(sleeper: GatewayProcess): Promise<void> {
  const [first] = await fleet.sql<{ name: string }>('SELECT name FROM replica ORDER BY born LIMIT 1');
  const owned = async (): Promise<number> => (await shards()).filter(({ owner }) => owner === first!.name).length;
  assert.ok((await owned()) > 0, 'it owns shards');
  takeOut(sleeper);
  sleeper.child.kill('SIGSTOP');
  balancer.cut();
  await delay(sleepMs);
  await eventually('others have taken what it owned', async () => (await owned()) === 0);
  sleeper.child.kill('SIGCONT');
  ports.push(sleeper.port);
}

async function loseDatabase(): Promise<void> {
  thin.cut();
  await delay(cutMs);
  thin.open();
}

/** Everything that happens to the replicas while objects change. */
async function trouble() {
  const over = new AbortController();
  const options = { collection: configMaps, changesPerSecond, signal: over.signal };
  const churning = Promise.all(fleet.plane.members.map((member) => churn(member, options)));
  const gaps = measureGaps(over.signal);
  const [sleeper, other] = fleet.replicas as [GatewayProcess, GatewayProcess];
  const endMs = performance.now() + seconds * 1000;
  let kills = 0;
  const killing = async (): Promise<void> => {
    for (let victim = other; performance.now() < endMs && !over.signal.aborted; kills += 1) {
      await kill(victim);
      victim = fleet.replicas.at(-1)!;
      balancer.cut();
      await delay(killEveryMs, undefined, { signal: over.signal }).catch(() => undefined);
    }
  };
  try {
    await Promise.all([killing(), sleep(sleeper).then(loseDatabase)]);
  } finally {
    over.abort();
    await gaps.ended;
  }
  return { churned: await churning, kills, longestMs: Math.round(gaps.longestMs()) };
}

test(
  'after kills, a replica that slept and one without the database, index and watchers have every change once and in order',
  { ...needsPostgres, timeout: (seconds + 300) * 1000 },
  async (t) => {
    const { churned, kills, longestMs } = await trouble();
    await equalMembers(fleet);
    for (const { name, versions } of watches) {
      const own = fleet.plane.members.filter((member) => member.name === name);
      await eventually(
        `${name} has what the members have`,
        async () => {
          const wanted = await versionsOfMembers({ members: own.length === 0 ? fleet.plane.members : own });
          const seen = [...versions()].map(([uid, version]) => [uid, String(version)] as const);
          assert.deepEqual(new Map(seen.toSorted()), wanted);
          return true;
        },
        { timeoutMs: 60_000, everyMs: 300 },
      );
    }
    for (const { name, faults, counts } of watches) {
      assert.deepEqual(faults, [], name);
      assert.ok(counts.watches > kills, `${name}: ${JSON.stringify(counts)}`);
    }
    t.diagnostic(
      `changes ${changesTold(churned)}; ${kills} kills; a shard was not written for ${longestMs} ms at most`,
    );
    t.diagnostic(watches.map(({ name, counts }) => `${name} ${JSON.stringify(counts)}`).join(', '));
    assert.ok(longestMs <= takeOverMs, `a shard was not written for ${longestMs} ms`);
  },
);
