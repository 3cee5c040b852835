// Joins the watches of many clusters into one. The resourceVersion in each event stands for all clusters: a client that
// resumes from it must not miss an event of any cluster. When the gateway cannot guarantee this, it ends the watch with
// 410, and the client lists again.
import { GatewayError } from '../../../model/errors.ts';
import type { ClusterSpec } from '../../../model/records.ts';
import type { ClusterEvent } from '../../../model/cluster-events.ts';
import type { FanoutDependencies } from '../members/dependencies.ts';
import { statusObject } from '../../../request/answer/status.ts';
import { memberAccept, memberHeaders } from '../members/accept.ts';
import type { Ending } from '../members/answer-writer.ts';
import { IncompleteAnswer } from '../lists/list-answer.ts';
import type { ListParts } from '../lists/list-answer.ts';
import { expired, openMemberList } from '../lists/member-list.ts';
import type { MemberList } from '../lists/member-list.ts';
import { followMember } from './member-watch.ts';
import type { MemberOutput, MemberSource } from './member-watch.ts';
import { errorOfAll, warningHeaders } from '../members/missing.ts';
import type { Missing } from '../members/missing.ts';
import { memberPath, withoutKeys } from '../members/query.ts';
import { composeVersion, isVersion, parseVersion, registrationOf } from '../lists/tokens.ts';
import type { Versions } from '../lists/tokens.ts';
import { WatchLines, bookmarkLine, errorLine } from './watch-lines.ts';
import type { MemberColumns, ObjectType } from './watch-lines.ts';
import { parseLimited } from '../../../lib/json/value-count.ts';

/**
 * Maximum number of clusters in a merged watch; a watch of more is refused. A merged watch keeps one stream to every
 * cluster for each client, so clients of more clusters must watch the index instead.
 */
const maxWatchedClusters = 200;
/**
 * How many milliseconds to wait for the first answers of all clusters before the headers are sent, so that the headers
 * can name the clusters that cannot be reached.
 */
const headWaitMs = 3_000;
const bookmarkIntervalMs = 10_000;
/**
 * Used in a merged resourceVersion in place of a cluster's own, while the client has received only some of the
 * cluster's objects.
 */
const joining = 'joining';

/**
 * Answers a watch; resolves when the watch has ended.
 * @throws GatewayError (rejects) before the headers were sent
 */
export async function answerWatch(
  parts: ListParts,
  dependencies: FanoutDependencies,
  ending: { onEnd?: Ending['onEnd'] },
): Promise<void> {
  const { query, members, state, path } = parts;
  if (state.inbound.method !== 'GET') throw new GatewayError('METHOD_NOT_ALLOWED', 'a watch must be requested by GET');
  if (/^\/apis?(?:\/[^/]+)?\/[^/]+\/watch\//.test(path)) {
    throw new GatewayError('BAD_REQUEST', 'paths with /watch/ are not served for every cluster: use ?watch=true');
  }
  if (query.initialEvents && !query.bookmarks) {
    throw new GatewayError('INVALID', 'sendInitialEvents needs allowWatchBookmarks=true');
  }
  const existing = new Set(dependencies.clusters.list().map(({ spec }) => spec.uid));
  const clusters = await members.permitted(query.selects);
  if (clusters.length > maxWatchedClusters) throw tooMany(clusters.length, path);
  const watch = new MergedWatch(parts, dependencies, existing);
  try {
    await watch.run(clusters, startOf(query.resourceVersion, query.initialEvents, clusters), ending);
  } finally {
    watch.close();
  }
}

/**
 * For each cluster, the resourceVersion from which to continue; empty for a client that begins a new watch.
 * @throws GatewayError BAD_REQUEST for a version the gateway did not make; EXPIRED when a cluster in it has gone or
 * been replaced
 */
function startOf(version: string, isFresh: boolean, clusters: readonly ClusterSpec[]): Versions {
  if (version === '' || version === '0') return new Map();
  const versions = parseVersion(version);
  if (isFresh) return new Map();
  const there = new Map(clusters.map((cluster) => [cluster.name, registrationOf(cluster)]));
  for (const [name, { version: own, registration }] of versions) {
    if (there.get(name) !== registration || own === joining) throw expired('the set of clusters has changed');
  }
  return versions;
}

function tooMany(count: number, path: string): GatewayError {
  return new GatewayError(
    'BAD_REQUEST',
    `a live watch is served for at most ${maxWatchedClusters} clusters, and these are ${count}: choose some with clusterSelector=, or watch the index at /apis/search.portcullis.io/v1alpha1/indexes/default/proxy${path}`,
  );
}

