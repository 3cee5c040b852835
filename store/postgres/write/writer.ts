// Writes batches, several in one transaction, and deletes the rows of incarnations (a cluster from its creation until
// it is recreated) in several transactions. The changes are computed first (write-set.ts), so a transaction has the
// same number of statements however many batches it contains.
import type { ClientBase } from 'pg';

import { typeKey, type TypeKey } from '../../../query/types.ts';
import type { RowWrite, ShardWriter, WriteBatch } from '../../store.ts';
import { byIndexOnly, type Database } from '../connection/database.ts';
import { shardOfIncarnation } from '../connection/shard.ts';
import { int4s } from './arrays.ts';
import { countRows, countTerms, writeFollows } from './count-statements.ts';
import { find, nowUs, type Found, type SoughtKey } from './find.ts';
import { writerKey, type LeaseWrites } from './lease-writes.ts';
import { Numbers } from './numbers.ts';
import { run, type Statement } from './pipeline.ts';
import { copyNewRows, deleteRows, hasRowsToCopy, keepBodies, writeRows } from './row-statements.ts';
import { commitSealed, ShardsLostError, type Sealed } from './seal.ts';
import { followKey, WriteSet, type FollowChange, type FollowedType, type FoundRow, type Target } from './write-set.ts';

/** A batch and, in an index that several processes write, the lease of its writer. */
export interface Write {
  readonly batch: WriteBatch;
  readonly writer: ShardWriter | undefined;
}

/** The result of one write transaction. */
export interface Written {
  /** Time of its last change in microseconds; undefined when nothing changed. */
  readonly lastUs: number | undefined;
  /** How many rows were written and deleted, for each batch in the order of the batches. */
  readonly counts: readonly { readonly written: number; readonly deleted: number }[];
}

/** The most rows that one transaction deletes when an incarnation is deleted. */
const forgottenAtOnce = 2000;

/** The parts of a write's last statement (seal.ts) that are not computed from the changed rows. */
interface SealedRest {
  readonly writers: readonly ShardWriter[];
  /** Ids of incarnations by their numbers in the database. */
  readonly incarnations: ReadonlyMap<number, string>;
  readonly beforeAt: number;
  readonly catalogGrew: boolean;
}

interface Planned {
  readonly batch: WriteBatch;
  readonly target: Target;
  readonly isRenamed: boolean;
  readonly upserts: readonly RowWrite[];
  /**
   * Position of this batch's first key in the transaction's list of keys. The keys of a batch's deletes come first,
   * then those of its upserts.
   */
  readonly firstKey: number;
}

export interface WriterOptions {
  /** The counts of transactions of this process's leases. The writer updates them after each write. */
  readonly leaseWrites: LeaseWrites;
  /** Time of the newest change that this process knows of, in microseconds. */
  readonly lastUs: () => number;
  /** Called after each write with the milliseconds spent on the sequencer, mostly waiting for other writers. */
  readonly onSealed: (waitMs: number) => void;
}

export class Writer {
  readonly #database: Database;
  readonly #numbers: Numbers;
  readonly #options: WriterOptions;

  constructor(database: Database, options: WriterOptions) {
    this.#database = database;
    this.#numbers = new Numbers(database);
    this.#options = options;
  }

