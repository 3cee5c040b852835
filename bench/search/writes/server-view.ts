// Observes a PostgreSQL server while processes write to the index: what its connections wait for, how long others lock
// the sequencer (a row that every commit with changes locks in its last step), and how much time each statement takes.
import { cpus } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';

import type { PostgresServer } from '../../../test/site/postgres.fixture.ts';

/** Settings of a PostgreSQL server that counts and times its statements. */
export const statementSettings = {
  shared_preload_libraries: 'pg_stat_statements',
  'pg_stat_statements.track_planning': 'on',
} as const;

/** What {@link ServerView.watch} has measured between its call and the call of the function that it returned. */
export interface Watched {
  /** Milliseconds that this view waited for the lock of the sequencer's row, for each time it locked the row. */
  readonly waitMs: readonly number[];
  /** What the connections waited for or did, each with the mean number of connections, as one line of text. */
  readonly states: string;
  /** The share of all CPU cores of the machine that was in use, from 0 to 1. */
  readonly busy: number;
}

export interface ServerView {
  /** Returns the sizes of the tables of the index, including database indexes, as text. */
  sizes(): Promise<string>;
  /** Returns the number of transactions that the database has committed so far. */
  commits(): Promise<number>;
  /** Begins to observe the server. The returned function ends this and returns what was measured. */
  watch(): () => Promise<Watched>;
  /** Returns one line of text per statement with the time that the server spent on it since the last call. */
  statements(server: PostgresServer): Promise<readonly string[]>;
  close(): Promise<void>;
}

const lookEveryMs = 20;
const mostStatements = 14;

/**
 * Opens two connections to a database of the server: one reads what other connections do, the other locks the
 * sequencer's row again and again, to measure the waits.
 */
export async function openServerView(url: string): Promise<ServerView> {
  const [client, prober] = [new Client({ connectionString: url }), new Client({ connectionString: url })];
  await Promise.all([client.connect(), prober.connect()]);
  return {
    sizes: () => sizes(client),
    commits: () => commits(client),
    watch: () => {
      const over = new AbortController();
      const before = coreTimes();
      const seen = Promise.all([lookAtConnections(client, over.signal), lockSequencer(prober, over.signal)]);
      return async () => {
        const busy = busyShare(before, coreTimes());
        over.abort();
        const [states, waitMs] = await seen;
        return { states, waitMs, busy };
      };
    },
    statements: (server) => statements(client, server),
    close: async () => {
      await Promise.all([client.end(), prober.end()]);
    },
  };
}

async function sizes(client: Client): Promise<string> {
  await client.query('VACUUM ANALYZE');
  const { rows } = await client.query<{ table: string; bytes: string }>(
    `SELECT split_part(c.relname, '_', 1) AS table, sum(pg_total_relation_size(c.oid)) AS bytes FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'portcullis' AND c.relkind = 'r' GROUP BY 1
    HAVING sum(pg_total_relation_size(c.oid)) > 1e6 ORDER BY 2 DESC`,
  );
  return rows.map(({ table, bytes }) => `${table} ${Math.round(Number(bytes) / 2 ** 20)} MiB`).join(', ');
}

async function commits(client: Client): Promise<number> {
  const { rows } = await client.query<{ n: string }>(
    'SELECT xact_commit AS n FROM pg_stat_database WHERE datname = current_database()',
  );
  return Number(rows[0]!.n);
}

/**
 * Counts what other connections wait for or do. `on CPU` includes waits for a core, because PostgreSQL cannot tell the
 * two apart.
 */
async function lookAtConnections(client: Client, signal: AbortSignal): Promise<string> {
  const counts = new Map<string, number>();
  let allowance = 0;
  for (; !signal.aborted; allowance++) {
    const { rows } = await client.query<{ state: string; n: string }>(
      `SELECT CASE WHEN state = 'active' THEN coalesce(wait_event_type || ' ' || wait_event, 'on CPU')
          WHEN state = 'idle in transaction' THEN 'waiting for the process' ELSE 'idle' END AS state, count(*) AS n
      FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() GROUP BY 1`,
    );
    for (const { state, n } of rows) counts.set(state, (counts.get(state) ?? 0) + Number(n));
    await delay(lookEveryMs);
  }
  return [...counts]
    .map(([state, n]) => ({ state, mean: n / allowance }))
    .filter(({ state, mean }) => state !== 'idle' && mean >= 0.05)
    .toSorted((one, other) => other.mean - one.mean)
    .map(({ state, mean }) => `${mean.toFixed(1)} ${state}`)
    .join(', ');
}

/**
 * Locks the sequencer's row again and again while other processes write.
 * @returns how long each lock took, in milliseconds
 */
async function lockSequencer(client: Client, signal: AbortSignal): Promise<readonly number[]> {
  const waits: number[] = [];
  while (!signal.aborted) {
    await client.query('BEGIN');
    // The server measures the time, because this process may have to wait for a CPU core before it reads the answer.
    const { rows } = await client.query<{ ms: number }>(
      `WITH locked AS MATERIALIZED (SELECT last FROM portcullis.sequencer WHERE one FOR UPDATE)
      SELECT (extract(epoch FROM clock_timestamp() - statement_timestamp()) * 1000)::float8 AS ms FROM locked`,
    );
    await client.query('ROLLBACK');
    waits.push(rows[0]!.ms);
    await delay(lookEveryMs);
  }
  return waits;
}

async function statements(client: Client, server: PostgresServer): Promise<readonly string[]> {
  const updates = await client.query<{ table: string; share: string }>(
    `SELECT split_part(relname, '_', 1) AS table, round(sum(n_tup_hot_upd) / sum(n_tup_upd), 2) AS share
    FROM pg_stat_user_tables WHERE n_tup_upd > 0 GROUP BY 1 ORDER BY 1`,
  );
  const rows = await server.run(`SELECT calls, rows, round(total_exec_time) AS exec, round(total_plan_time) AS plan,
      shared_blks_hit AS hit, shared_blks_dirtied AS dirtied, wal_bytes AS wal,
      left(regexp_replace(query, '\\s+', ' ', 'g'), 90) AS text
    FROM pg_stat_statements ORDER BY total_exec_time + total_plan_time DESC LIMIT ${mostStatements}`);
  await server.run('SELECT pg_stat_statements_reset()');
  const shares = updates.rows.map(({ table, share }) => `${table} ${share}`).join(', ');
  return [
    `of updates within their page: ${shares}`,
    ...rows.map(
      ({ calls, rows: of, exec, plan, hit, dirtied, wal, text }) =>
        `${calls} calls, ${of} rows, ${exec} ms + ${plan} ms planning, ${hit} pages, ${dirtied} dirtied, WAL ${wal}: ${text}`,
    ),
  ];
}

interface CoreTimes {
  readonly busyMs: number;
  readonly allMs: number;
}

function coreTimes(): CoreTimes {
  let [busyMs, allMs] = [0, 0];
  for (const { times } of cpus()) {
    const sum = Object.values(times).reduce((total, ms) => total + ms, 0);
    allMs += sum;
    busyMs += sum - times.idle;
  }
  return { busyMs, allMs };
}

function busyShare(before: CoreTimes, after: CoreTimes): number {
  return (after.busyMs - before.busyMs) / Math.max(1, after.allMs - before.allMs);
}
