// What the index asks of a store. The interface is the query, not SQL, so that every store plans natively. Rights are
// part of every question: no method gives rows, counts or values without a scope, and none filters pages afterwards.
import type { ListQuery } from '../query/list-query.ts';
import type { RowScope } from '../rights/scope.ts';
import type { Incarnation, ObjectKey, ResourceType, TypeInfo, TypeKey } from '../types.ts';

/** One object to keep. */
export interface RowWrite extends ObjectKey {
  readonly uid: string;
  /** The member's, a decimal; what `resource_version` orders by. */
  readonly resourceVersion: string;
  /** Of the controller owner, '' for none. */
  readonly ownerUid: string;
  /** creationTimestamp, Unix milliseconds. */
  readonly createdAtMs: number;
  readonly labels: readonly (readonly [key: string, value: string])[];
  /**
   * Values of indexed paths, lists as several of one path: `status.phase`, `spec.nodeName`, `spec.containers[].image`.
   */
  readonly terms: readonly (readonly [path: string, value: string])[];
  /** JSON as it will be served: pruned, with apiVersion, kind and the cluster's annotation. */
  readonly raw: Uint8Array;
}

/** Up to where an incarnation's type was followed. Commits together with rows. */
export interface SyncPosition {
  /** The member's resourceVersion to watch from; '' before a list was whole. */
  readonly resourceVersion: string;
  /** Unix milliseconds when the member last confirmed it (event, bookmark, list). */
  readonly confirmedAtMs: number;
}

/** Changes of one type of one incarnation, committed whole or not at all. */
export interface WriteBatch {
  readonly incarnation: Incarnation;
  readonly type: TypeInfo;
  readonly upserts: readonly RowWrite[];
  readonly deletes: readonly ObjectKey[];
  readonly position?: SyncPosition;
}

/** What a commit did. Rows that were already stored byte for byte are not written and not counted. */
export interface Commit {
  /** 19-digit index resourceVersion of the last change; the current one when nothing changed. */
  readonly resourceVersion: string;
  readonly written: number;
  readonly deleted: number;
}

/**
 * Who writes a shard of a shared store: the holder of its lease, in its term. Checked by the last statement of each
 * write. Left out for a store of one process.
 */
export interface ShardWriter {
  readonly shard: number;
  readonly epoch: number;
}

/** What a read saw. Every answer of a store carries it. */
export interface ReadPoint {
  /** 19 digits: all changes up to here, and none after, are in the answer. */
  readonly resourceVersion: string;
  /** 19 digits: the newest change of an RBAC object (roles, bindings) in what was read; '' when none is kept. */
  readonly rightsVersion: string;
}

/** A row as stored, for the comparison of a relist. */
export interface StoredVersion extends ObjectKey {
  readonly uid: string;
  readonly resourceVersion: string;
}

/** A type of an incarnation with what is known of its sync. */
export interface StoredType {
  readonly incarnation: Incarnation;
  readonly type: TypeInfo;
  readonly position: SyncPosition;
  readonly objects: number;
}

/** Which part of the rows, in the query's order. */
export interface PageRequest {
  /** Undefined: all of them. */
  readonly limit?: number;
  readonly offset?: number;
  /** Given by an earlier page of the same query. */
  readonly after?: Cursor;
  /** Whether the rows after this page are counted. */
  readonly withRemaining?: boolean;
  /**
   * What happens to a page with a limit that would have to read more objects than a question may: it ends early and
   * `next` goes on behind the last row that was looked at (only without an offset), or it is refused. Undefined: it
   * reads on.
   */
  readonly overBudget?: 'end' | 'refuse';
}

/** Keys of the last row of a page, or of the last that was looked at, in the query's order. JSON. */
export type Cursor = readonly (string | number)[];

/** One row as read. */
export interface RowRead {
  readonly type: TypeKey;
  readonly cluster: string;
  readonly incarnation: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly raw: Uint8Array;
}

/** One page, as of the moment it was planned; all but `chunks` is known before the first row. */
export interface Page extends ReadPoint {
  /** Where the next page begins; undefined on the last one. */
  readonly next: Cursor | undefined;
  /** Undefined also where counting would read more objects than a question may. */
  readonly remaining: number | undefined;
  /** For the client: why the page ended early, or why nothing was counted. */
  readonly warnings?: readonly string[];
  /** In order, in chunks that are read as they are asked for; no read transaction waits for the consumer. */
  readonly chunks: AsyncIterable<readonly RowRead[]>;
  /**
   * Frees the memory of all rows at once, where a store can; after that no `raw` of the page may be read. Without the
   * call garbage collection frees it, and runs often: V8 counts external memory as its own.
   */
  readonly release?: () => void;
}

