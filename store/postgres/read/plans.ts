// Compiles a question in one transaction: for each of its types, which rows the user may see, and the conditions on
// them as SQL.
import type { ListQuery } from '../../../query/list-query.ts';
import { typeKey, type ResourceType, type TypeKey } from '../../../query/types.ts';
import { narrowNamespaces } from '../../narrow-namespaces.ts';
import { compileConditions, type Conditions } from './conditions.ts';
import {
  extentOf,
  memberFragment,
  partsOf,
  rowsById,
  type Extent,
  type Grants,
  type Part,
  type SingleRow,
} from './extents.ts';
import { ownedRows } from './owners.ts';
import type { Snapshot } from './snapshot.ts';
import { allHold, join, fragment, type SqlFragment } from './sql.ts';

/** A query and the grants of the user who asks. */
export interface Question {
  readonly query: ListQuery;
  readonly grants: Grants;
}

/** A query compiled for one type: which rows the user may see, and the conditions that rows must satisfy. */
export interface TypePlan {
  readonly type: TypeKey;
  readonly extent: Extent;
  readonly conditions: Conditions;
  /** For a query by owner: the owned objects. Only these rows can match. Undefined for other queries. */
  readonly only: readonly SingleRow[] | undefined;
}

/**
 * The plans of those types of the question that can have matching rows.
 * @throws GatewayError (rejects) with code BAD_REQUEST when the query has too many conditions
 */
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

/**
 * Whether all rows that the query may examine (the extent) match, as far as SQL can tell. A condition on bodies may
 * remain.
 */
export function isExtentOnly({ conditions, only }: TypePlan): boolean {
  return conditions.fragments.length === 0 && only === undefined;
}

/** SQL sources that together give all rows of a plan, each row once. Conditions that need bodies are not applied. */
export function rowParts(snapshot: Snapshot, { extent, conditions, only }: TypePlan): readonly Part[] {
  const parts: readonly Part[] =
    only === undefined
      ? partsOf(snapshot, extent)
      : [{ from: rowsById(snapshot, only), where: [fragment('o.t = ?', extent.t), memberFragment(extent)] }];
  return parts.map(({ from, where }) => ({ from, where: [...where, ...conditions.fragments] }));
}

/**
 * A statement for the rows of all sources, joined with UNION ALL.
 * @param and more conditions for each source
 */
export function selectRows(columns: string, parts: readonly Part[], and: readonly SqlFragment[] = []): SqlFragment {
  if (parts.length === 0) return fragment(`SELECT ${columns} FROM obj o WHERE false`);
  const selects = parts.map(({ from, where }): SqlFragment => {
    const all = allHold([...where, ...and]);
    return { text: `SELECT ${columns} FROM ${from.text} WHERE ${all.text}`, values: [...from.values, ...all.values] };
  });
  return join(selects, ' UNION ALL ');
}

/** A source of the plan's rows that reads all rows of the type, and tests for each whether it belongs to the plan. */
export function passedPart({ extent, conditions }: TypePlan): Part {
  return {
    from: fragment('obj o'),
    where: [fragment('o.t = ?', extent.t), memberFragment(extent), ...conditions.fragments],
  };
}
