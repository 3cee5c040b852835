// Rights must be at least as new as the rows they decide about. A scope is made before the store is asked, and a role
// may be taken away between the two. Every answer of the store says how new the rights in it are, so an answer that has
// seen newer ones is not used before it is known that they give the caller the same scope.
import { GatewayError } from '../../cache/model/errors.ts';
import type { RowScope } from '../rights/scope.ts';
import type { IndexStore, Page } from '../stores/store.ts';
import type { AnswerDependencies } from './answer-dependencies.ts';

/** The part of a plan that the caller's rights decide. */
export interface ScopedPlan {
  readonly scope: RowScope;
  /** Changes of RBAC up to here, a version of the store, have been in the scope's making. */
  readonly rightsUpTo: string;
}

/** @param P a plan */
export interface ScopedReading<P, F> {
  /** Undefined for a plan that needs no rights. */
  readonly scopedBy: (plan: P) => ScopedPlan | undefined;
  /** Reads rows through the store of these dependencies alone. */
  readonly read: (plan: P, dependencies: AnswerDependencies) => F | Promise<F>;
  /** Plans again, by the rights of now. */
  readonly replan: () => Promise<P>;
}

/** Between two of them the rights of this very caller have changed. */
const mostReadings = 5;

/**
 * Reads what a plan allows, again where the rights have changed meanwhile.
 * @returns what was found, and by which plan
 * @throws GatewayError (rejects) INDEX_UNAVAILABLE when the caller's rights never stay the same for one reading, or as
 *   `read` and `replan` do
 */
export async function readWithinRights<P, F>(
  first: P,
  dependencies: AnswerDependencies,
  { scopedBy, read, replan }: ScopedReading<P, F>,
): Promise<{ readonly plan: P; readonly found: F }> {
  let plan = first;
  for (let reading = 1; reading <= mostReadings; reading += 1) {
    const noted = new NotedReads();
    const asked = { ...dependencies, store: noted.noting(dependencies.store) };
    // An error may tell of rows, too.
    const [result] = await Promise.allSettled([(async () => read(plan, asked))()]);
    const scoped = scopedBy(plan);
    if (scoped !== undefined && noted.rightsVersion > scoped.rightsUpTo) {
      await dependencies.rights.current(noted.rightsVersion);
      const next = await replan();
      if (scopedBy(next)?.scope.digest !== scoped.scope.digest) {
        noted.release();
        plan = next;
        continue;
      }
    }
    if (result.status === 'rejected') throw result.reason;
    return { plan, found: result.value };
  }
  throw new GatewayError('INDEX_UNAVAILABLE', 'your rights change while the index is read: try again');
}

/** How new the rights are in what was read of a store. */
class NotedReads {
  readonly #pages: Page[] = [];
  rightsVersion = '';

  /** The store; what is read through it is noted. */
  noting(store: IndexStore): IndexStore {
    const note = <Answer extends { readonly rightsVersion: string }>(answer: Answer): Answer => {
      if (answer.rightsVersion > this.rightsVersion) this.rightsVersion = answer.rightsVersion;
      return answer;
    };
    const reads: Pick<IndexStore, 'list' | 'count' | 'facets' | 'values'> = {
      list: async (...asked) => {
        const page = note(await store.list(...asked));
        this.#pages.push(page);
        return page;
      },
      count: async (...asked) => note(await store.count(...asked)),
      facets: async (...asked) => note(await store.facets(...asked)),
      values: async (...asked) => note(await store.values(...asked)),
    };
    return new Proxy(store, {
      get(target, name) {
        if (name in reads) return reads[name as keyof typeof reads];
        const value: unknown = Reflect.get(target, name);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
  }

  /** Frees what nobody will read. */
  release(): void {
    for (const page of this.#pages) page.release?.();
  }
}
