// The TypeScript types of a watch: what the client watches, and the parts of the index that serve a watch.
import type { OpenStreams } from '../../routing/forward/open-streams.ts';
import type { Warning } from '../answer/answer-body.ts';
import type { StatusJson } from '../request/request.ts';
import type { ListQuery } from '../../query/list-query.ts';
import type { RowKey } from '../../query/types.ts';
import type { RowScope } from '../../query/scope/scope.ts';
import type { IndexStore, RowRead } from '../../store/store.ts';
import type { TypeInfo, TypeKey } from '../../query/types.ts';
import type { ChangeFeed } from './feed.ts';

/** The parts of the index that a watch uses. */
export interface WatchDependencies {
  readonly store: Pick<IndexStore, 'list' | 'count' | 'resourceVersion' | 'comesBack'>;
  readonly feed: ChangeFeed;
  readonly openStreams: OpenStreams;
  readonly bookmarkIntervalMs: number;
  readonly rightsPollMs: number;
  readonly statusJson: StatusJson;
  onError(error: unknown): void;
}

/** The object of an event: its JSON, with the type, incarnation and cluster of its row. */
export type EventRow = Pick<RowRead, 'raw' | 'type' | 'incarnation' | 'cluster'>;

/** Writes rows and bookmarks as the JSON objects that the client asked for, such as Tables or another API version. */
export interface EventForm {
  object(row: EventRow): Buffer;
  bookmark(resourceVersion: string, annotations: Readonly<Record<string, string>> | undefined): Buffer;
}

/** A watch that a client requests: which rows, from which resourceVersion on, and in which form. */
export interface WatchQuestion {
  readonly query: ListQuery;
  readonly matches: (raw: Uint8Array, key: RowKey) => boolean;
  readonly types: readonly TypeInfo[];
  readonly keys: readonly TypeKey[];
  readonly form: EventForm;
  /** The resourceVersion after which the watch begins. Undefined: all existing rows are sent first. */
  readonly after: string | undefined;
  /**
   * Gives the rights that the client had when it was given the resourceVersion `after`; undefined when they equal
   * `scopeNow`. The field itself is undefined for a watch without `after`.
   * @throws GatewayError (rejects) with code EXPIRED when the client has to list again
   */
  readonly before: ((scopeNow: RowScope) => Promise<RowScope | undefined>) | undefined;
  /** Whether to send a bookmark with the annotation `k8s.io/initial-events-end` after the existing rows. */
  readonly marksInitialEnd: boolean;
  readonly bookmarks: boolean;
  /** Milliseconds after which the watch ends; undefined for no limit. */
  readonly timeoutMs: number | undefined;
  /**
   * Say which clusters are missing or outdated at the start of the watch. Name only clusters the caller may know of.
   */
  readonly warnings: readonly Warning[];
  /**
   * Reads the rights that the watcher has now. Unchanged rights are returned as the same object.
   * @param atLeast a `rightsVersion` of the store: every change of roles and bindings up to it is taken into account
   * @throws GatewayError (rejects) when the rights cannot be decided
   */
  readonly visible: (atLeast?: string) => Promise<RowScope>;
  /** Calls the listener when the watcher's rights may have changed. Returns a function that removes the listener. */
  readonly onRightsChange: (listener: () => void) => () => void;
  /**
   * Called when the client is given a resourceVersion from which it can resume, with the rights that applied until
   * then.
   */
  readonly onReached: (position: string, scope: RowScope) => void;
}
