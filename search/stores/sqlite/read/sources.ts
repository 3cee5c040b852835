// The ways to the rows of one type that a query can be about, each with the index it takes. Easy to get wrong: the ways
// of one plan never overlap, so that a row is neither listed nor counted twice, and a way that cannot be narrowed by an
// index says so by its cost.
import type { ListQuery } from '../../../query/list-query.ts';
import { incarnationOf } from '../catalog.ts';
import { placesPerIncarnation } from '../schema.ts';
import type { Extent } from './extents.ts';
import type { KeyRow } from './order.ts';
import type { TypePlan } from '../session.ts';
import type { Piece } from '../sql.ts';
import type { TermSet } from './term-sets.ts';

/**
 * `FROM` and conditions of a statement over `o` (the row) or, where nothing of the row is needed, over `x` (a posting).
 */
export interface Way {
  readonly from: Piece;
  readonly where: readonly Piece[];
  /** Whether a row may come several times, once for each of its terms. */
  readonly repeats: boolean;
}

const shift = Math.log2(placesPerIncarnation);

/** Membership in the extent of a row or posting named by `alias`; undefined when everything is in it. */
export function inExtent(extent: Extent, alias: 'o' | 'x'): Piece | undefined {
  if (extent.isWhole) return undefined;
  const { ids, singles } = extent;
  const any = placesPieces(extent, alias);
  if (ids.length > 0) any.push({ text: `${alias}.id IN (SELECT value FROM json_each(?))`, values: [singles.idsJson] });
  return anyOf(any);
}

/** The same without single objects: of a counter's place, or of a posting's. */
export function inPlaces(extent: Extent, alias: 'x'): Piece | undefined {
  return extent.isWhole ? undefined : anyOf(placesPieces(extent, alias));
}

function anyOf(any: readonly Piece[]): Piece {
  if (any.length === 0) return { text: '0', values: [] };
  return { text: `(${any.map(({ text }) => text).join(' OR ')})`, values: any.flatMap(({ values }) => values) };
}

/** A place is not looked up in an index by them: a list of thousands were read once for each term. */
function placesPieces(extent: Extent, alias: 'o' | 'x'): Piece[] {
  const { incarnations, incarnationsJson, except, exceptJson, places, placesJson } = extent;
  const any: Piece[] = [];
  if (incarnations.length > 0) {
    const text = `(${alias}.place >> ${shift}) IN (SELECT value FROM json_each(?))`;
    const values = [incarnationsJson];
    const not = `${alias}.place NOT IN (SELECT value FROM json_each(?))`;
    if (except.size === 0) any.push({ text, values });
    else any.push({ text: `(${text} AND ${not})`, values: [...values, exceptJson] });
  }
  if (places.length > 0) {
    any.push({ text: `+${alias}.place IN (SELECT value FROM json_each(?))`, values: [placesJson] });
  }
  return any;
}

/** All rows of the extent, by places. */
export function byExtent(extent: Extent): readonly Way[] {
  const { t, incarnations, incarnationsJson, except, exceptJson, places, placesJson, ids } = extent;
  const ways: Way[] = [];
  if (extent.isWhole) {
    return [way({ text: 'obj o INDEXED BY obj_key', values: [] }, { text: 'o.t = ?', values: [t] })];
  }
  if (incarnations.length > 0) {
    const text = `json_each(?) j CROSS JOIN obj o INDEXED BY obj_key
      ON o.t = ? AND o.place >= (j.value << ${shift}) AND o.place < ((j.value + 1) << ${shift})`;
    const not = { text: 'o.place NOT IN (SELECT value FROM json_each(?))', values: [exceptJson] };
    ways.push(way({ text, values: [incarnationsJson, t] }, ...(except.size === 0 ? [] : [not])));
  }
  if (places.length > 0) {
    const text = 'json_each(?) j CROSS JOIN obj o INDEXED BY obj_key ON o.t = ? AND o.place = j.value';
    ways.push(way({ text, values: [placesJson, t] }));
  }
  if (ids.length > 0) ways.push(byIds(extent.singles.idsJson, t));
  return ways;
}

