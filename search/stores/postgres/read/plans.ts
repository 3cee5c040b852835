// What a question compiles to in one transaction: for each of its types the rows it may be about, and the conditions.
import type { ListQuery } from '../../../query/list-query.ts';
import { typeKey, type ResourceType, type TypeKey } from '../../../types.ts';
import { narrowNamespaces } from '../../narrow-namespaces.ts';
import { compileConditions, type Conditions } from './conditions.ts';
import {
  extentOf,
  memberPiece,
  partsOf,
  rowsById,
  type Extent,
  type Grants,
  type Part,
  type SingleRow,
} from './extents.ts';
import { ownedRows } from './owners.ts';
import type { Snapshot } from './snapshot.ts';
import { allHold, join, piece, type Piece } from './sql.ts';

/** A query and the grants of the user who asks. */
export interface Question {
  readonly query: ListQuery;
  readonly grants: Grants;
}

/** A query for one type. */
export interface TypePlan {
  readonly type: TypeKey;
  readonly extent: Extent;
  readonly conditions: Conditions;
  /** The only rows the question can be about: owned objects. */
  readonly only: readonly SingleRow[] | undefined;
}

/** Plans of the types that can have rows. @throws GatewayError (rejects) BAD_REQUEST for too many conditions */
export async function planTypes(snapshot: Snapshot, { query, grants }: Question): Promise<readonly TypePlan[]> {
  const narrowed = narrowNamespaces(query);
  const only = query.owner === undefined ? undefined : await ownedRows(snapshot, query.owner, grants);
  if (only?.length === 0) return [];
  const types = new Map<TypeKey, ResourceType>(query.types.map((type) => [typeKey(type), type]));
  const plans: TypePlan[] = [];
  for (const [key, type] of types) {
    const extent = await extentOf(snapshot, narrowed, key, grants);
    if (extent === undefined) continue;
    const conditions = await compileConditions({ snapshot, t: extent.t }, narrowed, type);
    if (!conditions.isNever) plans.push({ type: key, extent, conditions, only });
  }
  return plans;
}

/** Whether the plan has no condition but its extent and what is checked in bodies. */
export function isExtentOnly({ conditions, only }: TypePlan): boolean {
  return conditions.pieces.length === 0 && only === undefined;
}

/** Ways to all rows of a plan, but for what is checked in bodies. They do not overlap. */
export function rowParts(snapshot: Snapshot, { extent, conditions, only }: TypePlan): readonly Part[] {
  const parts: readonly Part[] =
    only === undefined
      ? partsOf(snapshot, extent)
      : [{ from: rowsById(snapshot, only), where: [piece('o.t = ?', extent.t), memberPiece(extent)] }];
  return parts.map(({ from, where }) => ({ from, where: [...where, ...conditions.pieces] }));
}

/** The rows of some parts, as a statement. */
export function selectRows(columns: string, parts: readonly Part[], and: readonly Piece[] = []): Piece {
  if (parts.length === 0) return piece(`SELECT ${columns} FROM obj o WHERE false`);
  const selects = parts.map(({ from, where }): Piece => {
    const all = allHold([...where, ...and]);
    return { text: `SELECT ${columns} FROM ${from.text} WHERE ${all.text}`, values: [...from.values, ...all.values] };
  });
  return join(selects, ' UNION ALL ');
}

/** All rows of the type, each asked whether it is one of the plan's. */
export function passedPart({ extent, conditions }: TypePlan): Part {
  return { from: piece('obj o'), where: [piece('o.t = ?', extent.t), memberPiece(extent), ...conditions.pieces] };
}