  /**
   * Commits batches together. No two batches may contain the same object.
   * @throws GatewayError, ShardsLostError (rejects); then nothing was written
   */
  async apply(writes: readonly Write[]): Promise<Written> {
    const keys: SoughtKey[] = [];
    const planned: Planned[] = [];
    for (const { batch, writer } of writes) planned.push(await this.#plan(batch, writer, keys));
    const writers = writes.flatMap(({ writer }) => writer ?? []);
    const incarnations = new Map(planned.map(({ target, batch }) => [target.inc, batch.incarnation.id]));
    const written = await this.#transaction(writers, async (client) => {
      const targets = new Map(planned.map(({ target }) => [followKey(target), target]));
      const found = await find(client, keys, [...targets.values()]);
      const set = new WriteSet(await this.#numbers.claimIds(client, newRows(planned, found.rows)));
      const counts = planned.map((one) => gather(set, one, found));
      const renamed = planned.filter(({ isRenamed }) => isRenamed).map(rename);
      const rest = { writers, incarnations, beforeAt: found.atUs, catalogGrew: renamed.length > 0 };
      return { counts, ...(await this.#execute(client, set, rest, renamed)) };
    });
    for (const { isRenamed, batch } of planned) if (isRenamed) this.#numbers.renamed(batch.incarnation);
    return written;
  }

  /**
   * Deletes some rows of an incarnation, or of one type in it. To be called until `isDone`.
   * @throws GatewayError, ShardsLostError (rejects)
   */
  async forget(
    incarnation: string,
    type: TypeKey | undefined,
    writer: ShardWriter | undefined,
  ): Promise<{ readonly lastUs: number | undefined; readonly deleted: number; readonly isDone: boolean }> {
    const shard = checkShard(incarnation, writer);
    const inc = await this.#numbers.knownIncarnation(incarnation);
    if (inc === undefined) return { lastUs: undefined, deleted: 0, isDone: true };
    const writers = writer === undefined ? [] : [writer];
    return this.#transaction(writers, async (client) => {
      const followed = await followedTypes(client, shard, inc, type);
      const set = new WriteSet(noNewRow);
      const { found, atUs } = await rowsToForget(client, shard, inc, [...followed.keys()]);
      const changes = new Map<number, FollowChange>();
      for (const [t, { key, follow }] of followed) {
        const change = set.follow({ shard, inc, t, type: key }, follow.info, follow);
        // While rows are being deleted, the type is stored as if it had never been listed. If the deletion is
        // interrupted, the type is then listed again.
        change.version = '';
        change.confirmedMs = 0;
        change.resume = '';
        changes.set(t, change);
      }
      for (const { t, namespace, name, row } of found) set.delete(changes.get(t)!, { namespace, name }, row);
      const isDone = found.length < forgottenAtOnce;
      const rest = {
        writers,
        incarnations: new Map([[inc, incarnation]]),
        beforeAt: atUs,
        catalogGrew: isDone && followed.size > 0,
      };
      const last = isDone ? unfollow(shard, inc, [...followed.keys()]) : [];
      return { ...(await this.#execute(client, set, rest, last)), deleted: found.length, isDone };
    });
  }

  async #plan(batch: WriteBatch, writer: ShardWriter | undefined, keys: SoughtKey[]): Promise<Planned> {
    const shard = checkShard(batch.incarnation.id, writer);
    const type = typeKey(batch.type);
    const t = await this.#numbers.ofType(type);
    const { number: inc, isRenamed } = await this.#numbers.ofIncarnation(batch.incarnation);
    const target = { shard, inc, t, type };
    const firstKey = keys.length;
    // When a batch names an object several times, its last entry is written.
    const upserts = [...new Map(batch.upserts.map((row) => [`${row.namespace}\0${row.name}`, row])).values()];
    for (const { namespace, name } of [...batch.deletes, ...upserts]) keys.push({ target, namespace, name });
    return { batch, target, isRenamed, upserts, firstKey };
  }

  /**
   * Runs a write, and counts it for each lease.
   * @throws GatewayError, ShardsLostError (rejects)
   */
  async #transaction<Result extends Sealed>(
    writers: readonly ShardWriter[],
    work: (client: ClientBase) => Promise<Result>,
  ): Promise<Result> {
    const { leaseWrites } = this.#options;
    const distinct = [...new Map(writers.map((writer) => [writerKey(writer), writer])).values()];
    try {
      const result = await this.#database.transaction(work, byIndexOnly);
      for (const writer of distinct) leaseWrites.committed(writer, result.writes.get(writerKey(writer))!);
      return result;
    } catch (error) {
      this.#numbers.forget();
      if (!(error instanceof ShardsLostError)) for (const writer of distinct) leaseWrites.failed(writer);
      throw error;
    }
  }

  /**
   * Writes and commits everything. The change log comes last.
   * @param more statements that run before the change log is written
   */
  async #execute(
    client: ClientBase,
    set: WriteSet,
    { writers, ...rest }: SealedRest,
    more: readonly Statement[],
  ): Promise<Sealed> {
    const statements = [...keepBodies(set, rest.beforeAt), ...deleteRows(set)];
    if (hasRowsToCopy(set)) {
      await run(client, statements.splice(0));
      await copyNewRows(client, set);
    }
    statements.push(...writeRows(set), ...countRows(set), ...countTerms(set), ...writeFollows(set), ...more);
    const catalogGrew = set.changesCatalog || rest.catalogGrew;
    const { leaseWrites, lastUs, onSealed } = this.#options;
    const sealed = await commitSealed(client, statements, {
      ...rest,
      writers: writers.map((writer) => ({ ...writer, ...leaseWrites.of(writer) })),
      types: new Map([...set.follows.values()].map(({ target }) => [target.t, target.type])),
      afterUs: lastUs(),
      log: set.log,
      catalogGrew,
    });
    onSealed(sealed.waitMs);
    return sealed;
  }
}

