// What one user may see of all clusters, kept from one request to the next. Only clusters in which something changed,
// or whose result has expired, are decided again. Easy to get wrong: the position in the journal of changes must be
// noted before the data is read. Otherwise a change that arrives while the data is read would be missed.
import { recordUidOf, typeKey, type TypeKey } from '../query/types.ts';
import type { ClusterPart, RightsQuestion } from './cluster-rights.ts';
import type { HiddenCluster } from './hidden-cluster.ts';
import { grantDigest, grantSize, isNothing, textDigest } from '../query/scope/grants.ts';
import type { ChangeJournal, ClusterChange } from './journal.ts';
import type { Member } from './members.ts';
import type { Grant, RowScope } from '../query/scope/scope.ts';

/** The rights of one user at one moment: which rows are visible, and which clusters may be named. */
export interface ScopeAnswer {
  readonly scope: RowScope;
  /** Clusters of which rows are missing, with the reason. All of them are in `reachable` too. */
  readonly hidden: readonly HiddenCluster[];
  /**
   * By cluster name: the types that the gateway lets the user request there, whether or not the cluster is indexed. No
   * other cluster may be named to the user. For a cluster in `unread`, only the first such type is listed.
   */
  readonly reachable: ReadonlyMap<string, ReadonlySet<TypeKey>>;
  /** Names of clusters in `reachable` of which the index holds nothing yet, not even RBAC. */
  readonly unread: ReadonlySet<string>;
}

/** The data and functions that every {@link Evaluation} uses. */
export interface EvaluationSources {
  readonly journal: ChangeJournal;
  /** All registered clusters. Keys: the uid of the cluster record. */
  readonly members: () => ReadonlyMap<string, Member>;
  /**
   * A text that changes whenever the gateway's own rules may decide otherwise. Undefined: they may change at any time,
   * so no result can be kept.
   */
  readonly policy: () => string | undefined;
  readonly decide: (question: RightsQuestion, member: Member) => Promise<ClusterPart>;
  /**
   * Returns one and the same object for scopes with equal digests, so that equal scopes can be compared by identity.
   */
  readonly same: (scope: RowScope) => RowScope;
  /** Resolves in a later turn of the event loop. Every caller gets a turn of its own. */
  readonly turn: () => Promise<void>;
  /** Returns the current time in Unix milliseconds. */
  readonly now: () => number;
}

/**
 * After this number of clusters, other tasks of the event loop may run. A user's first question asks about all
 * clusters, and other requests must not wait until all are decided.
 */
const decidedInOneTurn = 64;

const nobody: ScopeAnswer = {
  scope: { grants: new Map(), digest: '' },
  hidden: [],
  reachable: new Map(),
  unread: new Set(),
};

/** One user's rights to some types in all clusters (or some clusters), updated by each call of {@link answer}. */
export class Evaluation {
  readonly #sources: EvaluationSources;
  readonly #question: RightsQuestion;
  /** Names of the clusters to which the question is limited; undefined for all clusters. */
  readonly #clusters: ReadonlySet<string> | undefined;
  /** The result for each cluster, by the uid of the cluster record. Equal results that grant nothing are one object. */
  readonly #parts = new Map<string, ClusterPart>();
  /** The clusters that grant something, each with a digest of its grants. Keys: the uid of the cluster record. */
  readonly #granted = new Map<string, { readonly part: ClusterPart; readonly digest: string }>();
  readonly #alike = new Map<string, ClusterPart>();
  /**
   * The clusters that must be decided again, by the uid of the cluster record. They stay here when an attempt to decide
   * fails.
   */
  readonly #dirty = new Set<string>();
  /**
   * Keys of the users and groups whose RBAC changes can alter the result of any cluster. Keys are only added, never
   * removed.
   */
  readonly #subjects = new Set<string>();
  /** True when something other than RBAC has decided in some cluster. */
  #isMixed = false;
  /**
   * All clusters as of the last update; undefined before the first one. The rights in those that the question is about
   * have been decided.
   */
  #decided: ReadonlyMap<string, Member> | undefined;
  #position = -1;
  #policy: string | undefined;
  #lastMs = -Infinity;
  /** In `performance.now()` milliseconds: the earliest expiry of any kept result. */
  #dueMs = Infinity;
  #staleAtMs = Infinity;
  #answer = nobody;
  #updating: Promise<unknown> = Promise.resolve();
  #grantedItems = 0;

