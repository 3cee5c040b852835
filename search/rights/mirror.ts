// Keeps a compiled view of every incarnation's RBAC beside the store, fed by the store's own change log. Rows and
// rights must be of the same moment, so a question waits until everything that was committed before it is compiled.
import { GatewayError } from '../../cache/model/errors.ts';
import { allOf } from '../query/list-query.ts';
import type { IndexStore, LogEntry, RowRead, StoredType } from '../stores/store.ts';
import { typeKey } from '../types.ts';
import type { Incarnation, ResourceType, TypeKey } from '../types.ts';
import { textDigest } from './grants.ts';
import { rbacGroup } from './rbac.ts';
import type { SubjectKey } from './rbac.ts';
import { makeRbacView } from './rbac-view.ts';
import type { RbacFeed, RbacKind, RbacView } from './rbac-view.ts';
import type { RowScope } from './scope.ts';

/** What of the store a mirror reads. */
export type MirroredStore = Pick<
  IndexStore,
  'types' | 'catalogVersion' | 'list' | 'changes' | 'onCommit' | 'resourceVersion' | 'oldestResourceVersion'
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

/** Whose rights may have changed in one incarnation; undefined: anybody's. */
export type Affected = ReadonlySet<SubjectKey> | undefined;

export type MirrorListener = (changed: ReadonlyMap<string, Affected> | undefined) => void;

/** Rights of every member as the index has them. */
export interface RightsMirror {
  /**
   * Resolves when everything committed before the call is in the views.
   * @param atLeast a version that an answer of the store has shown: everything up to it is in the views, too
   * @returns the version up to which the views are, or an older one
   * @throws GatewayError (rejects) as the store does
   */
  current(atLeast?: string): Promise<string>;
  /**
   * Empty for an incarnation without RBAC objects. Whether the member has none, or they were not read yet, is in the
   * sync positions of {@link stored}.
   */
  view(incarnation: string): RbacView;
  /**
   * By incarnation id, at most a second old; how far each type was followed may be 10 seconds old. The same map while
   * nothing has changed. @throws GatewayError (rejects) as the store does
   */
  stored(): Promise<ReadonlyMap<string, StoredIncarnation>>;
  /**
   * Called after views have changed and before `current` resolves, with the ids of their incarnations; undefined: any
   * of them. Returns the function that ends it.
   */
  onChange(listener: MirrorListener): () => void;
  /**
   * Calls `read`, which must not wait, while the views are as they were at an earlier position of the log.
   * @param read gets the incarnations in which something has changed since
   * @returns undefined when too much has changed since
   * @throws GatewayError (rejects) EXPIRED when the log does not reach back
   */
  at<T>(resourceVersion: string, read: (changed: ReadonlySet<string>) => T): Promise<T | undefined>;
  /** Stops following; the views are kept. */
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

/** What a store keeps, as it was read. */
interface Catalog {
  readonly version: string;
  readonly readAtMs: number;
  readonly stored: ReadonlyMap<string, StoredIncarnation>;
}

const entriesAtOnce = 1_000;
/** More changes are not undone. */
const mostUndone = 10_000;
const typesMaxAgeMs = 1_000;
/** Positions change without another version of the catalog. */
const positionsMaxAgeMs = 10_000;
/** A mirror that has not read the log for longer asks first whether the log still reaches back. */
const trimmedAfterMs = 5_000;
/** Commits within this time are looked at together when nobody asks. */
const followDelayMs = 50;

const kinds: ReadonlyMap<TypeKey, RbacKind> = new Map(
  mirroredTypes.map((type) => [typeKey(type), type.resource as RbacKind]),
);
const keys = [...kinds.keys()];

/** Starts to follow the store. It reads nothing before it is first asked, or before the first commit. */
export function makeRightsMirror(store: MirroredStore, options: MirrorOptions = {}): RightsMirror {
  return new Mirror(store, options);
}

class Mirror implements RightsMirror {
  readonly stored: RightsMirror['stored'];
  readonly #store: MirroredStore;
  readonly #options: MirrorOptions;
  readonly #now: () => number;
  readonly #listeners = new Set<MirrorListener>();
  readonly #endCommits: () => void;
  #generations = 0;
  readonly #emptyView: RbacView = this.#makeView();
  #views = new Map<string, RbacFeed>();
  /** The resourceVersion up to which the log is in the views; undefined before the first reading. */
  #applied: string | undefined;
  /** The newest version that answers of the store have shown to callers. */
  #shown = '';
  #drainedAtMs = 0;
  #catalog: Catalog | undefined;
  /** The drain that runs, and the one that callers who came meanwhile wait for. */
  #draining: Promise<string> | undefined;
  #again: Promise<string> | undefined;
  #isFollowing = false;
  #isClosed = false;

