// Keeps a compiled view of every incarnation's RBAC beside the store, fed by the store's own change log. Easy to get
// wrong: rows and rights must be of the same moment, so whoever asks waits until everything that was committed before
// the question is compiled.
import { GatewayError } from '../../cache/model/errors.ts';
import { allOf } from '../query/list-query.ts';
import type { IndexStore, LogEntry, RowRead, StoredType } from '../stores/store.ts';
import { typeKey } from '../types.ts';
import type { Incarnation, ResourceType, TypeKey } from '../types.ts';
import { textDigest } from './grants.ts';
import { rbacGroup } from './rbac.ts';
import { makeRbacView } from './rbac-view.ts';
import type { RbacFeed, RbacKind, RbacView } from './rbac-view.ts';
import type { RowScope } from './scope.ts';

/** What of the store a mirror reads. */
export type MirroredStore = Pick<
  IndexStore,
  'types' | 'list' | 'changes' | 'onCommit' | 'resourceVersion' | 'oldestResourceVersion'
>;

/** Types that decide who sees what. */
export const rightsTypes: readonly ResourceType[] = [
  { group: rbacGroup, resource: 'clusterroles' },
  { group: rbacGroup, resource: 'clusterrolebindings' },
  { group: rbacGroup, resource: 'roles' },
  { group: rbacGroup, resource: 'rolebindings' },
];

/** What a mirror reads: the types of rights, and the namespaces there are. */
export const mirroredTypes: readonly ResourceType[] = [...rightsTypes, { group: '', resource: 'namespaces' }];

/** An incarnation that the store knows. */
export interface StoredIncarnation {
  readonly incarnation: Incarnation;
  readonly types: ReadonlyMap<TypeKey, StoredType>;
}

/** Rights of every member as the index has them. */
export interface RightsMirror {
  /**
   * Resolves when everything committed before the call is in the views.
   * @throws GatewayError (rejects) as the store does
   */
  current(): Promise<void>;
  /**
   * Empty for an incarnation without RBAC objects; whether that is the truth is told by the sync positions of {@link
   * stored}.
   */
  view(incarnation: string): RbacView;
  /** By incarnation id, at most a second old. @throws GatewayError (rejects) as the store does */
  stored(): Promise<ReadonlyMap<string, StoredIncarnation>>;
  /** Called after views have changed. Returns the way to end it. */
  onChange(listener: () => void): () => void;
  /** Stops following; views stay as they are. */
  close(): void;
}

export interface MirrorOptions {
  /** Milliseconds of any clock. */
  readonly now?: () => number;
  /** The store could not be read after a commit; the next question tries again. */
  readonly onError?: (error: unknown) => void;
  /** Called in the background after a commit; `setTimeout` unless a test says otherwise. */
  readonly defer?: (task: () => void) => void;
}

const entriesAtOnce = 1_000;
const typesMaxAgeMs = 1_000;
/** Who has not looked at the log for longer asks whether it still reaches back. */
const trimmedAfterMs = 5_000;
/** Commits within this time are looked at together when nobody asks. */
const followDelayMs = 50;

const kinds: ReadonlyMap<TypeKey, RbacKind> = new Map(
  mirroredTypes.map((type) => [typeKey(type), type.resource as RbacKind]),
);
const keys = [...kinds.keys()];

