// Counts rows by the values of a label or a path, and completes the beginning of a value. A row with several values is
// counted once for each of them. A row without a value is not counted.
import { BodyBudget, type BodyLimits, type BodyAllowance } from '../../body-budget.ts';
import { beginningWith, bodyCounter, mostFrequent, valuesAt, type AddCount } from '../../value-counts.ts';
import type { FacetBy, FacetCount } from '../../store.ts';
import { readRaw } from './bodies.ts';
import { countBy, eachPlan, eachRows } from './counts.ts';
import { countExtents } from './extent-counts.ts';
import { isOfAllRows, rowsById } from './extents.ts';
import { isExtentOnly, planTypes, rowParts, selectRows, type Question } from './plans.ts';
import type { Snapshot } from './snapshot.ts';
import { allHold, bytes, fragment, type SqlFragment } from './sql.ts';
import { ofPath } from './term-sets.ts';

/** How many bodies one statement reads. */
const bodiesAtOnce = 64;

/** A question with the label or path whose values are counted. */
export interface FacetQuestion extends Question {
  readonly by: FacetBy;
  /** Only values that begin with this text are counted. */
  readonly prefix: string;
}

/**
 * Counts the rows by value. The most frequent values come first; equally frequent ones are sorted by value.
 * @throws TooManyBodies (rejects) when too many bodies would have to be read
 */
export async function readFacets(
  snapshot: Snapshot,
  question: Omit<FacetQuestion, 'prefix'>,
  limit: number,
  bodyLimits?: BodyLimits,
): Promise<readonly FacetCount[]> {
  return mostFrequent(await countValues(snapshot, { ...question, prefix: '' }, bodyLimits), limit);
}

/**
 * The values that begin with the question's prefix, sorted.
 * @throws TooManyBodies (rejects) when too many bodies would have to be read
 */
export async function readFacetValues(
  snapshot: Snapshot,
  question: FacetQuestion,
  limit: number,
  bodyLimits?: BodyLimits,
): Promise<readonly string[]> {
  return beginningWith(await countValues(snapshot, question, bodyLimits), question.prefix, limit);
}

async function countValues(
  snapshot: Snapshot,
  question: FacetQuestion,
  bodyLimits: BodyLimits | undefined,
): Promise<ReadonlyMap<string, number>> {
  const { by, prefix, query } = question;
  // Testing conditions and counting values share one budget, so a body that is read for both is counted twice.
  const allowance: BodyAllowance = { budget: new BodyBudget(query.types, bodyLimits), over: 'refuse' };
  if (typeof by === 'string') return countBy(snapshot, question, allowance, by);
  const counts = new Map<string, number>();
  const add: AddCount = (value, n) => void counts.set(value, (counts.get(value) ?? 0) + n);
  const at = valuesAt(by, query.types, snapshot.catalog.oldestForm);
  if ('inBodies' in at) {
    await countInBodies(snapshot, question, allowance, at.inBodies, add);
    return counts;
  }
  const term = { path: at.term, prefix };
  const addTerms = async (t: number, rows: SqlFragment | 'all'): Promise<void> => {
    for (const [value, n] of await countTerms(snapshot, t, rows, term)) add(value, n);
  };
  await eachPlan(snapshot, question, allowance, {
    plan: async (plan) => {
      const isWhole = isExtentOnly(plan) && (await isOfAllRows(snapshot, plan.extent));
      await addTerms(plan.extent.t, isWhole ? 'all' : selectRows('o.terms', rowParts(snapshot, plan)));
    },
    rows: async (rows) => {
      for (const [type, some] of Map.groupBy(rows, (row) => row.type)) {
        const ids = some.map(({ id, slot }) => ({ id, inc: slot.incarnation.number }));
        const part = { from: rowsById(snapshot, ids), where: [] };
        await addTerms(snapshot.catalog.types.get(type)!, selectRows('o.terms', [part]));
      }
    },
  });
  return counts;
}

/**
 * The values of one path (its terms) with the number of rows that have each: among the rows of a statement, or among
 * all rows of a type.
 */
async function countTerms(
  snapshot: Snapshot,
  t: number,
  rows: SqlFragment | 'all',
  { path, prefix }: { readonly path: string; readonly prefix: string },
): Promise<readonly (readonly [value: string, count: number])[]> {
  const wanted = allHold([
    fragment('k.t = ?', t),
    ...ofPath(path),
    ...(prefix === '' ? [] : [fragment('substr(k.value, 1, length(?::bytea)) = ?', bytes(prefix), bytes(prefix))]),
  ]);
  if (rows === 'all') {
    const counted = `SELECT k.value, sum(k.n)::int8 FROM term k WHERE ${wanted.text} GROUP BY k.value`;
    return valuesOf(await snapshot.rows({ text: counted, values: wanted.values }));
  }
  // Each shard stores the texts of its own terms, so a term that several shards have occurs several times.
  const terms = `SELECT DISTINCT k.id, k.value FROM term k WHERE ${wanted.text}`;
  const text = `WITH k AS MATERIALIZED (${terms}), o AS (${rows.text})
    SELECT k.value, count(*) FROM o CROSS JOIN LATERAL unnest(o.terms) x(id) JOIN k ON k.id = x.id GROUP BY k.value`;
  return valuesOf(await snapshot.rows({ text, values: [...wanted.values, ...rows.values] }));
}

function valuesOf(rows: readonly (readonly [Buffer, number])[]): readonly (readonly [string, number])[] {
  return rows.map(([value, n]) => [value.toString(), n] as const);
}

async function countInBodies(
  snapshot: Snapshot,
  question: Question,
  allowance: BodyAllowance,
  path: string,
  add: AddCount,
): Promise<void> {
  const { budget } = allowance;
  const count = bodyCounter(path, budget, add);
  const plans = await planTypes(snapshot, question);
  budget.expect(
    await countExtents(
      snapshot,
      plans.filter((plan) => isExtentOnly(plan) && !plan.conditions.recheck),
    ),
  );
  await eachRows(snapshot, question, allowance, async (rows) => {
    for (let at = 0; at < rows.length; at += bodiesAtOnce) {
      const some = rows.slice(at, at + bodiesAtOnce);
      for (const raw of (await readRaw(snapshot, some)).values()) count(raw);
    }
  });
}