/** What facets group by: a key column or a path of the object. */
export type FacetBy = 'cluster' | 'namespace' | 'type' | { readonly label: string } | { readonly path: string };

export interface FacetCount {
  readonly value: string;
  readonly count: number;
}

/** How many rows a query finds. */
export interface Counted extends ReadPoint {
  readonly count: number;
}

/** How many rows have each value; the most frequent first. */
export interface Facets extends ReadPoint {
  readonly counts: readonly FacetCount[];
}

/** Values that rows have, in the order of their UTF-8 bytes. */
export interface FoundValues extends ReadPoint {
  readonly values: readonly string[];
}

/** One change of the log, in the order of commits. */
export interface LogEntry {
  /** Strictly increasing, 19 digits. */
  readonly resourceVersion: string;
  readonly type: TypeKey;
  readonly incarnation: string;
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /**
   * Undefined: the object did not exist before. An object of another uid is a deletion and an addition, two entries.
   */
  readonly before: Uint8Array | undefined;
  /** Undefined: deleted. */
  readonly after: Uint8Array | undefined;
}

/** Limits in which stores differ. */
export interface StoreLimits {
  /** Largest decimal offset that is not refused. */
  readonly maxOffset: number;
}

/**
 * Keeps rows, answers queries, remembers changes.
 * All methods reject with GatewayError INDEX_UNAVAILABLE while the store cannot answer.
 */
export interface IndexStore {
  /**
   * 16 random hexadecimal digits, others when the store is built anew. What another store has issued is not valid
   * here.
   */
  readonly id: string;
  readonly limits: StoreLimits;
  /** True: what it cannot answer now it can later, without being opened anew, as a database that is away. */
  readonly comesBack?: boolean;

  /** What is kept, of every incarnation or of one. There are tens of thousands: see stored-types.ts. */
  types(incarnation?: string): Promise<readonly StoredType[]>;
  /** Rows of one type as stored, sorted by namespace and name. */
  versions(incarnation: string, type: ResourceType): Promise<readonly StoredVersion[]>;
  /**
   * Changes whenever {@link types} would name another incarnation or type, or one became whole or stopped being so; not
   * with every row. A write that changes it has done so when it is answered.
   */
  catalogVersion(): Promise<string>;
  /**
   * @throws FencedError (rejects) when `writer` no longer holds its shard
   * @throws IndexFullError (rejects) when the store takes no more rows of the type
   */
  apply(batch: WriteBatch, writer?: ShardWriter): Promise<Commit>;
  /**
   * Deletes all rows of an incarnation, or of one of its types; each is an entry of the log. Writes take effect in the
   * order of the calls. @throws FencedError (rejects) as `apply`; then some of the rows may be gone
   */
  forget(incarnation: string, type?: ResourceType, writer?: ShardWriter): Promise<Commit>;

  list(query: ListQuery, scope: RowScope, page: PageRequest): Promise<Page>;
  /**
   * @throws GatewayError (rejects) BAD_REQUEST with `refuse` when more objects would have to be read than a question
   * may
   */
  count(query: ListQuery, scope: RowScope, overBudget?: 'refuse'): Promise<Counted>;
  /** @throws GatewayError (rejects) BAD_REQUEST when more objects would have to be read than a question may */
  facets(query: ListQuery, scope: RowScope, by: FacetBy, limit: number): Promise<Facets>;
  /**
   * Values of a label or path that begin with `prefix`, among the rows of the query. @throws GatewayError (rejects) as
   * `facets`
   */
  values(query: ListQuery, scope: RowScope, by: FacetBy, prefix: string, limit: number): Promise<FoundValues>;

  /** Where a read of now would be: everything committed before the call is in it. */
  readPoint(): Promise<ReadPoint>;
  /** The newest 19-digit resourceVersion that this process knows of; its changes are all readable. */
  resourceVersion(): string;
  /** Oldest resourceVersion from which `changes` can still go on. */
  oldestResourceVersion(): Promise<string>;
  /**
   * Whether a text has the form and the check digits of this store's resourceVersions, as one in a thousand of another
   * store's has.
   */
  canBeOwn(resourceVersion: string): boolean;
  /**
   * Whether `changes` can go on from exactly there: false for what is older than the log, and for what this store has
   * not issued.
   */
  isInLog(resourceVersion: string): Promise<boolean>;
  /**
   * Entries after `resourceVersion` of these types, oldest first, at most `limit`. @throws GatewayError (rejects)
   * EXPIRED where {@link isInLog} is false
   */
  changes(resourceVersion: string, types: readonly TypeKey[], limit: number): Promise<readonly LogEntry[]>;
  /** Called after each commit that changed something. Returns the function that ends it. */
  onCommit(listener: (resourceVersion: string) => void): () => void;

  close(): Promise<void>;
}
