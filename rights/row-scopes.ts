// Says which rows of the index a caller may see. A cluster that the gateway does not let the caller reach is not named
// anywhere, not even as hidden. After a user's first request, only clusters that have changed are decided again.
import { LRUCache } from 'lru-cache';
import { makeIdentityNumbers } from '../auth/callers/identity-key.ts';
import type { ClusterRecord } from '../model/records.ts';
import type { User } from '../model/user.ts';
import { makeRecent } from '../lib/recent.ts';
import { recordUidOf, typeKey } from '../query/types.ts';
import type { ResourceType } from '../query/types.ts';
import { ClusterRights } from './cluster-rights.ts';
import type { ClusterRightsOptions, RightsQuestion } from './cluster-rights.ts';
import { Evaluation } from './evaluation.ts';
import type { EvaluationSources, ScopeAnswer } from './evaluation.ts';
import { ChangeJournal } from './journal.ts';
import type { ClusterChange } from './journal.ts';
import { Members } from './members.ts';
import type { RightsMirror } from './mirror.ts';
import type { StoredIncarnations } from './stored-incarnations.ts';
import type { RowVerb } from './rbac/rbac-view.ts';
import type { RowScope } from '../query/scope/scope.ts';

/** A question about rights, limited to some clusters when `clusters` is set. */
export interface ScopeQuestion extends RightsQuestion {
  readonly clusters: readonly string[] | undefined;
}

/** Decides which rows of the index users may see. All other code of the index uses these functions to decide that. */
export interface Scopes {
  /**
   * Returns what the user may see now. While nothing has changed, calls with equal arguments return the same object.
   * @param user the user that the gateway's `authorize` step has determined: the caller, or whom the caller acts as
   * @param clusters names of clusters; all when absent
   * @throws GatewayError (rejects) with code HUB_UNAVAILABLE when the gateway's authorizer cannot ask its hub,
   * INDEX_UNAVAILABLE when the store does not answer
   */
  scope(user: User, verb: RowVerb, types: readonly ResourceType[], clusters?: readonly string[]): Promise<ScopeAnswer>;
  /**
   * As {@link RightsMirror.current}: a scope that is asked for afterwards includes every change of RBAC up to the
   * resourceVersion that it resolves with.
   */
  current(atLeast?: string): Promise<string>;
  /**
   * The scope as it was at an earlier resourceVersion of the store, as far as RBAC decides. Undefined when something
   * other than RBAC decides too, or too much has changed since.
   * @throws GatewayError (rejects) as `scope` does, and with code EXPIRED when the log does not reach back that far
   */
  scopeAt(question: ScopeQuestion, resourceVersion: string): Promise<RowScope | undefined>;
  /**
   * Calls the listener when scopes may have changed because of RBAC. No event reports other causes: the authorizer
   * decides otherwise, a cluster answers reviews otherwise, or copied data has become too old. So a caller that keeps a
   * scope must also ask again within 10 seconds and compare digests. Returns a function that removes the listener.
   * @param of limits the calls to the scope of this question; undefined: all scopes
   */
  onChange(listener: () => void, of?: ScopeQuestion): () => void;
}

export interface RowScopesOptions extends Omit<ClusterRightsOptions, 'mirror' | 'now'> {
  readonly mirror: Pick<RightsMirror, 'current' | 'view' | 'at' | 'onChange'>;
  /** Reads which types the store has of each incarnation of a cluster. */
  readonly stored: Pick<StoredIncarnations, 'all'>;
  readonly clusters: { list(): readonly ClusterRecord[] };
  /** Returns a number that changes whenever results of `outgoing` may change. When absent, no result is kept. */
  readonly outgoingGeneration?: () => number;
  /** Returns the current time in Unix milliseconds. */
  readonly now?: () => number;
}

/** {@link Scopes} with a method to report changes of rights that are not changes of RBAC objects. */
export interface RowScopes extends Scopes {
  /** Reports that rights in this incarnation may have changed for a reason other than its RBAC objects. */
  changed(incarnation: string): void;
}

/**
 * Limit for all kept evaluations together, in entries of their maps and lists, of at most some 100 bytes each. Beyond
 * it, the evaluations that were used least recently are dropped. For example, 500 users with 2,000 reachable clusters
 * each take 2,000,000 entries.
 */
const mostEntries = 3_000_000;
const rememberedScopes = 2_000;

/**
 * Makes scopes: the rights in each cluster, by its copied RBAC or its reviews, narrowed by the gateway's own
 * authorizer.
 */
export function makeRowScopes(options: RowScopesOptions): RowScopes {
  return new KeptRowScopes(options);
}

/**
 * Remembers the rights that it has decided for each question, and decides again only for clusters that have changed.
 */