  constructor(sources: EvaluationSources, question: RightsQuestion, clusters: readonly string[] | undefined) {
    this.#sources = sources;
    this.#question = question;
    this.#clusters = clusters === undefined ? undefined : new Set(clusters);
  }

  /** Rough number of map and list entries held, for the limit of the cache. */
  get size(): number {
    return 1 + this.#parts.size + this.#answer.reachable.size + this.#grantedItems;
  }

  /**
   * The scope as it would be with the current RBAC of these incarnations. Undefined when something other than RBAC
   * decides in one of them.
   * @param byRbac gives the grants by RBAC, in the order of the question's types
   */
  scopeWith(
    incarnations: ReadonlySet<string>,
    byRbac: (question: RightsQuestion, member: Member, incarnation: string) => readonly Grant[],
  ): RowScope | undefined {
    const { scope } = this.#answer;
    const changed: (readonly [string, ReadonlyMap<TypeKey, Grant>])[] = [];
    for (const id of incarnations) {
      const uid = recordUidOf(id);
      const member = this.#sources.members().get(uid);
      if (member !== undefined && !this.#isAsked(member)) continue;
      const part = this.#parts.get(uid);
      if (member === undefined || part?.subjects === undefined) return undefined;
      const found = byRbac(this.#question, member, id);
      const grants = new Map<TypeKey, Grant>();
      for (const [index, type] of this.#question.types.map(typeKey).entries()) {
        if (part.reached.has(type) && !isNothing(found[index]!)) grants.set(type, found[index]!);
      }
      if (incarnationDigest(id, grants) !== incarnationDigest(id, scope.grants.get(id) ?? new Map()))
        changed.push([id, grants]);
    }
    if (changed.length === 0) return scope;
    const texts = changed.map(([id, grants]) => incarnationDigest(id, grants)).sort();
    const all = new Map([...scope.grants, ...changed]);
    return { grants: all, digest: textDigest(JSON.stringify([scope.digest, texts])) };
  }

  /** Whether these changes may alter the answer. Undefined `changes` means that any cluster may have changed. */
  mayDependOn(changes: readonly ClusterChange[] | undefined): boolean {
    return this.#policy === undefined || changes === undefined || changes.some((change) => this.#isConcerned(change));
  }

  /**
   * Whether a change can only alter the rights of other users. This runs for each change in any cluster and for each
   * kept question, so its cost must not grow with the number of clusters.
   */
  #isOfOthers({ subjects }: ClusterChange): boolean {
    if (subjects === undefined || this.#isMixed || this.#decided !== this.#sources.members()) return false;
    for (const subject of this.#subjects) if (subjects.has(subject)) return false;
    return true;
  }

  /**
   * The current answer. It is the same object as the last one when nothing has changed.
   * @throws GatewayError (rejects) when the gateway's authorizer cannot answer
   */
  answer(): Promise<ScopeAnswer> {
    const mine = this.#updating.then(() => this.#update());
    this.#updating = mine.catch(() => undefined);
    return mine;
  }

  async #update(): Promise<ScopeAnswer> {
    const decided = this.#sources.members();
    this.#noteChanges();
    if (this.#dirty.size > 0 || this.#answer === nobody) {
      const members = this.#sources.members();
      const uids = [...this.#dirty];
      const made = await this.#decideAll(uids, members);
      // Cleared only after success, so that clusters of a failed attempt are decided again by the next question.
      this.#dirty.clear();
      this.#take(uids, made, members);
    }
    this.#decided = decided;
    return this.#answer;
  }

  /** Finds the clusters that must be decided again, and adds them to #dirty. */
  #noteChanges(): void {
    const { journal, members, policy, now } = this.#sources;
    const changed = journal.since(this.#position);
    this.#position = journal.position;
    const policyNow = policy();
    const nowMs = now();
    const isAll =
      changed === undefined || policyNow === undefined || policyNow !== this.#policy || nowMs < this.#lastMs;
    this.#policy = policyNow;
    this.#lastMs = nowMs;
    if (isAll) {
      for (const uid of this.#parts.keys()) this.#dirty.add(uid);
      for (const [uid, member] of members()) if (this.#isAsked(member)) this.#dirty.add(uid);
    } else for (const change of changed) if (this.#isConcerned(change)) this.#dirty.add(change.uid);
    const monotonicMs = performance.now();
    if (monotonicMs < this.#dueMs && nowMs < this.#staleAtMs) return;
    this.#dueMs = Infinity;
    this.#staleAtMs = Infinity;
    for (const [uid, part] of this.#parts) {
      if (monotonicMs >= part.untilMs || nowMs >= part.staleAtMs) this.#dirty.add(uid);
      else this.#noteTimes(part);
    }
  }

  #isConcerned(change: ClusterChange): boolean {
    if (this.#isOfOthers(change)) return false;
    const { uid, subjects } = change;
    const part = this.#parts.get(uid);
    if (part === undefined) return this.#isAsked(this.#sources.members().get(uid));
    return subjects === undefined || part.subjects === undefined || part.subjects.some((key) => subjects.has(key));
  }

  #noteTimes({ untilMs, staleAtMs }: ClusterPart): void {
    this.#dueMs = Math.min(this.#dueMs, untilMs);
    this.#staleAtMs = Math.min(this.#staleAtMs, staleAtMs);
  }

  #isAsked(member: Member | undefined): member is Member {
    return member !== undefined && (this.#clusters === undefined || this.#clusters.has(member.record.spec.name));
  }

  /** All clusters are decided at the same time, so that one that does not answer delays no other. */
  async #decideAll(uids: readonly string[], members: ReadonlyMap<string, Member>) {
    const made: Promise<ClusterPart | undefined>[] = [];
    for (const [index, uid] of uids.entries()) {
      if (index > 0 && index % decidedInOneTurn === 0) await this.#sources.turn();
      const part = this.#decide(members.get(uid));
      // The rejection reaches the caller through `Promise.all` below. Without this line Node would report it as
      // unhandled.
      part.catch(() => undefined);
      made.push(part);
    }
    return Promise.all(made);
  }

  async #decide(member: Member | undefined): Promise<ClusterPart | undefined> {
    return this.#isAsked(member) ? this.#shared(await this.#sources.decide(this.#question, member)) : undefined;
  }

  /** Most clusters grant a user nothing. Their results are equal, so one object is kept for all of them. */
  #shared(part: ClusterPart): ClusterPart {
    if (part.grants.length > 0 || part.hidden !== undefined) return part;
    const staleAtMs = Math.floor(part.staleAtMs / 1000) * 1000;
    const key = JSON.stringify([part.isUnread, part.untilMs, staleAtMs, [...part.reached], part.subjects ?? null]);
    let alike = this.#alike.get(key);
    if (alike === undefined) {
      if (this.#alike.size >= 1000) this.#alike.clear();
      this.#alike.set(key, (alike = { ...part, staleAtMs }));
    }
    return alike;
  }

  #take(
    uids: readonly string[],
    made: readonly (ClusterPart | undefined)[],
    members: ReadonlyMap<string, Member>,
  ): void {
    let isReachChanged = false;
    let isScopeChanged = this.#answer === nobody;
    let isHiddenChanged = false;
    for (const [index, uid] of uids.entries()) {
      const part = made[index];
      const old = this.#parts.get(uid);
      this.#keep(uid, part);
      isHiddenChanged ||= part?.hidden?.message !== old?.hidden?.message;
      isReachChanged ||= !this.#isReachAsAnswered(members.get(uid)?.record.spec.name, part, old);
      isScopeChanged = this.#grant(uid, part) || isScopeChanged;
    }
    if (!isReachChanged && !isScopeChanged && !isHiddenChanged) return;
    this.#answer = Object.freeze({
      scope: isScopeChanged ? this.#sources.same(this.#scope()) : this.#answer.scope,
      hidden: isHiddenChanged ? this.#hidden() : this.#answer.hidden,
      ...(isReachChanged ? this.#reach(members) : { reachable: this.#answer.reachable, unread: this.#answer.unread }),
    });
  }

  #keep(uid: string, part: ClusterPart | undefined): void {
    if (part === undefined) {
      this.#parts.delete(uid);
      return;
    }
    this.#parts.set(uid, part);
    this.#noteTimes(part);
    this.#isMixed ||= part.subjects === undefined;
    for (const subject of part.subjects ?? []) this.#subjects.add(subject);
  }

  #isReachAsAnswered(name: string | undefined, part: ClusterPart | undefined, old: ClusterPart | undefined): boolean {
    const { reachable, unread } = this.#answer;
    if (part === undefined || name === undefined || part.reached.size === 0) return (old?.reached.size ?? 0) === 0;
    const answered = reachable.get(name);
    return answered !== undefined && isSameSet(answered, part.reached) && unread.has(name) === part.isUnread;
  }

