// Counts the rows of a question, in total or by cluster, namespace or type. The stored counters (table `counter`) are
// used only where they give the same result as reading the rows.
import type { BodyAllowance } from '../../body-budget.ts';
import type { NamedFacet } from '../../store.ts';
import { placeValue } from '../../value-counts.ts';
import { countExtent, countExtents, isWithoutParts } from './extent-counts.ts';
import { partsOf } from './extents.ts';
import type { FoundRow } from './key-order.ts';
import { KeyStream } from './key-stream.ts';
import { isExtentOnly, planTypes, rowParts, selectRows, type Question, type TypePlan } from './plans.ts';
import type { Snapshot } from './snapshot.ts';

/**
 * Counts the rows.
 * @throws TooManyBodies (rejects) when the budget of bodies is used up
 */
export async function countRows(snapshot: Snapshot, question: Question, allowance: BodyAllowance): Promise<number> {
  let sum = 0;
  await eachPlan(snapshot, question, allowance, {
    plan: async (plan) => void (sum += await countPlan(snapshot, plan)),
    rows: async (rows) => void (sum += rows.length),
  });
  return sum;
}

/**
 * Counts the rows by cluster, by namespace, by both, or by type.
 * @throws TooManyBodies (rejects) when the budget of bodies is used up
 */
export async function countBy(
  snapshot: Snapshot,
  question: Question,
  allowance: BodyAllowance,
  by: NamedFacet,
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  const add = (value: string, n: number): unknown => n > 0 && counts.set(value, (counts.get(value) ?? 0) + n);
  const { byNumber } = snapshot.catalog;
  await eachPlan(snapshot, question, allowance, {
    plan: async (plan) => {
      if (by === 'type') add(plan.type, await countPlan(snapshot, plan));
      else {
        for (const [inc, namespace, n] of await countGroups(snapshot, plan, by))
          add(placeValue(byNumber.get(inc)?.cluster ?? '', namespace.toString(), by), n);
      }
    },
    rows: async (rows) => {
      for (const { type, slot } of rows) {
        add(by === 'type' ? type : placeValue(slot.incarnation.cluster, slot.namespace, by), 1);
      }
    },
  });
  return counts;
}

/**
 * Called with each plan (the question compiled for one type) or, when bodies decide which rows match, with the matching
 * rows.
 */
export interface PlanVisitor {
  readonly plan: (plan: TypePlan) => Promise<void>;
  readonly rows: (rows: readonly FoundRow[]) => Promise<void>;
}

/**
 * Calls `visitor.plan` for each plan. When a plan needs bodies, calls `visitor.rows` for all rows instead.
 * @throws TooManyBodies (rejects) when the budget of bodies is used up
 */
export async function eachPlan(
  snapshot: Snapshot,
  question: Question,
  allowance: BodyAllowance,
  visitor: PlanVisitor,
): Promise<void> {
  const plans = await planTypes(snapshot, question);
  if (plans.some(({ conditions }) => conditions.recheck !== undefined)) {
    await eachRows(snapshot, question, allowance, visitor.rows);
    return;
  }
  for (const plan of plans) await visitor.plan(plan);
}

/**
 * Visits all rows, several at a time and in no particular order.
 * @throws TooManyBodies (rejects) when the budget of bodies is used up
 */
export async function eachRows(
  snapshot: Snapshot,
  question: Question,
  allowance: BodyAllowance,
  visit: (rows: readonly FoundRow[]) => Promise<void>,
): Promise<void> {
  const query = { ...question.query, order: [] };
  const stream = new KeyStream(snapshot, { ...question, query }, undefined, { offset: 0, limit: undefined }, allowance);
  await stream.open();
  if (allowance.over !== undefined) {
    // The least number of bodies that will be read is compared with the budget before any body is read.
    const checked = stream.plans.filter((plan) => isExtentOnly(plan) && plan.conditions.recheck !== undefined);
    allowance.budget.expect(await countExtents(snapshot, checked));
  }
  for (;;) {
    const rows = await stream.next();
    if (rows === undefined) break;
    await visit(rows);
  }
  if (stream.cutAt !== undefined) throw allowance.budget.tooMany();
}

async function countPlan(snapshot: Snapshot, plan: TypePlan): Promise<number> {
  if (isExtentOnly(plan)) return countExtent(snapshot, plan.extent);
  const { text, values } = selectRows('o.id', rowParts(snapshot, plan));
  const [[n] = [0]] = await snapshot.rows<readonly [number]>({ text: `SELECT count(*) FROM (${text}) o`, values });
  return n;
}

/**
 * The columns to group by. A facet that groups by cluster or by namespace alone has a constant in place of the other
 * column.
 */
const groupColumns: Readonly<Record<Exclude<NamedFacet, 'type'>, string>> = {
  cluster: `o.inc, ''::bytea AS namespace`,
  namespace: '0 AS inc, o.namespace',
  'cluster/namespace': 'o.inc, o.namespace',
};

type Group = readonly [inc: number, namespace: Buffer, rows: number];

/** Counts the rows of a plan by incarnation, namespace or both. A group may occur several times, with a part each. */
async function countGroups(
  snapshot: Snapshot,
  plan: TypePlan,
  by: Exclude<NamedFacet, 'type'>,
): Promise<readonly Group[]> {
  const { extent } = plan;
  const columns = groupColumns[by];
  if (!isExtentOnly(plan)) {
    const { text, values } = selectRows(columns, rowParts(snapshot, plan));
    return snapshot.rows({ text: `SELECT o.inc, o.namespace, count(*) FROM (${text}) o GROUP BY 1, 2`, values });
  }
  const singles = extent.singles.map(({ inc, namespace }): Group => [inc, Buffer.from(namespace), 1]);
  if (isWithoutParts(extent)) return singles;
  const { text, values } = selectRows(`${columns}, o.n`, partsOf(snapshot, extent, 'counter'));
  const grouped = `SELECT o.inc, o.namespace, sum(o.n)::int8 FROM (${text}) o GROUP BY 1, 2`;
  return [...(await snapshot.rows<Group>({ text: grouped, values })), ...singles];
}
