// The query for objects of certain types, from the conditions of a request.
import type { FieldRequirement, ListQuery } from '../list-query.ts';
import { liftKeyConditions } from '../lift-keys.ts';
import { nativeConditions } from '../native-fields.ts';
import type { ResourceType } from '../types.ts';
import { liftWhere } from '../where/lift.ts';

/** The conditions of a request that hold for objects of any type. */
export interface AskedConditions {
  /** The conditions that do not depend on the types, and the order. */
  readonly conditions: Omit<ListQuery, 'types' | 'fields' | 'anyOf'>;
  readonly fieldSelector: readonly FieldRequirement[];
  /** The conditions of each `filter`, of which at least one must match. */
  readonly filters: readonly (readonly FieldRequirement[])[];
}

/** The query of a request for objects of these types. */
export function queryOfTypes(
  { conditions, fieldSelector, filters }: AskedConditions,
  types: readonly ResourceType[],
): ListQuery {
  const native = nativeConditions(types, fieldSelector);
  const query = {
    ...conditions,
    types,
    fields: [...native.fields, ...filters.filter(isSingle).flat()],
    anyOf: [...native.anyOf, ...filters.filter((any) => !isSingle(any))],
  };
  return liftKeyConditions(liftWhere(query));
}

function isSingle(any: readonly FieldRequirement[]): boolean {
  return any.length === 1;
}
