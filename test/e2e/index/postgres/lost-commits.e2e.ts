// A PostgreSQL that is killed with `synchronous_commit = off` for the role of the index, as the how-to recommends: what
// it had acknowledged is gone. Two replicas and their clients on real members must end with everything all the same.
import assert from 'node:assert/strict';
import { after, afterEach, before, test, type TestContext } from 'node:test';
import type { GatewayProcess } from '../../../gateway-process.ts';
import { eventually } from '../../../site/polling.ts';
import { needsPostgres } from '../../../site/postgres.fixture.ts';
import { startReplayedWatch, type ReplayedWatch } from '../../streams/replayed-watch.ts';
import { carol, configMaps, equalMembers, get, listPath, put, startFleet } from '../churn/fleet-site.ts';
import { versionsAt, versionsOfMembers, type Fleet, type Listed } from '../churn/fleet-site.ts';
import { startWitness, type Witness } from '../churn/fleet-witness.ts';

/** Nothing but the WAL writer, which a test stops, writes what is committed before a checkpoint. */
const settings = {
  wal_writer_delay: '10s',
  checkpoint_timeout: '1h',
  autovacuum: 'off',
  bgwriter_lru_maxpages: '0',
};
let fleet: Fleet;
let witness: Witness;
let watches: ReplayedWatch[] = [];
let hasLost = false;
let walWriter: number | undefined;

before(async () => {
  if (needsPostgres.skip !== false) return;
  const prepare = async ({ run }: Fleet['server']): Promise<string> => {
    await run('ALTER ROLE fleet SET synchronous_commit = off');
    return '';
  };
  fleet = await startFleet({ members: ['m1', 'm2'], replicas: 2, postgres: { settings }, prepare });
  witness = startWitness(fleet);
});
afterEach(async () => {
  await Promise.all(watches.map((watch) => watch.close()));
});
after(async () => {
  await witness?.close();
  // A server that waits for a stopped process does not end.
  letWrite();
  await fleet?.close();
});

/** What somebody has seen of the index before the loss. */
interface Seen {
  /** Stayed: a list of all, with its resourceVersion. */
  readonly kept: { readonly version: string; readonly versions: ReadonlyMap<string, string> };
  /** Was lost: the resourceVersion of a list, and the continue token of its first page. */
  readonly lost: { readonly version: string; readonly token: string };
  /** The time of the last change that was acknowledged, in microseconds. */
  readonly lastUs: number;
}

/** The database acknowledges changes of every kind and writes none of them, and all clients are told of them. */
async function acknowledgeWithoutWriting(): Promise<Seen> {
  const { plane, server, replicas } = fleet;
  for (const name of ['kept', 'changed', 'deleted'])
    for (const { name: member } of plane.members) await put(plane, member, name);
  for (const { request } of plane.members) {
    // Of the test before.
    for (let i = 0; i < 5; i += 1) await request('DELETE', `${configMaps}/new-${i}`);
  }
  await equalMembers(fleet);
  hasLost = false;
  watches = replicas.map(({ port, caPem }) => {
    const whom = { name: String(port), port, ca: caPem, token: carol.token, path: listPath };
    // What a watch shows may go back once for each object, after the loss.
    return startReplayedWatch({ ...whom, isSetBack: () => hasLost });
  });
  await watchersEqual();
  const kept = { version: (await listed('')).version, versions: await versionsAt(replicas[0]!) };
  const [row] = await server.run("SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'");
  walWriter = Number(row!['pid']);
  await server.run('CHECKPOINT');
  process.kill(walWriter, 'SIGSTOP');
  for (const member of plane.members) {
    for (let i = 0; i < 5; i += 1) await put(plane, member.name, `new-${i}`);
    await put(plane, member.name, 'changed', String(Date.now()));
    assert.equal((await member.request('DELETE', `${configMaps}/deleted`)).status, 200);
  }
  await equalMembers(fleet);
  await watchersEqual();
  const lost = await listed('?limit=2');
  return { kept, lost, lastUs: await lastUs() };
}

function letWrite(): void {
  if (walWriter === undefined) return;
  try {
    process.kill(walWriter, 'SIGCONT');
  } catch {
    // It was killed with its server.
  }
}

/** The database is killed and started again. Nobody reaches it before it is proven that it has lost changes. */
async function lose({ lastUs: acknowledgedUs }: Seen, t: TestContext): Promise<void> {
  const { server, line } = fleet;
  line.cut();
  hasLost = true;
  await server.kill();
  await server.start();
  const keptUs = await lastUs();
  assert.ok(keptUs < acknowledgedUs, 'the database has lost a commit that it had acknowledged');
  const rows = await fleet.sql<{ n: number }>(`SELECT count(*)::int AS n FROM obj WHERE name LIKE 'new-%'`);
  assert.equal(rows[0]!.n, 0, 'it has none of the new rows');
  t.diagnostic(`the last ${Math.round((acknowledgedUs - keptUs) / 1000)} ms of changes are lost`);
}