class MergedWatch {
  readonly #parts: ListParts;
  readonly #dependencies: FanoutDependencies;
  /**
   * UIDs of all clusters that existed when the watch began. Any other cluster is new and may be added to the watch
   * later.
   */
  readonly #existing: Set<string>;
  readonly #watched = new Map<string, ClusterSpec>();
  readonly #versions = new Map<string, { version: string; registration: string }>();
  readonly #lines = new WatchLines();
  readonly #stop = new AbortController();
  readonly #closers: (() => void)[] = [];
  readonly #ready = Promise.withResolvers<void>();
  readonly #done = Promise.withResolvers<void>();
  readonly #missing = new Map<string, Missing>();
  /**
   * Names of the clusters whose first attempt has neither succeeded nor failed yet. `#unsent` holds the names of the
   * clusters whose initial objects have not all been sent.
   */
  readonly #waitingFor = new Set<string>();
  readonly #unsent = new Set<string>();
  #onSettled: (() => void) | undefined;
  #type: ObjectType | undefined;
  #isTable = false;
  #bookmarkAtMs = 0;
  #isOver = false;

  constructor(parts: ListParts, dependencies: FanoutDependencies, existing: Set<string>) {
    this.#parts = parts;
    this.#dependencies = dependencies;
    this.#existing = existing;
    this.#ready.promise.catch(() => {});
    this.#done.promise.catch(() => {});
  }

