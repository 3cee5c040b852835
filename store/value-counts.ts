// Counting rows by the values of a label or a path, as far as it is the same in every store: where the values are kept,
// how they are read from bodies (the JSON of objects), and which of them an answer names.
import { documentPaths, readDocument } from '../query/document.ts';
import { parsePath, printPath } from '../query/path.ts';
import type { ResourceType } from '../query/types.ts';
import type { BodyBudget } from './body-budget.ts';
import { indexedPaths } from './indexed-paths.ts';
import type { FacetBy, FacetCount, NamedFacet } from './store.ts';
import { fieldPath, labelKey, labelPath } from './sql/term-paths.ts';
import { compareText } from '../lib/text/compare-text.ts';

/** Adds to the number of rows that have the value. */
export type AddCount = (value: string, n: number) => void;

/** The most frequent values come first; equally frequent ones are sorted by value. */
export function mostFrequent(counts: ReadonlyMap<string, number>, limit: number): readonly FacetCount[] {
  return [...counts]
    .map(([value, count]) => ({ value, count }))
    .sort((one, other) => other.count - one.count || compareText(one.value, other.value))
    .slice(0, limit);
}

/** The values that begin with the prefix, sorted. */
export function beginningWith(counts: ReadonlyMap<string, number>, prefix: string, limit: number): readonly string[] {
  return [...counts.keys()]
    .filter((value) => value.startsWith(prefix))
    .sort(compareText)
    .slice(0, limit);
}

/**
 * Where the values of a label or path are kept: as the terms of a path, or only in bodies when the path is not indexed
 * for all of the types.
 * @param form oldest form of the rows in the store, for `indexedPaths`
 */
export function valuesAt(
  by: Exclude<FacetBy, NamedFacet>,
  types: readonly ResourceType[],
  form?: number,
): { readonly term: string } | { readonly inBodies: string } {
  const path = 'path' in by ? parsePath(by.path, true) : undefined;
  const label = path === undefined ? (by as { label: string }).label : labelKey(path);
  if (label !== undefined) return { term: labelPath(label) };
  const printed = printPath(path!);
  const isIndexed = types.every((type) => indexedPaths(type, form).includes(printed));
  return isIndexed ? { term: fieldPath(printed) } : { inBodies: printed };
}

/**
 * Makes a function that counts the values of a path in one body.
 * @param budget is charged for each body; the function throws TooManyBodies when it is used up
 */
export function bodyCounter(path: string, budget: BodyBudget, add: AddCount): (raw: Uint8Array) => void {
  const paths = documentPaths([parsePath(path, true)]);
  budget.isFor([path]);
  return (raw) => {
    budget.read(raw.byteLength);
    const found = readDocument(raw, paths)[0]!;
    for (const value of new Set(found)) if (typeof value === 'string') add(value, 1);
  };
}

/** The value of a facet by cluster, namespace or both, for a row in this namespace of this cluster. */
export function placeValue(cluster: string, namespace: string, by: Exclude<NamedFacet, 'type'>): string {
  if (by === 'cluster/namespace') return `${cluster}/${namespace}`;
  return by === 'namespace' ? namespace : cluster;
}
