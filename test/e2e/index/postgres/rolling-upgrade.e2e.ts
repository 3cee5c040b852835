// Three replicas over one PostgreSQL are replaced one after the other by a newer program, as a rolling upgrade does,
// while objects of real members change and clients list and watch through a balancer: no request fails, no event is
// lost, and the newer program, which writes rows in another form, writes each row again once.
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { after, before, test } from 'node:test';
import { startBalancer, type Balancer } from '../../../hub/balancer.ts';
import type { GatewayProcess } from '../../../gateway-process.ts';
import { eventually } from '../../../site/polling.ts';
import { needsPostgres } from '../../../site/postgres.fixture.ts';
import { startReplayedWatch, type ReplayedWatch } from '../../streams/replayed-watch.ts';
import { changesTold, churn } from '../churn/churn.ts';
import { allWhole, carol, configMaps, equalMembers, get, indexPath, listPath, put } from '../churn/fleet-site.ts';
import { startFleet, versionsOfMembers, type Fleet } from '../churn/fleet-site.ts';

let fleet: Fleet;
let balancer: Balancer;
/** Replicas that the balancer leads to: it takes one out before that one is told to end. */
const ports: number[] = [];
const watches: ReplayedWatch[] = [];

/** A program that writes rows in a newer form. */
const newer = { NODE_OPTIONS: `--import ${new URL('../../../index/newer-program.ts', import.meta.url).href}` };
/** Objects that nobody changes. */
const quiet = ['quiet-0', 'quiet-1', 'quiet-2'];

/** Starts a fleet whose rows are all in the older form. */
async function beginFleet(): Promise<void> {
  // One replica has all members, so that another one that joins is given some of them.
  fleet = await startFleet({ members: ['m1', 'm2'], replicas: 1 });
  for (const { name } of fleet.plane.members) for (const each of quiet) await put(fleet.plane, name, each, 'kept');
  await equalMembers(fleet);
  await noteForms();
}

