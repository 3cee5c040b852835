// Compares the answers of a store with those of the model (model.fixture.ts), or with those of another store.
import assert from 'node:assert/strict';

import type { IndexStore } from '../store.ts';
import { label, listModel, type ModelRow } from './model.fixture.ts';
import { facetValues, type RandomQuestion } from './random.fixture.ts';
import { rowsOf } from './tested-store.fixture.ts';

/** Checks that lists, pages and counts are what a look at every row gives. */
export async function checkPages(store: IndexStore, rows: readonly ModelRow[], asked: RandomQuestion): Promise<void> {
  const { query, scope, limit, offset } = asked;
  const expected = listModel(rows, query, scope).map(label);
  const all = await store.list(query, scope, {});
  assert.deepEqual((await rowsOf(all)).map(label), expected);
  assert.equal(all.next, undefined);
  assert.equal((await store.count(query, scope)).count, expected.length);
  let page = await store.list(query, scope, { limit, offset, withRemaining: true });
  const paged = await rowsOf(page);
  assert.equal(page.remaining, Math.max(0, expected.length - offset - limit));
  while (page.next !== undefined) {
    page = await store.list(query, scope, { limit, after: page.next, withRemaining: true });
    const some = await rowsOf(page);
    assert.ok(some.length > 0 && some.length <= limit);
    paged.push(...some);
    assert.equal(page.remaining, Math.max(0, expected.length - offset - paged.length));
  }
  assert.deepEqual(paged.map(label), expected.slice(offset));
}

/** Checks that facets and values are what a look at every row gives. */
export async function checkFacets(store: IndexStore, rows: readonly ModelRow[], asked: RandomQuestion): Promise<void> {
  const { query, scope, by } = asked;
  const counts = new Map<string, number>();
  for (const row of listModel(rows, query, scope)) {
    for (const value of new Set(facetValues(row, by))) counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  const expected = [...counts]
    .map(([value, count]) => ({ value, count }))
    .sort((one, other) => other.count - one.count || bytes(one.value, other.value));
  assert.deepEqual((await store.facets(query, scope, by, 100)).counts, expected);
  assert.deepEqual((await store.facets(query, scope, by, 2)).counts, expected.slice(0, 2));
  const [prefix = ''] = [...counts.keys()].map((value) => [...value][0] ?? '');
  const completed = [...counts.keys()].filter((value) => value.startsWith(prefix)).sort(bytes);
  assert.deepEqual((await store.values(query, scope, by, prefix, 100)).values, completed);
  assert.deepEqual((await store.values(query, scope, by, prefix, 1)).values, completed.slice(0, 1));
}

/** Asks a store questions and compares its answers with the model's. */
export async function checkAgainstModel(
  store: IndexStore,
  rows: readonly ModelRow[],
  questions: readonly RandomQuestion[],
): Promise<void> {
  for (const asked of questions) {
    await naming(asked, async () => {
      await checkPages(store, rows, asked);
      await checkFacets(store, rows, asked);
    });
  }
}

/** Asks two stores with the same rows the same questions. Their answers must be equal byte for byte. */
export async function checkSameAnswers(
  one: IndexStore,
  other: IndexStore,
  questions: readonly RandomQuestion[],
): Promise<void> {
  for (const asked of questions) {
    await naming(asked, async () => assert.deepEqual(await answersTo(one, asked), await answersTo(other, asked)));
  }
}

/** Everything a store answers to a question, without the resourceVersion of the answer. */
async function answersTo(store: IndexStore, { query, scope, limit, offset, by }: RandomQuestion): Promise<unknown> {
  const page = { limit, offset, withRemaining: true };
  const pages: unknown[] = [];
  for (let asked: Parameters<IndexStore['list']>[2] | undefined = page; asked !== undefined;) {
    const found = await store.list(query, scope, asked);
    const rows = (await rowsOf(found)).map(({ raw, ...row }) => ({ ...row, raw: Buffer.from(raw).toString('latin1') }));
    pages.push({ rows, next: found.next, remaining: found.remaining, warnings: found.warnings });
    asked = found.next === undefined ? undefined : { limit, after: found.next, withRemaining: true };
  }
  return {
    pages,
    count: (await store.count(query, scope)).count,
    facets: (await store.facets(query, scope, by, 100)).counts,
    values: (await store.values(query, scope, by, '', 100)).values,
  };
}

/** Runs the check. When it fails, the error names the question. */
async function naming(asked: RandomQuestion, check: () => Promise<void>): Promise<void> {
  try {
    await check();
  } catch (error) {
    const { query, limit, offset, by, scope } = asked;
    const shown = JSON.stringify({ query, limit, offset, by, scope: scope.digest });
    throw new Error(`the answer to ${shown} is another`, { cause: error });
  }
}

function bytes(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}
