// Queues writes and combines them into transactions. Each shard (group of clusters) belongs to one lane (queue), and
// each lane runs one transaction at a time. So writes of a shard take effect in the order in which they came. What
// arrives during a transaction goes into the next one.
import type { Commit, ShardWriter, WriteBatch } from '../../store.ts';
import { FencedError } from '../../fenced-error.ts';
import { piecesOf, withLeftOut } from '../../left-out.ts';
import type { TypeKey } from '../../../query/types.ts';
import { sqlState } from '../connection/errors.ts';
import { lacksPartition } from '../feed/partitions.ts';
import { shardCount, shardOfIncarnation } from '../connection/shard.ts';
import { writerKey } from './lease-writes.ts';
import { ShardsLostError } from './seal.ts';
import type { Write, Writer } from './writer.ts';

interface Answer {
  readonly resolve: (commit: Commit) => void;
  readonly reject: (error: unknown) => void;
}

interface WaitingBatch extends Write, Answer {
  readonly kind: 'batch';
}

interface WaitingForget extends Answer {
  readonly kind: 'forget';
  readonly incarnation: string;
  readonly type: TypeKey | undefined;
  readonly writer: ShardWriter | undefined;
}

type Waiting = WaitingBatch | WaitingForget;

export interface QueueOptions {
  /** How many transactions run at the same time. Each writes the shards (groups of clusters) of one queue (lane). */
  readonly lanes: number;
  /**
   * Called after each commit, before the callers of its writes get their answers, with the time of its last change in
   * microseconds.
   */
  readonly onCommit: (lastUs: number) => void;
  /** Makes the resourceVersion of a change at this time; for undefined, that of a commit that changed nothing. */
  readonly versionOf: (lastUs: number | undefined) => string;
  /**
   * Repairs the cause of a failed write, such as a missing partition of the change log.
   * @returns whether the write should be tried again
   */
  readonly mend: (error: unknown) => Promise<boolean>;
}

/** The most bytes of bodies in one transaction. */
const mostBytes = 16 << 20;
/**
 * The most rows in one transaction. All of them are written to the change log while the sequencer is locked, so more
 * rows make other processes wait longer. A first list comes in batches of 500.
 */
const mostRows = 500;
const mostBatches = 500;

export class WriteQueue {
  readonly #writer: Pick<Writer, 'apply' | 'forget'>;
  readonly #options: QueueOptions;
  readonly #lanes: Waiting[][];
  readonly #running = new Set<Promise<void>>();
  readonly #busy: boolean[];

  constructor(writer: Pick<Writer, 'apply' | 'forget'>, options: QueueOptions) {
    this.#writer = writer;
    this.#options = options;
    const lanes = Math.min(options.lanes, shardCount);
    this.#lanes = Array.from({ length: lanes }, () => []);
    this.#busy = this.#lanes.map(() => false);
  }

  apply(batch: WriteBatch, writer: ShardWriter | undefined): Promise<Commit> {
    return new Promise((resolve, reject) => {
      this.#push(batch.incarnation.id, { kind: 'batch', batch, writer, resolve, reject });
    });
  }

  forget(incarnation: string, type: TypeKey | undefined, writer: ShardWriter | undefined): Promise<Commit> {
    return new Promise((resolve, reject) => {
      this.#push(incarnation, { kind: 'forget', incarnation, type, writer, resolve, reject });
    });
  }

