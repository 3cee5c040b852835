// Types that describe how complete and up to date the copy of each cluster in the index is: for each type its state,
// and when it was last known to be up to date. Types that are stored only to decide access are included; only a type
// with `isChosen` may appear in answers.
import type { MemberAnswer } from '../../routing/members/member-call.ts';
import type { Incarnation, LiveType, ResourceType, TypeInfo, TypeKey } from '../../query/types.ts';

import { defaultRetryDelays, type RetryDelays } from './retry-delays.ts';

/** Why a cluster or type cannot be kept up to date now. The message contains no secret and says what to do. */
export interface SyncFault {
  readonly reason:
    | 'Forbidden'
    | 'Unauthorized'
    | 'Unavailable'
    | 'Refused'
    | 'Malformed'
    | 'Stalled'
    | 'Missing'
    | 'Store'
    | 'NotServed'
    /** An option of the cluster cannot be read, so nothing of it is indexed. */
    | 'InvalidOptions'
    /** Another process holds the lease of the cluster's shard: it follows the cluster now. */
    | 'TakenOver';
  readonly message: string;
}

/** The objects of one type of one cluster that the index store cannot keep. */
export interface LeftOutState {
  readonly count: number;
  /** One of these objects, and why it cannot be kept. Shown only to users who may see all objects of the type. */
  readonly example: string;
}

/** How complete and up to date the copy of one type of one cluster in the index is. The object is frozen. */
export interface TypeState {
  readonly type: TypeInfo;
  /**
   * False when the type is only stored to decide access (RBAC objects, namespaces, CRDs). Then it never appears in
   * answers.
   */
  readonly isChosen: boolean;
  /** `waiting` means waiting for the cluster to answer, or for a free slot to list. */
  readonly phase: 'waiting' | 'listing' | 'watching' | 'failing' | 'stopped';
  /** True when a complete list was committed, perhaps by an earlier process. Otherwise rows may be missing. */
  readonly isWhole: boolean;
  /** The number of rows that the index store has of this type. */
  readonly objects: number;
  /** During a list: how many items were read, and how many there are according to the member cluster. */
  readonly listed?: { readonly done: number; readonly of: number };
  /** Rows written per second, as an average over the last ten seconds. */
  readonly rate: number;
  /** Age in milliseconds of the oldest change that was read and not committed yet; 0 when there is none. */
  readonly lagMs: number;
  /** When the committed rows were last known to be up to date, in Unix milliseconds; undefined when they never were. */
  readonly confirmedAtMs: number | undefined;
  readonly fault: SyncFault | undefined;
  /** The objects that the index store cannot keep. Absent when there are none. */
  readonly leftOut?: LeftOutState;
  /** The identity that the type is read with; absent while it is not read. */
  readonly readAs?: ReadAs;
}

/** How complete and up to date the copy of one cluster in the index is. The object is frozen. */
export interface ClusterState {
  /** The name of the cluster, as in request paths. */
  readonly cluster: string;
  /** The UID of the cluster record. */
  readonly uid: string;
  /**
   * The incarnation of the cluster that the rows belong to (UIDs of its record and of its kube-system Namespace);
   * undefined when the cluster was never reached.
   */
  readonly incarnation: Incarnation | undefined;
  /** A fault that affects all types of the cluster. */
  readonly fault: SyncFault | undefined;
  readonly types: readonly TypeState[];
  /** The selected resources that are not available, with the reason. */
  readonly refused: readonly { readonly resource: string; readonly message: string }[];
  /** The types that the cluster serves and of which the index has no rows; undefined when that is not known. */
  readonly live?: readonly LiveType[] | undefined;
}

/**
 * How complete and up to date the copies of some types of one cluster are. Types that are up to date (complete,
 * watched, without a fault, and with all their objects) are not included.
 */
export interface PartState extends Pick<ClusterState, 'cluster' | 'incarnation' | 'fault' | 'types'> {
  /** Whether the cluster has any type at all in the index, including types that were not asked about. */
  readonly hasTypes: boolean;
}

/** Keeps the copies of all clusters in the index up to date, until it is closed. */
export interface SyncHandle {
  /** The states of all indexed clusters, sorted by name. */
  state(): readonly ClusterState[];
  /**
   * For each cluster, the states of those of the given types that are not up to date, unsorted. Every answer calls
   * this method, so it must be fast with thousands of types.
   */
  stateOf(types: ReadonlySet<TypeKey>): readonly PartState[];
  /** When the rows of a type were last known to be up to date, in Unix milliseconds; undefined when they never were. */
  confirmedAtMs(incarnation: string, type: ResourceType): number | undefined;
  /**
   * Calls the listener when clusters, types, phases or faults changed, or a cluster was set up anew, but not when only
   * rows were added or removed. Returns a function that removes the listener.
   */
  onChange(listener: () => void): () => void;
  /**
   * Deletes the rows of a cluster and reads it anew. Resolves when the rows are gone, with false when this process does
   * not follow the cluster. Rejects when they could not be deleted; the cluster is still followed then.
   * @param uid of the cluster's record
   */
  rebuild(uid: string): Promise<boolean>;
  /** Stops reading from all clusters, and commits what was read so far. */
  close(): Promise<void>;
}

