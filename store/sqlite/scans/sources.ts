// The ways to find the rows of one type (access paths): which database index is read, and at what cost. The paths that
// are used for one plan never overlap, so no row is listed or counted twice.
import type { ListQuery } from '../../../query/list-query.ts';
import { incarnationOf, type SlotRow } from '../tables/catalog.ts';
import { incarnationShift as shift, slotsPerIncarnation } from '../tables/schema.ts';
import type { Extent } from '../session/extents.ts';
import type { TypePlan } from '../session/session.ts';
import type { SqlFragment } from '../tables/sql.ts';
import { anyHolds } from '../../sql/sql-fragment.ts';
import type { TermSet } from '../../sql/term-lookups.ts';

/**
 * `FROM` and conditions of a statement. The statement is about rows `o` of table `obj`. When no column of the row is
 * needed, it is about entries `x` of table `posting` (one entry for each term of a row).
 */
export interface AccessPath {
  readonly from: SqlFragment;
  readonly where: readonly SqlFragment[];
  /** Whether a row may occur several times, once for each of the required terms that it has. */
  readonly repeats: boolean;
}

/**
 * A condition for rows or postings that are inside the extent (the rows that the query may examine); undefined when all
 * rows of the type are.
 * @param alias the name of the row or posting in the statement
 */
export function inExtent(extent: Extent, alias: 'o' | 'x'): SqlFragment | undefined {
  if (extent.isWhole) return undefined;
  const { ids, singles } = extent;
  const any = slotsPieces(extent, alias);
  if (ids.length > 0) any.push({ text: `${alias}.id IN (SELECT value FROM json_each(?))`, values: [singles.idsJson] });
  return anyOf(any);
}

/** Like {@link inExtent}, but without objects granted by name. Used for rows of table `counter` and postings. */
export function inSlots(extent: Extent, alias: 'x'): SqlFragment | undefined {
  return extent.isWhole ? undefined : anyOf(slotsPieces(extent, alias));
}

function anyOf(any: readonly SqlFragment[]): SqlFragment {
  return any.length === 0 ? { text: '0', values: [] } : anyHolds(any);
}

/**
 * Conditions on `place` (the number of a row's namespace slot), written so that SQLite uses no index for them. With an
 * index SQLite would read a list of thousands of slots once for each term.
 */
function slotsPieces(extent: Extent, alias: 'o' | 'x'): SqlFragment[] {
  const { incarnations, incarnationsJson, except, exceptJson, slots, slotsJson } = extent;
  const any: SqlFragment[] = [];
  if (incarnations.length > 0) {
    const text = `(${alias}.place >> ${shift}) IN (SELECT value FROM json_each(?))`;
    const values = [incarnationsJson];
    const not = `${alias}.place NOT IN (SELECT value FROM json_each(?))`;
    if (except.size === 0) any.push({ text, values });
    else any.push({ text: `(${text} AND ${not})`, values: [...values, exceptJson] });
  }
  if (slots.length > 0) {
    any.push({ text: `+${alias}.place IN (SELECT value FROM json_each(?))`, values: [slotsJson] });
  }
  return any;
}

/** The access paths to all rows that an {@link Extent} allows, found through their namespace slots. */
export function byExtent(extent: Extent): readonly AccessPath[] {
  const { t, incarnations, incarnationsJson, except, exceptJson, slots, slotsJson, ids } = extent;
  const paths: AccessPath[] = [];
  if (extent.isWhole) {
    return [accessPath({ text: 'obj o INDEXED BY obj_key', values: [] }, { text: 'o.t = ?', values: [t] })];
  }
  if (incarnations.length > 0) {
    const text = `json_each(?) j CROSS JOIN obj o INDEXED BY obj_key
      ON o.t = ? AND o.place >= (j.value << ${shift}) AND o.place < ((j.value + 1) << ${shift})`;
    const not = { text: 'o.place NOT IN (SELECT value FROM json_each(?))', values: [exceptJson] };
    paths.push(accessPath({ text, values: [incarnationsJson, t] }, ...(except.size === 0 ? [] : [not])));
  }
  if (slots.length > 0) {
    const text = 'json_each(?) j CROSS JOIN obj o INDEXED BY obj_key ON o.t = ? AND o.place = j.value';
    paths.push(accessPath({ text, values: [slotsJson, t] }));
  }
  if (ids.length > 0) paths.push(byIds(extent.singles.idsJson, t));
  return paths;
}

