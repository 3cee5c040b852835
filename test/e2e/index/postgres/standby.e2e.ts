// The index on a real standby: what can be read there, what a gateway that is led there says, and that it begins by
// itself once the standby has taken over.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { allOf } from '../../../../query/list-query.ts';
import { Life, pods } from '../../../../store/conformance/lives.fixture.ts';
import { openPostgresStore } from '../../../../store/postgres/store.ts';
import { needsPostgres, replication, startPostgresServer } from '../../../site/postgres.fixture.ts';
import type { PostgresServer } from '../../../site/postgres.fixture.ts';
import { eventually } from '../../../site/polling.ts';
import { configMaps, equalMembers, get, listPath, put, startFleet, type Fleet } from '../churn/fleet-site.ts';

const run = promisify(execFile);
const program = new URL('../../../../bin/portcullis.mjs', import.meta.url).pathname;
const isReadOnly = /the database of the index is read-only, as a standby is: name the primary in the URL/;
let fleet: Fleet;
let standby: PostgresServer;

before(async () => {
  if (needsPostgres.skip !== false) return;
  fleet = await startFleet({ members: ['m1'], replicas: 1, postgres: { hba: [replication] } });
  standby = await startPostgresServer({ standbyOf: fleet.server.port });
});
after(async () => {
  await fleet?.close();
  await standby?.stop();
});

test(
  'whoever reads a resourceVersion on a standby reads every change up to it, while three processes write',
  needsPostgres,
  async (t) => {
    const database = 'read_there';
    const url = await fleet.server.createDatabase(database);
    const open = async (at: string) => {
      const store = await openPostgresStore({ url: at, connections: 4 });
      t.after(() => store.close());
      return store;
    };
    const primaries = [await open(url), await open(url), await open(url)];
    const start = primaries[0]!.resourceVersion();
    const there = new URL(url);
    there.port = String(standby.port);
    const reader = await eventually('the standby has the tables', () => open(there.href));
    const heard = new Set<string>();
    reader.onCommit((resourceVersion) => heard.add(resourceVersion));
    const lives = primaries.map((_, i) => new Life(200 + i));
    const seen: { readonly at: string; readonly entries: readonly string[] }[] = [];
    const look = async (): Promise<string> => {
      const { resourceVersion: at } = await reader.readPoint();
      const entries = (await reader.changes(start, ['pods.'], 10_000)).map(({ resourceVersion }) => resourceVersion);
      seen.push({ at, entries: entries.filter((version) => version <= at) });
      return at;
    };
    const writing = new AbortController();
    const watch = async (): Promise<void> => {
      while (!writing.signal.aborted) await look();
    };
    const watching = watch();
    const write = async (i: number): Promise<string> => {
      for (let version = 1; ; version++) {
        const { resourceVersion } = await primaries[i]!.apply(lives[i]!.batch([lives[i]!.row('web', version)]));
        if (version === 60) return resourceVersion;
      }
    };
    const last = await Promise.all(primaries.map((_, i) => write(i))).finally(() => writing.abort());
    await watching;
    const newest = last.toSorted().at(-1)!;
    await eventually('the standby has the last change', async () => (await look()) >= newest);
    const all = (await primaries[0]!.changes(start, ['pods.'], 10_000)).map(({ resourceVersion }) => resourceVersion);
    assert.equal(all.length, 3 * 60);
    assert.ok(new Set(seen.map(({ at }) => at)).size > 5, 'it read while they wrote');
    for (const { at, entries } of seen)
      assert.deepEqual(
        entries,
        all.filter((version) => version <= at),
      );
    await eventually('it hears of the last change', () => heard.has(newest));
    for (const { scope } of lives) assert.equal((await reader.count(allOf(pods), scope)).count, 1);
    await assert.rejects(reader.apply(lives[0]!.batch([lives[0]!.row('web', 99)])), { message: isReadOnly });
  },
);

test(
  'a gateway that is led to a standby says so, and begins by itself when the standby has taken over',
  needsPostgres,
  async () => {
    const { plane, server, line } = fleet;
    await put(plane, 'm1', 'before');
    await equalMembers(fleet);
    const gateway = await fleet.start({ env: { PORTCULLIS_INDEX_STORE: fleet.database(standby.port) } });
    const readyz = async (): Promise<string> => (await fetch(`${gateway.opsUrl}/readyz?verbose`)).text();
    await eventually('readyz says it', async () => isReadOnly.test(await readyz()));
    const { status, text } = await get(gateway, listPath);
    assert.equal(status, 503, text);
    assert.match(text, isReadOnly);
    assert.equal((await get(gateway, `/clusters/m1/proxy${configMaps}`)).status, 200);
    const checked = await check(fleet.database(standby.port));
    assert.equal(checked.code, 2, checked.said);
    assert.match(checked.said, isReadOnly);
    line.cut();
    await server.crash();
    await standby.run('SELECT pg_promote()');
    line.lead(standby.port);
    line.open();
    await put(plane, 'm1', 'after');
    await equalMembers(fleet);
    assert.doesNotMatch(await readyz(), isReadOnly);
  },
);

/** Runs `portcullis check` with a database. */
async function check(indexStore: string): Promise<{ readonly code: number; readonly said: string }> {
  const file = join(fleet.plane.dir, 'check.yaml');
  const tokens = join(fleet.plane.dir, 'check-tokens.csv');
  writeFileSync(tokens, 'a-token-of-some-length,carol,,\n', { mode: 0o600 });
  writeFileSync(file, JSON.stringify({ indexStore, kubeconfig: fleet.plane.gatewayKubeconfig, tokenAuthFile: tokens }));
  const done = await run(process.execPath, [program, 'check', '--config', file]).catch(
    (error: unknown) => error as { code: number; stdout: string; stderr: string },
  );
  return { code: 'code' in done ? done.code : 0, said: `${done.stdout}${done.stderr}` };
}
