// Collects what a transaction will write, computed from the batches and from the rows as they are stored now. Rows that
// do not differ from the stored ones are not written. Each table is written by a few statements for all batches.
import { hash } from 'node:crypto';

import type { RowWrite } from '../../store.ts';
import type { TypeKey } from '../../../query/types.ts';
import { changeKind } from '../connection/schema.ts';
import { arrayText, termsOf, type Term } from './terms.ts';

/**
 * A resource type in one incarnation of a cluster (from its creation until it is set up anew). `inc` and `t` are the
 * ids of both in the database, and `shard` is that of the incarnation.
 */
export interface Target {
  readonly shard: number;
  readonly inc: number;
  readonly t: number;
  readonly type: TypeKey;
}

/** A row of table `obj` as it is stored now. */
export interface FoundRow {
  readonly id: number;
  readonly uid: Buffer;
  readonly rv: Buffer;
  readonly digest: Buffer;
  /** Length of the body in bytes. */
  readonly bytes: number;
  /** The numbers of the row's terms (labels and indexed values), as the text of a PostgreSQL int8[]. */
  readonly terms: string;
}

/** A row to write into table `obj`. */
export interface ObjectRow {
  readonly target: Target;
  readonly id: number;
  readonly isNew: boolean;
  readonly created: number;
  readonly bytes: number;
  readonly namespace: Buffer;
  readonly name: Buffer;
  readonly fold: Buffer | null;
  readonly uid: Buffer;
  readonly owner: Buffer | null;
  readonly rv: Buffer;
  readonly digest: Buffer;
  readonly terms: readonly bigint[];
}

export interface BodyRow {
  readonly shard: number;
  readonly id: number;
  readonly isNew: boolean;
  readonly raw: Uint8Array;
}

export interface LogRow {
  readonly target: Target;
  readonly id: number;
  readonly kind: number;
  readonly namespace: Buffer;
  readonly name: Buffer;
  readonly uid: Buffer;
}

export interface TermCount {
  readonly shard: number;
  readonly t: number;
  readonly id: bigint;
  /** The term's path and value. Absent when rows only lose the term, because the texts are stored already. */
  term?: Term;
  n: number;
}

export interface NamespaceCount {
  readonly target: Target;
  readonly namespace: Buffer;
  n: number;
}

/** A row of table `follow`: what a type of a cluster is, and up to which resourceVersion its objects were copied. */
export interface FollowedType {
  /** The type's `TypeInfo` as JSON. */
  readonly info: string;
  /** The cluster's resourceVersion; empty until the first complete list was stored. */
  readonly version: string;
  readonly confirmedMs: number;
  /** The object seen last (`SyncPosition.resume`), with which a new follower can resume the watch; '' for none. */
  readonly resume: string;
}

/**
 * The new row of table `follow`, which says how far a type of a cluster was copied. `objects` and `bytes` are
 * differences, which are added to the stored numbers.
 */
export interface FollowChange {
  readonly target: Target;
  /** The stored row; undefined when there is none. */
  readonly before: FollowedType | undefined;
  info: string;
  version: string;
  confirmedMs: number;
  resume: string;
  objects: number;
  bytes: number;
}

/** The key of a row of table `follow` in a map. */
export function followKey({ inc, t }: Pick<Target, 'inc' | 't'>): string {
  return `${inc} ${t}`;
}

/** What a write did to an object. */
export type Outcome = 'unchanged' | 'written' | 'deleted';

const digestBytes = 16;

export class WriteSet {
  readonly objects: ObjectRow[] = [];
  readonly bodies: BodyRow[] = [];
  /** Ids of rows to delete, each with its shard. */
  readonly gone: { readonly shard: number; readonly id: number }[] = [];
  /** Rows whose current body goes into the change log, before the body is replaced or deleted. */
  readonly before: { readonly shard: number; readonly id: number }[] = [];
  readonly log: LogRow[] = [];
  readonly terms = new Map<string, TermCount>();
  readonly counts = new Map<string, NamespaceCount>();
  readonly follows = new Map<string, FollowChange>();
  readonly #newId: () => number;

  /** @param newId gives a row id that was never used before */
  constructor(newId: () => number) {
    this.#newId = newId;
  }

  /**
   * The change of the row of table `follow` for a type of a cluster. All batches of the type share one object.
   * @param before the row of table `follow` as it is stored now
   */
  follow(target: Target, info: string, before?: FollowedType): FollowChange {
    const key = followKey(target);
    const known = this.follows.get(key);
    if (known !== undefined) {
      known.info = info;
      return known;
    }
    const { version = '', confirmedMs = 0, resume = '' } = before ?? {};
    const change = { target, before, info, version, confirmedMs, resume, objects: 0, bytes: 0 };
    this.follows.set(key, change);
    return change;
  }

