// A PostgreSQL of our own for tests of the store: the system's programs, data in a temporary directory, TCP on a free
// port of 127.0.0.1 and a unix socket. Nothing of it may be left behind when a test run is killed.
import { execFile, execFileSync } from 'node:child_process';
import { appendFileSync, chmodSync, chownSync, globSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';

import { freePort, startChild, type Child } from '../controlplane/processes.ts';
import { tempDir } from '../pretend/temp-dir.ts';
import { eventually } from './polling.ts';

export interface PostgresServer {
  /** `postgres://` with user and password, of the database `postgres`. */
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** Holds the unix socket, the data in `data`, and whatever a test puts beside it. */
  readonly directory: string;
  /** A new database of this name and its URL. */
  readonly createDatabase: (name: string) => Promise<string>;
  /** Runs statements as the superuser. @param database `postgres` by default */
  readonly run: (sql: string, database?: string) => Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** Ends the server as a crash does: no checkpoint, connections are cut. */
  readonly crash: () => Promise<void>;
  /** Kills all its processes at once. What they had not given to the file system yet is lost. */
  readonly kill: () => Promise<void>;
  readonly start: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

export interface PostgresOptions {
  /** Settings of postgresql.conf. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Lines of pg_hba.conf before those that let the superuser in with its password. */
  readonly hba?: readonly string[];
  /** PEM files by name that are put into the data directory: server.crt, server.key, root.crt. */
  readonly files?: Readonly<Record<string, string>>;
  /**
   * Port of a server whose standby this becomes, on 127.0.0.1. It must let replication in: `replication` below. The
   * other options come from that server.
   */
  readonly standbyOf?: number;
}

/** A line of pg_hba.conf that lets standbys in. */
export const replication = 'host replication all 127.0.0.1/32 scram-sha-256';

/** The superuser of every server. */
export const user = 'tester';
export const password = 'secret of tests';
const startTimeoutMs = 60_000;

/** The newest PostgreSQL of the system, undefined when there is none; Debian has it as `postgresql`. */
export function postgresPrograms(): string | undefined {
  const found = globSync('/usr/lib/postgresql/*/bin/initdb');
  const version = (path: string): number => Number(path.split('/')[4]);
  return found
    .toSorted((one, other) => version(one) - version(other))
    .at(-1)
    ?.replace(/\/initdb$/, '');
}

const notInstalled = 'no PostgreSQL is installed below /usr/lib/postgresql (Debian: apt-get install postgresql)';

/** Option of tests that need one: without any they are skipped, and counted as that. */
export const needsPostgres = { skip: postgresPrograms() === undefined ? notInstalled : false };

/** @throws Error when no PostgreSQL is installed, or it does not start */
export async function startPostgresServer(options: PostgresOptions = {}): Promise<PostgresServer> {
  const programs = postgresPrograms();
  if (programs === undefined) {
    throw new Error(notInstalled);
  }
  const directory = tempDir('postgres');
  const as = asItsUser(programs, directory);
  writeFileSync(join(directory, 'password'), password, { mode: 0o644 });
  const data = join(directory, 'data');
  if (options.standbyOf === undefined) {
    const access = ['-A', 'scram-sha-256', `--pwfile=${join(directory, 'password')}`];
    const initdb = as('initdb', '-D', data, '-U', user, ...access, '-E', 'UTF8', '--locale=C.UTF-8', '-N');
    execFileSync(...initdb, { stdio: ['ignore', 'ignore', 'pipe'] });
    writeFiles(data, options);
  } else {
    const from = ['-h', '127.0.0.1', '-p', String(options.standbyOf), '-U', user];
    // Not in this process's own turn: the line to the other server may lead through this process.
    await promisify(execFile)(...as('pg_basebackup', ...from, '-D', data, '-R', '-c', 'fast', '-N'), {
      env: { ...process.env, PGPASSWORD: password },
    });
  }
  const port = await freePort();
  const base = `postgres://${user}:${encodeURIComponent(password)}@127.0.0.1:${port}`;
  let server: Child | undefined;
  const start = async (): Promise<void> => {
    server = startServer(as, data, directory, port);
    await untilReady(server, `${base}/postgres`);
  };
  // A killed run must not leave a server behind.
  const atExit = (): void => server?.signal('SIGQUIT');
  process.once('exit', atExit);
  await start();
  return {
    url: `${base}/postgres`,
    port,
    get pid() {
      return server!.pid;
    },
    directory,
    createDatabase: async (name) => {
      await query(`${base}/postgres`, `CREATE DATABASE "${name}"`);
      return `${base}/${name}`;
    },
    run: (sql, database = 'postgres') => query(`${base}/${database}`, sql),
    crash: async () => {
      server!.signal('SIGQUIT');
      await server!.ended;
    },
    kill: async () => {
      const { pid } = server!;
      const children = childrenOf(pid);
      for (const each of [pid, ...children]) signal(each, 'SIGKILL');
      await server!.ended;
      // Another one does not start before all have let go of their shared memory.
      await eventually('all processes have ended', () => children.every((each) => parentOf(each) === undefined));
    },
    start,
    stop: async () => {
      process.off('exit', atExit);
      server!.signal('SIGINT');
      await server!.stop(10_000);
    },
  };
}

/** Its processes; each leads a process group of its own. */
function childrenOf(pid: number): readonly number[] {
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return all.map(Number).filter((each) => parentOf(each) === pid);
}

/** Undefined for a process that has ended. */
function parentOf(pid: number): number | undefined {
  try {
    const [state, parent] = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    return state === 'Z' || state === 'X' ? undefined : Number(parent);
  } catch {
    return undefined;
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended by itself.
  }
}

type Command = [program: string, args: string[]];

/** Programs of PostgreSQL refuse to run as root, so root runs them as the user of the package. */
export function asItsUser(
  programs: string,
  directory: string,
): (program: string, ...args: readonly string[]) => Command {
  chmodSync(directory, 0o711);
  if (process.getuid?.() !== 0) return (program, ...args) => [join(programs, program), [...args]];
  const id = (what: string): number => Number(execFileSync('id', [what, 'postgres'], { encoding: 'utf8' }));
  chownSync(directory, id('-u'), id('-g'));
  const drop = ['--reuid=postgres', '--regid=postgres', '--init-groups'];
  return (program, ...args) => ['setpriv', [...drop, join(programs, program), ...args]];
}

function writeFiles(data: string, { settings = {}, hba = [], files = {} }: PostgresOptions): void {
  const owner = execFileSync('stat', ['-c', '%u %g', data], { encoding: 'utf8' }).split(' ').map(Number);
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(data, name), text, { mode: 0o600 });
    chownSync(join(data, name), owner[0]!, owner[1]!);
  }
  const lines = Object.entries({ fsync: 'off', max_connections: '60', ...settings });
  appendFileSync(join(data, 'postgresql.conf'), lines.map(([key, value]) => `${key} = '${value}'\n`).join(''));
  const rules = [...hba, 'local all all scram-sha-256', 'host all all 127.0.0.1/32 scram-sha-256'];
  writeFileSync(join(data, 'pg_hba.conf'), `${rules.join('\n')}\n`);
}

function startServer(as: ReturnType<typeof asItsUser>, data: string, directory: string, port: number): Child {
  const [command, args] = as('postgres', '-D', data, '-k', directory, '-h', '127.0.0.1', '-p', String(port));
  const logFile = join(directory, 'log');
  return startChild({ name: 'postgres', command, args, logFile, cwd: directory });
}

async function untilReady(server: Child, url: string): Promise<void> {
  for (const untilMs = Date.now() + startTimeoutMs; ; await delay(50)) {
    try {
      await query(url, 'SELECT 1');
      return;
    } catch (error) {
      if (Date.now() < untilMs && server.running()) continue;
      throw new Error(`PostgreSQL does not start: ${await server.tail()}`, { cause: error });
    }
  }
}

async function query(url: string, sql: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query(sql);
    return rows as readonly Readonly<Record<string, unknown>>[];
  } finally {
    await client.end();
  }
}
