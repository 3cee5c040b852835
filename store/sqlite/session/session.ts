// One read transaction, and a question compiled for it. Numbers of terms (labels and indexed values) are valid in one
// transaction only, so an answer that takes several transactions compiles its question again in each of them.
import type { ListQuery } from '../../../query/list-query.ts';
import { typeKey, type ResourceType, type TypeKey } from '../../../query/types.ts';
import { compileConditions, type Conditions } from './conditions.ts';
import { extentOf, type Extent, type Grants } from './extents.ts';
import { ownedIds } from './owners.ts';
import type { ReaderMemory } from './reader-memory.ts';
import type { Transaction } from '../tables/transaction.ts';
import { narrowNamespaces } from '../../narrow-namespaces.ts';

/** A query compiled for one type: which rows the user may see, and the conditions that rows must satisfy. */
export interface TypePlan {
  readonly type: TypeKey;
  readonly extent: Extent;
  readonly conditions: Conditions;
  /** For a query by owner: the ids of the owned objects. Only these rows can match. Undefined for other queries. */
  readonly only: readonly number[] | undefined;
}

/** A transaction of a reader, with what the reader keeps in memory between transactions. */
export interface Session extends Transaction {
  readonly memory: ReaderMemory;
}

/** A query and the grants of the user who asks. */
export interface Question {
  readonly query: ListQuery;
  readonly grants: Grants;
}

/** The plans of those types of the question that can have matching rows. */
export function planTypes(session: Session, { query, grants }: Question): readonly TypePlan[] {
  const { sql, catalog } = session;
  const narrowed = narrowNamespaces(query);
  const only = query.owner === undefined ? undefined : ownedIds(sql, catalog, query.owner, grants);
  if (only?.length === 0) return [];
  const types = new Map<TypeKey, ResourceType>(query.types.map((type) => [typeKey(type), type]));
  return [...types].flatMap(([key, type]): readonly TypePlan[] => {
    const extent = extentOf(session, narrowed, key, grants);
    if (extent === undefined) return [];
    const conditions = compileConditions(session, narrowed, extent.t, type);
    return conditions.isNever ? [] : [{ type: key, extent, conditions, only }];
  });
}

/**
 * Whether all rows that the query may examine (the extent) match, as far as SQL can tell. A condition on bodies may
 * remain.
 */
export function isExtentOnly({ conditions, only }: TypePlan): boolean {
  return conditions.fragments.length === 0 && only === undefined;
}
