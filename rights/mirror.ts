// Keeps a compiled copy of the RBAC of every cluster in memory, fed by the change log of the store. Rows and rights
// must be of the same moment. So each use of the copy first waits until it contains everything that was committed
// before.
import { GatewayError } from '../model/errors.ts';
import { allOf } from '../query/list-query.ts';
import type { IndexStore, LogEntry, RowRead } from '../store/store.ts';
import { typeKey } from '../query/types.ts';
import type { ResourceType, TypeKey } from '../query/types.ts';
import { textDigest } from '../query/scope/grants.ts';
import { rbacGroup } from '../lib/objects/api-names.ts';
import type { SubjectKey } from './rbac/rbac.ts';
import { makeRbacView } from './rbac/rbac-view.ts';
import type { RbacFeed, RbacKind, RbacView } from './rbac/rbac-view.ts';
import type { RowScope } from '../query/scope/scope.ts';
import { parseJson } from '../lib/json/parse-json.ts';

/** The methods of a store that the mirror uses. */
export type MirroredStore = Pick<
  IndexStore,
  'types' | 'list' | 'changes' | 'onCommit' | 'resourceVersion' | 'oldestResourceVersion'
>;

/** The RBAC types, whose objects decide who sees what. */
export const rightsTypes: readonly ResourceType[] = [
  { group: rbacGroup, resource: 'clusterroles' },
  { group: rbacGroup, resource: 'clusterrolebindings' },
  { group: rbacGroup, resource: 'roles' },
  { group: rbacGroup, resource: 'rolebindings' },
];

/** The types that are copied into memory: RBAC objects and Namespaces. */
export const mirroredTypes: readonly ResourceType[] = [...rightsTypes, { group: '', resource: 'namespaces' }];

/**
 * Keys of the users and groups whose rights may have changed in one incarnation of a cluster; undefined when anybody's
 * may have.
 */
export type Affected = ReadonlySet<SubjectKey> | undefined;

export type MirrorListener = (changed: ReadonlyMap<string, Affected> | undefined) => void;

/** The RBAC of every cluster, as far as the index has it. */
export interface RightsMirror {
  /**
   * Resolves when everything committed before the call is in the views.
   * @param atLeast a resourceVersion that a caller has seen in an answer of the store; the views will include it too
   * @returns a resourceVersion up to which the views are complete; they may be newer
   * @throws GatewayError (rejects) when the store cannot be read
   */
  current(atLeast?: string): Promise<string>;
  /**
   * The compiled RBAC of one incarnation of a cluster, empty when there is none. The sync positions of the RBAC types
   * tell whether the cluster has no RBAC objects, or whether they were not read yet.
   */
  view(incarnation: string): RbacView;
  /**
   * Calls the listener after views have changed and before `current` resolves. It gets the ids of the changed
   * incarnations, each with the keys of those whose rights may have changed; undefined means that any incarnation may
   * have changed. Returns a function that removes the listener.
   */
  onChange(listener: MirrorListener): () => void;
  /**
   * Calls `read` while the views of RBAC are as they were at an earlier resourceVersion. `read` must be synchronous.
   * @param read gets the ids of the incarnations of clusters whose views have changed since then
   * @returns undefined when too many changes would have to be undone
   * @throws GatewayError (rejects) with code EXPIRED when the log no longer reaches back that far
   */
  at<T>(resourceVersion: string, read: (changed: ReadonlySet<string>) => T): Promise<T | undefined>;
  /** Stops reading the store's changes. The views stay readable, as they are then. */
  close(): void;
}

export interface MirrorOptions {
  /** Returns milliseconds of a clock that never goes back. */
  readonly now?: () => number;
  /** Called when the store could not be read after a commit. The next call of `current` tries again. */
  readonly onError?: (error: unknown) => void;
  /** Schedules the background update after a commit; `setTimeout` by default. */
  readonly defer?: (task: () => void) => void;
}

const entriesAtOnce = 1_000;
/** The most changes of RBAC objects that {@link RightsMirror.at} undoes; for more it returns undefined. */
const mostUndone = 10_000;
/**
 * Milliseconds after which the log may have been trimmed. A mirror that has not read the log for longer first asks the
 * store for the oldest resourceVersion in it.
 */
