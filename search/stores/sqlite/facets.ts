// Counts rows by the values of a label or a path, and completes values. Easy to get wrong: a row with several values of a path counts once for each
// value, and a row without one counts nowhere.
import { GatewayError } from '../../../cache/errors.ts';
import { documentPaths, readDocument } from '../../query/document.ts';
import { parsePath, printPath } from '../../query/path.ts';
import { typeKey } from '../../types.ts';
import { indexedPaths } from '../indexed-paths.ts';
import type { FacetBy, FacetCount } from '../store.ts';
import { labelKey } from './conditions.ts';
import { countBy, eachPlan, eachRow, isExtentOnly } from './counts.ts';
import { compareText } from './order.ts';
import { whereOf, type Question, type Session, type Turns, type TypePlan } from './session.ts';
import { cheapestAccess, inExtent, joined, type Access } from './sources.ts';
import { fieldPath, labelPath, unpackTerms } from './terms.ts';

/** Bodies that are read for a facet of a path that is not indexed; beyond them it is refused. */
export const maxRowsReadForFacet = 20_000;
/** From so many rows on, postings are read in their order instead of row by row. */
const manyRows = 20_000;

/** The most frequent values first, equal ones by value. */
export async function readFacets(
  turns: Turns,
  question: Question,
  by: FacetBy,
  limit: number,
): Promise<readonly FacetCount[]> {
  const counts = await countValues(turns, question, by, '');
  return [...counts]
    .map(([value, count]) => ({ value, count }))
    .sort((one, other) => other.count - one.count || compareText(one.value, other.value))
    .slice(0, limit);
}

/** Values that begin with a text, in order. */
export async function readFacetValues(
  turns: Turns,
  question: Question,
  by: FacetBy,
  { prefix, limit }: { readonly prefix: string; readonly limit: number },
): Promise<readonly string[]> {
  const counts = await countValues(turns, question, by, prefix);
  return [...counts.keys()]
    .filter((value) => value.startsWith(prefix))
    .sort(compareText)
    .slice(0, limit);
}

async function countValues(
  turns: Turns,
  question: Question,
  by: FacetBy,
  prefix: string,
): Promise<ReadonlyMap<string, number>> {
  if (typeof by === 'string') return countBy(turns, question, by);
  const counts = new Map<string, number>();
  const add = (value: string, n: number): void => void counts.set(value, (counts.get(value) ?? 0) + n);
  const path = 'path' in by ? parsePath(by.path, true) : undefined;
  const label = path === undefined ? (by as { label: string }).label : labelKey(path);
  const types = question.query.types;
  const printed = path === undefined ? '' : printPath(path);
  if (label === undefined && types.some((type) => !indexedPaths(type).includes(printed))) {
    await countInBodies(turns, question, printed, add);
    return counts;
  }
  const term = label === undefined ? fieldPath(printed) : labelPath(label);
  await eachPlan(turns, question, {
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

interface TermRange {
  readonly path: string;
  readonly prefix: string;
}

/** By the terms of a path; only those that begin with the prefix. */
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
  const access = cheapestAccess(plan, query);
  const terms = 'term k INDEXED BY term_key';
  if (isExtentOnly(plan) && extent.isWhole) {
    return sql.all(`SELECT k.value, k.n FROM ${terms} WHERE ${range.text} AND k.n > 0`, range.values);
  }
  if (access.cost >= manyRows && plan.only === undefined) {
    const member = inExtent(extent, 'x');
    const isBare = plan.conditions.pieces.length === 0;
    const where = whereOf([range, ...(member === undefined ? [] : [member]), ...plan.conditions.pieces]);
    const rows = isBare ? '' : 'CROSS JOIN obj o NOT INDEXED ON o.id = x.id';
    return sql.all(
      `SELECT k.value, count(*) FROM ${terms} CROSS JOIN posting x ON x.term = k.id ${rows} WHERE ${where.text} GROUP BY k.id`,
      where.values,
    );
  }
  return countTermsOfRows(session, rowsTerms(session, access), range);
}

/** Packed terms of each row, once a row. */
function rowsTerms({ sql }: Session, access: Access): readonly Uint8Array[] {
  return joined(access).flatMap(({ from, where, repeats }) => {
    const all = whereOf([...where, ...access.rest]);
    const columns = repeats ? 'DISTINCT o.id, o.terms' : 'o.id, o.terms';
    const text = `SELECT ${columns} FROM ${from.text} WHERE ${all.text}`;
    return sql.all<[number, Uint8Array]>(text, [...from.values, ...all.values]).map(([, terms]) => terms);
  });
}

function countTermsOfRows(
  { sql }: Session,
  rows: readonly Uint8Array[],
  range: { readonly text: string; readonly values: readonly (string | number)[] },
): readonly (readonly [string, number])[] {
  const byId = new Map<number, number>();
  for (const row of rows) for (const id of unpackTerms(row)) byId.set(id, (byId.get(id) ?? 0) + 1);
  return sql
    .all<[number, string]>(
      `SELECT k.id, k.value FROM json_each(?) j CROSS JOIN term k NOT INDEXED ON k.id = j.value WHERE ${range.text}`,
      [JSON.stringify([...byId.keys()]), ...range.values],
    )
    .map(([id, value]) => [value, byId.get(id)!] as const);
}

async function countInBodies(
  turns: Turns,
  question: Question,
  path: string,
  add: (value: string, n: number) => void,
): Promise<void> {
  const paths = documentPaths([parsePath(path, true)]);
  let rows = 0;
  await eachRow(turns, question, ({ sql }, { id }) => {
    if (++rows > maxRowsReadForFacet) {
      const types = question.query.types.map(typeKey).join(', ');
      const message = `"${path}" is not indexed for ${types}, and more than ${maxRowsReadForFacet} objects would have to be read: narrow the query`;
      throw new GatewayError('BAD_REQUEST', message);
    }
    const body = sql.first<[Uint8Array]>('SELECT raw FROM body WHERE id = ?', [id]);
    const found = body === undefined ? [] : readDocument(body[0], paths)[0]!;
    for (const value of new Set(found)) if (typeof value === 'string') add(value, 1);
  });
}