export function byIds(idsJson: string, t: number, ...where: readonly Piece[]): Way {
  const text = 'json_each(?) j CROSS JOIN obj o NOT INDEXED ON o.id = j.value';
  return way({ text, values: [idsJson] }, { text: 'o.t = ?', values: [t] }, ...where);
}

/** By whole values of a column: names or uids. */
function byValues(extent: Extent, column: 'name' | 'uid', values: readonly string[]): Way {
  const on = { name: 'obj_name ON o.t = ? AND o.name = j.value', uid: 'obj_uid ON o.t = ? AND o.uid = j.value' };
  const text = `json_each(?) j CROSS JOIN obj o INDEXED BY ${on[column]}`;
  const member = inExtent(extent, 'o');
  return way({ text, values: [JSON.stringify(values), extent.t] }, ...(member === undefined ? [] : [member]));
}

/** Every name of the type, read from the index alone. */
function byNameScan(extent: Extent): Way {
  const member = inExtent(extent, 'o');
  return way(
    { text: 'obj o INDEXED BY obj_name', values: [] },
    { text: 'o.t = ?', values: [extent.t] },
    ...(member === undefined ? [] : [member]),
  );
}

function byTerms(extent: Extent, ids: readonly number[], postings: number): Way {
  const member = inExtent(extent, 'x');
  const probes = extent.places.length * ids.length;
  const isProbed = extent.incarnations.length === 0 && extent.ids.length === 0 && probes * 4 < postings;
  const text = isProbed
    ? `json_each(?) j CROSS JOIN json_each(?) p CROSS JOIN posting x ON x.term = j.value AND x.place = p.value`
    : 'json_each(?) j CROSS JOIN posting x ON x.term = j.value';
  const values = [JSON.stringify(ids), ...(isProbed ? [extent.placesJson] : [])];
  const where = isProbed || member === undefined ? [] : [member];
  return { from: { text, values }, where, repeats: ids.length > 1 };
}

/** A set of ways with what they cost: rows or postings they look at. */
export interface Access {
  readonly ways: readonly Way[];
  /** Conditions the ways do not see to by themselves. */
  readonly rest: readonly Piece[];
  readonly cost: number;
  /** The ways are over postings; `joined` gives them the row. */
  readonly isOfPostings: boolean;
  /** The ways are to every row of the extent. */
  readonly isOfExtent?: boolean;
}

/** Looking up a posting's row, against reading the next row of an index. */
const lookUpCost = 2;

/** The cheapest way to all rows of a plan. */
export function cheapestAccess(plan: TypePlan, { names, uids }: ListQuery): Access {
  const { extent, conditions, only } = plan;
  const { t } = extent;
  const rest = conditions.pieces;
  const member = inExtent(extent, 'o');
  const members = member === undefined ? [] : [member];
  if (only !== undefined)
    return { ways: [byIds(JSON.stringify(only), t, ...members)], rest, cost: only.length, isOfPostings: false };
  const { best } = conditions;
  const byPlace: Access = isOfSingles(extent)
    ? accessToSingles(plan, extent.singles.rows)
    : {
        ways: conditions.scansNames && extent.isWhole ? [byNameScan(extent)] : byExtent(extent),
        rest,
        cost: extent.rows,
        isOfPostings: false,
        isOfExtent: true,
      };
  const listed = (column: 'name' | 'uid', list: readonly string[] | undefined): readonly Access[] => {
    if (list === undefined) return [];
    const values = [...new Set(list)];
    return [{ ways: [byValues(extent, column, values)], rest, cost: values.length * lookUpCost, isOfPostings: false }];
  };
  const termed =
    best === undefined
      ? []
      : [
          {
            ways: [byTerms(extent, best.ids, best.postings)],
            rest: rest.filter(({ terms }) => terms !== best),
            cost: best.postings * lookUpCost,
            isOfPostings: true,
          },
        ];
  const all = [byPlace, ...listed('name', names), ...listed('uid', uids), ...termed];
  return all.reduce((one, other) => (other.cost < one.cost ? other : one));
}

