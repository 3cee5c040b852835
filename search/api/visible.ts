// What the answers ask of rights, and small questions to a scope. A scope names no cluster that the caller may not
// reach, so answers, warnings and errors are made only from a scope and what came with it.
import { grantAllows, grantDigest, isNothing } from '../rights/grants.ts';
import type { RowScope } from '../rights/scope.ts';
import type { Scopes } from '../rights/scopes.ts';
import type { TypeKey } from '../types.ts';

/** Who may see what. */
export type IndexRights = Pick<Scopes, 'scope' | 'scopeAt' | 'onChange'>;

/** Whether a row is in the scope; namespace '' for cluster-scoped ones. */
export function scopeAllows(
  { grants }: RowScope,
  row: { readonly incarnation: string; readonly type: TypeKey; readonly namespace: string; readonly name: string },
): boolean {
  const grant = grants.get(row.incarnation)?.get(row.type);
  return grant !== undefined && grantAllows(grant, row.namespace, row.name);
}

/** Whether anything of a type in an incarnation may be seen. */
export function scopeConcerns({ grants }: RowScope, incarnation: string, type: TypeKey): boolean {
  const grant = grants.get(incarnation)?.get(type);
  return grant !== undefined && !isNothing(grant);
}

/** The scope without what `isLeftOut` says of an incarnation and a type. */
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

/** The parts of two scopes in which they differ, to be compared row by row. */
export function differingScopes(one: RowScope, other: RowScope): readonly [RowScope, RowScope] {
  const isSame = (incarnation: string, type: TypeKey): boolean => {
    const mine = one.grants.get(incarnation)?.get(type);
    const theirs = other.grants.get(incarnation)?.get(type);
    return mine !== undefined && theirs !== undefined && grantDigest(mine) === grantDigest(theirs);
  };
  return [scopeWithout(one, isSame), scopeWithout(other, isSame)];
}
