// Processes of two programs share an index in a real PostgreSQL: the newer one writes rows in another form. It comes
// and goes, and in the end takes over all clusters: each row is written again once. Simulators stand for the members;
// postgres/rolling-upgrade.e2e.ts shows the same with real ones.
// Landing tier: two releases on one index write each row once.
import assert from 'node:assert/strict';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { request } from 'node:https';
import { after, before, test } from 'node:test';
import { Client } from 'pg';
import { loadKubernetesSpec } from '../../../../sim/schema/spec.ts';
import { startSimulator, type Simulator } from '../../../../sim/server.ts';
import type { ShardProcessOptions, ShardReport } from '../../../index/shard-process.ts';
import { eventually } from '../../../site/polling.ts';
import { needsPostgres, startPostgresServer, type PostgresServer } from '../../../site/postgres.fixture.ts';

const program = new URL('../../../index/shard-process.ts', import.meta.url).pathname;
const newer = new URL('../../../index/newer-program.ts', import.meta.url).href;
const path = '/api/v1/namespaces/default/configmaps';
/** Each record is another cluster for the index, although one simulator answers for all. */
const names = Array.from({ length: 6 }, (_, i) => `c${i}`);
const objects = ['one', 'two', 'three'];
const takeOver = { timeoutMs: 90_000 };

let server: PostgresServer;
let url: string;
let database: Client;
let simulator: Simulator;
const engines: Engine[] = [];

/** A process that follows clusters. */
class Engine {
  readonly child: ChildProcess;
  report: ShardReport = { own: [], watched: [], clusters: [] };

  constructor(replica: string, isNewer: boolean) {
    const { url: member, caPem, adminToken: token } = simulator;
    const members = names.map((name) => ({ name, url: member, caPem, token }));
    const options: ShardProcessOptions = { url, replica, resources: ['configmaps'], members };
    const execArgv = [...process.execArgv, ...(isNewer ? [`--import=${newer}`] : [])];
    this.child = fork(program, [JSON.stringify(options)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'], execArgv });
    this.child.on('message', (report) => void (this.report = report as ShardReport));
    engines.push(this);
  }

  async end(how: 'close' | 'SIGKILL'): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const ended = once(this.child, 'exit');
    if (how === 'close') this.child.send('close');
    else this.child.kill('SIGKILL');
    await ended;
  }

  async follows(): Promise<void> {
    await eventually('all clusters are followed', () => this.report.watched.length === names.length, takeOver);
  }
}

before(async () => {
  if (needsPostgres.skip !== false) return;
  server = await startPostgresServer();
  url = await server.createDatabase('forms');
  simulator = await startSimulator({ spec: loadKubernetesSpec(), controllers: false });
  for (const name of objects) await put(name);
  const old = new Engine('old', false);
  await old.follows();
  database = new Client({ connectionString: url, options: '-c search_path=portcullis' });
  await database.connect();
  // Each time that a row is written with other searchable values.
  await database.query(`CREATE TABLE rewritten (name text, inc int4);
    CREATE FUNCTION note_rewritten() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO portcullis.rewritten VALUES (convert_from(NEW.name, 'UTF8'), NEW.inc); RETURN NEW; END $$;
    CREATE TRIGGER rewritten AFTER UPDATE ON obj FOR EACH ROW WHEN (OLD.terms IS DISTINCT FROM NEW.terms)
      EXECUTE FUNCTION note_rewritten();`);
});

after(async () => {
  for (const engine of engines) await engine.end('SIGKILL');
  await database?.end();
  await simulator?.close();
  await server?.stop();
});

async function put(name: string): Promise<void> {
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { value: 'kept' } };
  const headers = { authorization: `Bearer ${simulator.adminToken}`, 'content-type': 'application/json' };
  const status = await new Promise<number>((resolve, reject) => {
    const to = { host: '127.0.0.1', port: simulator.port, path, method: 'POST', ca: simulator.caPem, headers };
    const sent = request({ ...to, agent: false }, (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode!));
    });
    sent.on('error', reject).end(JSON.stringify(object));
  });
  assert.equal(status, 201);
}

/** How often each object that was there at the start was written again, for each cluster, most often first. */
async function rewritten(): Promise<readonly number[]> {
  const { rows } = await database.query<{ n: number }>(
    `SELECT (SELECT count(*) FROM rewritten r WHERE r.inc = o.inc AND r.name = convert_from(o.name, 'UTF8'))::int AS n
    FROM obj o WHERE convert_from(o.name, 'UTF8') = ANY($1) ORDER BY 1 DESC`,
    [objects],
  );
  return rows.map(({ n }) => n);
}

/** How many clusters' ConfigMaps are completely in this form. */
async function inForm(form: number): Promise<number> {
  const { rows } = await database.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM follow f JOIN type t ON t.id = f.t WHERE t.key = 'configmaps.' AND f.version <> ''
      AND f.info LIKE '%"keptAs":"[' || $1 || ',%'`,
    [form],
  );
  return rows[0]!.n;
}

async function stored(name: string): Promise<number> {
  const { rows } = await database.query<{ n: number }>('SELECT count(*)::int AS n FROM obj WHERE name = $1', [
    Buffer.from(name),
  ]);
  return rows[0]!.n;
}

test('rows are written again once, however often the newer program ends and comes back', needsPostgres, async () => {
  const [old] = engines as [Engine];
  for (const time of [1, 2]) {
    const canary = new Engine(`newer-${time}`, true);
    await eventually('the newer program has clusters in its form', async () => (await inForm(2)) >= 2, takeOver);
    await canary.end('SIGKILL');
    // It may have been writing the rows of another cluster when it was killed.
    await old.follows();
    const before = await rewritten();
    assert.equal(before[0], 1, JSON.stringify(before));
    // The older program goes on, and leaves what it finds.
    await put(`while-away-${time}`);
    await eventually('it writes', async () => (await stored(`while-away-${time}`)) === names.length);
    assert.deepEqual(await rewritten(), before);
  }
  const last = new Engine('newer-3', true);
  await eventually('the newer program has clusters', () => last.report.own.length > 0, takeOver);
  await old.end('close');
  await last.follows();
  await eventually('all is in the newer form', async () => (await inForm(2)) === names.length, takeOver);
  assert.deepEqual(
    await rewritten(),
    names.flatMap(() => objects.map(() => 1)),
  );
});