  /**
   * Whether the catalog changes: a type is new or described differently, or its first complete list was stored or lost.
   */
  get changesCatalog(): boolean {
    return this.follows
      .values()
      .some(({ info, version, before }) => info !== before?.info || (version === '') !== (before.version === ''));
  }

  delete(follow: FollowChange, key: { readonly namespace: string; readonly name: string }, found: FoundRow): void {
    const { target } = follow;
    const [namespace, name] = [Buffer.from(key.namespace), Buffer.from(key.name)];
    this.gone.push({ shard: target.shard, id: found.id });
    this.#log(target, found.id, 'deleted', namespace, name, found.uid);
    this.#countTerms(target, found.terms, []);
    this.#count(target, namespace, -1);
    follow.objects -= 1;
    follow.bytes -= found.bytes;
  }

  /** Adds an insert or update. When the stored object has another uid, it is deleted and the new one inserted. */
  upsert(follow: FollowChange, row: RowWrite, found: FoundRow | undefined): Outcome {
    const { target } = follow;
    const terms = termsOf(target.type, row);
    const next = objectRow(target, row, terms);
    if (found === undefined || !found.uid.equals(next.uid)) {
      if (found !== undefined) this.delete(follow, row, found);
      const id = this.#newId();
      this.#write(follow, { ...next, id, isNew: true }, row.raw);
      this.#log(target, id, 'added', next.namespace, next.name, next.uid);
      this.#countTerms(target, '{}', terms);
      this.#count(target, next.namespace, 1);
      follow.objects += 1;
      return 'written';
    }
    const { id } = found;
    const isSame = found.digest.equals(next.digest);
    const termsText = arrayText(next.terms);
    if (isSame && found.rv.equals(next.rv) && found.terms === termsText) return 'unchanged';
    if (found.terms !== termsText) this.#countTerms(target, found.terms, terms);
    if (isSame) {
      // Only columns that are not part of the body differ. Clients cannot see a difference, so no log entry is made.
      this.objects.push({ ...next, id, isNew: false });
      return 'unchanged';
    }
    this.#log(target, id, 'modified', next.namespace, next.name, next.uid);
    this.#write(follow, { ...next, id, isNew: false }, row.raw);
    follow.bytes -= found.bytes;
    return 'written';
  }

  #write(follow: FollowChange, object: ObjectRow, raw: Uint8Array): void {
    this.objects.push(object);
    this.bodies.push({ shard: object.target.shard, id: object.id, isNew: object.isNew, raw });
    follow.bytes += raw.byteLength;
  }

  #log(target: Target, id: number, kind: keyof typeof changeKind, namespace: Buffer, name: Buffer, uid: Buffer): void {
    this.log.push({ target, id, kind: changeKind[kind], namespace, name, uid });
    if (kind !== 'added') this.before.push({ shard: target.shard, id });
  }

  #count(target: Target, namespace: Buffer, added: number): void {
    const key = `${target.inc} ${target.t} ${namespace.toString('latin1')}`;
    const known = this.counts.get(key);
    if (known === undefined) this.counts.set(key, { target, namespace, n: added });
    else known.n += added;
  }

  #countTerms(target: Target, beforeText: string, after: readonly Term[]): void {
    const before = new Set(beforeText === '{}' ? [] : beforeText.slice(1, -1).split(','));
    for (const term of after) if (!before.delete(String(term.id))) this.#countTerm(target, term.id, 1, term);
    for (const id of before) this.#countTerm(target, BigInt(id), -1);
  }

  #countTerm({ shard, t }: Target, id: bigint, added: 1 | -1, term?: Term): void {
    const key = `${shard} ${id}`;
    let known = this.terms.get(key);
    if (known === undefined) this.terms.set(key, (known = { shard, t, id, n: 0 }));
    known.n += added;
    if (term !== undefined) known.term = term;
  }
}

function objectRow(target: Target, row: RowWrite, terms: readonly Term[]): Omit<ObjectRow, 'id' | 'isNew'> {
  const { namespace, name, uid, ownerUid, resourceVersion, createdAtMs, raw } = row;
  return {
    target,
    created: createdAtMs,
    bytes: raw.byteLength,
    namespace: Buffer.from(namespace),
    name: Buffer.from(name),
    fold: folded(name),
    uid: Buffer.from(uid),
    owner: ownerUid === '' ? null : Buffer.from(ownerUid),
    rv: Buffer.from(resourceVersion),
    digest: hash('sha256', raw, 'buffer').subarray(0, digestBytes),
    terms: terms.map(({ id }) => id),
  };
}

/** The text in lower case; null when it is in lower case already. */
export function folded(text: string): Buffer | null {
  const lower = text.toLowerCase();
  return lower === text ? null : Buffer.from(lower);
}
