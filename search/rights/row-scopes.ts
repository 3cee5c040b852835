// Says which rows of the index a caller may see. A cluster the gateway does not let the caller reach is not even named
// as hidden. A question of a user costs work only for clusters in which something has changed since the user's last.
import { LRUCache } from 'lru-cache';
import { makeIdentityNumbers } from '../../auth/callers/identity-key.ts';
import type { ClusterRecord } from '../../cache/model/records.ts';
import type { User } from '../../cache/model/user.ts';
import { makeRecent } from '../../lib/recent.ts';
import { typeKey } from '../types.ts';
import type { ResourceType } from '../types.ts';
import { ClusterRights } from './cluster-rights.ts';
import type { ClusterRightsOptions, RightsQuestion } from './cluster-rights.ts';
import { Evaluation } from './evaluation.ts';
import type { EvaluationSources, ScopeAnswer } from './evaluation.ts';
import { ChangeJournal } from './journal.ts';
import type { ClusterChange } from './journal.ts';
import { Members, recordUidOf } from './members.ts';
import type { RightsMirror } from './mirror.ts';
import type { RowVerb } from './rbac-view.ts';
import type { RowScope } from './scope.ts';

/** What {@link Scopes.scope} is asked. */
export interface ScopeQuestion extends RightsQuestion {
  readonly clusters: readonly string[] | undefined;
}

/** The only code of the index that knows rights. */
export interface Scopes {
  /**
   * The same object as for the last equal question while nothing has changed.
   * @param user the caller, or whom they act as; as `authorize` left it
   * @param clusters names; absent means all
   * @throws GatewayError (rejects) HUB_UNAVAILABLE when the gateway's authorizer has nobody to ask, INDEX_UNAVAILABLE
   *   when the store does not answer
   */
  scope(user: User, verb: RowVerb, types: readonly ResourceType[], clusters?: readonly string[]): Promise<ScopeAnswer>;
  /**
   * As {@link RightsMirror.current}: scopes that are asked for after it resolves know of every change of RBAC up to the
   * version it gives.
   */
  current(atLeast?: string): Promise<string>;
  /**
   * The scope of a question as it was at a position of the store's log, as far as RBAC decides; undefined where
   * something else decides as well, or too much has changed since.
   * @throws GatewayError (rejects) as `scope`, and EXPIRED when the log does not reach back
   */
  scopeAt(question: ScopeQuestion, resourceVersion: string): Promise<RowScope | undefined>;
  /**
   * Called when scopes may have changed because of RBAC. What else changes them (the authorizer's answers, reviews,
   * ages) has no event: a caller that keeps a scope asks again within 10 seconds and compares digests. Returns the
   * function that ends it.
   * @param of only the scope of this question; undefined: any
   */
  onChange(listener: () => void, of?: ScopeQuestion): () => void;
}

export interface RowScopesOptions extends Omit<ClusterRightsOptions, 'mirror' | 'now'> {
  readonly mirror: Pick<RightsMirror, 'current' | 'view' | 'stored' | 'at' | 'onChange'>;
  readonly clusters: { list(): readonly ClusterRecord[] };
  /** Another number whenever `outgoing` may answer otherwise; absent: at any time, so that nothing is kept. */
  readonly outgoingGeneration?: () => number;
  /** Unix milliseconds. */
  readonly now?: () => number;
}

/** Scopes that can be told of what the mirror does not know. */
export interface RowScopes extends Scopes {
  /** Something else that decides about this incarnation has changed. */
  changed(incarnation: string): void;
}

/**
 * Entries of maps and lists of all evaluations together: some 100 bytes each at most. 500 users who may reach 2,000
 * clusters have 2,000,000.
 */
const mostEntries = 3_000_000;
const rememberedScopes = 2_000;

