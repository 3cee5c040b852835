// Conformance tests with random rows and questions, compared with the model.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import * as fc from 'fast-check';

import { allOf, type ListQuery } from '../../query/list-query.ts';
import { liftWhere } from '../../query/where/lift.ts';
import { parseWhere } from '../../query/where/parse.ts';
import { parsePath } from '../../query/path.ts';
import { typeKey } from '../../query/types.ts';
import type { Cursor } from '../../query/continue.ts';
import { checkAgainstModel, checkFacets, checkPages, checkSameAnswers } from './answers.fixture.ts';
import { documentOf, label, listModel, rowWrite } from './model.fixture.ts';
import {
  everything,
  maybe,
  queryArbitrary,
  questionArbitrary,
  randomQuestions,
  randomRows,
  rowKey,
  scopeArbitrary,
  types,
} from './random.fixture.ts';
import { rowsOf, TestedStore, type OpenStore } from './tested-store.fixture.ts';

/** Number of random questions. The environment variable PORTCULLIS_STORE_RUNS can raise it, to find rarer errors. */
const runs = Number(process.env.PORTCULLIS_STORE_RUNS ?? 80);
const { rows, batches } = randomRows(0);

export function testRandomQuestions(name: string, open: OpenStore): void {
  describe(`${name} with random rows`, () => {
    let tested: TestedStore;
    before(async () => {
      tested = await TestedStore.open(open);
      await tested.fill(batches);
      assert.ok(rows.length > 150);
    });
    after(() => tested.remove());

    test('lists, pages and counts what a look at every row finds, for every query, order and scope', async () => {
      const property = fc.asyncProperty(questionArbitrary, (asked) => checkPages(tested.store, rows, asked));
      await fc.assert(property, { numRuns: runs });
    });

    test('an object is found by its complete key, by who may see it', async () => {
      const keyed = fc.record({
        row: fc.constantFrom(...rows),
        name: maybe(fc.constantFrom('web', 'none', '\ud800')),
        namespace: maybe(fc.constantFrom('default', 'none', '\ud800')),
        isInNamespace: fc.boolean(),
        scope: scopeArbitrary,
        page: fc.constantFrom({}, { limit: 1 }, { limit: 2, withRemaining: true }),
      });
      const property = fc.asyncProperty(keyed, async ({ row, scope, page, isInNamespace, ...key }) => {
        const namespaces = isInNamespace ? { namespaces: [key.namespace ?? row.namespace] } : {};
        const query = { ...allOf(row.type), clusters: [row.cluster], names: [key.name ?? row.name], ...namespaces };
        const wanted = listModel(rows, query, scope);
        const { limit = Number.POSITIVE_INFINITY, withRemaining } = page as { limit?: number; withRemaining?: boolean };
        const answer = await tested.store.list(query, scope, page);
        assert.deepEqual((await rowsOf(answer)).map(label), wanted.slice(0, limit).map(label));
        assert.equal(answer.remaining, withRemaining === true ? Math.max(0, wanted.length - limit) : undefined);
        assert.equal(answer.next === undefined, wanted.length <= limit);
        assert.equal(answer.resourceVersion, tested.store.resourceVersion());
      });
      await fc.assert(property, { numRuns: runs * 3 });
    });

    test('facets and values are those of the rows', async () => {
      const property = fc.asyncProperty(questionArbitrary, (asked) => checkFacets(tested.store, rows, asked));
      await fc.assert(property, { numRuns: Math.ceil(runs / 2) });
    });

    test('pages that end early are together what a look at every row finds, and what may not end early is refused', async () => {
      const hurried = await TestedStore.open(open, { bodyLimits: { bodies: 3, bytes: 1 << 20, cpuMs: 60_000 } });
      try {
        await hurried.fill(batches);
        await fc.assert(earlyPages(hurried), { numRuns: Math.ceil(runs / 2) });
        await refusesUnindexed(hurried);
        await refusesManyComparisons(hurried);
      } finally {
        await hurried.remove();
      }
    });

    test('bodies come back byte for byte', async () => {
      const found = await rowsOf(await tested.store.list(allOf(...types), everything, {}));
      assert.equal(found.length, rows.length);
      for (const row of found) {
        const stored = rows.find((one) => label(one) === label(row))!;
        assert.deepEqual(Buffer.from(row.raw), rowWrite(stored).raw);
      }
    });

    test('the log replayed over nothing gives the rows', async () => {
      const { store } = tested;
      const seen = new Map<string, string>();
      let at = await store.oldestResourceVersion();
      for (;;) {
        const entries = await store.changes(at, types.map(typeKey), 50);
        if (entries.length === 0) break;
        for (const entry of entries) {
          assert.ok(entry.resourceVersion > at);
          at = entry.resourceVersion;
          const key = JSON.stringify([entry.incarnation, entry.type, entry.namespace, entry.name]);
          assert.equal(seen.get(key), entry.before && Buffer.from(entry.before).toString());
          if (entry.after === undefined) seen.delete(key);
          else seen.set(key, Buffer.from(entry.after).toString());
        }
      }
      assert.equal(at, store.resourceVersion());
      assert.deepEqual(seen, new Map(rows.map((row) => [rowKey(row), JSON.stringify(documentOf(row))] as const)));
    });

    test('another store with the same rows gives the same answers to the byte, cursors too, and one with fewer does not', async () => {
      const twin = await TestedStore.open(open);
      try {
        await twin.fill(batches);
        const questions = [
          { query: allOf(...types), scope: everything, limit: 50, offset: 0, by: 'cluster' as const },
          ...randomQuestions(1, Math.ceil(runs / 4)),
        ];
        await checkSameAnswers(tested.store, twin.store, questions);
        await checkAgainstModel(twin.store, rows, questions);
        const { incarnation, type, namespace, name } = rows[0]!;
        const deletes = [{ namespace, name }];
        const { cluster } = rows[0]!;
        await twin.apply({ incarnation: { id: incarnation, cluster }, type, upserts: [], deletes });
        await assert.rejects(checkSameAnswers(tested.store, twin.store, questions), /the answer to .* is another/);
      } finally {
        await twin.remove();
      }
    });
  });
}

