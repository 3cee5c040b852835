// The interface of the index's stores. A question is passed as a ListQuery and not as SQL, so that each store can plan
// it in its own way. Rights are part of every question: no method gives rows, counts or values without a scope. A store
// applies the scope while it finds rows, and does not filter finished pages.
import type { Cursor } from '../query/continue.ts';
import type { ListQuery } from '../query/list-query.ts';
import type { RowScope } from '../query/scope/scope.ts';
import type { Incarnation, ObjectKey, ResourceType, TypeInfo, TypeKey } from '../query/types.ts';

/** An object to store, as one row of the index. */
export interface RowWrite extends ObjectKey {
  readonly uid: string;
  /** The resourceVersion of the object in its cluster, a decimal number. `orderby=resource_version` sorts by it. */
  readonly resourceVersion: string;
  /** The uid of the controlling owner; '' when there is none. */
  readonly ownerUid: string;
  /** `metadata.creationTimestamp` in Unix milliseconds. */
  readonly createdAtMs: number;
  readonly labels: readonly (readonly [key: string, value: string])[];
  /**
   * Values of indexed paths such as `status.phase`. For a path through a list (`spec.containers[].image`) there is one
   * pair for each value.
   */
  readonly terms: readonly (readonly [path: string, value: string])[];
  /**
   * The object's JSON as clients get it: without removed fields, with apiVersion and kind, and with the annotation that
   * names the cluster.
   */
  readonly raw: Uint8Array;
}

/**
 * Up to where a type of a cluster was listed and watched. A position is committed together with the rows that it
 * covers.
 */
export interface SyncPosition {
  /** The cluster's resourceVersion from which to continue the watch; '' before the first complete list. */
  readonly resourceVersion: string;
  /**
   * When the cluster last confirmed (by an event, a bookmark or a list) that the rows are current, in Unix
   * milliseconds.
   */
  readonly confirmedAtMs: number;
  /**
   * Text that a follower needs to continue from this position, stored unchanged. A position without `resume` deletes
   * the text that was stored before.
   */
  readonly resume?: string;
}

/**
 * Changes of the objects of one type in one incarnation of a cluster. They are committed completely or not at all,
 * except for objects that the store cannot keep (left-out.ts).
 */
export interface WriteBatch {
  readonly incarnation: Incarnation;
  readonly type: TypeInfo;
  readonly upserts: readonly RowWrite[];
  readonly deletes: readonly ObjectKey[];
  readonly position?: SyncPosition;
}

/** An object that is not in the store, because the store cannot keep it. */
export interface LeftOut extends ObjectKey {
  /** A clause such as `its name has 600 bytes, more than 512`. It quotes nothing from the object. */
  readonly reason: string;
}

/** What a commit has changed. Rows that were already stored with the same bytes are neither written nor counted. */
export interface Commit {
  /** The index's resourceVersion (19 digits) of the last change; the current one when nothing changed. */
  readonly resourceVersion: string;
  readonly written: number;
  readonly deleted: number;
  /**
   * Objects of the batch that the store cannot keep. The store has no version of these objects now. Absent when there
   * are none.
   */
  readonly leftOut?: readonly LeftOut[];
}

/**
 * The right to write a shard of a shared store. `epoch` counts the leases of the shard, and is that of the lease which
 * the writer holds. Each write checks in its last statement that this lease is still the current one. A store of one
 * process needs no such right.
 */
export interface ShardWriter {
  readonly shard: number;
  readonly epoch: number;
}

/** The state of the index that an answer was read from. Every answer of a store contains it. */
export interface ReadPoint {
  /** 19 digits: the answer contains all changes up to and including this resourceVersion, and no later change. */
  readonly resourceVersion: string;
  /**
   * 19 digits: the resourceVersion of the newest change of an RBAC object (roles, bindings) that the answer takes into
   * account; '' when there is none.
   */
  readonly rightsVersion: string;
}

