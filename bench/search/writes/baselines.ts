// What the writes of the index are compared with on the same PostgreSQL server: a COPY into a table with one index,
// which is the least that storing a row can cost, and Clusterpedia's writer, which changes one row with one statement.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Client } from 'pg';
import { from } from 'pg-copy-streams';

import type { PostgresServer } from '../../../test/site/postgres.fixture.ts';
import { cpuSecondsBetween, readCpu } from '../../figures/accounting.ts';
import { buildGo } from '../../go-build.ts';
import { clusterName, clusterObjects } from '../generator.ts';
import { copiedColumns, copyLine, rivalIndexes, rivalTable, rivalVacuum } from '../postgres.ts';

/** CPU time of one row in milliseconds. */
export interface RowCost {
  readonly serverMs: number;
  /** Of the processes that write. */
  readonly writersMs: number;
}

export interface Baselines {
  /** Of a plain COPY of new rows. */
  readonly copied: RowCost;
  /** Of a row that Clusterpedia's writer has changed. */
  readonly clusterpedia: RowCost;
  readonly text: string;
}

export function sumOf({ serverMs, writersMs }: RowCost): number {
  return serverMs + writersMs;
}

/** Formats the cost of a row for the report. */
export function costText({ serverMs, writersMs }: RowCost): string {
  return `${serverMs.toFixed(3)} ms of the server and ${writersMs.toFixed(3)} ms of the processes`;
}

/** Measures both in a database of their own. @param clusters number of clusters whose objects are stored */
export async function measureBaselines(
  server: PostgresServer,
  { clusters, seconds }: { readonly clusters: number; readonly seconds: number },
  print: (line: string) => void,
): Promise<Baselines> {
  const writer = await buildGo('rivals/clusterpedia', print);
  const url = await server.createDatabase('rival');
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const copied = await copyPlainly(server, client, clusters);
    await client.query(`INSERT INTO resources (${copiedColumns})
      SELECT ${copiedColumns.replace('object', 'object::jsonb')} FROM plain`);
    await client.query(rivalIndexes);
    await client.query(rivalVacuum);
    const clusterpedia = await changeAsClusterpedia(server, { writer, url, seconds });
    const text =
      `CPU of a row: plain COPY ${costText(copied)}; ` +
      `change by Clusterpedia's writer ${costText(clusterpedia.cost)}, ${Math.round(clusterpedia.rate)} rows/s`;
    return { copied, clusterpedia: clusterpedia.cost, text };
  } finally {
    await client.end();
  }
}

async function copyPlainly(server: PostgresServer, client: Client, clusters: number): Promise<RowCost> {
  await client.query(rivalTable);
  const columns = copiedColumns.replace('object', 'object::text');
  await client.query(`CREATE TABLE plain AS SELECT ${columns} FROM resources WITH NO DATA`);
  await client.query('CREATE UNIQUE INDEX ON plain (cluster, resource, namespace, name)');
  let rows = 0;
  let writersMs = 0;
  const before = readCpu(server.pid);
  for (let index = 0; index < clusters; index += 1) {
    const lines = [...clusterObjects(index)].map((object) => Buffer.from(copyLine(clusterName(index), object)));
    const own = process.cpuUsage();
    await pipeline(Readable.from(lines), client.query(from(`COPY plain (${copiedColumns}) FROM STDIN`)));
    const { user, system } = process.cpuUsage(own);
    writersMs += (user + system) / 1000;
    rows += lines.length;
  }
  const serverMs = 1000 * cpuSecondsBetween(before, readCpu(server.pid));
  return { serverMs: serverMs / rows, writersMs: writersMs / rows };
}

async function changeAsClusterpedia(
  server: PostgresServer,
  { writer, url, seconds }: { readonly writer: string; readonly url: string; readonly seconds: number },
): Promise<{ readonly cost: RowCost; readonly rate: number }> {
  const args = ['--database', url, '--write-seconds', String(seconds)];
  const child = spawn(writer, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const exit = once(child, 'exit');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<string> => {
    const { value, done } = await lines.next();
    if (done === true) throw new Error(`Clusterpedia's writer ended with ${String((await exit)[0])}`);
    return value;
  };
  try {
    await next();
    const pids = [server.pid, child.pid!];
    const before = pids.map(readCpu);
    child.stdin.write('go\n');
    const rows = Number(await next());
    const [serverSeconds, writerSeconds] = pids.map((pid, i) => cpuSecondsBetween(before[i]!, readCpu(pid)));
    const cost = { serverMs: (1000 * serverSeconds!) / rows, writersMs: (1000 * writerSeconds!) / rows };
    return { cost, rate: rows / seconds };
  } finally {
    child.stdin.end();
    await exit;
  }
}
