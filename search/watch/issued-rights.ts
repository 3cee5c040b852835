// Under which rights clients got to the positions they hold: a watch that resumes there must first catch up with later
// changes of rights. A client may have its position from another client's answer. So an unknown position is no reason
// to refuse, and a position that was issued under two sets of rights is.
import { makeIdentityNumbers } from '../../auth/callers/identity-key.ts';
import { GatewayError } from '../../cache/model/errors.ts';
import { makeRecent } from '../../lib/recent.ts';
import type { PlanQuestion } from '../api/plan-question.ts';
import { rightsTypes } from '../rights/mirror.ts';
import type { RowScope } from '../rights/scope.ts';
import type { IndexStore } from '../stores/store.ts';
import { typeKey } from '../types.ts';

/**
 * See the file comment. It is forgotten with the process. For positions that another process has issued, the roles and
 * bindings in the log decide.
 */
export interface IssuedRights {
  /** All up to `position` was answered to this question under these rights. */
  note(question: PlanQuestion, position: string, scope: RowScope): void;
  /**
   * Rights under which lists and watches of this question have brought its user to `position`, if they were others than
   * those of now.
   * @param question of a watch
   * @param scopeNow of the watch
   * @param listScope what a list would show, read after `scopeNow`
   * @throws GatewayError (rejects) EXPIRED when some were others and some were not, and where they may have changed
   *   since a position of a process before
   */
  before(
    question: PlanQuestion,
    position: string,
    scopeNow: RowScope,
    listScope: () => Promise<RowScope>,
  ): Promise<RowScope | undefined>;
}

/** Positions that were issued under the same rights. */
interface Stretch {
  readonly scope: RowScope;
  readonly from: string;
  to: string;
}

const rightsKeys = rightsTypes.map(typeKey);
/** Users and what they ask for. */
const mostQuestions = 2_000;
/** Rights change seldom; what is older is no longer known. */
const mostStretches = 4;

/**
 * @param store opened by this process, which has issued nothing yet
 * @param isAlone false: other processes answer from the store, too
 */
export function makeIssuedRights(store: Pick<IndexStore, 'changes' | 'resourceVersion'>, isAlone = true): IssuedRights {
  const openedAt = store.resourceVersion();
  const numberOf = makeIdentityNumbers();
  const issued = makeRecent<Stretch[]>({ maxEntries: mostQuestions });
  const keyOf = ({ user, types, clusters, cluster, byOwner }: PlanQuestion, verb: string): string =>
    JSON.stringify([verb, numberOf(user), types, clusters ?? null, cluster ?? null, byOwner ?? false]);
  return {
    note(question, position, scope) {
      const key = keyOf(question, question.verb);
      const stretches = issued.get(key) ?? [];
      const last = stretches.at(-1);
      if (last?.scope.digest === scope.digest && position >= last.from) {
        if (position > last.to) last.to = position;
        return;
      }
      issued.set(key, [...stretches.slice(1 - mostStretches), { scope, from: position, to: position }]);
    },
    async before(question, position, scopeNow, listScope) {
      const others = new Map<string, RowScope>();
      let isSame = false;
      let isKnown = isAlone;
      for (const verb of ['list', 'watch'] as const) {
        const stretches = issued.get(keyOf(question, verb)) ?? [];
        const under = stretches.filter(({ from, to }) => from <= position && position <= to);
        if (under.length === 0) continue;
        isKnown = true;
        const { digest } = verb === 'watch' ? scopeNow : await listScope();
        for (const { scope } of under) {
          if (scope.digest === digest) isSame = true;
          else others.set(scope.digest, scope);
        }
      }
      // Every cluster that comes or goes brings or takes its roles and bindings, too.
      if ((position < openedAt || !isKnown) && (await store.changes(position, rightsKeys, 1)).length > 0)
        throw changed();
      if (others.size === 0) return undefined;
      if (isSame || others.size > 1) throw changed();
      return [...others.values()][0];
    },
  };
}

function changed(): GatewayError {
  return new GatewayError('EXPIRED', 'what you may see has changed since then: list again and watch from there');
}
