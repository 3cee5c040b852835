// The only writer of the index. It commits batches of rows with their sync positions and log entries, several batches
// in one transaction. When one batch fails, each batch is committed by itself. After a rollback, nothing that the
// transaction has added may remain in memory.
import { statSync } from 'node:fs';
import type { DatabaseSync, StatementSync } from 'node:sqlite';

import { typeKey, type Incarnation, type TypeKey } from '../../../query/types.ts';
import { indexVersionsOf, type IndexVersions } from '../../index-version.ts';
import { IndexFullError } from '../../index-full.ts';
import { isRightsType } from '../../rights-types.ts';
import { withLeftOut } from '../../left-out.ts';
import type { Commit, LeftOut } from '../../store.ts';
import { Catalog, type IncarnationRecord } from '../tables/catalog.ts';
import { ChangeLog, type LogLimits } from './change-log.ts';
import { checkpoint } from './checkpoint.ts';
import { unpackRows, type PackedBatch } from '../tables/messages.ts';
import { isOfObject, writeInPieces } from './pieces.ts';
import { stoppedTypes } from './quota.ts';
import { RowWriter, type Growth } from './row-writer.ts';
import { metaKey, slotsPerIncarnation, readPragma, readStoreId } from '../tables/schema.ts';
import { TermDictionary } from '../tables/terms.ts';

export interface WriterOptions {
  readonly log: LogLimits;
  /** Size limit of the file in bytes; undefined means none. */
  readonly maxBytes: number | undefined;
  readonly nowUs: () => number;
  /**
   * The most namespaces that a cluster may ever have had, including deleted ones; by default as many as there are slot
   * numbers.
   */
  readonly slots?: number;
  /**
   * Called with the types whose new rows are refused from now on; with an empty list when all rows are accepted again.
   */
  readonly onStopped: (types: readonly string[]) => void;
  /** Called with a message about a problem that does not make a commit fail. */
  readonly onTrouble: (message: string) => void;
}

/** The result of one batch: its commit, or the error because of which it was not committed. */
export type Result = { readonly commit: Commit } | { readonly error: unknown };

/**
 * Milliseconds after which no more batches are added to a transaction. Longer transactions write fewer pages twice, but
 * all callers wait longer.
 */
const transactionMs = 400;
/** Bytes. The write-ahead log is copied into the file when it has this size. */
const checkpointBytes = 128 << 20;
/** The most rows that one transaction deletes when an incarnation is deleted. */
const forgottenAtOnce = 2000;
const pageBytes = 16384;
const sqliteFull = 13;
const tooManyNamespaces = 'the cluster has had more namespaces than the index has numbers for';

export class Writer {
  readonly storeId: string;
  readonly #db: DatabaseSync;
  readonly #file: string;
  readonly #options: WriterOptions;
  readonly #log: ChangeLog;
  readonly #terms: TermDictionary;
  readonly #rows: RowWriter;
  readonly #versions: IndexVersions;
  readonly #statements: ReturnType<typeof prepareAll>;
  #catalog = new Catalog();
  #growth = new Map<string, { t: number; inc: number; objects: number; bytes: number }>();
  #catalogGrew = false;
  #typesVersion = 0;
  #typesChanged = false;
  #stopped: ReadonlySet<number> = new Set();
  #nextCheckpoint = checkpointBytes;

  constructor(db: DatabaseSync, file: string, options: WriterOptions) {
    this.#db = db;
    this.#file = file;
    this.#options = options;
    this.storeId = readStoreId(db);
    this.#versions = indexVersionsOf(this.storeId);
    this.#log = new ChangeLog(db, options.log, options.nowUs);
    this.#terms = new TermDictionary(db);
    this.#rows = new RowWriter(db, this.#log, this.#terms);
    this.#statements = prepareAll(db);
    this.#typesVersion = Number(db.prepare('SELECT value FROM meta WHERE key = ?').get(metaKey.types)!['value']);
    this.#readCatalog();
    this.#checkQuota();
  }

  /** Time of the last commit, in microseconds since 1970. */
  get sequence(): number {
    return this.#log.sequence;
  }