/** Answers from the mirror's RBAC or from the members' reviews, narrowed by the gateway's own authorizer. */
export function makeRowScopes(options: RowScopesOptions): RowScopes {
  const { mirror, authorizer, outgoingGeneration } = options;
  const now = options.now ?? Date.now;
  const journal = new ChangeJournal();
  const members = new Members(options.clusters, mirror, journal);
  const rights = new ClusterRights({ ...options, now });
  const numberOf = makeIdentityNumbers();
  const scopes = makeRecent<RowScope>({ maxEntries: rememberedScopes });
  const evaluations = new LRUCache<string, Evaluation>({
    maxSize: mostEntries,
    sizeCalculation: (evaluation) => evaluation.size,
  });
  let turn = Promise.resolve();
  const sources: EvaluationSources = {
    journal,
    members: () => members.byUid,
    policy: () =>
      authorizer.generation === undefined || outgoingGeneration === undefined
        ? undefined
        : `${authorizer.generation()} ${outgoingGeneration()}`,
    decide: (question, member) => rights.decide(question, member),
    same: (scope) => {
      const known = scopes.get(scope.digest);
      if (known === undefined) scopes.set(scope.digest, scope);
      return known ?? scope;
    },
    turn: () => (turn = turn.then(() => new Promise((resolve) => void setImmediate(resolve)))),
    now,
  };
  // By what is listened for, so that equal questions are looked at once.
  const listeners = new Map<string, Set<() => void>>();
  const tell = (changes: readonly ClusterChange[] | undefined): void => {
    for (const [key, set] of listeners) {
      // A question whose evaluation was forgotten, or that was never asked, has nothing to compare with.
      if (evaluations.peek(key)?.mayDependOn(changes) !== false) for (const listener of set) listener();
    }
  };
  mirror.onChange((changed) => {
    const changes = changed && [...changed].map(([id, subjects]) => ({ uid: recordUidOf(id), subjects }));
    if (changes === undefined) journal.addAll();
    else for (const change of changes) journal.add(change);
    tell(changes);
  });
  const keyOf = (user: User, verb: RowVerb, types: readonly ResourceType[], names?: readonly string[]): string =>
    JSON.stringify([numberOf(user), verb, types.map(typeKey), names?.toSorted() ?? null]);
  const evaluationOf = (user: User, verb: RowVerb, types: readonly ResourceType[], names?: readonly string[]) => {
    const key = keyOf(user, verb, types, names);
    let evaluation = evaluations.get(key);
    if (evaluation === undefined) {
      evaluation = new Evaluation(sources, { user, verb, types }, names);
      evaluations.set(key, evaluation);
    }
    return { key, evaluation };
  };
  const evaluate = async (user: User, verb: RowVerb, types: readonly ResourceType[], names?: readonly string[]) => {
    await mirror.current();
    await members.refresh();
    const { key, evaluation } = evaluationOf(user, verb, types, names);
    const sizeBefore = evaluation.size;
    const answer = await evaluation.answer();
    if (evaluation.size !== sizeBefore && evaluations.peek(key) === evaluation) evaluations.set(key, evaluation);
    return { answer, evaluation };
  };
  return {
    scope: async (user, verb, types, names) => (await evaluate(user, verb, types, names)).answer,
    current: (atLeast) => mirror.current(atLeast),
    async scopeAt({ user, verb, types, clusters }, resourceVersion) {
      const { evaluation } = await evaluate(user, verb, types, clusters);
      return await mirror.at(resourceVersion, (changed) =>
        evaluation.scopeWith(changed, (...asked) => rights.byRbac(...asked)),
      );
    },
    onChange(listener, of) {
      const key = of === undefined ? '' : keyOf(of.user, of.verb, of.types, of.clusters);
      const set = listeners.get(key) ?? new Set();
      listeners.set(key, set.add(listener));
      return () => {
        if (set.delete(listener) && set.size === 0 && listeners.get(key) === set) listeners.delete(key);
      };
    },
    changed: (incarnation) => {
      const change = { uid: recordUidOf(incarnation), subjects: undefined };
      journal.add(change);
      tell([change]);
    },
  };
}