before(async () => {
  if (needsPostgres.skip !== false) return;
  await beginFleet();
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

/** What became of the requests of one load so far. */
interface Load {
  asked: number;
  readonly failed: string[];
}

/** Asks the balancer all the time, until `signal` is aborted, and counts in `counts`. */
async function load(path: string, counts: Load, signal: AbortSignal): Promise<void> {
  for (; !signal.aborted; counts.asked += 1) {
    const front = { ...fleet.replicas[0]!, url: `https://127.0.0.1:${balancer.port}` };
    const { status, text } = await get(front, path).catch((error: unknown) => ({ status: 0, text: String(error) }));
    if (status !== 200) counts.failed.push(`${path}: ${status} ${text.slice(0, 300)}`);
    await delay(20);
  }
}

/** Notes from now on how often each row is written with other searchable values, and each change of a type's form. */
async function noteForms(): Promise<void> {
  await fleet.sql(`CREATE TABLE rewritten (name text, inc int4);
    CREATE FUNCTION note_rewritten() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO portcullis.rewritten VALUES (convert_from(NEW.name, 'UTF8'), NEW.inc); RETURN NEW; END $$;
    CREATE TRIGGER rewritten AFTER UPDATE ON obj FOR EACH ROW WHEN (OLD.terms IS DISTINCT FROM NEW.terms)
      EXECUTE FUNCTION note_rewritten();`);
}

/**
 * Asks for the objects that nobody changes by a value that only the newer form makes searchable. Whoever answers, and
 * in whichever form each row is, all of them are found.
 */
async function findsQuiet(replica: GatewayProcess): Promise<void> {
  const { status, text } = await get(replica, `${listPath}?fieldSelector=data.value%3Dkept`);
  assert.equal(status, 200, text);
  const { items } = JSON.parse(text) as { readonly items: readonly { readonly metadata: { readonly name: string } }[] };
  const names = items.map(({ metadata }) => metadata.name);
  assert.deepEqual(names.toSorted(), fleet.plane.members.flatMap(() => quiet).toSorted());
}

/** How often each object that nobody changes was written again, over all members. */
async function rewritten(): Promise<readonly number[]> {
  const rows = await fleet.sql<{ n: number }>(
    `SELECT (SELECT count(*) FROM rewritten r WHERE r.inc = o.inc AND r.name = convert_from(o.name, 'UTF8'))::int AS n
    FROM obj o WHERE convert_from(o.name, 'UTF8') LIKE 'quiet-%'`,
  );
  return rows.map(({ n }) => n);
}

/** How many members' ConfigMaps are completely in the newer form, and how many of them a newer program follows. */
async function inNewerForm(): Promise<number> {
  const [row] = await fleet.sql<{ n: number }>(
    `SELECT count(*)::int AS n FROM follow f JOIN type t ON t.id = f.t
    WHERE t.key = 'configmaps.' AND f.version <> '' AND f.info LIKE '%"keptAs":"[2,%'`,
  );
  return row!.n;
}

test('three replicas are replaced under load without a failed request or a lost event', needsPostgres, async (t) => {
  for (const { port } of [await fleet.start(), await fleet.start()]) ports.push(port);
  await allWhole(fleet);
  const all = [...fleet.replicas];
  const over = new AbortController();
  const { signal } = over;
  const paths = [`/clusters/m1/proxy${configMaps}`, listPath, `${indexPath}/counts?resource=configmaps`];
  const loads = paths.map((): Load => ({ asked: 0, failed: [] }));
  const loading = Promise.all(paths.map((path, i) => load(path, loads[i]!, signal)));
  const options = { collection: configMaps, changesPerSecond: 20, signal };
  const churning = Promise.all(fleet.plane.members.map((member) => churn(member, options)));
  for (const old of [...fleet.replicas]) {
    const next = await fleet.start({ env: newer });
    all.push(next);
    await allWhole({ replicas: [next], plane: fleet.plane });
    await findsQuiet(next);
    ports.push(next.port);
    ports.splice(ports.indexOf(old.port), 1);
    assert.equal(await fleet.stop(old, 'SIGTERM'), 0);
    // Each replacement is under load, however slow the machine is.
    const before = loads.map(({ asked }) => asked);
    const isLoaded = (): boolean => loads.every(({ asked }, i) => asked >= before[i]! + 7);
    await eventually('every load has been answered again', isLoaded, { timeoutMs: 120_000 });
  }
  over.abort();
  await loading;
  const churned = await churning;
  for (const line of all.flatMap((replica) => replica.log().split('\n'))) {
    if (line.includes('internal error')) t.diagnostic(line);
  }
  for (const { failed } of loads) assert.deepEqual(failed, []);
  await equalMembers(fleet);
  await eventually('all is in the newer form', async () => (await inNewerForm()) === fleet.plane.members.length);
  const often = await rewritten();
  assert.deepEqual([often.length, new Set(often)], [quiet.length * fleet.plane.members.length, new Set([1])]);
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
  t.diagnostic(`${loads.map(({ asked }) => asked).join(' + ')} requests, changes ${changesTold(churned)}`);
  t.diagnostic(watches.map(({ counts }) => JSON.stringify(counts)).join());
});

test(
  'a newer program that ends, and comes back, finds the rows that it has written: the older ones leave them',
  needsPostgres,
  async () => {
    await Promise.all(watches.splice(0).map((watch) => watch.close()));
    await fleet.close();
    await beginFleet();
    const { plane } = fleet;
    for (let time = 1; time <= 2; time += 1) {
      const canary = await fleet.start({ env: newer });
      await allWhole({ replicas: [canary], plane });
      await findsQuiet(canary);
      await eventually('the newer program follows a member', async () => (await inNewerForm()) > 0, {
        timeoutMs: 90_000,
      });
      await findsQuiet(canary);
      const before = await rewritten();
      assert.ok(
        before.every((n) => n <= 1),
        JSON.stringify(before),
      );
      assert.ok(before.includes(1), 'it has written rows in its form');
      await fleet.stop(canary, 'SIGKILL');
      // Somebody of the older form takes the member over, and follows on.
      for (const { name } of plane.members) await put(plane, name, `while-away-${time}`, 'x');
      await equalMembers(fleet);
      assert.deepEqual(await rewritten(), before, 'no row was written again');
    }
  },
);
