// The store that the index is compared with: Clusterpedia's table and indexes in a PostgreSQL server that is started
// here and queried with psql. When the server cannot be started, the benchmark must fail and remove everything that it
// has created.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, globSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { clusterName, clusterObjects, type GeneratedObject } from './generator.ts';

/** The table of Clusterpedia v0.9.1 as gorm creates it (pkg/storage/internalstorage/types.go). */
export const rivalTable = `
CREATE TABLE resources (
  id bigserial PRIMARY KEY, "group" varchar(63) NOT NULL, version varchar(15) NOT NULL, resource varchar(63) NOT NULL,
  kind varchar(63) NOT NULL, cluster varchar(253) NOT NULL, namespace varchar(253) NOT NULL, name varchar(253) NOT NULL,
  owner_uid varchar(36) NOT NULL DEFAULT '', uid varchar(36) NOT NULL, resource_version varchar(30) NOT NULL,
  object jsonb NOT NULL, events jsonb, event_resource_versions jsonb,
  created_at timestamptz NOT NULL, synced_at timestamptz NOT NULL DEFAULT now(), deleted_at timestamptz
);`;
/**
 * Clusterpedia's indexes. They are created after the rows have been loaded, which makes loading faster; this favours
 * PostgreSQL in the comparison.
 */
export const rivalIndexes = `
CREATE UNIQUE INDEX uni_group_version_resource_cluster_namespace_name
  ON resources ("group", version, resource, cluster, namespace, name);
CREATE INDEX idx_group_version_resource_namespace_name ON resources ("group", version, resource, namespace, name);
CREATE INDEX idx_group_version_resource_name ON resources ("group", version, resource, name);
CREATE INDEX idx_cluster ON resources (cluster);`;
/** To be run after {@link rivalIndexes}, and not together with it: VACUUM does not run in a transaction. */
export const rivalVacuum = 'VACUUM ANALYZE resources;';

/** Settings of the PostgreSQL server. Results of two runs can be compared only when both used the same settings. */
const settings = {
  shared_buffers: '4GB',
  effective_cache_size: '8GB',
  work_mem: '64MB',
  maintenance_work_mem: '512MB',
  synchronous_commit: 'off',
  jit: 'off',
  listen_addresses: '',
  max_wal_size: '8GB',
} as const;

export interface Postgres {
  readonly version: string;
  readonly pid: number;
  /** Path of the folder with the server's unix socket. */
  readonly directory: string;
  /** `postgres://` URL of the database with Clusterpedia's table. */
  readonly url: string;
  /** Loads the objects and creates the indexes. */
  readonly load: (source: RivalObjects, progress: (line: string) => void) => Promise<void>;
  /**
   * Runs the query `runs` times over one connection and ignores the rows; resolves with the milliseconds of each run.
   */
  readonly time: (sql: string, runs: number) => Promise<readonly number[]>;
  /** Runs a query and returns the first column of its first row. */
  readonly value: (sql: string) => string;
  /** Creates another database on this server, for a gateway's index that is compared; returns its `postgres://` URL. */
  readonly createDatabase: (name: string) => string;
  readonly stop: () => Promise<void>;
}

/** Which objects to load; they come from {@link clusterObjects}. */
export interface RivalObjects {
  readonly clusters: number;
  /** Returns the name of the n-th cluster; by default the generated name. */
  readonly nameOf?: (index: number) => string;
  /** Whether an object should be loaded; by default all are. */
  readonly isWanted?: (object: GeneratedObject) => boolean;
}

/**
 * Starts a PostgreSQL server whose files are in `directory`, which is emptied first.
 * @throws Error (rejects) when PostgreSQL is not installed (Debian: package `postgresql`)
 */