const trimmedAfterMs = 5_000;
/** Milliseconds from a commit to the update in the background, which reads all commits of that time. */
const followDelayMs = 50;

const kinds: ReadonlyMap<TypeKey, RbacKind> = new Map(
  mirroredTypes.map((type) => [typeKey(type), type.resource as RbacKind]),
);
const keys = [...kinds.keys()];

/** Makes a mirror of the store. It reads nothing before the first call that needs it, or the first commit. */
export function makeRightsMirror(store: MirroredStore, options: MirrorOptions = {}): RightsMirror {
  return new Mirror(store, options);
}

class Mirror implements RightsMirror {
  readonly #store: MirroredStore;
  readonly #options: MirrorOptions;
  readonly #now: () => number;
  readonly #listeners = new Set<MirrorListener>();
  readonly #endCommits: () => void;
  #generations = 0;
  readonly #emptyView: RbacView = this.#makeView();
  #views = new Map<string, RbacFeed>();
  /** The resourceVersion up to which the views have all changes of RBAC objects; undefined before the first read. */
  #applied: string | undefined;
  /** The newest resourceVersion that callers have seen in answers of the store. */
  #shown = '';
  #drainedAtMs = 0;
  /**
   * `#draining` is the update of the views that runs now. `#again` is the update after that, which serves all callers
   * that came in the meantime.
   */
  #draining: Promise<string> | undefined;
  #again: Promise<string> | undefined;
  #isFollowing = false;
  #isClosed = false;

  constructor(store: MirroredStore, options: MirrorOptions) {
    this.#store = store;
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    const defer = options.defer ?? ((task) => void setTimeout(task, followDelayMs).unref());
    this.#endCommits = store.onCommit(() => this.#onCommit(defer));
  }

  view(incarnation: string): RbacView {
    return this.#views.get(incarnation) ?? this.#emptyView;
  }

  /** Waits for an update that begins after this call. Callers that come during a running update share the next one. */
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
      // The views have changed while the log was read, or are being updated: start over.
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

  /**
   * The resourceVersion that an update must reach. A reader can see a commit before this process hears of it, so the
   * versions that callers have seen count too.
   */
  get #target(): string {
    const committed = this.#store.resourceVersion();
    return this.#shown > committed ? this.#shown : committed;
  }

  /**
   * Applies the log entries after `from`, and returns what has changed. Undefined when the log no longer reaches back
   * to `from`.
   */
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
   * Reads all RBAC objects again. The log is applied from a position before the reading: applying a change twice does
   * no harm, but missing one does.
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

  /**
   * Applies the log after `from` to the views. Returns the resourceVersion reached, and for each changed incarnation
   * whose rights may have changed.
   */
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

/** A scope that shows all objects of {@link mirroredTypes} in these incarnations, for the gateway's own reading. */
function scopeOfAll(incarnations: readonly string[]): RowScope {
  const all = new Map(keys.map((key) => [key, 'all' as const]));
  const grants = new Map(incarnations.map((incarnation) => [incarnation, all]));
  return { grants, digest: textDigest(JSON.stringify(['rights-mirror', ...[...grants.keys()].sort()])) };
}

function putRow(view: RbacFeed, { type, namespace, name, raw }: RowRead): void {
  const kind = kinds.get(type);
  if (kind !== undefined) view.put(kind, namespace, name, parse(raw));
}

/**
 * Applies one log entry to a view.
 * @returns keys of users and groups whose rights may have changed; undefined when anybody's may have
 */
function putEntry(view: RbacFeed, { type, namespace, name, after }: LogEntry): Iterable<SubjectKey> | undefined {
  const kind = kinds.get(type);
  return kind && view.put(kind, namespace, name, after === undefined ? undefined : parse(after));
}

/** Parses an object of the store. Bytes that are not JSON become an empty object, which grants nothing. */
function parse(raw: Uint8Array): unknown {
  try {
    return parseJson(Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).toString('utf8'));
  } catch {
    return {};
  }
}

function ignore(): void {}
