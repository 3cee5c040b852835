// Makes sure that the rights used for an answer are at least as new as its rows. The caller's scope (the rows that the
// caller may see) is computed before the store is read, and a role can be taken away in between. Every answer of the
// store names the newest RBAC change in it (`rightsVersion`). When that change is newer than the scope, the scope is
// computed again, and the answer is used only if the scope is still the same.
import { GatewayError } from '../../model/errors.ts';
import type { RowScope } from '../../query/scope/scope.ts';
import type { IndexStore, Page, ReadPoint } from '../../store/store.ts';
import type { IndexRights } from '../request/visible.ts';

/** The part of a plan that the caller's rights decide. */
export interface ScopedPlan {
  readonly scope: RowScope;
  /** The scope takes into account all RBAC changes up to this resourceVersion of the store. */
  readonly rightsUpTo: string;
}

/** Those methods of a store whose answers depend on the caller's rights. */
export type Reads = Pick<IndexStore, 'list' | 'count' | 'facets' | 'values'>;

/** The functions that read what a plan allows. @param P the type of the plan */
export interface ScopedReading<P, F> {
  /** Returns the part of the plan that the caller's rights decide; undefined for a plan that needs no rights. */
  readonly scopedBy: (plan: P) => ScopedPlan | undefined;
  /** Reads rows. It must do so with the given methods alone: they record the `rightsVersion` of each answer. */
  readonly read: (plan: P, reads: Reads) => F | Promise<F>;
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
  rights: Pick<IndexRights, 'current'>,
  store: Reads,
  { scopedBy, read, replan }: ScopedReading<P, F>,
): Promise<{ readonly plan: P; readonly found: F }> {
  let plan = first;
  for (let reading = 1; reading <= mostReadings; reading += 1) {
    const noted = new NotedReads(store);
    // An error is held back until the rights are checked, because its message could reveal rows.
    const [result] = await Promise.allSettled([(async () => read(plan, noted.reads))()]);
    const scoped = scopedBy(plan);
    if (scoped !== undefined && noted.rightsVersion > scoped.rightsUpTo) {
      await rights.current(noted.rightsVersion);
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

/** Records the newest `rightsVersion` in the answers of a store. */
class NotedReads {
  /** The methods of the store, whose answers are recorded. */
  readonly reads: Reads;
  readonly #pages: Page[] = [];
  rightsVersion = '';

  constructor(store: Reads) {
    this.reads = {
      list: async (...asked) => {
        const page = this.#note(await store.list(...asked));
        this.#pages.push(page);
        return page;
      },
      count: async (...asked) => this.#note(await store.count(...asked)),
      facets: async (...asked) => this.#note(await store.facets(...asked)),
      values: async (...asked) => this.#note(await store.values(...asked)),
    };
  }

  /** Frees the memory of pages that will not be used. */
  release(): void {
    for (const page of this.#pages) page.release?.();
  }

  #note<Answer extends ReadPoint>(answer: Answer): Answer {
    if (answer.rightsVersion > this.rightsVersion) this.rightsVersion = answer.rightsVersion;
    return answer;
  }
}