class KeptRowScopes implements RowScopes {
  readonly #mirror: RowScopesOptions['mirror'];
  readonly #journal = new ChangeJournal();
  readonly #members: Members;
  readonly #rights: ClusterRights;
  readonly #sources: EvaluationSources;
  readonly #numberOf = makeIdentityNumbers();
  readonly #scopes = makeRecent<RowScope>({ maxEntries: rememberedScopes });
  readonly #evaluations = new LRUCache<string, Evaluation>({
    maxSize: mostEntries,
    sizeCalculation: (evaluation) => evaluation.size,
  });
  /** Listeners by the key of their question, so that equal questions are examined once for each change. */
  readonly #listeners = new Map<string, Set<() => void>>();
  #turn = Promise.resolve();

  constructor(options: RowScopesOptions) {
    const { mirror, now = Date.now } = options;
    this.#mirror = mirror;
    this.#members = new Members(options.clusters, options.stored, this.#journal);
    this.#rights = new ClusterRights({ ...options, now });
    this.#sources = this.#makeSources(options, now);
    mirror.onChange((changed) => {
      const changes = changed && [...changed].map(([id, subjects]) => ({ uid: recordUidOf(id), subjects }));
      if (changes === undefined) this.#journal.addAll();
      else for (const change of changes) this.#journal.add(change);
      this.#callListeners(changes);
    });
  }

  async scope(user: User, verb: RowVerb, types: readonly ResourceType[], clusters?: readonly string[]) {
    return (await this.#evaluate({ user, verb, types, clusters })).answer;
  }

  current(atLeast?: string): Promise<string> {
    return this.#mirror.current(atLeast);
  }

  async scopeAt(question: ScopeQuestion, resourceVersion: string): Promise<RowScope | undefined> {
    const { evaluation } = await this.#evaluate(question);
    return await this.#mirror.at(resourceVersion, (changed) =>
      evaluation.scopeWith(changed, (...asked) => this.#rights.byRbac(...asked)),
    );
  }

  onChange(listener: () => void, of?: ScopeQuestion): () => void {
    const key = of === undefined ? '' : this.#keyOf(of);
    const set = this.#listeners.get(key) ?? new Set();
    this.#listeners.set(key, set.add(listener));
    return () => {
      if (set.delete(listener) && set.size === 0 && this.#listeners.get(key) === set) this.#listeners.delete(key);
    };
  }

  changed(incarnation: string): void {
    const change = { uid: recordUidOf(incarnation), subjects: undefined };
    this.#journal.add(change);
    this.#callListeners([change]);
  }

  #makeSources({ authorizer, outgoingGeneration }: RowScopesOptions, now: () => number): EvaluationSources {
    return {
      journal: this.#journal,
      members: () => this.#members.byUid,
      policy: () =>
        authorizer.generation === undefined || outgoingGeneration === undefined
          ? undefined
          : `${authorizer.generation()} ${outgoingGeneration()}`,
      decide: (question, member) => this.#rights.decide(question, member),
      same: (scope) => {
        const known = this.#scopes.get(scope.digest);
        if (known === undefined) this.#scopes.set(scope.digest, scope);
        return known ?? scope;
      },
      turn: () => (this.#turn = this.#turn.then(() => new Promise((resolve) => void setImmediate(resolve)))),
      now,
    };
  }

  /** Calls the listeners whose scopes may depend on these changes; all listeners when `changes` is undefined. */
  #callListeners(changes: readonly ClusterChange[] | undefined): void {
    for (const [key, set] of this.#listeners) {
      // When no result is kept for a question, it is not known whether the change matters, so its listeners are always
      // called.
      if (this.#evaluations.peek(key)?.mayDependOn(changes) !== false) for (const listener of set) listener();
    }
  }

  async #evaluate(question: ScopeQuestion): Promise<{ readonly answer: ScopeAnswer; readonly evaluation: Evaluation }> {
    await this.#mirror.current();
    await this.#members.refresh();
    const key = this.#keyOf(question);
    const evaluation = this.#evaluations.get(key) ?? this.#newEvaluation(key, question);
    const sizeBefore = evaluation.size;
    const answer = await evaluation.answer();
    // The cache reads the size of an evaluation only when the evaluation is set, so it is set again.
    if (evaluation.size !== sizeBefore && this.#evaluations.peek(key) === evaluation)
      this.#evaluations.set(key, evaluation);
    return { answer, evaluation };
  }

  #newEvaluation(key: string, { clusters, ...question }: ScopeQuestion): Evaluation {
    const evaluation = new Evaluation(this.#sources, question, clusters);
    this.#evaluations.set(key, evaluation);
    return evaluation;
  }

  #keyOf({ user, verb, types, clusters }: ScopeQuestion): string {
    return JSON.stringify([this.#numberOf(user), verb, types.map(typeKey), clusters?.toSorted() ?? null]);
  }
}
