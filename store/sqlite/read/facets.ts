// Counts rows by the values of a label or a path, and completes the beginning of a value. A row with several values is
// counted once for each of them. A row without a value is not counted.
import type { FacetBy, FacetCount } from '../../store.ts';
import { BodyBudget, type BodyLimits, type BodyAllowance } from '../../body-budget.ts';
import { isExtentOnly } from '../session/session.ts';
import { countBy, eachPlan, eachRows } from './counts.ts';
import { extentRows } from '../session/extents.ts';
import { beginningWith, bodyCounter, mostFrequent, valuesAt, type AddCount } from '../../value-counts.ts';
import { type TimeSlices } from '../tables/transaction.ts';
import { planTypes, type Question, type Session, type TypePlan } from '../session/session.ts';
import { allHold } from '../../sql/sql-fragment.ts';
import type { SqlFragment } from '../tables/sql.ts';
import { cheapestAccess, inExtent, joined, type Access } from '../scans/sources.ts';
import type { TermCounts } from '../session/term-counts.ts';
import { unpackTerms } from '../tables/terms.ts';

/** How many bodies one statement reads. */
const bodiesAtOnce = 64;
/**
 * For fewer rows than this, the terms (labels and indexed values) of each row are read and counted. From this number
 * on, the rows of each term are counted in table `posting`.
 */
const manyRows = 20_000;
/** From this many rows on, the counts that a reader thread keeps in memory are used. */
const leastRemembered = 300;

/**
 * Counts the rows by value. The most frequent values come first; equally frequent ones are sorted by value.
 * @throws TooManyBodies (rejects) when too many bodies would have to be read
 */
export async function readFacets(
  timeSlices: TimeSlices<Session>,
  question: Question,
  by: FacetBy,
  limit: number,
  bodyLimits?: BodyLimits,
): Promise<readonly FacetCount[]> {
  return mostFrequent(await countValues(timeSlices, question, by, '', bodyLimits), limit);
}

/**
 * The values that begin with the prefix, sorted.
 * @throws TooManyBodies (rejects) when too many bodies would have to be read
 */
export async function readFacetValues(
  timeSlices: TimeSlices<Session>,
  question: Question,
  by: FacetBy,
  { prefix, limit }: { readonly prefix: string; readonly limit: number },
  bodyLimits?: BodyLimits,
): Promise<readonly string[]> {
  return beginningWith(await countValues(timeSlices, question, by, prefix, bodyLimits), prefix, limit);
}

async function countValues(
  timeSlices: TimeSlices<Session>,
  question: Question,
  by: FacetBy,
  prefix: string,
  bodyLimits: BodyLimits | undefined,
): Promise<ReadonlyMap<string, number>> {
  // Testing conditions and counting values share one budget, so a body that is read for both is counted twice.
  const allowance: BodyAllowance = { budget: new BodyBudget(question.query.types, bodyLimits), over: 'refuse' };
  if (typeof by === 'string') return countBy(timeSlices, question, allowance, by);
  const counts = new Map<string, number>();
  const add: AddCount = (value, n) => void counts.set(value, (counts.get(value) ?? 0) + n);
  const at = valuesAt(by, question.query.types);
  if ('inBodies' in at) {
    await countInBodies(timeSlices, question, allowance, at.inBodies, add);
    return counts;
  }
  const { term } = at;
  await prepareCounts(timeSlices, question, term);
  await eachPlan(timeSlices, question, allowance, {
    plan: (session, plan) => {
      for (const [value, n] of countTerms(session, plan, question, { path: term, prefix })) add(value, n);
    },
    row: (session, { id, type }) => {
      const t = session.catalog.types.get(type)!;
      const row = session.sql.first<[Uint8Array]>('SELECT terms FROM obj WHERE id = ?', [id]);
      if (row === undefined) return;
      const range = { text: 'k.t = ? AND k.path = ?', values: [t, term] };
      for (const [value, n] of countTermsOfRows(session, [row[0]], range)) add(value, n);
    },
  });
  return counts;
}

/** Builds the counts in memory (rows by value and namespace slot), for users who see only some of the namespaces. */
async function prepareCounts(timeSlices: TimeSlices<Session>, question: Question, path: string): Promise<void> {
  const { memory, types } = timeSlices.slice((session) => {
    return { memory: session.memory, types: planTypes(session, question).filter(isOfSlots) };
  });
  for (const { extent } of types) await memory.prepareTermCounts(timeSlices, extent.t, path);
}

/**
 * Whether the counts in memory can answer the plan: it has no conditions beside cluster and namespace, and enough rows.
 */
function isOfSlots(plan: TypePlan): boolean {
  const isTold = isExtentOnly(plan) && plan.conditions.recheck === undefined;
  return isTold && !plan.extent.isWhole && plan.extent.rows >= leastRemembered;
}

