// Counts the rows of a question, in total or by cluster, namespace or type. Counters are used only where they give the
// same result as reading the rows.
import type { BodyLooks } from '../../body-budget.ts';
import { countExtent, countExtents, isWithoutParts } from './extent-counts.ts';
import { partsOf } from './extents.ts';
import type { FoundRow } from './key-order.ts';
import { KeyStream } from './key-stream.ts';
import { isExtentOnly, planTypes, rowParts, selectRows, type Question, type TypePlan } from './plans.ts';
import type { Snapshot } from './snapshot.ts';

/** The number of rows. @throws TooManyBodies (rejects) when the budget of bodies is used up */
export async function countRows(snapshot: Snapshot, question: Question, looks: BodyLooks): Promise<number> {
  let sum = 0;
  await eachPlan(snapshot, question, looks, {
    plan: async (plan) => void (sum += await countPlan(snapshot, plan)),
    rows: async (rows) => void (sum += rows.length),
  });
  return sum;
}

/**
 * The number of rows for each cluster, namespace or type.
 * @throws TooManyBodies (rejects) when the budget of bodies is used up
 */
export async function countBy(
  snapshot: Snapshot,
  question: Question,
  looks: BodyLooks,
  by: 'cluster' | 'namespace' | 'type',
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  const add = (value: string, n: number): unknown => n > 0 && counts.set(value, (counts.get(value) ?? 0) + n);
  const { byNumber } = snapshot.catalog;
  await eachPlan(snapshot, question, looks, {
    plan: async (plan) => {
      if (by === 'type') add(plan.type, await countPlan(snapshot, plan));
      else if (by === 'cluster') {
        const groups = await countGroups<number>(snapshot, plan, 'inc');
        for (const [inc, n] of groups) add(byNumber.get(inc)!.cluster, n);
      } else {
        for (const [namespace, n] of await countGroups<Buffer>(snapshot, plan, 'namespace'))
          add(namespace.toString(), n);
      }
    },
    rows: async (rows) => {
      for (const { type, slot } of rows) {
        add(by === 'type' ? type : by === 'namespace' ? slot.namespace : slot.incarnation.cluster, 1);
      }
    },
  });
  return counts;
}

/** Gets the plans of a question, or its rows when bodies decide which rows match. */
export interface PlanVisitor {
  readonly plan: (plan: TypePlan) => Promise<void>;
  readonly rows: (rows: readonly FoundRow[]) => Promise<void>;
}

/**
 * Visits each plan of the question; or every row, when a plan needs bodies.
 * @throws TooManyBodies (rejects) when the budget of bodies is used up
 */
export async function eachPlan(
  snapshot: Snapshot,
  question: Question,
  looks: BodyLooks,
  visitor: PlanVisitor,
): Promise<void> {
  const plans = await planTypes(snapshot, question);
  if (plans.some(({ conditions }) => conditions.recheck !== undefined)) {
    await eachRows(snapshot, question, looks, visitor.rows);
    return;
  }
  for (const plan of plans) await visitor.plan(plan);
}

/**
 * Visits all rows in any order, some at a time.
 * @throws TooManyBodies (rejects) when the budget of bodies is used up
 */
export async function eachRows(
  snapshot: Snapshot,
  question: Question,
  looks: BodyLooks,
  visit: (rows: readonly FoundRow[]) => Promise<void>,
): Promise<void> {
  const query = { ...question.query, order: [] };
  const stream = new KeyStream(snapshot, { ...question, query }, undefined, { offset: 0, limit: undefined }, looks);
  await stream.open();
  if (looks.over !== undefined) {
    // The least number of bodies this will read, so that a question which needs too many is refused before any is read.
    const checked = stream.plans.filter((plan) => isExtentOnly(plan) && plan.conditions.recheck !== undefined);
    looks.budget.expect(await countExtents(snapshot, checked));
  }
  for (;;) {
    const rows = await stream.next();
    if (rows === undefined) break;
    await visit(rows);
  }
  if (stream.cutAt !== undefined) throw looks.budget.tooMany();
}

async function countPlan(snapshot: Snapshot, plan: TypePlan): Promise<number> {
  if (isExtentOnly(plan)) return countExtent(snapshot, plan.extent);
  const { text, values } = selectRows('o.id', rowParts(snapshot, plan));
  const [[n] = [0]] = await snapshot.rows<readonly [number]>({ text: `SELECT count(*) FROM (${text}) o`, values });
  return n;
}

async function countGroups<Value extends number | Buffer>(
  snapshot: Snapshot,
  plan: TypePlan,
  column: 'inc' | 'namespace',
): Promise<readonly (readonly [Value, number])[]> {
  const { extent } = plan;
  if (!isExtentOnly(plan)) {
    const { text, values } = selectRows(`o.${column}`, rowParts(snapshot, plan));
    return snapshot.rows({ text: `SELECT o.${column}, count(*) FROM (${text}) o GROUP BY 1`, values });
  }
  const singles = extent.singles.map((row) => {
    return [(column === 'inc' ? row.inc : Buffer.from(row.namespace)) as Value, 1] as const;
  });
  if (isWithoutParts(extent)) return singles;
  const { text, values } = selectRows(`o.${column}, o.n`, partsOf(snapshot, extent, 'counter'));
  const grouped = { text: `SELECT o.${column}, sum(o.n)::int8 FROM (${text}) o GROUP BY 1`, values };
  return [...(await snapshot.rows<readonly [Value, number]>(grouped)), ...singles];
}
