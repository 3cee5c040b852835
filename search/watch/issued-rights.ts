// Remembers under which rights a client was given a resourceVersion. A watch that resumes from a resourceVersion must
// first report what the user's changed rights add or remove since then. A client may resume from a resourceVersion of
// another client's answer, so a resourceVersion that was never noted for this user is accepted. A resourceVersion that
// was given to the user under two sets of rights, both different from the current rights, is refused.
import { makeIdentityNumbers } from '../../auth/callers/identity-key.ts';
import { GatewayError } from '../../model/errors.ts';
import { makeRecent } from '../../lib/recent.ts';
import type { PlanQuestion } from '../request/plan-question.ts';
import { rightsTypes } from '../../rights/mirror.ts';
import type { RowScope } from '../../query/scope/scope.ts';
import type { IndexStore } from '../../store/store.ts';
import { typeKey } from '../../query/types.ts';

/**
 * The rights under which resourceVersions ("positions") were given to clients. They are kept in memory only. For a
 * position from another process, or from before a restart, the rights are computed from the roles and bindings in the
 * change log.
 */
export interface IssuedRights {
  /**
   * Notes that a client was sent everything up to `position` for this question (user, verb, types and clusters) under
   * the rights `scope`.
   */
  note(question: PlanQuestion, position: string, scope: RowScope): void;
  /**
   * Returns the rights that the user had when its client was sent the events or rows up to `position`; undefined when
   * they equal the current rights.
   * @param question of a watch
   * @param scopeNow current rights of the watch
   * @param listScope gives the current rights for the verb `list`; called after `scopeNow` was read
   * @param scopeThen gives the rights of a list or watch as they were at `position`; undefined when that is not known
   * @throws GatewayError (rejects) with code EXPIRED when the position was given out under two or more sets of rights
   *   that differ from the current rights, or when the rights at that time cannot be determined
   */
  before(
    question: PlanQuestion,
    position: string,
    scopeNow: RowScope,
    listScope: () => Promise<RowScope>,
    scopeThen: (verb: 'list' | 'watch') => Promise<RowScope | undefined>,
  ): Promise<RowScope | undefined>;
}

/** A range of resourceVersions that were given to one user for one question under the same rights (`scope`). */
interface Stretch {
  readonly scope: RowScope;
  readonly from: string;
  to: string;
}

const rightsKeys = rightsTypes.map(typeKey);
/** The most combinations of user, verb, types and clusters that are remembered. The least recently used is dropped. */
const mostQuestions = 2_000;
/**
 * The most ranges of resourceVersions that are kept for each question. Rights change seldom. Beyond this number the
 * oldest range is dropped.
 */
const mostStretches = 4;

/** Makes an empty {@link IssuedRights}. @param store whose change log says whether roles and bindings have changed */
export function makeIssuedRights(store: Pick<IndexStore, 'changes'>): IssuedRights {
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
    async before(question, position, scopeNow, listScope, scopeThen) {
      const others = new Map<string, RowScope>();
      let isSame = false;
      const compare = async (verb: 'list' | 'watch', under: readonly RowScope[]): Promise<void> => {
        if (under.length === 0) return;
        const { digest } = verb === 'watch' ? scopeNow : await listScope();
        for (const scope of under) {
          if (scope.digest === digest) isSame = true;
          else others.set(scope.digest, scope);
        }
      };
      for (const verb of ['list', 'watch'] as const) {
        const stretches = issued.get(keyOf(question, verb)) ?? [];
        const under = stretches.filter(({ from, to }) => from <= position && position <= to);
        await compare(
          verb,
          under.map(({ scope }) => scope),
        );
      }
      // If no role and no binding has changed since `position`, the rights are the same. A cluster that was added or
      // removed also added or removed its roles and bindings, so that case is covered.
      if (!isSame && others.size === 0 && (await store.changes(position, rightsKeys, 1)).length > 0) {
        for (const verb of ['list', 'watch'] as const) {
          const then = await scopeThen(verb);
          if (then === undefined) throw changed();
          await compare(verb, [then]);
        }
      }
      if (others.size > 1) throw changed();
      // These are the only rights, besides the current ones, under which a client can have got its list at `position`.
      // A client that got it under the current rights gets ADDED for rows that it has already, and DELETED for rows
      // that it never had. Its rows are correct all the same.
      return [...others.values()][0];
    },
  };
}

function changed(): GatewayError {
  return new GatewayError('EXPIRED', 'your rights have changed since that list: list again and watch from there');
}
