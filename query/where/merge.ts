// Joins comparisons of the same value into one set: `name = 'a' OR name = 'b'` becomes `name IN ('a', 'b')`. A set
// needs one look-up for each row, and stores have indexes for some sets.
import { amongTexts, type Predicate, type Reference } from '../predicate.ts';
import { printPath } from '../path.ts';

/**
 * The same expression with all texts that a value is compared with in one set, and with `or` in `or` and `and` in `and`
 * joined.
 */
export function mergeComparisons(predicate: Predicate): Predicate {
  if (predicate.kind !== 'and' && predicate.kind !== 'or') return predicate;
  const { kind } = predicate;
  const of = predicate.of.map(mergeComparisons).flatMap((one) => (one.kind === kind ? one.of : [one]));
  const merged: Predicate[] = [];
  const sets = new Map<string, { readonly at: number; readonly left: Reference; readonly texts: Set<string> }>();
  for (const one of of) {
    const set = setOf(one, kind === 'and');
    const known = set && sets.get(set.name);
    if (known !== undefined) {
      for (const text of set!.texts) known.texts.add(text);
      continue;
    }
    if (set !== undefined) sets.set(set.name, { at: merged.length, left: set.left, texts: new Set(set.texts) });
    merged.push(one);
  }
  for (const { at, left, texts } of sets.values())
    merged[at] = { kind: 'in', left, texts: [...texts], isNegated: kind === 'and' };
  return merged.length === 1 ? merged[0]! : { kind, of: merged };
}

interface NamedSet {
  readonly name: string;
  readonly left: Reference;
  readonly texts: readonly string[];
}

/** The set of texts that a condition allows or, with `isNegated`, forbids; undefined for other conditions. */
function setOf(predicate: Predicate, isNegated: boolean): NamedSet | undefined {
  if (predicate.kind !== 'in' && predicate.kind !== 'compare') return undefined;
  const { left } = predicate;
  const among = amongTexts(predicate);
  if (left.kind === 'literal' || left.type !== 'text' || among?.isNegated !== isNegated) return undefined;
  const name = left.kind === 'column' ? left.column : `object ${printPath(left.path)}`;
  return { name, left, texts: among.texts };
}