interface TermRange {
  readonly path: string;
  readonly prefix: string;
}

/** For each value at the path that begins with the prefix: the number of rows that have this value. */
function countTerms(
  session: Session,
  plan: TypePlan,
  { query }: Question,
  { path, prefix }: TermRange,
): readonly (readonly [string, number])[] {
  const { sql } = session;
  const { extent } = plan;
  const range = {
    text: 'k.t = ? AND k.path = ? AND substr(k.value, 1, ?) = ?',
    values: [extent.t, path, [...prefix].length, prefix],
  };
  const terms = 'term k INDEXED BY term_key';
  if (isExtentOnly(plan) && extent.isWhole) {
    return sql.all(`SELECT k.value, k.n FROM ${terms} WHERE ${range.text} AND k.n > 0`, range.values);
  }
  const known = isOfSlots(plan) ? session.memory.termCounts(session, extent.t, path) : undefined;
  if (known !== undefined) {
    const singles = extent.singles.terms(session);
    const counts = known.count(session.memory.slots.among(extent));
    return valuesOf(session, countIds(singles, counts, known), range);
  }
  const access = cheapestAccess(plan, query);
  if (access.cost >= manyRows && plan.only === undefined) {
    const member = inExtent(extent, 'x');
    const isBare = plan.conditions.fragments.length === 0;
    const where = allHold([range, ...(member === undefined ? [] : [member]), ...plan.conditions.fragments]);
    const rows = isBare ? '' : 'CROSS JOIN obj o NOT INDEXED ON o.id = x.id';
    return sql.all(
      `SELECT k.value, count(*) FROM ${terms} CROSS JOIN posting x ON x.term = k.id ${rows} WHERE ${where.text} GROUP BY k.id`,
      where.values,
    );
  }
  return countTermsOfRows(session, rowsTerms(session, access), range);
}

/**
 * For each row that the caller may see, the ids of its terms (labels and indexed values) as bytes, packed as table
 * `obj` stores them.
 */
function rowsTerms({ sql }: Session, access: Access): readonly Uint8Array[] {
  return joined(access).flatMap(({ from, where, repeats }) => {
    const all = allHold([...where, ...access.rest]);
    const columns = repeats ? 'DISTINCT o.id, o.terms' : 'o.id, o.terms';
    const text = `SELECT ${columns} FROM ${from.text} WHERE ${all.text}`;
    return sql.all<[number, Uint8Array]>(text, [...from.values, ...all.values]).map(([, terms]) => terms);
  });
}

type Values = readonly (readonly [value: string, count: number])[];

function countTermsOfRows(session: Session, rows: readonly Uint8Array[], range: SqlFragment): Values {
  return valuesOf(session, countIds(rows, new Map(), undefined), range);
}

/**
 * Counts the rows of each term (label or indexed value), by the term's number. With `known`, only terms that may belong
 * to the path of these counts.
 */
function countIds(
  rows: readonly Uint8Array[],
  byId: Map<number, number>,
  known: TermCounts | undefined,
): ReadonlyMap<number, number> {
  for (const row of rows) {
    for (const id of unpackTerms(row)) {
      if (known === undefined || known.mayBeTerm(id)) byId.set(id, (byId.get(id) ?? 0) + 1);
    }
  }
  return byId;
}

/** The values of those terms that match `range` (SQL about table `term`), with their counts. */
function valuesOf({ sql }: Session, byId: ReadonlyMap<number, number>, range: SqlFragment): Values {
  return sql
    .all<[number, string]>(
      `SELECT k.id, k.value FROM json_each(?) j CROSS JOIN term k NOT INDEXED ON k.id = j.value WHERE ${range.text}`,
      [JSON.stringify([...byId.keys()]), ...range.values],
    )
    .map(([id, value]) => [value, byId.get(id)!] as const);
}

async function countInBodies(
  timeSlices: TimeSlices<Session>,
  question: Question,
  allowance: BodyAllowance,
  path: string,
  add: AddCount,
): Promise<void> {
  const { budget } = allowance;
  const count = bodyCounter(path, budget, add);
  timeSlices.slice((session) => {
    const plans = planTypes(session, question).filter((plan) => isExtentOnly(plan) && !plan.conditions.recheck);
    budget.expect(plans.reduce((sum, { extent }) => sum + extentRows(session, extent), 0));
  });
  await eachRows(timeSlices, question, allowance, ({ sql }, rows) => {
    for (let at = 0; at < rows.length; at += bodiesAtOnce) {
      const ids = rows.slice(at, at + bodiesAtOnce).map(({ id }) => id);
      const text = 'SELECT b.raw FROM json_each(?) j CROSS JOIN body b ON b.id = j.value';
      for (const [raw] of sql.all<[Uint8Array]>(text, [JSON.stringify(ids)])) count(raw);
    }
  });
}