/** A GET request of the index to one member cluster. */
export interface MemberQuestion {
  /** Path and query, such as `/api/v1/pods?limit=500`. */
  readonly path: string;
  readonly accept?: string;
  /** The ETag of a stored copy. The member cluster answers 304 when the copy is still valid. */
  readonly ifNoneMatch?: string;
  readonly headTimeoutMs: number;
  /** Time limit until the last byte of the answer; absent for a watch. */
  readonly wholeTimeoutMs?: number;
  readonly isWatch?: boolean;
  readonly signal: AbortSignal;
}

/**
 * Sends one request to a member cluster. Rejects with a GatewayError, as `callMember` does. For a 403, `refusedTo`
 * names the identities that were refused.
 */
export type AskMember = (question: MemberQuestion) => Promise<MemberAnswer & { readonly refusedTo?: string }>;

/** Which objects of a type are stored. A filter without fields accepts all. */
export interface TypeFilter {
  readonly namespaces?: readonly string[];
  readonly names?: readonly string[];
  /** A label selector that the API server applies. */
  readonly labels?: string;
  /** Objects in these namespaces, and with these names, are not stored. */
  readonly notNamespaces?: readonly string[];
  readonly notNames?: readonly string[];
}

/** Waits and time limits of listing and watching. Fields that end in `Ms` are milliseconds. */
export interface SyncTiming {
  readonly listTimeoutMs: number;
  readonly headTimeoutMs: number;
  readonly watchSecondsMin: number;
  readonly watchSecondsMax: number;
  /** A watch that is still open this long after its `timeoutSeconds` counts as dead and is closed. */
  readonly stallGraceMs: number;
  /**
   * The waits before another attempt, when a cluster cannot be reached or its discovery cannot be read. A single type
   * has its own waits, as in client-go's reflector.
   */
  readonly clusterRetry: RetryDelays;
  readonly firstBackoffMs: number;
  readonly maxBackoffMs: number;
  /** For how long a cluster may answer 429 with `Retry-After` before that is reported as a fault. */
  readonly busyGraceMs: number;
  /**
   * When a new watch has brought nothing for this long, the member cluster is asked whether anything changed (`confirm`
   * in ../follow/follow-check.ts).
   */
  readonly quietMs: number;
  /**
   * The member cluster is asked again whenever it was unknown for this long whether the rows are up to date. API
   * servers send about one bookmark a minute, but none without changes.
   */
  readonly unconfirmedMs: number;
  /**
   * After a watch has lived this long or brought an event, the waits between attempts start again at `firstBackoffMs`.
   */
  readonly healthyMs: number;
  /** The time between two discoveries. Changes of CRDs and APIServices trigger a discovery earlier. */
  readonly discoveryMs: number;
  /** The wait before a discovery that a change triggered, because such changes often come many at a time. */
  readonly discoveryPauseMs: number;
  /** The longest time that a change waits for further changes, to be committed together with them. */
  readonly batchWaitMs: number;
  /** The wait before a type is tried again after the index store was full. */
  readonly fullRetryMs: number;
  /** How often a new resourceVersion is committed when there are no changes to commit. */
  readonly positionEveryMs: number;
  /**
   * For how long rows that a newer version of Portcullis wrote keep their format, before this version rewrites them in
   * its own.
   */
  readonly otherFormMs: number;
}

export const defaultSyncTiming: SyncTiming = Object.freeze({
  listTimeoutMs: 120_000,
  headTimeoutMs: 30_000,
  watchSecondsMin: 300,
  watchSecondsMax: 600,
  stallGraceMs: 30_000,
  quietMs: 10_000,
  unconfirmedMs: 75_000,
  clusterRetry: defaultRetryDelays,
  firstBackoffMs: 800,
  maxBackoffMs: 30_000,
  busyGraceMs: 10_000,
  healthyMs: 5_000,
  discoveryMs: 300_000,
  discoveryPauseMs: 1_000,
  batchWaitMs: 50,
  fullRetryMs: 60_000,
  positionEveryMs: 10_000,
  otherFormMs: 600_000,
});

export const ownCredential = "the gateway's own credential";

/** The identity that the member cluster sees when a type is read. */
export type ReadAs = 'portcullis:index' | typeof ownCredential;
