// Functions about a RowScope, which says what one caller may see of each cluster and type. It contains no cluster that
// the caller may not reach, so it is safe to make answers, warnings and errors from it.
import { grantAllows, grantDigest, isNothing } from '../../query/scope/grants.ts';
import type { RowScope } from '../../query/scope/scope.ts';
import type { OpenScopes } from '../../rights/scopes.ts';
import type { TypeKey } from '../../query/types.ts';

/** Functions that say which rows of the index a user may see, and what the user may know of each cluster's RBAC. */
export type IndexRights = Pick<OpenScopes, 'scope' | 'scopeAt' | 'onChange' | 'current' | 'access'>;

/** Whether a caller with this scope may see a row. The namespace of a cluster-scoped object is ''. */
export function scopeAllows(
  { grants }: RowScope,
  row: { readonly incarnation: string; readonly type: TypeKey; readonly namespace: string; readonly name: string },
): boolean {
  const grant = grants.get(row.incarnation)?.get(row.type);
  return grant !== undefined && grantAllows(grant, row.namespace, row.name);
}

/**
 * Whether a caller with this scope may see any row of a type in one cluster. The cluster is given by its incarnation
 * id.
 */
export function scopeConcerns({ grants }: RowScope, incarnation: string, type: TypeKey): boolean {
  const grant = grants.get(incarnation)?.get(type);
  return grant !== undefined && !isNothing(grant);
}

/** Returns the scope without the rows of those clusters and types for which `isLeftOut` returns true. */
export function scopeWithout(
  { grants, digest }: RowScope,
  isLeftOut: (incarnation: string, type: TypeKey) => boolean,
): RowScope {
  const leftOut: string[] = [];
  for (const [incarnation, types] of grants) {
    for (const type of types.keys()) if (isLeftOut(incarnation, type)) leftOut.push(`${incarnation} ${type}`);
  }
  if (leftOut.length === 0) return { grants, digest };
  const without = new Set(leftOut);
  const kept = new Map(
    [...grants].map(([incarnation, types]) => [
      incarnation,
      new Map([...types].filter(([type]) => !without.has(`${incarnation} ${type}`))),
    ]),
  );
  return { grants: kept, digest: `${digest} without ${leftOut.toSorted().join()}` };
}

/** Returns both scopes, reduced to those clusters and types for which they differ. */
export function differingScopes(one: RowScope, other: RowScope): readonly [RowScope, RowScope] {
  const isSame = (incarnation: string, type: TypeKey): boolean => {
    const mine = one.grants.get(incarnation)?.get(type);
    const theirs = other.grants.get(incarnation)?.get(type);
    return mine !== undefined && theirs !== undefined && grantDigest(mine) === grantDigest(theirs);
  };
  return [scopeWithout(one, isSame), scopeWithout(other, isSame)];
}
