// Two replicas of a gateway that reach the database of their index through a real PgBouncer in transaction mode, over
// real members: who follows what is agreed on, watchers have everything, also when PgBouncer is killed under changes.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { GatewayProcess } from '../../../gateway-process.ts';
import { needsPgBouncer, startPgBouncer, type PgBouncer } from '../../../site/pgbouncer.fixture.ts';
import { eventually } from '../../../site/polling.ts';
import { startReplayedWatch, type ReplayedWatch } from '../../streams/replayed-watch.ts';
import { allWhole, carol, equalMembers, get, listPath, put } from '../churn/fleet-site.ts';
import { startFleet, versionsOfMembers, type Fleet } from '../churn/fleet-site.ts';
import { startWitness, type Witness } from '../churn/fleet-witness.ts';

/** Connections to the server; the replicas have 22 to PgBouncer. */
const poolSize = 4;
const members = ['m1', 'm2'];
let fleet: Fleet;
let bouncer: PgBouncer;
let witness: Witness;
const watches: ReplayedWatch[] = [];

before(async () => {
  if (needsPgBouncer.skip !== false) return;
  fleet = await startFleet({ members, replicas: 0 });
  const users = { fleet: 'fleet' };
  bouncer = await startPgBouncer({ toPort: fleet.server.port, mode: 'transaction', poolSize, users });
  for (const _ of [1, 2]) await fleet.start({ env: { PORTCULLIS_INDEX_STORE: fleet.database(bouncer.port) } });
  await allWhole(fleet);
  witness = startWitness(fleet);
  for (const { port, caPem } of fleet.replicas) {
    const whom = { name: String(port), port, ca: caPem, token: carol.token, path: listPath };
    watches.push(startReplayedWatch({ ...whom, isSetBack: () => false }));
  }
});
after(async () => {
  await Promise.all(watches.map((watch) => watch.close()));
  await witness?.close();
  await fleet?.close();
  await bouncer?.stop();
});

async function readyz(replica: GatewayProcess): Promise<string> {
  return await (await fetch(`${replica.opsUrl}/readyz?verbose`)).text();
}

/** Resolves when all lists and all watches have what the members have; nothing wrong was told until then. */
async function allHaveEverything(): Promise<void> {
  await equalMembers(fleet);
  for (const watch of watches) {
    const isEqual = async (): Promise<boolean> => {
      const seen = [...watch.versions()].map(([uid, version]) => [uid, String(version)] as const);
      assert.deepEqual(new Map(seen.toSorted()), await versionsOfMembers(fleet.plane));
      return true;
    };
    await eventually('a watch has told everything', isEqual, { timeoutMs: 60_000 });
    assert.deepEqual(watch.faults, []);
  }
  assert.deepEqual(witness.faults, []);
}

test(
  'lists and watches of both have all changes, and a continue token goes from one to the other',
  needsPgBouncer,
  async () => {
    const { plane, replicas } = fleet;
    for (const member of members) for (const name of ['one', 'two', 'three']) await put(plane, member, name);
    await allHaveEverything();
    const [one, other] = replicas as [GatewayProcess, GatewayProcess];
    const first = JSON.parse((await get(one, `${listPath}?limit=2`)).text);
    const rest = await get(other, `${listPath}?continue=${encodeURIComponent(first.metadata.continue)}`);
    assert.equal(rest.status, 200, rest.text);
    const uids = [...first.items, ...JSON.parse(rest.text).items].map(({ metadata }) => metadata.uid as string);
    assert.deepEqual(uids.toSorted(), [...(await versionsOfMembers(plane)).keys()].toSorted());
    const [{ sessions }] = (await fleet.sql<{ sessions: number }>(
      "SELECT count(*)::int AS sessions FROM pg_stat_activity WHERE datname = 'fleet' AND pid <> pg_backend_pid()",
    )) as [{ sessions: number }];
    assert.ok(sessions <= poolSize, `${sessions} sessions`);
  },
);

test(
  'PgBouncer is killed again and again under changes: members answer, and nobody who watches loses anything',
  needsPgBouncer,
  async () => {
    for (let round = 0; round < 4; round += 1) {
      for (const member of members) await put(fleet.plane, member, `round-${round % 3}`, String(round));
      const before = witness.counts.door;
      await bouncer.crash();
      await put(fleet.plane, 'm1', 'while-away', String(round));
      for (const replica of fleet.replicas) {
        const isNoticed = async (): Promise<boolean> =>
          /\]index .*the database of the index is not reachable/.test(await readyz(replica));
        await eventually('readyz says that the database is not reachable', isNoticed);
        assert.equal((await get(replica, listPath)).status, 503);
      }
      await eventually('requests to members are answered', () => witness.counts.door >= before + 2);
      await bouncer.start();
      for (const member of members) await put(fleet.plane, member, 'after', String(round));
    }
    await allHaveEverything();
    for (const replica of fleet.replicas) {
      const isQuiet = async (): Promise<boolean> => (await get(replica, listPath)).warnings.length === 0;
      await eventually('no warning is left', isQuiet, { timeoutMs: 60_000 });
    }
  },
);