export async function startPostgres(directory: string): Promise<Postgres> {
  const binaries = globSync('/usr/lib/postgresql/*/bin').toSorted().at(-1) ?? '';
  if (!existsSync(join(binaries, 'initdb'))) {
    throw new Error('no PostgreSQL found: the rival needs it (Debian: apt-get install postgresql)');
  }
  const data = join(directory, 'data');
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  // PostgreSQL refuses to run as root. If this process is root, PostgreSQL is run as the user postgres.
  const isRoot = process.getuid?.() === 0;
  const drop = isRoot ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--init-groups'] : [];
  if (isRoot) {
    const id = (what: string): number => Number(execFileSync('id', [what, 'postgres'], { encoding: 'utf8' }));
    chownSync(directory, id('-u'), id('-g'));
  }
  chmodSync(directory, 0o700);
  const as = (program: string, ...args: readonly string[]): [string, string[]] => {
    const [command, ...rest] = [...drop, join(binaries, program), ...args];
    return [command!, rest];
  };
  execFileSync(...as('initdb', '-D', data, '-U', 'bench', '-A', 'trust', '-E', 'UTF8', '--no-locale', '-N'), {
    stdio: 'ignore',
  });
  const set = Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`]);
  const server = spawn(...as('postgres', '-D', data, '-k', directory, ...set), { stdio: 'ignore', detached: false });
  const stopAtExit = (): void => void server.kill('SIGQUIT');
  process.once('exit', stopAtExit);
  const psql = (...args: readonly string[]) =>
    as('psql', '-h', directory, '-U', 'bench', '-d', 'postgres', '-XqAt', '-v', 'ON_ERROR_STOP=1', ...args);
  const run = (sql: string): string =>
    execFileSync(...psql('-f', '-'), { input: sql, encoding: 'utf8', maxBuffer: 64 << 20, stdio: 'pipe' });
  await untilReady(server, run);
  run(rivalTable);
  let session: Session | undefined;
  const urlOf = (name: string): string => `postgres:///${name}?host=${directory}&user=bench`;
  return {
    version: run('SHOW server_version').trim(),
    pid: server.pid!,
    directory,
    load: async (source, progress) => {
      await copy(psql('-c', `COPY resources (${copiedColumns}) FROM STDIN`), source, progress);
      run(rivalIndexes);
      run(rivalVacuum);
    },
    time: (sql, runs) => {
      session ??= startSession(psql('-f', '-'));
      return session.time(sql, runs);
    },
    value: (sql) => run(sql).split('\n')[0]!,
    url: urlOf('postgres'),
    createDatabase: (name) => {
      run(`CREATE DATABASE ${name}`);
      return urlOf(name);
    },
    stop: async () => {
      session?.stop();
      process.off('exit', stopAtExit);
      const exit = once(server, 'exit');
      server.kill('SIGINT');
      await exit;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

interface Session extends Pick<Postgres, 'time'> {
  readonly stop: () => void;
}

/**
 * Starts one psql process for all queries. A new connection for each query would have to read the table definitions
 * again.
 */
function startSession([command, args]: readonly [string, string[]]): Session {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const exit = once(child, 'exit');
  child.stdin.write('\\timing on\n\\o /dev/null\n');
  let said = '';
  let onDone: () => void = () => undefined;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
    if (said.includes(doneText)) onDone();
  });
  return {
    time: async (sql, runs) => {
      said = '';
      const done = new Promise<void>((resolve) => (onDone = resolve));
      child.stdin.write(`${`${sql};\n`.repeat(runs)}\\echo ${doneText}\n`);
      const ended = await Promise.race([done, exit]);
      if (ended !== undefined) throw new Error(`psql ended while it was asked ${sql}`);
      return [...said.matchAll(/^Time: ([\d.]+) ms/gm)].map(([, ms]) => Number(ms));
    },
    stop: () => void child.kill(),
  };
}

const doneText = 'all runs are done';
const startTimeoutMs = 30_000;
const pollMs = 100;

async function untilReady(server: ChildProcess, run: (sql: string) => string): Promise<void> {
  for (const untilMs = Date.now() + startTimeoutMs; ;) {
    try {
      run('SELECT 1');
      return;
    } catch (error) {
      if (Date.now() > untilMs || server.exitCode !== null) {
        throw new Error('PostgreSQL does not start', { cause: error });
      }
      await new Promise((resolve) => setTimeout(resolve, pollMs));
    }
  }
}

/** The columns of {@link rivalTable} that {@link copyLine} writes. */
export const copiedColumns =
  '"group", version, resource, kind, cluster, namespace, name, owner_uid, uid, resource_version, object, created_at';

async function copy(
  [command, args]: readonly [string, string[]],
  { clusters, nameOf = clusterName, isWanted = () => true }: RivalObjects,
  progress: (line: string) => void,
): Promise<void> {
  const child = spawn(command, args, { stdio: ['pipe', 'ignore', 'inherit'] });
  const exit = once(child, 'exit');
  for (let index = 0; index < clusters; index++) {
    const objects = [...clusterObjects(index)].filter(isWanted);
    const lines = objects.map((object) => copyLine(nameOf(index), object)).join('');
    if (!child.stdin.write(lines)) await once(child.stdin, 'drain');
    if ((index + 1) % 20 === 0) progress(`PostgreSQL has ${index + 1} clusters`);
  }
  child.stdin.end();
  const [code] = (await exit) as [number];
  if (code !== 0) throw new Error(`psql ended with ${code} while it loaded`);
}

/** Returns an object as a line of `COPY resources (…) FROM STDIN` in the text format. */
export function copyLine(cluster: string, object: GeneratedObject): string {
  const { group, resource, kind, namespace, name, ownerUid, uid, resourceVersion, json, createdAtMs } = object;
  const created = new Date(createdAtMs).toISOString();
  const columns = [
    group,
    'v1',
    resource,
    kind,
    cluster,
    namespace,
    name,
    ownerUid,
    uid,
    resourceVersion,
    json,
    created,
  ];
  return `${columns.map((column) => column.replaceAll('\\', '\\\\')).join('\t')}\n`;
}
