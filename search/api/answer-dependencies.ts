// What the steps of chain.ts use besides the request, as one object of functions. Rights and the followed types can
// change while an answer is made, so a step reads them once and hands the result on.
import type { OpenStreams } from '../../routing/forward/open-streams.ts';
import type { ContinueKeys } from '../query/continue.ts';
import type { IndexStore } from '../stores/store.ts';
import type { SyncView } from '../sync/sync-view.ts';
import type { ResourceType } from '../types.ts';
import type { ChangeFeed } from '../watch/feed.ts';
import type { IssuedRights } from '../watch/issued-rights.ts';
import type { Catalog } from './catalog.ts';
import type { UnionOpenapi } from './documents/openapi-union.ts';
import type { StatusJson } from './request.ts';
import type { IndexRights } from './visible.ts';

/** See the file comment. */
export interface AnswerDependencies {
  readonly store: IndexStore;
  readonly rights: IndexRights;
  readonly catalog: () => Promise<Catalog>;
  /** What the configuration names to be indexed. */
  readonly chosen: readonly ResourceType[];
  readonly sync: SyncView;
  /** Resolves when what is being indexed for the first time is there, or after a few seconds. */
  readonly settled: () => Promise<void>;
  readonly openapi: UnionOpenapi;
  readonly feed: ChangeFeed;
  readonly issuedRights: IssuedRights;
  readonly openStreams: OpenStreams;
  readonly continueKeys: ContinueKeys;
  readonly bookmarkIntervalMs: number;
  /** How often a watch reads its rights again: some of their changes come without an event. */
  readonly rightsPollMs: number;
  /** How long a watch that came through a hub by Clusterpedia's path lives. */
  readonly aggregatedWatchMs: number;
  readonly statusJson: StatusJson;
  /** `version.Info` of the gateway. */
  readonly version: () => object;
  readonly onError: (error: unknown) => void;
  /** Unix milliseconds. */
  readonly now: () => number;
}