/** Which version of an object is stored, for a comparison with a new list from the cluster. */
export interface StoredVersion extends ObjectKey {
  readonly uid: string;
  readonly resourceVersion: string;
}

/** A type in an incarnation, up to where it was followed, and how many of its objects are stored. */
export interface StoredType {
  readonly incarnation: Incarnation;
  readonly type: TypeInfo;
  readonly position: SyncPosition;
  readonly objects: number;
}

/** Which part of the query's rows to give, in the query's order. */
export interface PageRequest {
  /** The most rows to give. Undefined: all of them. */
  readonly limit?: number;
  readonly offset?: number;
  /** Continue after this cursor, which an earlier page of the same query has given. */
  readonly after?: Cursor;
  /** Whether to count the rows after this page. */
  readonly withRemaining?: boolean;
  /**
   * What to do when a page with a limit would have to read more bodies than a question may. `end`: the page ends early,
   * and `next` continues after the last row that was examined (not possible with an offset). `refuse`: the question is
   * refused. Undefined: the page reads more bodies than that.
   */
  readonly overBudget?: 'end' | 'refuse';
}

/** One row as read from the store. */
export interface RowRead {
  readonly type: TypeKey;
  readonly cluster: string;
  readonly incarnation: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly raw: Uint8Array;
}

/** One page of rows as they were when its keys were read. Everything except `chunks` is known before the first row. */
export interface Page extends ReadPoint {
  /** The cursor with which the next page begins; undefined on the last page. */
  readonly next: Cursor | undefined;
  /**
   * How many rows follow this page. Undefined when `withRemaining` was not set, or when counting would read more bodies
   * than a question may.
   */
  readonly remaining: number | undefined;
  /** Texts for the client: why the page ended early, or why the remaining rows were not counted. */
  readonly warnings?: readonly string[];
  /**
   * The rows in order, in chunks that are read one by one as the consumer asks. No read transaction stays open while
   * the consumer is slow.
   */
  readonly chunks: AsyncIterable<readonly RowRead[]>;
  /**
   * Frees the memory of all rows at once, where a store can do so. Afterwards no `raw` of the page may be read. Without
   * this call garbage collection frees the memory. It then runs often, because V8 counts the memory as its own.
   */
  readonly release?: () => void;
}

/**
 * What to count rows by: cluster, namespace, both (the value is `cluster/namespace`, with nothing after the slash for
 * cluster-scoped objects), type, a label, or a path of the object.
 */
export type FacetBy = NamedFacet | { readonly label: string } | { readonly path: string };
export type NamedFacet = 'cluster' | 'namespace' | 'cluster/namespace' | 'type';

export interface FacetCount {
  readonly value: string;
  readonly count: number;
}

/** How many rows a query finds. */
export interface Counted extends ReadPoint {
  readonly count: number;
}

/** How many rows have each value, most frequent values first. */
export interface Facets extends ReadPoint {
  readonly counts: readonly FacetCount[];
}

/** Values that occur in rows, sorted by their UTF-8 bytes. */
export interface FoundValues extends ReadPoint {
  readonly values: readonly string[];
}

/** One entry of the change log: one change of one object. Entries are in the order of commits. */
export interface LogEntry {
  /** 19 digits; larger than that of the entry before. */
  readonly resourceVersion: string;
  readonly type: TypeKey;
  readonly incarnation: string;
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /**
   * The object before the change; undefined when it did not exist. When an object is recreated with another uid, the
   * log has two entries: a deletion and an addition.
   */
  readonly before: Uint8Array | undefined;
  /** The object after the change; undefined when it was deleted. */
  readonly after: Uint8Array | undefined;
}

/** Limits that differ between stores. */
export interface StoreLimits {
  /** The largest offset of a page. Larger ones are refused. */
  readonly maxOffset: number;
}

/**
 * Stores rows, answers queries and keeps a log of changes. All methods reject with GatewayError INDEX_UNAVAILABLE while
 * the store cannot answer.
 */