  async run(clusters: readonly ClusterSpec[], from: Versions, ending: { onEnd?: Ending['onEnd'] }): Promise<void> {
    const { writer, query } = this.#parts;
    for (const cluster of clusters) this.#waitingFor.add(cluster.name);
    for (const [name, version] of from) this.#versions.set(name, version);
    for (const cluster of clusters) this.#follow(cluster, from.get(cluster.name)?.version);
    this.#closers.push(this.#dependencies.clusters.subscribe((event) => this.#onRecord(event)));
    for (const { spec } of this.#dependencies.clusters.list())
      if (!this.#existing.has(spec.uid)) void this.#considerJoin(spec);
    writer.signal.addEventListener('abort', () => this.#done.reject(writer.signal.reason), { once: true });
    ending.onEnd = (statusJson) => void this.#finish(statusJson);
    await this.#firstAttempts();
    const missing = [...this.#missing.values()].toSorted((a, b) => (a.cluster < b.cluster ? -1 : 1));
    if (!query.partial && missing.length > 0) throw new IncompleteAnswer(missing);
    if (clusters.length > 0 && missing.length === clusters.length)
      throw new IncompleteAnswer(missing, errorOfAll(missing));
    if (!this.#isOver) {
      writer.head(200, warningHeaders(missing));
      this.#ready.resolve();
      if (query.timeoutSeconds !== undefined) {
        const timer = setTimeout(() => void this.#finish(undefined), query.timeoutSeconds * 1000);
        this.#closers.push(() => clearTimeout(timer));
      }
      await this.#endInitial();
    }
    await this.#done.promise;
  }

  close(): void {
    this.#isOver = true;
    this.#stop.abort();
    this.#ready.reject(new Error('over'));
    for (const close of this.#closers.splice(0)) close();
  }

  /** Resolves when the first attempt of each cluster has succeeded or failed, or after `headWaitMs`. */
  async #firstAttempts(): Promise<void> {
    if (this.#waitingFor.size === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onSettled = resolve;
    const timer = setTimeout(resolve, headWaitMs);
    await Promise.race([promise, this.#done.promise]).finally(() => clearTimeout(timer));
  }

  #follow(cluster: ClusterSpec, version: string | undefined): void {
    const { members, query, path, state, writer } = this.#parts;
    const { name } = cluster;
    this.#watched.set(name, cluster);
    if (version === undefined) this.#unsent.add(name);
    const signal = AbortSignal.any([writer.signal, this.#stop.signal]);
    const headers = memberHeaders(state.headers, memberAccept(state.headers));
    const listRest = withoutKeys(query.rest, watchKeys);
    const watchRest = withoutKeys(query.rest, initialKeys);
    const source: MemberSource = {
      cluster: name,
      list: () =>
        openMemberList(members, cluster, {
          method: 'GET',
          path: memberPath(path, listRest),
          headers,
          longRunning: false,
          signal,
        }),
      watch: (from) => {
        const added = { resourceVersion: from, allowWatchBookmarks: 'true' };
        const asked = memberPath(path, watchRest, added);
        return members.ask(cluster, { method: 'GET', path: asked, headers, longRunning: true, signal });
      },
    };
    this.#closers.push(members.follow(cluster, () => this.#expire('a right or an identity has changed')));
    followMember(source, this.#outputOf(cluster), version, signal).catch((error: unknown) => this.#done.reject(error));
  }

  #outputOf(cluster: ClusterSpec): MemberOutput {
    const { name } = cluster;
    const registration = registrationOf(cluster);
    const columns: MemberColumns = { own: undefined };
    const at = (version: string): string => {
      if (isVersion(version)) this.#versions.set(name, { version, registration });
      return composeVersion(this.#versions);
    };
    const { writer, query } = this.#parts;
    return {
      onAttempt: (missing) => this.#onAttempt(name, missing),
      onItems: async (list, items) => {
        await this.#ready.promise;
        this.#learn(list);
        if (list.isTable) columns.own = list.columns;
        if (items.length === 0) return;
        const version = at(joining);
        const type = { kind: list.kind.replace(/List$/, ''), apiVersion: list.apiVersion };
        const lines = items.map((item) => this.#lines.listed(item, list.isTable, type, name, columns, version));
        if (!this.#isOver) await writer.write(Buffer.concat(lines));
      },
      onJoined: async (list, version) => {
        await this.#ready.promise;
        this.#learn(list);
        at(version);
        this.#unsent.delete(name);
        await this.#endInitial();
      },
      onChange: async (type, object) => {
        const version = WatchLines.versionOf(object);
        await this.#ready.promise;
        const line = this.#lines.change(type, object, name, columns, at(version));
        if (!this.#isOver) await writer.write(line);
        return version;
      },
      onBookmark: async (version, line) => {
        await this.#ready.promise;
        at(version);
        this.#learnFrom(line);
        const nowMs = performance.now();
        if (!query.bookmarks || this.#unsent.size > 0 || nowMs - this.#bookmarkAtMs < bookmarkIntervalMs) return;
        await this.#bookmark(false);
      },
      onExpired: (why) => this.#expire(why),
    };
  }

  #learn(list: MemberList): void {
    if (list.kind === '') return;
    this.#isTable = list.isTable;
    this.#type ??= { kind: list.kind.replace(/List$/, ''), apiVersion: list.apiVersion };
  }

  /** Takes kind and apiVersion of the watched objects from a cluster's bookmark event. */
  #learnFrom(line: Buffer): void {
    if (this.#type !== undefined) return;
    const { object } = parseLimited(line) as { readonly object: Readonly<Record<string, unknown>> };
    const { kind, apiVersion } = object;
    if (typeof kind !== 'string' || typeof apiVersion !== 'string') return;
    this.#isTable = kind === 'Table';
    this.#type = { kind, apiVersion };
  }

  #onAttempt(cluster: string, missing: Missing | undefined): void {
    if (missing === undefined) this.#missing.delete(cluster);
    else {
      this.#missing.set(cluster, missing);
      // The bookmark that ends the initial events does not wait for this cluster. The cluster's objects are sent later,
      // when it answers again.
      this.#unsent.delete(cluster);
    }
    this.#waitingFor.delete(cluster);
    if (this.#waitingFor.size === 0) this.#onSettled?.();
    if (missing !== undefined) void this.#ready.promise.then(() => this.#endInitial()).catch(() => {});
  }

  #isInitialSent = false;

  /**
   * Sends the bookmark that ends the initial events, if the client asked for one and all initial objects have been
   * sent.
   */
  async #endInitial(): Promise<void> {
    if (!this.#parts.query.initialEvents || this.#isInitialSent || this.#unsent.size > 0) return;
    if (this.#type === undefined) return;
    this.#isInitialSent = true;
    await this.#bookmark(true);
  }

  async #bookmark(isLast: boolean): Promise<void> {
    if (this.#type === undefined || this.#isOver) return;
    this.#bookmarkAtMs = performance.now();
    const version = composeVersion(this.#versions);
    await this.#parts.writer.write(bookmarkLine(this.#type, this.#isTable, version, isLast));
  }

  #onRecord({ type, record: { spec }, previous }: ClusterEvent): void {
    const { selects } = this.#parts.query;
    const isWatched = this.#watched.get(spec.name)?.uid === spec.uid;
    if (type === 'DELETED') {
      if (isWatched) this.#expire('a cluster was removed');
      return;
    }
    if (previous?.spec.labels === spec.labels) return;
    if (!isWatched) void this.#considerJoin(spec);
    else if (selects !== undefined && !selects(spec.labels)) this.#expire('the set of clusters has changed');
  }

  /** Starts to watch a cluster that was added or whose labels now match the selector, if the caller may reach it. */
  async #considerJoin(spec: ClusterSpec): Promise<void> {
    const { query, members } = this.#parts;
    try {
      if (query.selects !== undefined && !query.selects(spec.labels)) return;
      if (!(await members.access.mayReach(spec)) || this.#isOver || this.#watched.has(spec.name)) return;
      if (this.#watched.size >= maxWatchedClusters) this.#expire('there are too many clusters now');
      else this.#follow(spec, undefined);
    } catch {
      // The caller's right to the cluster could not be checked. The client is told to list again, and its next request
      // checks the right again.
      this.#expire('the set of clusters has changed');
    }
  }

  #expire(why: string): void {
    const error = expired(why);
    if (!this.#parts.state.inbound.answered) this.#done.reject(error);
    else void this.#finish(JSON.stringify(statusObject(error)));
  }

  async #finish(statusJson: string | undefined): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#stop.abort();
    const { writer } = this.#parts;
    try {
      if (statusJson !== undefined) await writer.write(errorLine(statusJson));
      writer.end();
      this.#done.resolve();
    } catch (error) {
      this.#done.reject(error);
    }
  }
}

/** Query parameters of a watch that are not sent with a list. */
const watchKeys: ReadonlySet<string> = new Set(['watch', 'sendInitialEvents', 'resourceVersionMatch']);
/**
 * Query parameters that are not sent with the watch of a cluster: the gateway lists each cluster's objects itself and
 * sends the initial events from this list.
 */
const initialKeys: ReadonlySet<string> = new Set(['sendInitialEvents', 'resourceVersionMatch']);