/** Starts to follow; nothing is read before the first question or commit. */
export function makeRightsMirror(store: MirroredStore, options: MirrorOptions = {}): RightsMirror {
  const now = options.now ?? (() => performance.now());
  const defer = options.defer ?? ((task) => void setTimeout(task, followDelayMs).unref());
  const listeners = new Set<() => void>();
  let generations = 0;
  const makeView = (): RbacFeed => makeRbacView(() => ++generations);
  const emptyView: RbacView = makeView();
  let views = new Map<string, RbacFeed>();
  /** Up to where the log is in the views; undefined before the first reading. */
  let applied: string | undefined;
  let draining: Promise<void> | undefined;
  let again: Promise<void> | undefined;
  let drainedAtMs = 0;
  let following = false;
  let closed = false;

  const viewOf = (from: Map<string, RbacFeed>, incarnation: string): RbacFeed => {
    let view = from.get(incarnation);
    if (view === undefined) from.set(incarnation, (view = makeView()));
    return view;
  };

  /**
   * Reads everything anew. The log is followed from before the reading: repeating a change does no harm, missing one
   * does.
   */
  const load = async (): Promise<void> => {
    const from = store.resourceVersion();
    const incarnations = (await store.types()).map(({ incarnation }) => incarnation.id);
    const page = await store.list(allOf(...mirroredTypes), scopeOfAll(incarnations), {});
    const loaded = new Map<string, RbacFeed>();
    for await (const rows of page.chunks) {
      for (const row of rows) putRow(viewOf(loaded, row.incarnation), row);
    }
    const { reached } = await follow(loaded, from);
    views = loaded;
    applied = reached;
  };

  /** Puts what the log has after `from` into the views; says up to where, and whether that was anything. */
  const follow = async (into: Map<string, RbacFeed>, from: string): Promise<{ reached: string; changed: boolean }> => {
    let reached = from;
    let changed = false;
    for (;;) {
      const target = store.resourceVersion();
      if (reached >= target) return { reached, changed };
      const entries = await store.changes(reached, keys, entriesAtOnce);
      for (const entry of entries) putEntry(viewOf(into, entry.incarnation), entry);
      changed ||= entries.length > 0;
      const last = entries.at(-1)?.resourceVersion ?? reached;
      reached = entries.length < entriesAtOnce && last < target ? target : last;
    }
  };

  /** Goes on in the log from there; false when the log no longer reaches back. */
  const goOn = async (from: string): Promise<{ changed: boolean } | undefined> => {
    if (now() - drainedAtMs > trimmedAfterMs && from < (await store.oldestResourceVersion())) return undefined;
    try {
      const { reached, changed } = await follow(views, from);
      applied = reached;
      return { changed };
    } catch (error) {
      if (error instanceof GatewayError && error.code === 'EXPIRED') return undefined;
      throw error;
    }
  };

  const drain = async (): Promise<void> => {
    let went = applied === undefined ? undefined : await goOn(applied);
    if (went === undefined) {
      await load();
      went = { changed: true };
    }
    drainedAtMs = now();
    if (went.changed) for (const listener of listeners) listener();
  };

  /** A drain that begins after this call; those who ask meanwhile share it. */
  const current = (): Promise<void> => {
    if (again !== undefined) return again;
    if (draining === undefined) {
      if (applied !== undefined && applied >= store.resourceVersion()) return Promise.resolve();
      draining = drain().finally(() => (draining = undefined));
      return draining;
    }
    again = draining.then(ignore, ignore).then(() => {
      again = undefined;
      return current();
    });
    return again;
  };

  const endCommits = store.onCommit(() => {
    if (following || closed) return;
    following = true;
    defer(() => {
      following = false;
      if (!closed) current().catch((error: unknown) => options.onError?.(error));
    });
  });

  const stored = rememberedFor(typesMaxAgeMs, now, async () => byIncarnation(await store.types()));
  return {
    current,
    view: (incarnation) => views.get(incarnation) ?? emptyView,
    stored,
    onChange: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    close: () => {
      closed = true;
      endCommits();
      listeners.clear();
    },
  };
}

/** Everything of {@link mirroredTypes}: what the gateway itself may read of its index. */
function scopeOfAll(incarnations: readonly string[]): RowScope {
  const all = new Map(keys.map((key) => [key, 'all' as const]));
  const grants = new Map(incarnations.map((incarnation) => [incarnation, all]));
  return { grants, digest: textDigest(JSON.stringify(['rights-mirror', ...[...grants.keys()].sort()])) };
}

function putRow(view: RbacFeed, { type, namespace, name, raw }: RowRead): void {
  const kind = kinds.get(type);
  if (kind !== undefined) view.put(kind, namespace, name, parse(raw));
}

function putEntry(view: RbacFeed, { type, namespace, name, after }: LogEntry): void {
  const kind = kinds.get(type);
  if (kind !== undefined) view.put(kind, namespace, name, after === undefined ? undefined : parse(after));
}

/** Bytes that are no JSON grant nothing. */
function parse(raw: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).toString('utf8')) as unknown;
  } catch {
    return {};
  }
}

function byIncarnation(types: readonly StoredType[]): ReadonlyMap<string, StoredIncarnation> {
  const found = new Map<string, { incarnation: Incarnation; types: Map<TypeKey, StoredType> }>();
  for (const stored of types) {
    const { incarnation } = stored;
    let entry = found.get(incarnation.id);
    if (entry === undefined) found.set(incarnation.id, (entry = { incarnation, types: new Map() }));
    entry.types.set(typeKey(stored.type), stored);
  }
  return found;
}

/**
 * When the last of the RBAC types was confirmed; undefined while one was never read whole. A list that is under way
 * again does not count against it: lists of these types are committed whole, so until then the rows are those that were
 * confirmed.
 * @param confirmedAtMs of one type, undefined or 0 for never
 */
export function rightsConfirmedAtMs(confirmedAtMs: (type: ResourceType) => number | undefined): number | undefined {
  let oldest: number | undefined;
  for (const type of rightsTypes) {
    const confirmed = confirmedAtMs(type);
    if (confirmed === undefined || confirmed === 0) return undefined;
    oldest = oldest === undefined ? confirmed : Math.min(oldest, confirmed);
  }
  return oldest;
}

/** Calls at most once in that time; errors are not remembered. */
function rememberedFor<T>(maxAgeMs: number, now: () => number, read: () => Promise<T>): () => Promise<T> {
  let known: { readonly value: Promise<T>; readonly untilMs: number } | undefined;
  return () => {
    if (known !== undefined && now() < known.untilMs) return known.value;
    const value = read();
    const mine = { value, untilMs: now() + maxAgeMs };
    known = mine;
    value.catch(() => {
      if (known === mine) known = undefined;
    });
    return value;
  };
}

function ignore(): void {}
