// What one user may see of all clusters, kept from question to question: only clusters in which something has changed,
// and those whose time is over, are decided about again. Easy to get wrong: what has changed is noted before it is
// read, so that a change which comes meanwhile is seen by the next question.
import { typeKey } from '../types.ts';
import type { TypeKey } from '../types.ts';
import type { ClusterPart, HiddenCluster, RightsQuestion } from './cluster-rights.ts';
import { grantDigest, isNothing, textDigest } from './grants.ts';
import type { ChangeJournal, ClusterChange } from './journal.ts';
import { recordUidOf } from './members.ts';
import type { Member } from './members.ts';
import type { Grant, RowScope } from './scope.ts';

/** What one user may see at this moment. */
export interface ScopeAnswer {
  readonly scope: RowScope;
  /** Only clusters that are in `reachable`. */
  readonly hidden: readonly HiddenCluster[];
  /**
   * All clusters, indexed or not, that the gateway lets the user ask for some of the types, each with these types. No
   * other cluster may be named to the user. A cluster in `unread` has only the first such type.
   */
  readonly reachable: ReadonlyMap<string, ReadonlySet<TypeKey>>;
  /** Those of `reachable` the index holds nothing of, not even RBAC, so that rights in them are unknown. */
  readonly unread: ReadonlySet<string>;
}

/** What evaluations share. */
export interface EvaluationSources {
  readonly journal: ChangeJournal;
  /** By the uid of the record. */
  readonly members: () => ReadonlyMap<string, Member>;
  /** Another value whenever what the gateway itself decides may have changed; undefined: at any time. */
  readonly policy: () => string | undefined;
  readonly decide: (question: RightsQuestion, member: Member) => Promise<ClusterPart>;
  /** The first scope that was made with the digest of this one. */
  readonly same: (scope: RowScope) => RowScope;
  /** Resolves in a turn of the event loop that nobody else has been given. */
  readonly turn: () => Promise<void>;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** Clusters; whoever asks for the first time asks for all of them, and other requests go on between. */
const decidedInOneTurn = 64;

const nobody: ScopeAnswer = {
  scope: { grants: new Map(), digest: '' },
  hidden: [],
  reachable: new Map(),
  unread: new Set(),
};

/** See the file comment. */
export class Evaluation {
  readonly #sources: EvaluationSources;
  readonly #question: RightsQuestion;
  /** Names; undefined: all clusters. */
  readonly #clusters: ReadonlySet<string> | undefined;
  /** By the uid of the record; those of clusters that give nothing are shared. */
  readonly #parts = new Map<string, ClusterPart>();
  /** Parts with grants, with the digest of these. */
  readonly #granted = new Map<string, { readonly part: ClusterPart; readonly digest: string }>();
  readonly #alike = new Map<string, ClusterPart>();
  /** To be decided about, also after a question that failed. */
  readonly #dirty = new Set<string>();
  #position = -1;
  #policy: string | undefined;
  #lastMs = -Infinity;
  /** No part is due before. */
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

  /** About how many entries of maps and lists it holds. */
  get size(): number {
    return 1 + this.#parts.size + this.#answer.reachable.size + this.#grantedItems;
  }

  /**
   * The scope with what RBAC grants at this moment in these incarnations; undefined when something else decides there.
   * @param byRbac grants of the types of the question, in their order
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

  /** Whether the answer may be another one after these changes; undefined: any cluster may have changed. */
  mayDependOn(changes: readonly ClusterChange[] | undefined): boolean {
    return this.#policy === undefined || changes === undefined || changes.some((change) => this.#isConcerned(change));
  }

  /**
   * Of now. The same object as before when nothing has changed.
   * @throws GatewayError (rejects) as the gateway's authorizer does
   */
  answer(): Promise<ScopeAnswer> {
    const mine = this.#updating.then(() => this.#update());
    this.#updating = mine.catch(() => undefined);
    return mine;
  }

  async #update(): Promise<ScopeAnswer> {
    this.#noteChanges();
    if (this.#dirty.size > 0 || this.#answer === nobody) {
      const members = this.#sources.members();
      const uids = [...this.#dirty];
      const made = await this.#decideAll(uids, members);
      // Only now: what has failed stays to be decided.
      this.#dirty.clear();
      this.#take(uids, made, members);
    }
    return this.#answer;
  }

  /** Finds the clusters to decide about. */
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

  #isConcerned({ uid, subjects }: ClusterChange): boolean {
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

  /** A member that does not answer holds up no other. */
  async #decideAll(uids: readonly string[], members: ReadonlyMap<string, Member>) {
    const made: Promise<ClusterPart | undefined>[] = [];
    for (const [index, uid] of uids.entries()) {
      if (index > 0 && index % decidedInOneTurn === 0) await this.#sources.turn();
      const part = this.#decide(members.get(uid));
      // Told by the promise of all of them.
      part.catch(() => undefined);
      made.push(part);
    }
    return Promise.all(made);
  }

  async #decide(member: Member | undefined): Promise<ClusterPart | undefined> {
    return this.#isAsked(member) ? this.#shared(await this.#sources.decide(this.#question, member)) : undefined;
  }

  /** Most clusters give a user nothing, and are equal in all that is kept of them. */
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
      if (part === undefined) this.#parts.delete(uid);
      else {
        this.#parts.set(uid, part);
        this.#noteTimes(part);
      }
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

  #isReachAsAnswered(name: string | undefined, part: ClusterPart | undefined, old: ClusterPart | undefined): boolean {
    const { reachable, unread } = this.#answer;
    if (part === undefined || name === undefined || part.reached.size === 0) return (old?.reached.size ?? 0) === 0;
    const answered = reachable.get(name);
    return answered !== undefined && isSameSet(answered, part.reached) && unread.has(name) === part.isUnread;
  }

  /** @returns whether the grants of the cluster are others than before */
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

  /** Its digest is made of the clusters' own, so that grants of clusters in which nothing has changed are not read. */
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
    for (const grant of byType.values()) items += grant === 'all' ? 1 : grant.namespaces.length + grant.names.length;
  }
  return items;
}