export function byIds(idsJson: string, t: number, ...where: readonly SqlFragment[]): AccessPath {
  const text = 'json_each(?) j CROSS JOIN obj o NOT INDEXED ON o.id = j.value';
  return accessPath({ text, values: [idsJson] }, { text: 'o.t = ?', values: [t] }, ...where);
}

/** The access path to rows with one of these complete names or uids. */
function byValues(extent: Extent, column: 'name' | 'uid', values: readonly string[]): AccessPath {
  const on = { name: 'obj_name ON o.t = ? AND o.name = j.value', uid: 'obj_uid ON o.t = ? AND o.uid = j.value' };
  const text = `json_each(?) j CROSS JOIN obj o INDEXED BY ${on[column]}`;
  const member = inExtent(extent, 'o');
  return accessPath({ text, values: [JSON.stringify(values), extent.t] }, ...(member === undefined ? [] : [member]));
}

/** The access path to all rows of the type through the index obj_name. For names, SQLite reads only this index. */
function byNameScan(extent: Extent): AccessPath {
  const member = inExtent(extent, 'o');
  return accessPath(
    { text: 'obj o INDEXED BY obj_name', values: [] },
    { text: 'o.t = ?', values: [extent.t] },
    ...(member === undefined ? [] : [member]),
  );
}

function byTerms(extent: Extent, ids: readonly number[], postings: number): AccessPath {
  const member = inExtent(extent, 'x');
  const probes = extent.slots.length * ids.length;
  const isProbed = extent.incarnations.length === 0 && extent.ids.length === 0 && probes * 4 < postings;
  const text = isProbed
    ? `json_each(?) j CROSS JOIN json_each(?) p CROSS JOIN posting x ON x.term = j.value AND x.place = p.value`
    : 'json_each(?) j CROSS JOIN posting x ON x.term = j.value';
  const values = [JSON.stringify(ids), ...(isProbed ? [extent.slotsJson] : [])];
  const where = isProbed || member === undefined ? [] : [member];
  return { from: { text, values }, where, repeats: ids.length > 1 };
}

/** Access paths that together reach all rows of a plan. `cost` is the number of rows or postings to read. */
export interface Access {
  readonly paths: readonly AccessPath[];
  /** Conditions of the query that the paths do not check. The statement must add them. */
  readonly rest: readonly SqlFragment[];
  readonly cost: number;
  /** True when the paths read only postings (pairs of term and row). {@link joined} adds the rows to them. */
  readonly isOfPostings: boolean;
  /** True when the paths reach every row of the extent. */
  readonly isOfExtent?: boolean;
}

/** Cost of looking up the row of a posting (pair of term and row), relative to reading the next row of an index. */
const lookUpCost = 2;

/** The cheapest access to all rows of a plan. */
export function cheapestAccess(plan: TypePlan, { names, uids }: ListQuery): Access {
  const { extent, conditions, only } = plan;
  const { t } = extent;
  const rest = conditions.fragments;
  const member = inExtent(extent, 'o');
  const members = member === undefined ? [] : [member];
  if (only !== undefined)
    return { paths: [byIds(JSON.stringify(only), t, ...members)], rest, cost: only.length, isOfPostings: false };
  const { best } = conditions;
  const bySlot: Access = isOfSingles(extent)
    ? accessToSingles(plan, extent.singles.rows)
    : {
        paths: conditions.scansNames && extent.isWhole ? [byNameScan(extent)] : byExtent(extent),
        rest,
        cost: extent.rows,
        isOfPostings: false,
        isOfExtent: true,
      };
  const listed = (column: 'name' | 'uid', list: readonly string[] | undefined): readonly Access[] => {
    if (list === undefined) return [];
    const values = [...new Set(list)];
    return [{ paths: [byValues(extent, column, values)], rest, cost: values.length * lookUpCost, isOfPostings: false }];
  };
  const termed =
    best === undefined
      ? []
      : [
          {
            paths: [byTerms(extent, best.ids, best.postings)],
            rest: rest.filter(({ terms }) => terms !== best),
            cost: best.postings * lookUpCost,
            isOfPostings: true,
          },
        ];
  const all = [bySlot, ...listed('name', names), ...listed('uid', uids), ...termed];
  return all.reduce((one, other) => (other.cost < one.cost ? other : one));
}