  /**
   * A number that grows when a type of a cluster was added, removed or described differently, or when its first
   * complete list was stored or lost.
   */
  get typesVersion(): number {
    return this.#typesVersion;
  }

  /**
   * Commits as many of the first batches together as fit into the time limit. If one fails, each is committed by
   * itself. The result has one element for each of these batches; the caller passes the others again.
   */
  apply(batches: readonly PackedBatch[]): readonly Result[] {
    const untilMs = performance.now() + transactionMs;
    const tried: PackedBatch[] = [];
    try {
      const commits = this.#transact(() => {
        const written: Commit[] = [];
        for (const batch of batches) {
          tried.push(batch);
          written.push(this.#write(batch));
          if (performance.now() > untilMs) break;
        }
        return written;
      });
      return commits.map((commit) => ({ commit }));
    } catch (error) {
      if (tried.length === 1) return [isOfObject(error) ? this.#applyInPieces(tried[0]!, error) : { error }];
      return tried.flatMap((batch) => this.apply([batch]));
    }
  }

  #applyInPieces(batch: PackedBatch, refusal: unknown): Result {
    try {
      return { commit: writeInPieces(batch, (fragment) => this.#transact(() => this.#write(fragment)), refusal) };
    } catch (error) {
      return { error };
    }
  }

  /** Deletes some rows of an incarnation, or of one type in it, in one transaction. To be called until `isDone`. */
  forget(incarnationId: string, type: string | undefined): { readonly commit: Commit; readonly isDone: boolean } {
    const incarnation = this.#catalog.incarnations.get(incarnationId);
    const t = type === undefined ? undefined : this.#catalog.types.get(type);
    if (incarnation === undefined || (type !== undefined && t === undefined)) {
      return { commit: this.#commitOf(0, 0), isDone: true };
    }
    return this.#transact(() => this.#forget(incarnation, t));
  }

  #forget(incarnation: IncarnationRecord, onlyType: number | undefined): { commit: Commit; isDone: boolean } {
    const inc = incarnation.number;
    const followed = this.#statements.followed.all(inc) as { t: number }[];
    const types = followed.map(({ t }) => t).filter((t) => onlyType === undefined || t === onlyType);
    let deleted = 0;
    for (const t of types) {
      this.#typesChanged = true;
      // The position is cleared before any row is deleted. If the deletion is interrupted, the type is then listed
      // again.
      this.#statements.clearPosition.run(t, inc);
      const first = inc * slotsPerIncarnation;
      const left = forgottenAtOnce - deleted;
      const rows = this.#statements.rowsOf.all(t, first, first + slotsPerIncarnation - 1, left) as {
        place: number;
        name: string;
      }[];
      for (const { place: slot, name } of rows) this.#grow(t, inc, this.#rows.delete(t, slot, name).growth);
      deleted += rows.length;
      if (rows.length > 0) this.#noteRights(this.#catalog.typeKeys.get(t)!);
      if (rows.length === left) return { commit: this.#commitOf(0, deleted), isDone: false };
      this.#growth.delete(`${t} ${inc}`);
      this.#statements.unfollow.run(t, inc);
    }
    return { commit: this.#commitOf(0, deleted), isDone: true };
  }

  #write(batch: PackedBatch): Commit {
    const { incarnation, type } = batch;
    const t = this.#numberOfType(typeKey(type));
    if (batch.upserts > 0 && this.#stopped.has(t)) throw new IndexFullError(typeKey(type));
    const inc = this.#numberOfIncarnation(incarnation);
    this.#follow(t, inc, batch);
    let written = 0;
    let deleted = 0;
    for (const { namespace, name } of batch.deletes) {
      const slot = this.#catalog.slotsOf.get(inc)?.get(namespace);
      if (slot === undefined) continue;
      const { outcome, growth } = this.#rows.delete(t, slot.number, name);
      if (outcome === 'deleted') deleted++;
      this.#grow(t, inc, growth);
    }
    const leftOut: LeftOut[] = [];
    for (const row of unpackRows(batch)) {
      const { namespace, name } = row;
      const slot = this.#numberOfSlot(incarnation, namespace);
      if (slot === undefined) {
        leftOut.push({ namespace, name, reason: tooManyNamespaces });
        continue;
      }
      const { outcome, growth } = this.#rows.upsert(t, slot, row);
      if (outcome === 'written') written++;
      this.#grow(t, inc, growth);
    }
    if (written + deleted > 0) this.#noteRights(typeKey(type));
    return withLeftOut(this.#commitOf(written, deleted), leftOut);
  }

  #commitOf(written: number, deleted: number): Commit {
    return { resourceVersion: this.#versions.make(this.#log.sequence), written, deleted };
  }

  #transact<T>(work: () => T): T {
    this.#db.exec('BEGIN IMMEDIATE');
    let result: T;
    try {
      result = work();
      this.#rows.flush();
      this.#terms.flush();
      for (const { t, inc, objects, bytes } of this.#growth.values()) {
        if (objects !== 0 || bytes !== 0) this.#statements.grow.run(objects, bytes, t, inc);
      }
      this.#growth.clear();
      if (this.#catalogGrew) this.#statements.setMeta.run(this.#catalog.version + 1, metaKey.catalog);
      if (this.#typesChanged) this.#statements.setMeta.run(this.#typesVersion + 1, metaKey.types);
      this.#log.flush();
      this.#db.exec('COMMIT');
    } catch (error) {
      this.#rollBack();
      if (((error as { errcode?: number }).errcode ?? 0) % 256 === sqliteFull) {
        throw new IndexFullError('*', { cause: error });
      }
      throw error;
    }
    if (this.#catalogGrew) this.#catalog.version++;
    this.#catalogGrew = false;
    if (this.#typesChanged) this.#typesVersion++;
    this.#typesChanged = false;
    this.#afterCommit();
    return result;
  }

  #rollBack(): void {
    if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
    this.#rows.reset();
    this.#terms.reset();
    this.#log.reset();
    this.#growth.clear();
    this.#catalogGrew = false;
    this.#typesChanged = false;
    this.#readCatalog();
  }

  #readCatalog(): void {
    const row = this.#db.prepare('SELECT value FROM meta WHERE key = ?').get(metaKey.catalog) as { value: number };
    this.#catalog = new Catalog();
    this.#catalog.refresh(this.#db, row.value);
  }

  #afterCommit(): void {
    this.#checkQuota();
    const size = statSync(`${this.#file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
    if (size < this.#nextCheckpoint) return;
    try {
      checkpoint(this.#db, this.#file);
    } catch (error) {
      // The commit itself was successful. The log grows until it can be copied.
      this.#options.onTrouble(`its log cannot be copied into the file: ${(error as Error).message}`);
    }
    const left = statSync(`${this.#file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
    this.#nextCheckpoint = left + checkpointBytes;
  }

  #checkQuota(): void {
    const { maxBytes, onStopped } = this.#options;
    if (maxBytes === undefined) return;
    const usedBytes = (readPragma(this.#db, 'page_count') - readPragma(this.#db, 'freelist_count')) * pageBytes;
    if (usedBytes < maxBytes * 0.9 && this.#stopped.size === 0) return;
    const rows = this.#db.prepare('SELECT t, sum(bytes) AS n FROM follow GROUP BY t').all() as {
      t: number;
      n: number;
    }[];
    const bytesByType = new Map(rows.map(({ t, n }) => [t, n]));
    const next = stoppedTypes({ usedBytes, maxBytes, bytesByType, stopped: this.#stopped });
    if (next === this.#stopped) return;
    this.#stopped = next;
    onStopped([...next].map((t) => this.#catalog.typeKeys.get(t)!));
  }

  #grow(t: number, inc: number, growth: Growth): void {
    const key = `${t} ${inc}`;
    const sum = this.#growth.get(key) ?? { t, inc, objects: 0, bytes: 0 };
    sum.objects += growth.objects;
    sum.bytes += growth.bytes;
    this.#growth.set(key, sum);
  }

  #follow(t: number, inc: number, { type, position }: PackedBatch): void {
    const info = JSON.stringify(type);
    const known = this.#statements.known.get(t, inc) as { info: string; version: string } | undefined;
    if (known?.info !== info) {
      this.#statements.follow.run(t, inc, info);
      this.#typesChanged = true;
    }
    // Readers that keep in memory that a user may see all rows of the type must check that again: the user may not see
    // those of this incarnation.
    if (known === undefined) this.#catalogGrew = true;
    if (position === undefined) return;
    const { resourceVersion, confirmedAtMs, resume = '' } = position;
    this.#statements.setPosition.run(resourceVersion, confirmedAtMs, resume, t, inc);
    if ((position.resourceVersion === '') !== ((known?.version ?? '') === '')) this.#typesChanged = true;
  }

  #noteRights(type: TypeKey): void {
    if (isRightsType(type)) this.#log.noteRights();
  }

  #numberOfType(key: string): number {
    const known = this.#catalog.types.get(key);
    if (known !== undefined) return known;
    const number = Number(this.#statements.addType.run(key).lastInsertRowid);
    this.#catalog.types.set(key, number);
    this.#catalog.typeKeys.set(number, key);
    this.#catalogGrew = true;
    return number;
  }

  #numberOfIncarnation({ id, cluster }: Incarnation): number {
    const known = this.#catalog.incarnations.get(id);
    if (known?.cluster === cluster) return known.number;
    const { id: number } = this.#statements.addIncarnation.get(id, cluster) as { id: number };
    this.#catalog.addIncarnation({ number, id, cluster });
    this.#catalogGrew = true;
    this.#typesChanged = true;
    return number;
  }

  /** The slot of a namespace; undefined when the cluster has had more namespaces than there are slots. */
  #numberOfSlot({ id }: Incarnation, namespace: string): number | undefined {
    const incarnation = this.#catalog.incarnations.get(id)!;
    const slots = this.#catalog.slotsOf.get(incarnation.number)!;
    const known = slots.get(namespace);
    if (known !== undefined) return known.number;
    if (slots.size >= (this.#options.slots ?? slotsPerIncarnation - 1)) return undefined;
    const number = incarnation.number * slotsPerIncarnation + slots.size;
    this.#statements.addSlot.run(number, namespace, this.#catalog.version + 1);
    this.#catalog.addSlot({ number, incarnation, namespace });
    this.#catalogGrew = true;
    return number;
  }
}

function prepareAll(
  db: DatabaseSync,
): Readonly<
  Record<
    | 'addType'
    | 'addIncarnation'
    | 'addSlot'
    | 'known'
    | 'follow'
    | 'followed'
    | 'unfollow'
    | 'setPosition'
    | 'clearPosition'
    | 'rowsOf'
    | 'grow'
    | 'setMeta',
    StatementSync
  >
> {
  return {
    addType: db.prepare('INSERT INTO type (key) VALUES (?)'),
    addIncarnation: db.prepare(
      `INSERT INTO incarnation (incarnation, cluster) VALUES (?, ?)
      ON CONFLICT (incarnation) DO UPDATE SET cluster = excluded.cluster RETURNING id`,
    ),
    addSlot: db.prepare('INSERT INTO place (id, namespace, added) VALUES (?, ?, ?)'),
    known: db.prepare('SELECT info, version FROM follow WHERE t = ? AND inc = ?'),
    follow: db.prepare(
      `INSERT INTO follow (t, inc, info, version, confirmed, objects, bytes) VALUES (?, ?, ?, '', 0, 0, 0)
      ON CONFLICT DO UPDATE SET info = excluded.info`,
    ),
    followed: db.prepare('SELECT t FROM follow WHERE inc = ?'),
    unfollow: db.prepare('DELETE FROM follow WHERE t = ? AND inc = ?'),
    setPosition: db.prepare('UPDATE follow SET version = ?, confirmed = ?, resume = ? WHERE t = ? AND inc = ?'),
    clearPosition: db.prepare(`UPDATE follow SET version = '', confirmed = 0, resume = '' WHERE t = ? AND inc = ?`),
    rowsOf: db.prepare(
      'SELECT place, name FROM obj INDEXED BY obj_key WHERE t = ? AND place BETWEEN ? AND ? ORDER BY place, name LIMIT ?',
    ),
    grow: db.prepare('UPDATE follow SET objects = objects + ?, bytes = bytes + ? WHERE t = ? AND inc = ?'),
    setMeta: db.prepare('UPDATE meta SET value = ? WHERE key = ?'),
  };
}
