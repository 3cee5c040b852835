// What a store answers to a question, as a text in which nothing of the answer is lost but the times of its commits.
import type { ListQuery } from '../../../query/list-query.ts';
import type { RowScope } from '../../../query/scope/scope.ts';
import type { Cursor } from '../../../query/continue.ts';
import type { FacetBy, IndexStore, PageRequest } from '../../../store/store.ts';
import { GatewayError } from '../../../model/errors.ts';

/** One question with the ways in which it is asked. */
export interface AskedQuestion {
  readonly query: ListQuery;
  readonly scope: RowScope;
  readonly page: PageRequest;
  readonly by: FacetBy;
  readonly prefix: string;
}

type Asked = Pick<IndexStore, 'list' | 'count' | 'facets' | 'values'>;

/** An answer as text, and where it goes on. */
export interface Answer {
  readonly text: string;
  readonly next: Cursor | undefined;
}

export async function listAnswer(store: Asked, { query, scope }: AskedQuestion, page: PageRequest): Promise<Answer> {
  let next: Cursor | undefined;
  const text = await textOf(async () => {
    const { chunks, remaining, warnings, ...answer } = await store.list(query, scope, page);
    next = answer.next;
    const rows: unknown[] = [];
    for await (const chunk of chunks) {
      for (const { raw, ...row } of chunk) rows.push({ ...row, raw: Buffer.from(raw).toString('latin1') });
    }
    return { rows, next, remaining, warnings };
  });
  return { text, next };
}

/** Counts, facets and values. */
export async function countAnswers(
  store: Asked,
  { query, scope, page, by, prefix }: AskedQuestion,
): Promise<readonly string[]> {
  const over = page.overBudget === undefined ? undefined : 'refuse';
  const limit = page.limit ?? 100;
  return [
    await textOf(async () => (await store.count(query, scope, over)).count),
    await textOf(async () => (await store.facets(query, scope, by, limit)).counts),
    await textOf(async () => (await store.values(query, scope, by, prefix, limit)).values),
  ];
}

async function textOf(ask: () => Promise<unknown>): Promise<string> {
  try {
    return JSON.stringify(sorted(await ask()), null, 1);
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code === 'INDEX_UNAVAILABLE') throw error;
    return `${error.code}: ${error.message}`;
  }
}

/** Members by name, so that texts do not depend on the order in which a store has set them. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(
    members.toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([k, v]) => [k, sorted(v)]),
  );
}
