// A PgBouncer of our own in front of a PostgreSQL of tests: the system's program on a free port of 127.0.0.1, with as
// few settings as an operator would make. Nothing of it may be left behind when a test run is killed.
import { existsSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { join } from 'node:path';
import { Client } from 'pg';

import { freePort, startChild, type Child } from '../controlplane/processes.ts';
import { tempDir } from '../pretend/temp-dir.ts';
import { asItsUser, needsPostgres, password, user } from './postgres.fixture.ts';

export interface PgBouncer {
  readonly port: number;
  /** The same database with the same user, but through PgBouncer. */
  readonly through: (url: string) => string;
  /** Ends it as `kill -9` does: all connections to both sides are cut. */
  readonly crash: () => Promise<void>;
  readonly start: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

export interface PgBouncerOptions {
  readonly toPort: number;
  readonly mode: 'session' | 'transaction';
  /** Connections to the server for each database and user. */
  readonly poolSize: number;
  /** Passwords by user, of whoever may come in beside the superuser. */
  readonly users?: Readonly<Record<string, string>>;
}

const folder = '/usr/sbin';
const startTimeoutMs = 30_000;
const notInstalled = `no PgBouncer is installed in ${folder} (Debian: apt-get install pgbouncer)`;

/** Option of tests that need both programs: without one of them they are skipped, and counted as that. */
export const needsPgBouncer = {
  skip: needsPostgres.skip !== false || existsSync(`${folder}/pgbouncer`) ? needsPostgres.skip : notInstalled,
};

/** @throws Error when it does not start */
export async function startPgBouncer({ toPort, mode, poolSize, users }: PgBouncerOptions): Promise<PgBouncer> {
  const directory = tempDir('pgbouncer');
  const as = asItsUser(folder, directory);
  const port = await freePort();
  const file = (name: string): string => join(directory, name);
  const settings = [
    ...['[databases]', `* = host=127.0.0.1 port=${toPort}`, '[pgbouncer]', 'listen_addr = 127.0.0.1'],
    ...[`listen_port = ${port}`, 'unix_socket_dir =', 'auth_type = scram-sha-256', `auth_file = ${file('users')}`],
    ...[`pool_mode = ${mode}`, `default_pool_size = ${poolSize}`],
    // Seconds after which it tries a server again that was away.
    'server_login_retry = 1',
  ];
  writeFileSync(file('pgbouncer.ini'), `${settings.join('\n')}\n`);
  const known = Object.entries({ ...users, [user]: password });
  writeFileSync(file('users'), known.map(([name, secret]) => `"${name}" "${secret}"\n`).join(''));
  const [command, args] = as('pgbouncer', file('pgbouncer.ini'));
  const through = (url: string): string => {
    const changed = new URL(url);
    changed.port = String(port);
    return changed.href;
  };
  let bouncer: Child | undefined;
  const start = async (): Promise<void> => {
    bouncer = startChild({ name: 'pgbouncer', command, args, logFile: file('log'), cwd: directory });
    const url = through(`postgres://${user}:${encodeURIComponent(password)}@127.0.0.1/postgres`);
    for (const untilMs = Date.now() + startTimeoutMs; !(await answers(url)); await delay(20)) {
      if (Date.now() > untilMs || !bouncer.running()) {
        throw new Error(`PgBouncer does not start: ${await bouncer.tail()}`);
      }
    }
  };
  // A killed run must not leave it behind.
  const atExit = (): void => bouncer?.signal('SIGKILL');
  process.once('exit', atExit);
  await start();
  return {
    port,
    through,
    crash: async () => {
      bouncer!.signal('SIGKILL');
      await bouncer!.ended;
    },
    start,
    stop: async () => {
      process.off('exit', atExit);
      await bouncer!.stop();
    },
  };
}

async function answers(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url });
  try {
    await client.connect();
    await client.query('SELECT 1');
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}
