// A database that loses what it had acknowledged, as a standby that was behind takes over, under two replicas and their
// clients on real members: what was lost comes back by itself.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eventually } from '../../../site/polling.ts';
import { startLine, type Line } from '../../../site/line.fixture.ts';
import { needsPostgres, replication, startPostgresServer } from '../../../site/postgres.fixture.ts';
import type { PostgresServer } from '../../../site/postgres.fixture.ts';
import { startReplayedWatch, type ReplayedWatch } from '../../streams/replayed-watch.ts';
import { carol, configMaps, equalMembers, listPath, put, startFleet, type Fleet } from '../churn/fleet-site.ts';
import { versionsOfMembers } from '../churn/fleet-site.ts';
import { startWitness, type Witness } from '../churn/fleet-witness.ts';

let fleet: Fleet;
let standby: PostgresServer;
/** By which the standby hears of changes. */
let upstream: Line;
let witness: Witness;
const watches: ReplayedWatch[] = [];
let hasLost = false;

before(async () => {
  if (needsPostgres.skip !== false) return;
  fleet = await startFleet({
    members: ['m1', 'm2'],
    replicas: 2,
    postgres: { hba: [replication] },
  });
  upstream = await startLine(fleet.server.port);
  standby = await startPostgresServer({ standbyOf: upstream.port });
  witness = startWitness(fleet);
  for (const { port, caPem } of fleet.replicas) {
    const whom = { name: String(port), port, ca: caPem, token: carol.token, path: listPath };
    // What a list shows may go back once for each object, after the loss.
    watches.push(startReplayedWatch({ ...whom, isSetBack: () => hasLost }));
  }
  for (const name of ['kept', 'changed', 'deleted'])
    for (const member of ['m1', 'm2']) await put(fleet.plane, member, name);
  await equalMembers(fleet);
});
after(async () => {
  await Promise.all(watches.map((watch) => watch.close()));
  await witness?.close();
  await fleet?.close();
  upstream?.close();
  await standby?.stop();
});

/** Changes of every kind, of which the replicas have told when this resolves. */
async function change(): Promise<void> {
  const { plane } = fleet;
  for (const member of plane.members) {
    for (let i = 0; i < 5; i += 1) await put(plane, member.name, `new-${i}`);
    await put(plane, member.name, 'changed', 'anew');
    const { status } = await member.request('DELETE', `${configMaps}/deleted`);
    assert.equal(status, 200);
  }
  await equalMembers(fleet);
  await watchersEqual();
}

async function watchersEqual(): Promise<void> {
  for (const watch of watches) {
    await eventually(
      'a watcher has what the members have',
      async () => {
        const seen = [...watch.versions()].map(([uid, version]) => [uid, String(version)] as const);
        assert.deepEqual(new Map(seen.toSorted()), await versionsOfMembers(fleet.plane));
        return true;
      },
      { timeoutMs: 60_000, everyMs: 300 },
    );
  }
}

/** How many rows a server has. */
async function rowsAt({ port }: PostgresServer): Promise<number> {
  return (await fleet.sql<{ n: number }>('SELECT count(*)::int AS n FROM obj', port))[0]!.n;
}

test(
  'a standby that was behind takes over: what is lost is read again, watchers have everything, and nothing wrong is told',
  needsPostgres,
  async (t) => {
    const { server, line } = fleet;
    await watchersEqual();
    await eventually('the standby has all', async () => (await rowsAt(standby)) === (await rowsAt(server)));
    upstream.cut();
    const before = await rowsAt(server);
    await change();
    assert.notEqual(await rowsAt(server), before);
    line.cut();
    hasLost = true;
    await server.crash();
    assert.equal(await rowsAt(standby), before, 'the standby has none of the changes');
    await standby.run('SELECT pg_promote()');
    line.lead(standby.port);
    line.open();
    const askedMs = performance.now();
    // The members stay as they are: nothing but the loss itself leads to reading them again.
    await equalMembers(fleet);
    t.diagnostic(`everything is back after ${Math.round(performance.now() - askedMs)} ms`);
    await watchersEqual();
    assert.deepEqual(witness.faults, []);
    for (const { faults } of watches) assert.deepEqual(faults, []);
    t.diagnostic(JSON.stringify([witness.counts, ...watches.map(({ counts }) => counts)]));
  },
);