  /** Resolves when every queued write was done or refused. */
  async drained(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  #push(incarnation: string, waiting: Waiting): void {
    const lane = shardOfIncarnation(incarnation) % this.#lanes.length;
    this.#lanes[lane]!.push(waiting);
    if (this.#busy[lane]) return;
    this.#busy[lane] = true;
    // Waits one turn of the event loop, so that batches queued in the same turn share a transaction.
    const running = new Promise<void>((resolve) => setImmediate(resolve)).then(() => this.#run(lane));
    this.#running.add(running);
    void running.finally(() => this.#running.delete(running));
  }

  async #run(lane: number): Promise<void> {
    const queue = this.#lanes[lane]!;
    while (queue.length > 0) {
      const first = queue[0]!;
      if (first.kind === 'forget') {
        queue.shift();
        await this.#forget(first);
      } else {
        await this.#write(queue.splice(0, countTogether(queue)) as WaitingBatch[]);
      }
    }
    this.#busy[lane] = false;
  }

  async #write(batches: readonly WaitingBatch[], isMended = false): Promise<void> {
    if (batches.length === 0) return;
    try {
      const { lastUs, counts } = await this.#writer.apply(batches);
      if (lastUs !== undefined) this.#options.onCommit(lastUs);
      const resourceVersion = this.#options.versionOf(lastUs);
      for (const [i, { resolve }] of batches.entries()) resolve({ resourceVersion, ...counts[i]! });
    } catch (error) {
      if (!isMended && (await this.#mended(error))) return this.#write(batches, true);
      if (error instanceof ShardsLostError) return this.#writeOthers(batches, error);
      if (batches.length > 1 && isOfOneBatch(error)) {
        for (const batch of batches) await this.#write([batch], isMended);
      } else if (batches.length === 1 && isOfObject(error)) {
        await this.#writeInPieces(batches[0]!, error);
      } else {
        for (const { reject } of batches) reject(error);
      }
    }
  }

  /** Writes a batch without the objects for which the database refuses it. */
  async #writeInPieces({ batch, writer, resolve, reject }: WaitingBatch, refusal: unknown): Promise<void> {
    const total = { written: 0, deleted: 0 };
    let newestUs: number | undefined;
    const isWritten = async (fragment: WriteBatch): Promise<boolean> => {
      try {
        const { lastUs, counts } = await this.#writer.apply([{ batch: fragment, writer }]);
        if (lastUs !== undefined) this.#options.onCommit(lastUs);
        newestUs = lastUs ?? newestUs;
        total.written += counts[0]!.written;
        total.deleted += counts[0]!.deleted;
        return true;
      } catch (error) {
        if (isOfObject(error)) return false;
        throw error instanceof ShardsLostError ? fenced(writer!) : error;
      }
    };
    try {
      const fragments = piecesOf(batch);
      let next = fragments.next();
      while (next.done !== true) next = fragments.next(await isWritten(next.value));
      if (next.value === undefined) throw refusal;
      resolve(withLeftOut({ resourceVersion: this.#options.versionOf(newestUs), ...total }, next.value));
    } catch (error) {
      reject(error);
    }
  }

  /** Rejects the batches whose shard was lost, and writes the others. */
  async #writeOthers(batches: readonly WaitingBatch[], error: ShardsLostError): Promise<void> {
    const isLost = ({ writer }: WaitingBatch): boolean => writer !== undefined && error.lost.has(writerKey(writer));
    for (const batch of batches) if (isLost(batch)) batch.reject(fenced(batch.writer!));
    await this.#write(batches.filter((batch) => !isLost(batch)));
  }

  async #forget({ incarnation, type, writer, resolve, reject }: WaitingForget): Promise<void> {
    let deleted = 0;
    for (let isMended = false; ;) {
      try {
        const slice = await this.#writer.forget(incarnation, type, writer);
        if (slice.lastUs !== undefined) this.#options.onCommit(slice.lastUs);
        deleted += slice.deleted;
        isMended = false;
        if (slice.isDone) {
          resolve({ resourceVersion: this.#options.versionOf(slice.lastUs), written: 0, deleted });
          return;
        }
      } catch (error) {
        isMended = !isMended && (await this.#mended(error));
        if (isMended) continue;
        reject(error instanceof ShardsLostError ? fenced(writer!) : error);
        return;
      }
    }
  }

  async #mended(error: unknown): Promise<boolean> {
    return this.#options.mend(error).catch(() => false);
  }
}

function fenced({ shard, epoch }: ShardWriter): FencedError {
  return new FencedError(`shard ${shard} is written by another process since epoch ${epoch}: nothing was written`);
}

/**
 * How many batches from the head of the queue can share a transaction. No two of them may name the same object, and
 * their total size is limited.
 */
function countTogether(queue: readonly Waiting[]): number {
  let bytes = 0;
  let rows = 0;
  const seen = new Map<string, Set<string>>();
  for (const [count, waiting] of queue.entries()) {
    if (waiting.kind === 'forget' || count === mostBatches) return count;
    const { incarnation, type, upserts, deletes } = waiting.batch;
    bytes += upserts.reduce((sum, { raw }) => sum + raw.byteLength, 0);
    rows += upserts.length + deletes.length;
    if (count > 0 && (bytes > mostBytes || rows > mostRows)) return count;
    const scope = `${incarnation.id} ${type.resource}.${type.group}`;
    const names = seen.get(scope) ?? new Set();
    const before = names.size;
    const own = new Set([...upserts, ...deletes].map(({ namespace, name }) => `${namespace}\0${name}`));
    for (const name of own) names.add(name);
    if (names.size < before + own.size) return count;
    seen.set(scope, names);
  }
  return queue.length;
}

/**
 * SQLSTATE classes of errors that come from the contents of a batch: bad data, violated constraints, exceeded limits.
 */
const ofContents: ReadonlySet<string> = new Set(['22', '23', '54']);

/**
 * Whether the database refuses a write because of the contents of a row. A missing partition of the change log has such
 * an SQLSTATE, too, but no row is at fault then.
 */
function isOfObject(error: unknown): boolean {
  const state = sqlState(error) ?? sqlState((error as Error).cause);
  return state !== undefined && ofContents.has(state.slice(0, 2)) && !lacksPartition(error);
}

/** Whether the error can come from a single batch, so that each batch should be tried by itself. */
function isOfOneBatch(error: unknown): boolean {
  const state = sqlState(error) ?? sqlState((error as Error).cause);
  if (state !== undefined) return ofContents.has(state.slice(0, 2));
  // Without SQLSTATE and cause, the error comes from a check of this program before it called the database.
  return (error as Error).cause === undefined;
}
