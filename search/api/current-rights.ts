// Makes sure that the rights used for an answer are at least as new as its rows. The caller's scope (the rows that the
// caller may see) is computed before the store is read, and a role can be taken away in between. Every answer of the
// store names the newest RBAC change in it (`rightsVersion`). When that change is newer than the scope, the scope is
// computed again, and the answer is used only if the scope is still the same.
import { GatewayError } from '../../model/errors.ts';
import type { RowScope } from '../../query/scope/scope.ts';
import type { IndexStore, Page } from '../../store/store.ts';
import type { AnswerDependencies } from './answer-dependencies.ts';

/** The part of a plan that the caller's rights decide. */
export interface ScopedPlan {
  readonly scope: RowScope;
  /** The scope takes into account all RBAC changes up to this resourceVersion of the store. */
  readonly rightsUpTo: string;
}

/** The functions that read what a plan allows. @param P the type of the plan */
export interface ScopedReading<P, F> {
  /** The part of the plan that depends on rights; undefined for a plan that needs no rights. */
  readonly scopedBy: (plan: P) => ScopedPlan | undefined;
  /** Reads rows. It must use the store in the given dependencies, which records how new the rights are. */
  readonly read: (plan: P, dependencies: AnswerDependencies) => F | Promise<F>;
  /** Makes the plan again with the current rights. */
  readonly replan: () => Promise<P>;
}

/**
 * How many times the index is read for one request at most, when the caller's rights change during each reading. Then
 * the request fails.
 */
export const mostReadings = 5;

/** Returns the error for a request during which the caller's rights changed {@link mostReadings} times. */
export function restlessRights(): GatewayError {
  return new GatewayError('INDEX_UNAVAILABLE', 'your rights changed while the index was read; try again');
}

/**
 * Reads what a plan allows, and reads again when the caller's rights have changed in the meantime.
 * @returns the result, and the plan by which it was read
 * @throws GatewayError (rejects) with code INDEX_UNAVAILABLE when the rights change at every attempt; also what
 *   `read` and `replan` reject with
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
    // An error is held back until the rights are checked, because its message could reveal rows.
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
  throw restlessRights();
}

/** Records how new the rights are in the answers of a store. */
class NotedReads {
  readonly #pages: Page[] = [];
  rightsVersion = '';

  /** The store, wrapped so that its answers are recorded. */
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

  /** Frees the memory of pages that will not be used. */
  release(): void {
    for (const page of this.#pages) page.release?.();
  }
}