/** All rows of one incarnation; single objects of the extent are not among them. */
export function rowsOfIncarnation({ extent, conditions }: TypePlan, incarnation: number): Access {
  const { t, rows, incarnations, except, exceptJson, places } = extent;
  const first = incarnation * placesPerIncarnation;
  const rest = conditions.pieces;
  if (!incarnations.includes(incarnation)) {
    const here = places.filter((place) => incarnationOf(place) === incarnation);
    const text = 'json_each(?) j CROSS JOIN obj o INDEXED BY obj_key ON o.t = ? AND o.place = j.value';
    return { ways: [way({ text, values: [JSON.stringify(here), t] })], rest, cost: rows, isOfPostings: false };
  }
  const all = { text: 'o.t = ? AND o.place >= ? AND o.place < ?', values: [t, first, first + placesPerIncarnation] };
  const not = { text: 'o.place NOT IN (SELECT value FROM json_each(?))', values: [exceptJson] };
  const from = { text: 'obj o INDEXED BY obj_key', values: [] };
  return { ways: [way(from, all, ...(except.size === 0 ? [] : [not]))], rest, cost: rows, isOfPostings: false };
}

/** By terms, of one incarnation; single objects of the extent are not among them. */
export function termsInIncarnation({ extent, conditions }: TypePlan, best: TermSet, incarnation: number): Access {
  const { incarnations, except, exceptJson, places } = extent;
  const first = incarnation * placesPerIncarnation;
  const text =
    'json_each(?) j CROSS JOIN posting x ON x.term = j.value AND x.place >= ? AND x.place < ? CROSS JOIN obj o NOT INDEXED ON o.id = x.id';
  const where: Piece[] = [];
  if (!incarnations.includes(incarnation)) {
    const here = places.filter((place) => incarnationOf(place) === incarnation);
    where.push({ text: 'x.place IN (SELECT value FROM json_each(?))', values: [JSON.stringify(here)] });
  } else if (except.size > 0) {
    where.push({ text: 'x.place NOT IN (SELECT value FROM json_each(?))', values: [exceptJson] });
  }
  const values = [JSON.stringify(best.ids), first, first + placesPerIncarnation];
  const rest = conditions.pieces.filter(({ terms }) => terms !== best);
  const way = { from: { text, values }, where, repeats: best.ids.length > 1 };
  return { ways: [way], rest, cost: best.postings, isOfPostings: false };
}

/** Whether an extent is nothing but single objects. */
export function isOfSingles({ incarnations, places }: Extent): boolean {
  return incarnations.length === 0 && places.length === 0;
}

/** More terms than this are not looked up for each object. */
const mostTermsProbed = 8;

/** Some of an extent's single objects: those without a wanted term are not looked at. */
export function accessToSingles({ extent, conditions }: TypePlan, rows: readonly KeyRow[]): Access {
  const { best, pieces } = conditions;
  const cost = rows.length;
  if (best === undefined || best.ids.length > mostTermsProbed) {
    const ids = rows === extent.singles.rows ? extent.singles.idsJson : JSON.stringify(rows.map(({ id }) => id));
    return { ways: [byIds(ids, extent.t)], rest: pieces, cost, isOfPostings: false };
  }
  const text = `json_each(?) j CROSS JOIN posting x
    ON x.term IN (${best.ids.map(() => '?').join(', ')}) AND x.place = j.value ->> 0 AND x.id = j.value ->> 1
    CROSS JOIN obj o NOT INDEXED ON o.id = x.id`;
  const from = { text, values: [JSON.stringify(rows.map(({ id, place }) => [place.number, id])), ...best.ids] };
  const ways = [{ from, where: [], repeats: best.ids.length > 1 }];
  return { ways, rest: pieces.filter(({ terms }) => terms !== best), cost, isOfPostings: false };
}

/** A way over postings, as one over their rows. */
export function joined(access: Access): readonly Way[] {
  if (!access.isOfPostings) return access.ways;
  return access.ways.map(({ from, where, repeats }) => ({
    from: { text: `${from.text} CROSS JOIN obj o NOT INDEXED ON o.id = x.id`, values: from.values },
    where,
    repeats,
  }));
}

function way(from: Piece, ...where: readonly Piece[]): Way {
  return { from, where, repeats: false };
}
