// What is watched, and what a watch uses of the rest.
import type { OpenStreams } from '../../routing/forward/open-streams.ts';
import type { Warning } from '../api/answer-body.ts';
import type { StatusJson } from '../api/request.ts';
import type { ListQuery } from '../query/list-query.ts';
import type { RowKey } from '../query/match.ts';
import type { RowScope } from '../rights/scope.ts';
import type { IndexStore, RowRead } from '../stores/store.ts';
import type { TypeInfo, TypeKey } from '../types.ts';
import type { ChangeFeed } from './feed.ts';

/** What a watch needs of the rest. */
export interface WatchDependencies {
  readonly store: Pick<IndexStore, 'list' | 'count' | 'resourceVersion' | 'comesBack'>;
  readonly feed: ChangeFeed;
  readonly openStreams: OpenStreams;
  readonly bookmarkIntervalMs: number;
  readonly rightsPollMs: number;
  readonly statusJson: StatusJson;
  onError(error: unknown): void;
}

/** An object of an event, and where it is from. */
export type EventRow = Pick<RowRead, 'raw' | 'type' | 'incarnation' | 'cluster'>;

/** Objects as the watcher wants to have them. */
export interface EventForm {
  object(row: EventRow): Buffer;
  bookmark(resourceVersion: string, annotations: Readonly<Record<string, string>> | undefined): Buffer;
}

/** What is watched. */
export interface WatchQuestion {
  readonly query: ListQuery;
  readonly matches: (raw: Uint8Array, key: RowKey) => boolean;
  readonly types: readonly TypeInfo[];
  readonly keys: readonly TypeKey[];
  readonly form: EventForm;
  /** Undefined: begin with the rows there are. */
  readonly after: string | undefined;
  /**
   * Resolves with the rights that the client had when it reached `after`, or with undefined when they are the same as
   * now. This field is undefined for a watch that begins without `after`.
   * @throws GatewayError (rejects) EXPIRED when the client has to list again
   */
  readonly before: ((scopeNow: RowScope) => Promise<RowScope | undefined>) | undefined;
  /** Whether a bookmark marks the end of the rows there are. */
  readonly marksInitialEnd: boolean;
  readonly bookmarks: boolean;
  /** Undefined: as long as the client likes. */
  readonly timeoutMs: number | undefined;
  /** Rows that are hidden or old at the start, of clusters the caller may know of. */
  readonly warnings: readonly Warning[];
  /**
   * Rights of now; the same object while nothing has changed. @throws GatewayError (rejects) when they cannot be
   * decided
   */
  readonly visible: () => Promise<RowScope>;
  /** As `onChange` of the rights, of this question. */
  readonly onRightsChange: (listener: () => void) => () => void;
  /** Called when the client gets a position to go on from, with the rights up to there. */
  readonly onReached: (position: string, scope: RowScope) => void;
}
