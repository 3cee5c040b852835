// What happens to two replicas, their clients and real members while the database is slow, cut off or full: requests to
// members never notice, the index refuses or warns, and everything is as it should be afterwards.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chownSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { eventually } from '../../../site/polling.ts';
import { needsPostgres, type PostgresServer } from '../../../site/postgres.fixture.ts';
import { startReplayedWatch, type ReplayedWatch } from '../../streams/replayed-watch.ts';
import { allWhole, carol, configMaps, equalMembers, get, listPath, put } from '../churn/fleet-site.ts';
import { startFleet, versionsOfMembers, type Fleet } from '../churn/fleet-site.ts';
import { startWitness, type Witness } from '../churn/fleet-witness.ts';

const diskBytes = 64 << 20;
let fleet: Fleet;
let witness: Witness;
let watch: ReplayedWatch;
/** A small disk of its own for the tables of the index; undefined where this user may not make one. */
let disk: string | undefined;

before(async () => {
  if (needsPostgres.skip !== false) return;
  fleet = await startFleet({ members: ['m1', 'm2'], replicas: 2, prepare: makeDisk });
  witness = startWitness(fleet);
  const [{ port, caPem }] = fleet.replicas as [Fleet['replicas'][number]];
  const whom = { name: 'watch', port, ca: caPem, token: carol.token, path: listPath };
  watch = startReplayedWatch({ ...whom, isSetBack: () => false });
  for (const member of ['m1', 'm2']) await put(fleet.plane, member, 'first');
  await isAsBefore();
});
after(async () => {
  await watch?.close();
  await witness?.close();
  // The server has files open there, and needs them no more.
  if (disk !== undefined) execFileSync('umount', ['--lazy', disk]);
  await fleet?.close();
});

async function makeDisk(server: PostgresServer): Promise<string> {
  const folder = join(server.directory, 'small');
  mkdirSync(folder);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${diskBytes}`, 'none', folder], { stdio: 'ignore' });
  } catch {
    return '';
  }
  disk = folder;
  const place = join(folder, 'tables');
  mkdirSync(place, { mode: 0o700 });
  const { uid, gid } = statSync(join(server.directory, 'data'));
  chownSync(place, uid, gid);
  await server.run(`CREATE TABLESPACE small LOCATION '${place}'`);
  return 'TABLESPACE small';
}

/** Resolves when all have what the members have, without a warning. Nothing wrong was told until then. */
async function isAsBefore(): Promise<void> {
  await equalMembers(fleet);
  for (const replica of fleet.replicas) {
    await eventually('no warning is left', async () => (await get(replica, listPath)).warnings.length === 0, {
      timeoutMs: 60_000,
    });
  }
  await eventually(
    'the watch has told everything',
    async () => {
      const seen = [...watch.versions()].map(([uid, version]) => [uid, String(version)] as const);
      assert.deepEqual(new Map(seen.toSorted()), await versionsOfMembers(fleet.plane));
      return true;
    },
    { timeoutMs: 60_000 },
  );
  assert.deepEqual(witness.faults, []);
  assert.deepEqual(watch.faults, []);
}

/** Resolves when requests to members were answered so many times again. */
async function doorsAnswer(times: number): Promise<void> {
  const before = witness.counts.door;
  await eventually('requests to members are answered', () => witness.counts.door >= before + times);
  assert.deepEqual(witness.faults, []);
}

test(
  'a database that takes two seconds more for each answer: members answer meanwhile, the index late or not at all',
  needsPostgres,
  async (t) => {
    const { line, plane, replicas } = fleet;
    line.slow(2_000);
    const before = witness.counts.door;
    const asked = replicas.map((replica) => get(replica, listPath));
    await put(plane, 'm1', 'while-slow');
    // A list takes several questions to the database, a request to a member none.
    await doorsAnswer(10);
    for (const { status, text } of await Promise.all(asked)) assert.ok(status === 200 || status === 503, text);
    t.diagnostic(`${witness.counts.door - before} requests to members during two lists`);
    line.slow(0);
    await isAsBefore();
  },
);

test(
  'all connections to the database are cut again and again under changes: nobody who watches loses anything',
  needsPostgres,
  async () => {
    const { line, plane } = fleet;
    for (let round = 0; round < 8; round += 1) {
      for (const member of ['m1', 'm2']) await put(plane, member, `cut-${round % 3}`, String(round));
      line.cut();
      await doorsAnswer(2);
      line.open();
      for (const member of ['m1', 'm2']) await put(plane, member, 'after-cut', String(round));
    }
    await isAsBefore();
  },
);

test(
  'the disk of the database is full: lists answer with a warning of it, and go on once there is room',
  needsPostgres,
  async (t) => {
    if (disk === undefined) return void t.skip('needs the right to mount a file system');
    const { plane, replicas } = fleet;
    const filler = join(disk, 'filler');
    fill(filler);
    const text = 'x'.repeat(200_000);
    // What is there already may have room in its pages: so much has not.
    for (let i = 0; i < 10; i += 1) await put(plane, 'm2', `large-${i}`, text);
    const warning = /m2: configmaps shown as of .* ago: the database of the index has no disk space left: give it more/;
    for (const replica of replicas) {
      await eventually(
        'it warns',
        async () => {
          const { status, warnings } = await get(replica, listPath);
          return status === 200 && warning.test(warnings.join());
        },
        { timeoutMs: 60_000, everyMs: 200 },
      );
    }
    await doorsAnswer(5);
    rmSync(filler);
    for (let i = 0; i < 10; i += 1) {
      const { status } = await plane.member('m2').request('DELETE', `${configMaps}/large-${i}`);
      assert.equal(status, 200);
    }
    await isAsBefore();
    await allWhole(fleet);
  },
);

/** Writes until there is no room. */
function fill(file: string): void {
  for (let bytes = diskBytes; bytes >= 4096;) {
    try {
      writeFileSync(file, Buffer.alloc(bytes), { flag: 'a' });
    } catch {
      bytes /= 2;
    }
  }
}
