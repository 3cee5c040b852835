// Assembles the rights of the index: copied RBAC, the choice between RBAC and reviews, samples that compare both, and
// the scopes made from them. The gateway's authorizer and the rules for outgoing identities are passed in.
import { makeStoredTypes } from '../store/stored-types.ts';
import type { StoredTypes } from '../store/stored-types.ts';
import type { IndexStore } from '../store/store.ts';
import { typeKey } from '../query/types.ts';
import type { ResourceType } from '../query/types.ts';
import { makeAccess } from './cluster-access.ts';
import type { FindAccess } from './cluster-access.ts';
import { makeRightsMirror, rightsTypes } from './mirror.ts';
import { makeRightsModes } from './modes.ts';
import type { ModeChange, ModeMemory, RightsChoice } from './modes.ts';
import { makePromptReviewer } from './prompt-reviewer.ts';
import { makeReviewer } from './review.ts';
import type { MemberReviews } from './review.ts';
import { makeRowScopes } from './row-scopes.ts';
import type { RowScopes, RowScopesOptions, Scopes } from './row-scopes.ts';
import { makeSamples } from './samples.ts';
import type { SampleResult } from './samples.ts';
import { StoredIncarnations } from './stored-incarnations.ts';

export type { HiddenCluster } from './hidden-cluster.ts';
export type { ScopeAnswer } from './evaluation.ts';
export type { Scopes } from './row-scopes.ts';

/** The parts and settings that {@link makeScopes} makes the rights of the index from. */
export interface ScopesOptions extends Pick<
  RowScopesOptions,
  'clusters' | 'authorizer' | 'outgoing' | 'outgoingGeneration' | 'maxAgeMs'
> {
  readonly store: IndexStore;
  /** Reads the types of the store. By default, `makeScopes` makes a reader that nothing else uses. */
  readonly types?: StoredTypes;
  readonly reviews: MemberReviews;
  /** `--index-rights`, by default `auto`. The label `search.portcullis.io/rights` of a cluster overrides it. */
  readonly choice?: RightsChoice;
  /**
   * Storage that keeps over a restart whether each cluster decides by RBAC alone. Without it the clusters are asked
   * again, and each is hidden until it answers.
   */
  readonly memory?: ModeMemory;
  /**
   * Returns when the rows of a type were last known to be up to date, in Unix milliseconds; undefined when this process
   * does not know. Then the time in the store counts. This process may know a later time than the store, because
   * bookmarks are not always committed.
   */
  readonly confirmedAtMs?: (incarnation: string, type: ResourceType) => number | undefined;
  /** Share of decisions that are compared with the cluster's own answer, from 0 to 1; 1/200 by default. */
  readonly sampleRate?: number;
  /**
   * Called when it has changed whether copied RBAC or access reviews decide for a cluster; `why: 'mismatch'` is an
   * alarm.
   */
  readonly onModeChange?: (change: ModeChange) => void;
  /** Called with the result of each comparison, for metrics. */
  readonly onSample?: (cluster: string, result: SampleResult) => void;
  /** Called when the store could not be read in the background. */
  readonly onError?: (error: unknown) => void;
  /** Returns the current time in Unix milliseconds. */
  readonly now?: () => number;
}

/** {@link Scopes} with what a caller may know of RBAC, and a method to stop following the store. */
export interface OpenScopes extends Scopes {
  readonly access: FindAccess;
  close(): void;
}

const defaultSampleRate = 1 / 200;

/** Makes the scopes of an index. Reads nothing from the store before the first question or commit. */
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
  const stored = new StoredIncarnations({ store, types: options.types ?? makeStoredTypes(store) });
  const confirmations = async (incarnation: string, types: readonly ResourceType[]): Promise<readonly number[]> => {
    const known = types.map((type) => options.confirmedAtMs?.(incarnation, type));
    const kept = known.includes(undefined) ? await stored.confirmations(incarnation) : undefined;
    return types.map((type, index) => known[index] ?? kept?.get(typeKey(type)) ?? 0);
  };
  const sample = makeSamples({
    reviews,
    rate: options.sampleRate ?? defaultSampleRate,
    confirmedAtMs: async (incarnation) => Math.min(...(await confirmations(incarnation, rightsTypes))),
    current: async () => void (await mirror.current()),
    onMismatch: ({ record, incarnation }, message) => modes.mismatch(record, incarnation, message),
    ...(onSample === undefined ? {} : { onResult: onSample }),
    now,
  });
  const made = makeRowScopes({
    mirror,
    stored,
    clusters: options.clusters,
    authorizer: options.authorizer,
    outgoing: options.outgoing,
    ...(options.outgoingGeneration === undefined ? {} : { outgoingGeneration: options.outgoingGeneration }),
    modes,
    reviewer: makePromptReviewer(makeReviewer({ reviews })),
    confirmations,
    maxAgeMs: options.maxAgeMs,
    onDecision: (sampled) => void sample(sampled),
    now,
  });
  scopes = made;
  const { clusters, outgoing, maxAgeMs } = options;
  return Object.assign(made, {
    access: makeAccess({ scopes: made, mirror, stored, clusters, outgoing, modes, confirmations, maxAgeMs, now }),
    close: () => mirror.close(),
  });
}