  /** Stores the grants of one cluster, from which the next scope is made. @returns whether they have changed */
  #grant(uid: string, part: ClusterPart | undefined): boolean {
    const before = this.#granted.get(uid);
    if (part === undefined || part.grants.length === 0) {
      this.#grantedItems -= itemsOf(before?.part);
      return this.#granted.delete(uid);
    }
    const digest = digestOf(part);
    if (before?.digest === digest) return false;
    this.#grantedItems += itemsOf(part) - itemsOf(before?.part);
    this.#granted.set(uid, { part, digest });
    return true;
  }

  /**
   * The digest of the scope is made from the digests of the clusters, so that the grants of unchanged clusters need not
   * be hashed again.
   */
  #scope(): RowScope {
    const sorted = [...this.#granted].sort(([one], [other]) => (one < other ? -1 : 1));
    const grants = new Map(sorted.flatMap(([, { part }]) => part.grants));
    return Object.freeze({ grants, digest: textDigest(sorted.map(([, { digest }]) => digest).join()) });
  }

  #hidden(): readonly HiddenCluster[] {
    const hidden: HiddenCluster[] = [];
    for (const part of this.#parts.values()) {
      if (part.hidden !== undefined && part.reached.size > 0) hidden.push(part.hidden);
    }
    return hidden.sort((one, other) => (one.cluster < other.cluster ? -1 : 1));
  }

  #reach(members: ReadonlyMap<string, Member>): Pick<ScopeAnswer, 'reachable' | 'unread'> {
    const reachable = new Map<string, ReadonlySet<TypeKey>>();
    const unread = new Set<string>();
    for (const [uid, { record }] of members) {
      const part = this.#parts.get(uid);
      if (part === undefined || part.reached.size === 0) continue;
      reachable.set(record.spec.name, part.reached);
      if (part.isUnread) unread.add(record.spec.name);
    }
    return { reachable, unread };
  }
}

function isSameSet(one: ReadonlySet<TypeKey>, other: ReadonlySet<TypeKey>): boolean {
  return one === other || (one.size === other.size && one.isSubsetOf(other));
}

function digestOf({ grants }: ClusterPart): string {
  return textDigest(JSON.stringify(grants.map(([id, byType]) => incarnationDigest(id, byType)).sort()));
}

function incarnationDigest(incarnation: string, byType: ReadonlyMap<TypeKey, Grant>): string {
  const each = [...byType].map(([type, grant]) => [type, grantDigest(grant)] as const);
  return textDigest(JSON.stringify([incarnation, each.sort(([one], [other]) => (one < other ? -1 : 1))]));
}

function itemsOf(part: ClusterPart | undefined): number {
  let items = 0;
  for (const [, byType] of part?.grants ?? []) {
    for (const grant of byType.values()) items += grantSize(grant);
  }
  return items;
}