export interface IndexStore {
  /**
   * 16 random hexadecimal digits that identify the contents: a store that is built again gets a new id.
   * ResourceVersions and continue tokens of a store with another id are not valid here.
   */
  readonly id: string;
  readonly limits: StoreLimits;
  /**
   * True for a store that works again by itself after failed requests, such as a database that was unreachable. False:
   * the store must be closed and opened again.
   */
  readonly comesBack?: boolean;

  /** The stored types of one incarnation, or of all. There can be tens of thousands; stored-types.ts caches them. */
  types(incarnation?: string): Promise<readonly StoredType[]>;
  /** The versions of all rows of one type, sorted by namespace and name. */
  versions(incarnation: string, type: ResourceType): Promise<readonly StoredVersion[]>;
  /**
   * A text that changes when {@link types} would name another incarnation or type, or when the first complete list of a
   * type was stored or lost. It does not change with every row. It changes before the write that causes the change
   * resolves.
   */
  catalogVersion(): Promise<string>;
  /**
   * Commits a batch.
   * @throws FencedError (rejects) when `writer` no longer holds the lease of its shard
   * @throws IndexFullError (rejects) when the store accepts no more rows of the type
   */
  apply(batch: WriteBatch, writer?: ShardWriter): Promise<Commit>;
  /**
   * Deletes all rows of an incarnation, or of one of its types. Each deletion is an entry of the log. Writes take
   * effect in the order of the calls.
   * @throws FencedError (rejects) as `apply` does; some of the rows may be deleted then
   */
  forget(incarnation: string, type?: ResourceType, writer?: ShardWriter): Promise<Commit>;

  list(query: ListQuery, scope: RowScope, page: PageRequest): Promise<Page>;
  /**
   * The number of rows that match the query and that the scope allows.
   * @throws GatewayError (rejects) with code BAD_REQUEST when `overBudget` is set and more bodies would have to be read
   *   than a question may
   */
  count(query: ListQuery, scope: RowScope, overBudget?: 'refuse'): Promise<Counted>;
  /**
   * Counts the rows by the values of `by`. At most `limit` values are returned.
   * @throws GatewayError (rejects) with code BAD_REQUEST when more bodies would have to be read than a question may
   */
  facets(query: ListQuery, scope: RowScope, by: FacetBy, limit: number): Promise<Facets>;
  /**
   * The values of a label or path that begin with `prefix`, among the rows of the query.
   * @throws GatewayError (rejects) as `facets` does
   */
  values(query: ListQuery, scope: RowScope, by: FacetBy, prefix: string, limit: number): Promise<FoundValues>;

  /** The current state of the index. It includes everything that was committed before the call. */
  readPoint(): Promise<ReadPoint>;
  /** The newest resourceVersion (19 digits) that this process knows of. All changes up to it can be read. */
  resourceVersion(): string;
  /** The oldest resourceVersion from which `changes` can continue. */
  oldestResourceVersion(): Promise<string>;
  /**
   * Whether a text has the form and check digits of this store's resourceVersions. One in a thousand resourceVersions
   * of another store has these, too.
   */
  canBeOwn(resourceVersion: string): boolean;
  /**
   * Whether `changes` can continue from exactly this resourceVersion. False when it is older than the log, or when this
   * store has not given it out.
   */
  isInLog(resourceVersion: string): Promise<boolean>;
  /**
   * Log entries of these types after `resourceVersion`, oldest first, at most `limit`.
   * @throws GatewayError (rejects) with code EXPIRED when {@link isInLog} is false
   */
  changes(resourceVersion: string, types: readonly TypeKey[], limit: number): Promise<readonly LogEntry[]>;
  /** Calls the listener after each commit that changed something. Returns a function that removes the listener. */
  onCommit(listener: (resourceVersion: string) => void): () => void;

  close(): Promise<void>;
}
