// Finds the events for a watcher whose rights have changed: DELETED for objects it may no longer see, ADDED for objects
// it may now see. Easy to get wrong: of an object that the watcher may no longer see, nothing newer than the watcher's
// last event may be sent, not even changes from before the right was lost.
import { GatewayError } from '../../model/errors.ts';
import { differingScopes, scopeAllows } from '../request/visible.ts';
import type { ListQuery } from '../../query/list-query.ts';
import type { RowScope } from '../../query/scope/scope.ts';
import type { IndexStore, LogEntry, ReadPoint, RowRead } from '../../store/store.ts';
import type { TypeKey } from '../../query/types.ts';
import { rowIdentity } from './change.ts';
import type { Identity } from './change.ts';
import type { ChangeFeed } from './feed.ts';

/**
 * The most rows that a watcher may lose or gain by one change of its rights. With more, it must list again. The next
 * constant limits the bytes of these rows.
 */
const mostRows = 1_000;
const mostBytes = 32 * 1024 * 1024;
/**
 * The maximum number of log entries that are collected about objects that the watcher could see before the change of
 * rights and can still see. When there are more, the watcher must list again.
 */
const mostEntries = 20_000;

/**
 * What happens to one object: a change in the log (`entry`), the watcher loses the right to see it (`lost`), or the
 * watcher gains that right (`gained`).
 */
export type RightsEvent =
  | { readonly kind: 'entry'; readonly entry: LogEntry }
  | { readonly kind: 'lost'; readonly row: Identity & { readonly type: TypeKey } }
  | { readonly kind: 'gained'; readonly row: RowRead };

/** The events to send to a watcher after a change of its rights. */
export interface RightsEvents {
  readonly events: readonly RightsEvent[];
  /** The resourceVersion up to which the watcher knows all changes once the events are sent. */
  readonly position: string;
  /**
   * The version of the roles and bindings at which the rows were read. When the rights at this version differ from
   * `ScopeChange.after`, the caller must not send the events.
   */
  readonly rightsVersion: string;
}

/** A change of the rights of one watch, from `before` to `after`. */
export interface ScopeChange {
  readonly query: ListQuery;
  readonly types: readonly TypeKey[];
  readonly before: RowScope;
  readonly after: RowScope;
  /** The resourceVersion up to which the watcher has events under the rights `before`. */
  readonly position: string;
  /** Whether the object, as it was before this log entry, matched the watch's query, so that the watcher had it. */
  readonly wasSent: (entry: LogEntry) => boolean;
}

/**
 * Finds the events that a watcher gets when its rights have changed, and the resourceVersion that it reaches with them:
 * ADDED for objects that it may see now, DELETED for those that it may not see any more.
 * @throws GatewayError (rejects) with code EXPIRED when a limit of this file is exceeded, or the log no longer reaches
 *   back to `change.position`
 */
export async function rightsEvents(
  store: Pick<IndexStore, 'list' | 'count'>,
  feed: ChangeFeed,
  change: ScopeChange,
): Promise<RightsEvents> {
  const { query, types, before, after, position, wasSent } = change;
  const [less, more] = differingScopes(before, after);
  const difference = Math.abs((await store.count(query, less)).count - (await store.count(query, more)).count);
  if (difference > mostRows) throw tooMany();
  const lost = await rowsOf(store, query, less, (row) => !scopeAllows(after, row));
  const gained = await rowsOf(store, query, more, (row) => !scopeAllows(before, row));

  const events: RightsEvent[] = [];
  const settled = new Set<string>();
  let bytes = 0;
  for await (const entry of entriesUpTo(feed, types, position, gained.resourceVersion)) {
    const could = scopeAllows(before, entry);
    const can = scopeAllows(after, entry);
    if (could && can) {
      // A watch may resume after a long time, so there may be very many changes since then, whose bytes must be
      // limited, too.
      bytes += (entry.before?.length ?? 0) + (entry.after?.length ?? 0);
      if (events.push({ kind: 'entry', entry }) > mostEntries || bytes > mostBytes) throw tooMany();
    }
    if (!could || can || settled.has(rowIdentity(entry))) continue;
    // An object that was created after the watcher's last event was never sent, so its loss is not reported either.
    settled.add(rowIdentity(entry));
    if (wasSent(entry)) events.push({ kind: 'lost', row: entry });
  }
  for (const row of lost.rows) if (!settled.has(rowIdentity(row))) events.push({ kind: 'lost', row });
  for (const row of gained.rows) events.push({ kind: 'gained', row });
  return { events, position: gained.resourceVersion, rightsVersion: gained.rightsVersion };
}

async function rowsOf(
  store: Pick<IndexStore, 'list'>,
  query: ListQuery,
  scope: RowScope,
  isWanted: (row: RowRead) => boolean,
): Promise<ReadPoint & { readonly rows: readonly RowRead[] }> {
  const page = await store.list(query, scope, {});
  const rows: RowRead[] = [];
  let bytes = 0;
  for await (const chunk of page.chunks) {
    for (const row of chunk) {
      if (!isWanted(row)) continue;
      bytes += row.raw.length;
      if (rows.push(row) > mostRows || bytes > mostBytes) throw tooMany();
    }
  }
  return { rows, resourceVersion: page.resourceVersion, rightsVersion: page.rightsVersion };
}

async function* entriesUpTo(
  feed: ChangeFeed,
  types: readonly TypeKey[],
  from: string,
  last: string,
): AsyncGenerator<LogEntry, void, undefined> {
  let position = from;
  while (position < last) {
    const reading = await feed.read(position, types, last);
    for (const entry of reading.entries) {
      if (entry.resourceVersion > last) return;
      yield entry;
    }
    if (!reading.isMore) return;
    position = reading.reached;
  }
}

function tooMany(): GatewayError {
  return new GatewayError(
    'EXPIRED',
    `your rights have changed, which affects more than ${mostRows} objects; list again and watch from there`,
  );
}