/** The access to all rows of one incarnation, without objects granted by name. */
export function rowsOfIncarnation({ extent, conditions }: TypePlan, incarnation: number): Access {
  const { t, rows, incarnations, except, exceptJson, slots } = extent;
  const first = incarnation * slotsPerIncarnation;
  const rest = conditions.fragments;
  if (!incarnations.includes(incarnation)) {
    const here = slots.filter((slot) => incarnationOf(slot) === incarnation);
    const text = 'json_each(?) j CROSS JOIN obj o INDEXED BY obj_key ON o.t = ? AND o.place = j.value';
    return { paths: [accessPath({ text, values: [JSON.stringify(here), t] })], rest, cost: rows, isOfPostings: false };
  }
  const all = { text: 'o.t = ? AND o.place >= ? AND o.place < ?', values: [t, first, first + slotsPerIncarnation] };
  const not = { text: 'o.place NOT IN (SELECT value FROM json_each(?))', values: [exceptJson] };
  const from = { text: 'obj o INDEXED BY obj_key', values: [] };
  return { paths: [accessPath(from, all, ...(except.size === 0 ? [] : [not]))], rest, cost: rows, isOfPostings: false };
}

/**
 * The access to the rows of one incarnation that have one of the terms `best` (labels or indexed values that a
 * condition requires), without objects granted by name.
 */
export function termsInIncarnation(
  { extent, conditions }: TypePlan,
  best: TermSet<number>,
  incarnation: number,
): Access {
  const { incarnations, except, exceptJson, slots } = extent;
  const first = incarnation * slotsPerIncarnation;
  const text =
    'json_each(?) j CROSS JOIN posting x ON x.term = j.value AND x.place >= ? AND x.place < ? CROSS JOIN obj o NOT INDEXED ON o.id = x.id';
  const where: SqlFragment[] = [];
  if (!incarnations.includes(incarnation)) {
    const here = slots.filter((slot) => incarnationOf(slot) === incarnation);
    where.push({ text: 'x.place IN (SELECT value FROM json_each(?))', values: [JSON.stringify(here)] });
  } else if (except.size > 0) {
    where.push({ text: 'x.place NOT IN (SELECT value FROM json_each(?))', values: [exceptJson] });
  }
  const values = [JSON.stringify(best.ids), first, first + slotsPerIncarnation];
  const rest = conditions.fragments.filter(({ terms }) => terms !== best);
  const path = { from: { text, values }, where, repeats: best.ids.length > 1 };
  return { paths: [path], rest, cost: best.postings, isOfPostings: false };
}

/** Whether the query may examine only objects granted by name, and no whole namespace or cluster. */
export function isOfSingles({ incarnations, slots }: Extent): boolean {
  return incarnations.length === 0 && slots.length === 0;
}

/** Up to this many required terms are looked up for each object. With more, the rows are read and compared. */
const mostTermsProbed = 8;

/** The access to some of the objects granted by name. Where possible, it finds only those that have a required term. */
export function accessToSingles({ extent, conditions }: TypePlan, rows: readonly SlotRow[]): Access {
  const { best, fragments } = conditions;
  const cost = rows.length;
  if (best === undefined || best.ids.length > mostTermsProbed) {
    const ids = rows === extent.singles.rows ? extent.singles.idsJson : JSON.stringify(rows.map(({ id }) => id));
    return { paths: [byIds(ids, extent.t)], rest: fragments, cost, isOfPostings: false };
  }
  const text = `json_each(?) j CROSS JOIN posting x
    ON x.term IN (${best.ids.map(() => '?').join(', ')}) AND x.place = j.value ->> 0 AND x.id = j.value ->> 1
    CROSS JOIN obj o NOT INDEXED ON o.id = x.id`;
  const from = { text, values: [JSON.stringify(rows.map(({ id, slot }) => [slot.number, id])), ...best.ids] };
  const paths = [{ from, where: [], repeats: best.ids.length > 1 }];
  return { paths, rest: fragments.filter(({ terms }) => terms !== best), cost, isOfPostings: false };
}

/** Returns the access paths; those that read postings only get the rows `o` of table `obj` joined to them. */
export function joined(access: Access): readonly AccessPath[] {
  if (!access.isOfPostings) return access.paths;
  return access.paths.map(({ from, where, repeats }) => ({
    from: { text: `${from.text} CROSS JOIN obj o NOT INDEXED ON o.id = x.id`, values: from.values },
    where,
    repeats,
  }));
}

function accessPath(from: SqlFragment, ...where: readonly SqlFragment[]): AccessPath {
  return { from, where, repeats: false };
}
