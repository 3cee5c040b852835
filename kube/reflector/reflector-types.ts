// Options, state and timing of a reflector. `synced` only says that a complete list was received once. How old the
// objects may be is in `lastConfirmedAtMs`, and why they are not up to date in `fault`.
import type { ApiClient, ApiObjects, WatchedResource } from '../types.ts';
import type { ObjectChange } from './object-set.ts';

/** Why a reflector cannot follow its resource now. The message contains no secret. */
export interface ReflectorFault {
  /**
   * `Forbidden` and `Unauthorized` last until an operator changes RBAC or the credential. Faults with another reason
   * may end without an operator. `Stalled`: a watch outlived its timeout. `Missing`: the hub says that it no longer has
   * the resource. `Malformed`: an answer could not be parsed. `Refused`: any other error status.
   */
  readonly reason: 'Forbidden' | 'Unauthorized' | 'Unavailable' | 'Refused' | 'Malformed' | 'Stalled' | 'Missing';
  readonly message: string;
}

/**
 * The state of a reflector at one moment. Frozen. While the hub answers 429 with `Retry-After`, no fault is reported
 * for the first `busyGraceMs` milliseconds.
 */
export interface ReflectorState {
  /** `missing`: the hub does not have this resource, so there are no objects. `synced` is true then. */
  readonly phase: 'listing' | 'watching' | 'missing' | 'failing' | 'closed';
  /**
   * True after the first complete list, or after the hub said that it does not have the resource. The objects may be
   * old.
   */
  readonly synced: boolean;
  /** When the hub last answered about this resource, in Unix milliseconds; undefined before the first answer. */
  readonly lastConfirmedAtMs: number | undefined;
  /** The resourceVersion of the last event or list; '' before the first list. */
  readonly resourceVersion: string;
  readonly fault: ReflectorFault | undefined;
}

/** Lists and watches one resource of the hub until it is closed. */
export interface Reflector {
  readonly resource: WatchedResource;
  /**
   * Resolves when `objects` holds the first complete list. Rejects with HUB_UNAVAILABLE when the reflector is closed
   * before that.
   */
  readonly synced: Promise<void>;
  /**
   * The present objects. A returned map never changes. An object that did not change is the same instance in later
   * maps.
   */
  readonly objects: ApiObjects;
  state(): ReflectorState;
  /**
   * Tells a waiting reflector that the resource may have appeared, or may be permitted now: it asks the hub at once.
   * While the hub does not have the resource, it asks every `closePollMs` for the next `closeLookMs` milliseconds.
   */
  lookAgain(): void;
  close(): void;
}

/** Waits and time limits of a reflector. Fields ending in `Ms` are milliseconds. */
export interface ReflectorTiming {
  /** Time limit for one page of a list. */
  readonly listTimeoutMs: number;
  /** Time limit until the head of a watch's answer. */
  readonly openTimeoutMs: number;
  /**
   * The smallest and largest `timeoutSeconds` of a watch. Each watch gets a random value in between, so that the
   * watches of several replicas do not all end at the same moment.
   */
  readonly watchSecondsMin: number;
  readonly watchSecondsMax: number;
  /** A watch that is still open this many milliseconds after its `timeoutSeconds` is taken for dead and closed. */
  readonly stallGraceMs: number;
  /** The shortest wait after a failure. Each further failure doubles the wait, up to `maxBackoffMs`. */
  readonly firstBackoffMs: number;
  /** For how long the reflector retries after answers 429 with `Retry-After` before it reports a fault. */
  readonly busyGraceMs: number;
  /** Longest wait between two attempts while the hub answers, but with errors. */
  readonly maxBackoffMs: number;
  /**
   * Longest wait between two attempts while the hub cannot be reached at all. It is short, because such attempts do not
   * load the hub, and users wait for it to come back.
   */
  readonly maxUnreachableBackoffMs: number;
  /**
   * After a watch was open for this long or has delivered an event, the waits between attempts start again at
   * `firstBackoffMs`. When a 410 comes earlier than this after a list, the reflector waits before it lists again.
   */
  readonly healthyMs: number;
  /** The interval at which the reflector asks whether a resource that the hub did not have exists now. */
  readonly missingPollMs: number;
  /** Milliseconds between two checks during the time `closeLookMs` after a call of `lookAgain()`. */
  readonly closePollMs: number;
  /** How long `closePollMs` is used after a call of `lookAgain()`. */
  readonly closeLookMs: number;
  /** How many times in a row the hub must say that a resource does not exist before its objects are dropped. */
  readonly goneConfirmations: number;
}

/** What a reflector follows, and the functions that it calls. */
export interface ReflectorOptions {
  readonly client: Pick<ApiClient, 'request' | 'open' | 'url'>;
  readonly resource: WatchedResource;
  /**
   * Asks for PartialObjectMetadata instead of whole objects. Useful for kinds with large objects, such as
   * CustomResourceDefinitions.
   */
  readonly metadataOnly?: boolean;
  /** Called after the objects changed, with all changes of one list or event. An error it throws goes to `onError`. */
  readonly onChange?: (changes: readonly ObjectChange[]) => void;
  /** Called when phase, fault or `synced` changed. */
  readonly onState?: (state: ReflectorState) => void;
  /** Called with every error that `onChange` or `onState` throws. */
  readonly onError?: (error: unknown) => void;
  readonly timing?: Partial<ReflectorTiming>;
  /**
   * Returns the milliseconds to use in place of `timing.missingPollMs`; called before each wait. For callers that also
   * learn of new resources in another way and then call `lookAgain()`.
   */
  readonly missingPollMs?: () => number;
  /** Random number from 0 to 1 for jitter; default `Math.random`. */
  readonly random?: () => number;
  /** The current time in Unix milliseconds; default `Date.now`. */
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