  constructor(store: MirroredStore, options: MirrorOptions) {
    this.#store = store;
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.stored = rememberedFor(typesMaxAgeMs, this.#now, () => this.#readStored());
    const defer = options.defer ?? ((task) => void setTimeout(task, followDelayMs).unref());
    this.#endCommits = store.onCommit(() => this.#onCommit(defer));
  }

  view(incarnation: string): RbacView {
    return this.#views.get(incarnation) ?? this.#emptyView;
  }

  /** Waits for a drain that begins after this call; callers that come meanwhile share it. */
  current(atLeast = ''): Promise<string> {
    if (atLeast > this.#shown) this.#shown = atLeast;
    if (this.#again !== undefined) return this.#again;
    if (this.#draining === undefined) {
      if (this.#applied !== undefined && this.#applied >= this.#target) return Promise.resolve(this.#applied);
      this.#draining = this.#drain().finally(() => (this.#draining = undefined));
      return this.#draining;
    }
    this.#again = this.#draining.then(ignore, ignore).then(() => {
      this.#again = undefined;
      return this.current();
    });
    return this.#again;
  }

  async at<T>(resourceVersion: string, read: (changed: ReadonlySet<string>) => T): Promise<T | undefined> {
    for (;;) {
      await this.current();
      const applied = this.#applied;
      const entries: LogEntry[] = [];
      for (let from = resourceVersion; ;) {
        const some = await this.#store.changes(from, keys, entriesAtOnce);
        entries.push(...some);
        if (entries.length > mostUndone) return undefined;
        if (some.length < entriesAtOnce) break;
        from = some.at(-1)!.resourceVersion;
      }
      // The views have moved on meanwhile, or are about to.
      if (this.#draining !== undefined || this.#applied !== applied || applied === undefined) continue;
      return this.#undone(
        entries.filter((entry) => entry.resourceVersion <= applied),
        read,
      );
    }
  }

  #undone<T>(entries: readonly LogEntry[], read: (changed: ReadonlySet<string>) => T): T {
    for (const entry of entries.toReversed()) {
      putEntry(this.#viewOf(this.#views, entry.incarnation), { ...entry, after: entry.before });
    }
    try {
      return read(new Set(entries.map(({ incarnation }) => incarnation)));
    } finally {
      for (const entry of entries) putEntry(this.#viewOf(this.#views, entry.incarnation), entry);
    }
  }

  onChange(listener: MirrorListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  close(): void {
    this.#isClosed = true;
    this.#endCommits();
    this.#listeners.clear();
  }

  async #readStored(): Promise<Catalog['stored']> {
    const known = this.#catalog;
    // Read before the types are, so that they are never older than their version.
    const version = await this.#store.catalogVersion();
    if (known?.version === version && this.#now() - known.readAtMs < positionsMaxAgeMs) return known.stored;
    const readAtMs = this.#now();
    const stored = byIncarnation(await this.#store.types());
    this.#catalog = { version, readAtMs, stored };
    return stored;
  }

  #onCommit(defer: (task: () => void) => void): void {
    if (this.#isFollowing || this.#isClosed) return;
    this.#isFollowing = true;
    defer(() => {
      this.#isFollowing = false;
      if (!this.#isClosed) this.current().catch((error: unknown) => this.#options.onError?.(error));
    });
  }

  async #drain(): Promise<string> {
    const changed = this.#applied === undefined ? undefined : await this.#goOn(this.#applied);
    if (changed === undefined) await this.#load();
    this.#drainedAtMs = this.#now();
    if (changed?.size !== 0) for (const listener of this.#listeners) listener(changed);
    return this.#applied!;
  }

  /** All changes up to here can be read. A reader of the store sees a commit before its writer hears of it. */
  get #target(): string {
    const committed = this.#store.resourceVersion();
    return this.#shown > committed ? this.#shown : committed;
  }

  /** Applies the log after `from`; undefined when the log no longer reaches back to it. */
  async #goOn(from: string): Promise<ReadonlyMap<string, Affected> | undefined> {
    const mayBeTrimmed = this.#now() - this.#drainedAtMs > trimmedAfterMs;
    if (mayBeTrimmed && from < (await this.#store.oldestResourceVersion())) return undefined;
    try {
      const { reached, changed } = await this.#follow(this.#views, from);
      this.#applied = reached;
      return changed;
    } catch (error) {
      if (error instanceof GatewayError && error.code === 'EXPIRED') return undefined;
      throw error;
    }
  }

  /**
   * Reads everything anew. The log is followed from before the reading: applying a change twice does no harm, missing
   * one does.
   */
  async #load(): Promise<void> {
    const from = this.#store.resourceVersion();
    const incarnations = (await this.#store.types()).map(({ incarnation }) => incarnation.id);
    const page = await this.#store.list(allOf(...mirroredTypes), scopeOfAll(incarnations), {});
    const loaded = new Map<string, RbacFeed>();
    for await (const rows of page.chunks) {
      for (const row of rows) putRow(this.#viewOf(loaded, row.incarnation), row);
    }
    const { reached } = await this.#follow(loaded, from);
    this.#views = loaded;
    this.#applied = reached;
  }

  /** Puts what the log has after `from` into the views; returns up to where, and who is affected. */
  async #follow(
    into: Map<string, RbacFeed>,
    from: string,
  ): Promise<{ reached: string; changed: Map<string, Affected> }> {
    let reached = from;
    const changed = new Map<string, Set<SubjectKey> | undefined>();
    for (;;) {
      const target = this.#target;
      if (reached >= target) return { reached, changed };
      const entries = await this.#store.changes(reached, keys, entriesAtOnce);
      for (const entry of entries) {
        const { incarnation } = entry;
        const affected = putEntry(this.#viewOf(into, incarnation), entry);
        const before = changed.get(incarnation);
        if (affected === undefined || (changed.has(incarnation) && before === undefined))
          changed.set(incarnation, undefined);
        else if (before === undefined) changed.set(incarnation, new Set(affected));
        else for (const subject of affected) before.add(subject);
      }
      const last = entries.at(-1)?.resourceVersion ?? reached;
      reached = entries.length < entriesAtOnce && last < target ? target : last;
    }
  }

  #viewOf(from: Map<string, RbacFeed>, incarnation: string): RbacFeed {
    let view = from.get(incarnation);
    if (view === undefined) from.set(incarnation, (view = this.#makeView()));
    return view;
  }

  #makeView(): RbacFeed {
    return makeRbacView(() => ++this.#generations);
  }
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

/** @returns whose rights may have changed; undefined: anybody's */
function putEntry(view: RbacFeed, { type, namespace, name, after }: LogEntry): Iterable<SubjectKey> | undefined {
  const kind = kinds.get(type);
  return kind && view.put(kind, namespace, name, after === undefined ? undefined : parse(after));
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
 * When the last of the RBAC types was confirmed; undefined while one was never read whole. A relist that
 * is under way changes nothing: lists of these types are committed whole, and until then the confirmed rows are there.
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
