// Puts the rights of the index together: the mirror of RBAC, the choice between it and reviews, samples, and the scopes
// made from them. Identities come from outside (the gateway's authorizer, the outgoing identity): no rule about them is
// made here.
import type { IndexStore } from '../stores/store.ts';
import { typeKey } from '../types.ts';
import type { ResourceType } from '../types.ts';
import { makeRightsMirror, rightsConfirmedAtMs } from './mirror.ts';
import { makeRightsModes } from './modes.ts';
import type { ModeChange, ModeMemory, RightsChoice } from './modes.ts';
import { makeReviewer } from './review.ts';
import type { MemberReviews } from './review.ts';
import { makeRowScopes } from './row-scopes.ts';
import type { RowScopes, RowScopesOptions, Scopes } from './row-scopes.ts';
import { makeSamples } from './samples.ts';
import type { SampleResult } from './samples.ts';

export type { HiddenCluster } from './cluster-rights.ts';
export type { ScopeAnswer } from './evaluation.ts';
export type { Scopes } from './row-scopes.ts';

/** What rights depend on. */
export interface ScopesOptions extends Pick<
  RowScopesOptions,
  'clusters' | 'authorizer' | 'outgoing' | 'outgoingGeneration' | 'maxAgeMs'
> {
  readonly store: IndexStore;
  readonly reviews: MemberReviews;
  /** `--index-rights`; `auto` by default. A cluster's label `search.portcullis.io/rights` wins. */
  readonly choice?: RightsChoice;
  /**
   * Keeps what members said of their authorizers. Without it they are asked anew after a restart, and hidden until they
   * answer.
   */
  readonly memory?: ModeMemory;
  /**
   * Unix milliseconds when a member last confirmed a type, fresher than the store knows (bookmarks that were not
   * committed); the store's sync position decides where it is undefined.
   */
  readonly confirmedAtMs?: (incarnation: string, type: ResourceType) => number | undefined;
  /** Share of decisions that are compared with the member's own; 1/200 by default. */
  readonly sampleRate?: number;
  /** A cluster's mode has changed; `why: mismatch` is an alarm. */
  readonly onModeChange?: (change: ModeChange) => void;
  /** For metrics. */
  readonly onSample?: (cluster: string, result: SampleResult) => void;
  /** The store could not be read in the background. */
  readonly onError?: (error: unknown) => void;
  /** Unix milliseconds. */
  readonly now?: () => number;
}

/** Scopes that can be closed. */
export interface OpenScopes extends Scopes {
  close(): void;
}

const defaultSampleRate = 1 / 200;

/** Reads nothing before the first question or commit. */
export function makeScopes(options: ScopesOptions): OpenScopes {
  const { store, reviews, onError, onModeChange, onSample } = options;
  const now = options.now ?? Date.now;
  const mirror = makeRightsMirror(store, onError === undefined ? {} : { onError });
  let scopes: RowScopes | undefined;
  const modes = makeRightsModes({
    reviews,
    ...(options.choice === undefined ? {} : { choice: options.choice }),
    ...(options.memory === undefined ? {} : { memory: options.memory }),
    onChange: (change) => {
      scopes?.changed(change.incarnation);
      onModeChange?.(change);
    },
  });
  const confirmedAtMs = async (incarnation: string): Promise<number | undefined> => {
    const stored = (await mirror.stored()).get(incarnation);
    return rightsConfirmedAtMs(
      (type) => options.confirmedAtMs?.(incarnation, type) ?? stored?.types.get(typeKey(type))?.position.confirmedAtMs,
    );
  };
  const sample = makeSamples({
    reviews,
    rate: options.sampleRate ?? defaultSampleRate,
    confirmedAtMs,
    current: async () => void (await mirror.current()),
    onMismatch: ({ record, incarnation }, message) => modes.mismatch(record, incarnation, message),
    ...(onSample === undefined ? {} : { onResult: onSample }),
    now,
  });
  const made = makeRowScopes({
    mirror,
    clusters: options.clusters,
    authorizer: options.authorizer,
    outgoing: options.outgoing,
    ...(options.outgoingGeneration === undefined ? {} : { outgoingGeneration: options.outgoingGeneration }),
    modes,
    reviewer: makeReviewer({ reviews }),
    confirmedAtMs,
    maxAgeMs: options.maxAgeMs,
    onDecision: (sampled) => void sample(sampled),
    now,
  });
  scopes = made;
  return {
    scope: (user, verb, types, names) => made.scope(user, verb, types, names),
    scopeAt: (question, resourceVersion) => made.scopeAt(question, resourceVersion),
    current: (atLeast) => made.current(atLeast),
    onChange: (listener, of) => made.onChange(listener, of),
    close: () => mirror.close(),
  };
}
