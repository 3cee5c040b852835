// The shapes of a reflector: its options, its state, its timing. `synced` says that a whole list was seen once, not
// that the objects are fresh. `lastConfirmedAtMs` says how fresh they are, and `fault` why they are not.
import type { HubClient, HubObjects, WatchedResource } from './hub-types.ts';
import type { ObjectChange } from './object-set.ts';

/** Why a reflector does not follow its resource now. Messages hold no secret. */
export interface ReflectorFault {
  /** `Forbidden` and `Unauthorized` last until somebody changes RBAC or the credential; the others are waited out. */
  readonly reason: 'Forbidden' | 'Unauthorized' | 'Unavailable' | 'Refused' | 'Malformed' | 'Stalled' | 'Missing';
  readonly message: string;
}

/**
 * Frozen; a new one at every change of phase or fault. A hub that asks us to wait is no fault until `busyGraceMs` are
 * over.
 */
export interface ReflectorState {
  /** `missing`: the hub does not have this kind, so there are no objects; that is a whole answer, too. */
  readonly phase: 'listing' | 'watching' | 'missing' | 'failing' | 'closed';
  /** The objects come from a whole list, perhaps an old one, or from the answer that there is no such kind. */
  readonly synced: boolean;
  /** Unix milliseconds when the hub last said anything about this resource; undefined before the first answer. */
  readonly lastConfirmedAtMs: number | undefined;
  /** Up to where events were seen, '' before the first list. */
  readonly resourceVersion: string;
  readonly fault: ReflectorFault | undefined;
}

/** Follows one resource of the hub until closed. */
export interface Reflector {
  readonly resource: WatchedResource;
  /** The first whole answer is in `objects`. Rejects with HUB_UNAVAILABLE when closed before. */
  readonly synced: Promise<void>;
  /** An immutable map of now; unchanged objects stay the same objects over relists. */
  readonly objects: HubObjects;
  state(): ReflectorState;
  /** The resource may have come or be allowed now: a waiting reflector asks at once, and more often for a while. */
  lookAgain(): void;
  close(): void;
}

/** All in milliseconds but where the name says otherwise. */
export interface ReflectorTiming {
  /** One page of a list. */
  readonly listTimeoutMs: number;
  /** The head of a watch. */
  readonly openTimeoutMs: number;
  /**
   * `timeoutSeconds` of a watch is spread over this range, so that the watches of all replicas are not renewed as one.
   */
  readonly watchSecondsMin: number;
  readonly watchSecondsMax: number;
  /** How long after its `timeoutSeconds` a watch that is still open counts as dead. */
  readonly stallGraceMs: number;
  readonly firstBackoffMs: number;
  /** How long 429 with `Retry-After` is only waited for; after that it is reported as a fault. */
  readonly busyGraceMs: number;
  readonly maxBackoffMs: number;
  /** While nothing answers, a try costs the hub nothing and a wait costs users much. */
  readonly maxUnreachableBackoffMs: number;
  /** A watch that lives this long, or brings an event, resets the waits. */
  readonly healthyMs: number;
  /** How often a missing kind is looked for. */
  readonly missingPollMs: number;
  /** The same for `closeLookMs` after a hint. */
  readonly closePollMs: number;
  readonly closeLookMs: number;
  /** How many times the hub must confirm that a kind is gone before its objects are given up. */
  readonly goneConfirmations: number;
}

export interface ReflectorOptions {
  readonly client: Pick<HubClient, 'request' | 'open' | 'url'>;
  readonly resource: WatchedResource;
  /** Asks for metadata alone (PartialObjectMetadata), of kinds whose objects are large. */
  readonly metadataOnly?: boolean;
  /** Called after the objects changed, with everything that changed at once. What it throws goes to `onError`. */
  readonly onChange?: (changes: readonly ObjectChange[]) => void;
  /** Called when phase or fault change. */
  readonly onState?: (state: ReflectorState) => void;
  readonly onError?: (error: unknown) => void;
  readonly timing?: Partial<ReflectorTiming>;
  /** In place of the one of `timing`, for callers that hear of new kinds in another way. */
  readonly missingPollMs?: () => number;
  /** Between 0 and 1. */
  readonly random?: () => number;
  /** Unix milliseconds. */
  readonly now?: () => number;
}

export const defaultReflectorTiming: ReflectorTiming = Object.freeze({
  listTimeoutMs: 60_000,
  openTimeoutMs: 30_000,
  watchSecondsMin: 300,
  watchSecondsMax: 600,
  stallGraceMs: 30_000,
  firstBackoffMs: 800,
  busyGraceMs: 10_000,
  maxBackoffMs: 30_000,
  maxUnreachableBackoffMs: 5_000,
  healthyMs: 5_000,
  missingPollMs: 3_000,
  closePollMs: 250,
  closeLookMs: 10_000,
  goneConfirmations: 2,
});