/** The most new row ids that these batches may need. */
function newRows(planned: readonly Planned[], rows: ReadonlyMap<number, FoundRow>): number {
  return planned
    .map(({ batch, upserts, firstKey }) => {
      const first = firstKey + batch.deletes.length;
      const isOther = ({ uid }: RowWrite, i: number): boolean => !rows.get(first + i)?.uid.equals(Buffer.from(uid));
      return upserts.filter(isOther).length + batch.deletes.length;
    })
    .reduce((sum, count) => sum + count, 0);
}

function noNewRow(): never {
  throw new Error('a deletion makes no rows');
}

/** Adds the changes of one batch to `set`. */
function gather(
  set: WriteSet,
  { batch, target, upserts, firstKey }: Planned,
  { rows, follows }: Found,
): { readonly written: number; readonly deleted: number } {
  const follow = set.follow(target, JSON.stringify(batch.type), follows.get(followKey(target)));
  if (batch.position !== undefined) {
    follow.version = batch.position.resourceVersion;
    follow.confirmedMs = batch.position.confirmedAtMs;
    follow.resume = batch.position.resume ?? '';
  }
  let deleted = 0;
  let written = 0;
  const gone = new Set<number>();
  batch.deletes.forEach((key, i) => {
    const found = rows.get(firstKey + i);
    if (found === undefined || gone.has(found.id)) return;
    gone.add(found.id);
    set.delete(follow, key, found);
    deleted++;
  });
  upserts.forEach((row, i) => {
    const found = rows.get(firstKey + batch.deletes.length + i);
    const isThere = found !== undefined && !gone.has(found.id);
    if (set.upsert(follow, row, isThere ? found : undefined) === 'written') written++;
  });
  return { written, deleted };
}

function rename({ target, batch }: Planned): Statement {
  const text = 'UPDATE incarnation SET cluster = $2::text WHERE id = $1::int4';
  return { text, values: [String(target.inc), batch.incarnation.cluster] };
}

/**
 * The types of an incarnation (a cluster from its creation until it is recreated) that have a row in table `follow`, by
 * their numbers.
 * @param only undefined: all types; otherwise only this one
 */
async function followedTypes(
  client: ClientBase,
  shard: number,
  inc: number,
  only: TypeKey | undefined,
): Promise<ReadonlyMap<number, { readonly key: TypeKey; readonly follow: FollowedType }>> {
  const { rows } = await client.query<[number, string, string, string, number, string]>({
    text: `SELECT f.t, t.key, f.info, f.version, f.confirmed, f.resume FROM follow f JOIN type t ON t.id = f.t
      WHERE f.shard = $1 AND f.inc = $2 AND ($3::text IS NULL OR t.key = $3)`,
    values: [shard, inc, only],
    rowMode: 'array',
  });
  return new Map(
    rows.map(([t, key, info, version, confirmedMs, resume]) => [
      t,
      { key, follow: { info, version, confirmedMs, resume } },
    ]),
  );
}

interface RowToForget {
  readonly t: number;
  readonly namespace: string;
  readonly name: string;
  readonly row: FoundRow;
}

async function rowsToForget(
  client: ClientBase,
  shard: number,
  inc: number,
  types: readonly number[],
): Promise<{ readonly found: readonly RowToForget[]; readonly atUs: number }> {
  const { rows } = await client.query<[number, Buffer, Buffer, number, Buffer, number, string, number]>({
    text: `SELECT t, namespace, name, id, uid, bytes, terms::text, ${nowUs} FROM obj
      WHERE shard = $1 AND inc = $2 AND t = ANY($3) LIMIT ${forgottenAtOnce}`,
    values: [shard, inc, types],
    rowMode: 'array',
  });
  const nothing = Buffer.alloc(0);
  const found = rows.map(([t, namespace, name, id, uid, bytes, terms]) => {
    const row: FoundRow = { id, uid, rv: nothing, digest: nothing, bytes, terms };
    return { t, namespace: namespace.toString(), name: name.toString(), row };
  });
  return { found, atUs: rows[0]?.[7] ?? 0 };
}

function unfollow(shard: number, inc: number, types: readonly number[]): readonly Statement[] {
  const values = [String(shard), String(inc), int4s(types)];
  return ['follow', 'counter'].map((table) => ({
    text: `DELETE FROM ${table} WHERE shard = $1::int2 AND inc = $2::int4 AND t = ANY($3::int4[])`,
    values,
  }));
}

/**
 * The shard of an incarnation.
 * @throws RangeError when the writer's lease is for another shard
 */
function checkShard(incarnation: string, writer: ShardWriter | undefined): number {
  const shard = shardOfIncarnation(incarnation);
  if (writer !== undefined && writer.shard !== shard) {
    throw new RangeError(
      `rows of incarnation ${incarnation} belong to shard ${shard}, but this writer has shard ${writer.shard}`,
    );
  }
  return shard;
}