/** Checks that questions which would have to read every object are refused. */
async function refusesUnindexed({ store }: TestedStore): Promise<void> {
  const fields = [{ path: parsePath('spec.zone'), operator: 'Exists' as const, values: [] }];
  const query = { ...allOf(...types), fields };
  const tooMany = { code: 'BAD_REQUEST' };
  await assert.rejects(store.count(query, everything, 'refuse'), tooMany);
  await assert.rejects(store.facets(query, everything, 'cluster', 9), tooMany);
  await assert.rejects(store.facets(allOf(...types), everything, { path: 'spec.zone' }, 9), tooMany);
  await assert.rejects(store.values(query, everything, { label: 'app' }, '', 9), tooMany);
  await assert.rejects(store.list(query, everything, { limit: 50, overBudget: 'refuse' }), tooMany);
  await assert.rejects(store.list(query, everything, { limit: 50, offset: 1, overBudget: 'end' }), tooMany);
  assert.ok((await store.count(query, everything)).count > 0, 'unless it is asked to read on');
}

/** Checks that whereSQL reads objects, within their budget, once its comparisons are too many for a statement. */
async function refusesManyComparisons({ store }: TestedStore): Promise<void> {
  const count = async (length: number, comparison: (i: number) => string): Promise<number> => {
    const where = parseWhere('whereSQL', Array.from({ length }, (_, i) => comparison(i)).join(' OR '));
    return (await store.count(liftWhere({ ...allOf(...types), where }), everything, 'refuse')).count;
  };
  const name = rows[0]!.name;
  const wanted = rows.filter((row) => row.name.includes(name)).length;
  assert.equal(await count(20, (i) => `name LIKE '%${i === 19 ? name : `none${i}`}%'`), wanted);
  await assert.rejects(
    count(40, (i) => `name LIKE '%none${i}%'`),
    { code: 'BAD_REQUEST' },
  );
  const same = rows.filter((row) => row.name === name || row.cluster === 'none').length;
  const isOneOf = (i: number) => (i % 2 === 0 ? `name = '${i === 398 ? name : `none${i}`}'` : `cluster = 'none${i}'`);
  assert.equal(await count(399, isOneOf), same, 'comparisons of one column are one set');
}

function earlyPages({ store }: TestedStore): fc.IAsyncProperty<unknown> {
  const filterArbitrary = fc.record({
    path: fc.constantFrom(parsePath('spec.zone'), parsePath('status.conditions')),
    operator: fc.constantFrom('NotEquals', 'Exists', 'DoesNotExist'),
    values: fc.constant(['north']),
  });
  return fc.asyncProperty(
    queryArbitrary,
    filterArbitrary,
    scopeArbitrary,
    fc.nat(5),
    async (any, filter, scope, size) => {
      const order = any.order.filter(({ by }) => typeof by === 'string');
      const query: ListQuery = { ...any, order, fields: [...any.fields, filter] };
      const found: string[] = [];
      for (let after: Cursor | undefined; ;) {
        const page = { limit: size + 1, overBudget: 'end', ...(after === undefined ? {} : { after }) } as const;
        const answer = await store.list(query, scope, page);
        const some = await rowsOf(answer);
        assert.ok(some.length <= size + 1);
        assert.equal(answer.warnings !== undefined, answer.next !== undefined && some.length <= size);
        found.push(...some.map(label));
        if (answer.next === undefined) break;
        assert.notDeepEqual(answer.next, after);
        after = answer.next;
      }
      assert.deepEqual(found, listModel(rows, query, scope).map(label));
    },
  );
}
