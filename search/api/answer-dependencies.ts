// Everything that the steps of ../chain/chain.ts need to answer a request to the index, besides the request. The
// caller's rights and the set of indexed types can change while an answer is made. So a step reads them once and passes
// the result to the next steps.
import type { OpenStreams } from '../../routing/forward/open-streams.ts';
import type { ContinueKeys } from '../../query/continue.ts';
import type { IndexOperations } from '../operate/operations.ts';
import type { IndexStore } from '../../store/store.ts';
import type { SyncView } from '../../sync/sync-view.ts';
import type { ResourceType } from '../../query/types.ts';
import type { ChangeFeed } from '../watch/feed.ts';
import type { Reads } from './current-rights.ts';
import type { IssuedRights } from '../watch/issued-rights.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { CollectionDefinition } from '../collections/definitions.ts';
import type { OpenapiDocuments } from '../catalog/openapi-documents.ts';
import type { StatusJson } from '../request/request.ts';
import type { IndexRights } from '../request/visible.ts';

/** Everything that the steps of ../chain/chain.ts need besides the request. */
export interface AnswerDependencies {
  readonly store: IndexStore;
  readonly rights: IndexRights;
  readonly catalog: () => Promise<Catalog>;
  /** The resources that the configuration names to be indexed, without patterns such as `*`. */
  readonly chosen: readonly ResourceType[];
  /** Returns the collections that administrators have defined; called for each request, since they can change. */
  readonly collections: () => readonly CollectionDefinition[];
  /** Whether requests may have Clusterpedia's parameters `whereSQL`, `whereSQLStatement` and their values. */
  readonly allowsWhereSql: boolean;
  readonly sync: SyncView;
  /** Resolves when the first lists of all clusters are complete, or after a few seconds (sync/settled.ts). */
  readonly settled: () => Promise<void>;
  readonly openapi: OpenapiDocuments;
  readonly operations: IndexOperations;
  readonly feed: ChangeFeed;
  readonly issuedRights: IssuedRights;
  readonly openStreams: OpenStreams;
  readonly continueKeys: ContinueKeys;
  readonly bookmarkIntervalMs: number;
  /** Milliseconds after which a watch computes the caller's rights again: some changes of rights send no event. */
  readonly rightsPollMs: number;
  /** Milliseconds after which the gateway ends a watch that a hub's kube-apiserver forwarded by Clusterpedia's path. */
  readonly aggregatedWatchMs: number;
  readonly statusJson: StatusJson;
  /** Returns the gateway's `version.Info`. */
  readonly version: () => object;
  readonly onError: (error: unknown) => void;
  /** Returns the current time in Unix milliseconds. */
  readonly now: () => number;
}

/**
 * What the `fetch` function of a kind of request may use. Rows are read through `reads` only, because it records how
 * new the rights in each answer are. So `store` lacks the methods that read rows.
 */
export interface FetchDependencies extends Omit<AnswerDependencies, 'store'> {
  readonly store: Omit<IndexStore, keyof Reads>;
  readonly reads: Reads;
}
