// A process that changes rows of its clusters until its time is over. writes.ts starts it, and it ends when writes.ts
// ends.
import { hash } from 'node:crypto';
import { once } from 'node:events';

import { openPostgresStore } from '../../../store/postgres/store.ts';
import type { IndexStore, WriteBatch } from '../../../store/store.ts';
import { batchesOf } from '../batches.ts';
import { clusterObjects, type GeneratedObject } from '../generator.ts';

/** The work of one writing process: which clusters' rows it changes, and for how long. */
export interface Task {
  readonly url: string;
  readonly clusters: readonly number[];
  readonly rowsOfBatch: number;
  readonly seconds: number;
}

/** What one writing process has measured. */
export interface Result {
  readonly rows: number;
  /** For each written batch, how long the write took in milliseconds. */
  readonly batchMs: readonly number[];
}

/** Number of batches that a writing process sends at the same time, as if 16 clusters had changes. */
const inFlight = 16;

process.once('disconnect', () => process.exit(1));
const [task] = (await once(process, 'message')) as [Task];
await write(task);

async function write({ url, clusters, rowsOfBatch, seconds }: Task): Promise<void> {
  const store = await openPostgresStore({ url });
  const batches = clusters.flatMap((cluster) => changesOf(cluster, rowsOfBatch));
  // Some rounds of writes are not measured: connections have to read the table definitions, and V8 has to compile the
  // code.
  for (let round = 0; round < 4; round++) {
    await Promise.all(batches.slice(0, inFlight).map((batch) => change(store, batch, -round)));
  }
  const go = once(process, 'message');
  process.send!('ready');
  await go;
  const end = once(process, 'message');
  const untilMs = performance.now() + seconds * 1000;
  const batchMs: number[] = [];
  let rows = 0;
  // Each of these concurrent loops changes objects that no other loop changes.
  const follow = async (follower: number): Promise<void> => {
    for (let turn = 1; ; turn++) {
      for (let next = follower; next < batches.length; next += inFlight) {
        if (performance.now() > untilMs) return;
        const startedMs = performance.now();
        const written = await change(store, batches[next]!, turn);
        // The sum must not be written as `rows += await …`: that would read `rows` before waiting, and lose what other
        // loops add meanwhile.
        rows += written;
        batchMs.push(performance.now() - startedMs);
      }
    }
  };
  await Promise.all(Array.from({ length: inFlight }, (_, follower) => follow(follower)));
  process.send!({ rows, batchMs } satisfies Result);
  // The parent process reads the CPU time of this process before it sends the message to end.
  await end;
  await store.close();
  process.exit();
}

/**
 * All objects of a cluster in an order unrelated to their names, since changes arrive so by a watch; a list would bring
 * objects with similar names together.
 */
function changesOf(cluster: number, rowsOfBatch: number): readonly WriteBatch[] {
  const place = ({ uid }: GeneratedObject): string => hash('md5', uid);
  const objects = [...clusterObjects(cluster)].map((object) => ({ object, at: place(object) }));
  objects.sort((one, other) => (one.at < other.at ? -1 : 1));
  return batchesOf(
    cluster,
    objects.map(({ object }) => object),
    rowsOfBatch,
  );
}

/**
 * Writes the batch with another resourceVersion and a slightly longer body, which is what a change of an object's
 * status looks like.
 */
async function change(store: IndexStore, batch: WriteBatch, turn: number): Promise<number> {
  const mark = `${process.pid}-${turn}-${Date.now()}`;
  const changed: WriteBatch = {
    ...batch,
    upserts: batch.upserts.map((row) => ({
      ...row,
      resourceVersion: String(2_000_000 + turn),
      raw: Buffer.concat([row.raw.subarray(0, -1), Buffer.from(`,"turn":"${mark}"}`)]),
    })),
    position: { resourceVersion: String(turn), confirmedAtMs: Date.now() },
  };
  return (await store.apply(changed)).written;
}