/** Everything is as the members have it, to everybody, and nothing that was told and lost is told again. */
async function isMended({ kept, lost, lastUs: acknowledgedUs }: Seen): Promise<void> {
  const { replicas, plane } = fleet;
  // The members stay as they are: nothing but the loss itself leads to reading them again.
  for (const replica of replicas) {
    for (const query of [
      `watch=true&timeoutSeconds=1&resourceVersion=${lost.version}`,
      `resourceVersion=${lost.version}`,
      `limit=2&continue=${encodeURIComponent(lost.token)}`,
    ])
      await isExpired(replica, query);
  }
  await equalMembers(fleet);
  await watchersEqual();
  for (const replica of replicas) assert.deepEqual(await followed(replica, kept), await versionsOfMembers(plane));
  const again = await fleet.sql<{ sequence: string }>(
    `SELECT sequence FROM change WHERE sequence <= ${acknowledgedUs} AND sequence > ${timeUsOf(kept.version)}`,
  );
  assert.deepEqual(again, [], 'no resourceVersion between what was kept and what was lost is given to a change again');
  assert.deepEqual(witness.faults, []);
  for (const { faults } of watches) assert.deepEqual(faults, []);
}

/** The time of a resourceVersion in microseconds: three digits of the store follow it. */
function timeUsOf(version: string): string {
  return version.slice(0, -3);
}

async function lastUs(): Promise<number> {
  return Number((await fleet.sql<{ last: string }>('SELECT last FROM sequencer'))[0]!.last);
}

async function listed(query: string): Promise<Seen['lost']> {
  const { status, text } = await get(fleet.replicas[0]!, listPath + query);
  assert.equal(status, 200, text);
  const { metadata } = JSON.parse(text) as { metadata: { resourceVersion: string; continue?: string } };
  return { version: metadata.resourceVersion, token: metadata.continue ?? '' };
}

/** Resolves when a question is answered with 410. Until the index has caught up it may refuse, but never answer. */
async function isExpired(replica: GatewayProcess, query: string): Promise<void> {
  const code = await eventually(`an answer to ${query}`, async () => {
    const answered = codeOf(await get(replica, `${listPath}?${query}`));
    return answered !== 503 && answered !== 504 && answered;
  });
  assert.equal(code, 410, query);
}

/** The status of an answer, or of the event that ends a watch. */
function codeOf({ status, text }: Listed): number {
  return status === 200 && text.startsWith('{"type":"ERROR"')
    ? (JSON.parse(text) as { object: { code: number } }).object.code
    : status;
}

/** What a client has that goes on from a list of before the loss by a watch. */
async function followed(replica: GatewayProcess, { version, versions }: Seen['kept']): Promise<Map<string, string>> {
  const { status, text } = await get(replica, `${listPath}?watch=true&timeoutSeconds=1&resourceVersion=${version}`);
  assert.equal(status, 200, text);
  const now = new Map(versions);
  for (const line of text.trim().split('\n')) {
    const { type, object } = JSON.parse(line) as {
      readonly type: string;
      readonly object: { readonly metadata: { readonly uid: string; readonly resourceVersion: string } };
    };
    assert.match(type, /^(?:ADDED|MODIFIED|DELETED|BOOKMARK)$/, line);
    const { uid, resourceVersion } = object.metadata;
    if (type === 'DELETED') now.delete(uid);
    else if (type !== 'BOOKMARK') now.set(uid, resourceVersion);
  }
  return new Map([...now].toSorted());
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

test(
  'a server that is killed has lost what it had acknowledged: all of it is read again, and what was told of it expires',
  needsPostgres,
  async (t) => {
    const seen = await acknowledgeWithoutWriting();
    await lose(seen, t);
    fleet.line.open();
    await isMended(seen);
  },
);

test(
  'the same when all replicas are killed with it, so that nobody remembers what was acknowledged',
  needsPostgres,
  async (t) => {
    const seen = await acknowledgeWithoutWriting();
    const ports = fleet.replicas.map(({ port }) => port);
    for (const replica of [...fleet.replicas]) await fleet.stop(replica, 'SIGKILL');
    await lose(seen, t);
    fleet.line.open();
    for (const port of ports) await fleet.start({ port });
    await isMended(seen);
  },
);
