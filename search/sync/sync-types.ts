// The words of following members: how far each type of each cluster is, and since when it was not confirmed. A type
// that is followed for rights alone is in here, too; only a chosen one may be served.
import type { MemberAnswer } from '../../routing/members/member-call.ts';
import type { Incarnation, ResourceType, TypeInfo, TypeKey } from '../types.ts';

import { defaultRetryDelays, type RetryDelays } from './follow/retry-delays.ts';

/** Why something is not followed now. Messages hold no secret and say what to do. */
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
    | 'NotServed';
  readonly message: string;
}

/** How one type of one cluster is followed. Frozen. */
export interface TypeState {
  readonly type: TypeInfo;
  /** False: kept to decide rights (RBAC objects, namespaces, CRDs), never served. */
  readonly isChosen: boolean;
  /** `waiting`: for the cluster to answer, or for its turn to list. */
  readonly phase: 'waiting' | 'listing' | 'watching' | 'failing' | 'stopped';
  /** A whole list was committed once, perhaps by an earlier process: an answer without it would not be whole. */
  readonly isWhole: boolean;
  /** Rows kept. */
  readonly objects: number;
  /** While listing: items read so far and how many there are as far as the member said. */
  readonly listed?: { readonly done: number; readonly of: number };
  /** Rows written a second, over the last ten seconds. */
  readonly rate: number;
  /** Age of the oldest change that was read and is not yet committed, milliseconds; 0 for none. */
  readonly lagMs: number;
  /** Unix milliseconds when the member last confirmed what is committed; undefined when it never did. */
  readonly confirmedAtMs: number | undefined;
  readonly fault: SyncFault | undefined;
  /** The identity it is read with; absent while it is not read. */
  readonly readAs?: ReadAs;
}

/** How one cluster is followed. Frozen. */
export interface ClusterState {
  /** Name in paths. */
  readonly cluster: string;
  /** UID of its record. */
  readonly uid: string;
  /** The one whose rows are kept; undefined before the member was ever reached. */
  readonly incarnation: Incarnation | undefined;
  /** In the way of all its types. */
  readonly fault: SyncFault | undefined;
  readonly types: readonly TypeState[];
  /** What was asked for and cannot be had, with the reason. */
  readonly refused: readonly { readonly resource: string; readonly message: string }[];
}

/**
 * How one cluster is followed as far as some types go; those that are whole and followed without a fault are left out.
 */
export interface PartState extends Pick<ClusterState, 'cluster' | 'incarnation' | 'fault' | 'types'> {
  /** It has types, these or others. */
  readonly hasTypes: boolean;
}

/** Follows clusters until closed. */
export interface SyncHandle {
  /** One entry a cluster that is indexed, sorted by name. */
  state(): readonly ClusterState[];
  /** What there is to say of these types, unsorted: every answer asks for it, and there may be thousands of types. */
  stateOf(types: ReadonlySet<TypeKey>): readonly PartState[];
  /** Unix milliseconds; undefined when nothing of it was ever confirmed, or it is not kept. */
  confirmedAtMs(incarnation: string, type: ResourceType): number | undefined;
  /**
   * Calls the listener when clusters, incarnations, types or phases have changed; progress alone does not count.
   * Returns a function that removes the listener.
   */
  onChange(listener: () => void): () => void;
  /**
   * Resolves when no rows are left of clusters that had this name and are no longer indexed. Never while sources of
   * clusters are not read yet, since a cluster that is not known may still come.
   */
  rowsGone(cluster: string): Promise<void>;
  /** Stops reading, commits what was read. */
  close(): Promise<void>;
}

/** A GET that is sent to one member as the index. */
export interface MemberQuestion {
  /** Path and query. */
  readonly path: string;
  readonly accept?: string;
  /** ETag of what is at hand: the answer is 304 when it is still that. */
  readonly ifNoneMatch?: string;
  readonly headTimeoutMs: number;
  /** Until the last byte; absent for a watch. */
  readonly wholeTimeoutMs?: number;
  readonly isWatch?: boolean;
  readonly signal: AbortSignal;
}

/**
 * Asks one member. Rejects with GatewayError as `callMember` does. `refusedTo`: of a 403, everybody as whom it was
 * asked.
 */
export type AskMember = (question: MemberQuestion) => Promise<MemberAnswer & { readonly refusedTo?: string }>;

/** What of a type is kept; everything of it when empty. */
export interface TypeFilter {
  readonly namespaces?: readonly string[];
  readonly names?: readonly string[];
  /** A label selector as the API server reads it. */
  readonly labels?: string;
}

/** Durations of following, milliseconds but where the name says otherwise. */
export interface SyncTiming {
  readonly listTimeoutMs: number;
  readonly headTimeoutMs: number;
  readonly watchSecondsMin: number;
  readonly watchSecondsMax: number;
  /** How long after its `timeoutSeconds` a watch that is still open counts as dead. */
  readonly stallGraceMs: number;
  /**
   * Before a cluster is tried again that cannot be identified, read or followed; what follows one type waits as
   * client-go's reflector does.
   */
  readonly clusterRetry: RetryDelays;
  readonly firstBackoffMs: number;
  readonly maxBackoffMs: number;
  /** How long a member that asks for a moment (429 with `Retry-After`) is only waited for; after that it is a fault. */
  readonly busyGraceMs: number;
  /** A watch that has brought nothing for so long is asked after: see `confirm` in follow.ts. */
  readonly quietMs: number;
  /** And again whenever nothing was confirmed for so long; API servers send a bookmark a minute where there is news. */
  readonly unconfirmedMs: number;
  /** A watch that lives this long, or brings something, ends the growth of waits. */
  readonly healthyMs: number;
  /** Between looks at what the member serves; changes of CRDs and APIServices are noticed at once. */
  readonly discoveryMs: number;
  /** Changes of CRDs come in crowds; discovery waits for this long. */
  readonly discoveryPauseMs: number;
  /** Longest time a change waits for others to be committed with it. */
  readonly batchWaitMs: number;
  /** After the store was full, a type is tried again. */
  readonly fullRetryMs: number;
  /** A position alone is written this often; it costs a commit. */
  readonly positionEveryMs: number;
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
});

export const ownCredential = "the gateway's own credential";

/** Whom the member sees reading. */
export type ReadAs = 'portcullis:index' | typeof ownCredential;
