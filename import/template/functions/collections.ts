// Functions for lists and maps (sprig's list.go and dict.go, and text/template's index and len). Values of other types
// cause an error, as in Go.
import type { Budget } from '../values/limits.ts';
import { TemplateError } from '../values/template-error.ts';
import {
  byBytes,
  isList,
  isMap,
  isTrue,
  printed,
  sortedKeys,
  typeName,
  type GoMap,
  type Value,
} from '../values/values.ts';
import { fixed, nilMap, variadic, type Functions } from './callable.ts';
import { toInt } from './numbers.ts';

function listOf(value: Value, budget: Budget): readonly Value[] {
  if (!isList(value)) throw new TemplateError(`a list is wanted, not a ${typeName(value)}`);
  budget.step(value.length);
  return value;
}

/**
 * Charges the budget for all entries of a map, because the caller looks at each of them, even when few are in its
 * result. Returns the map.
 */
function walked(map: GoMap, budget: Budget): GoMap {
  budget.step(map.size);
  return map;
}

/** Whether two values are equal in depth (reflect.DeepEqual). */
function isSame(one: Value, other: Value, budget: Budget): boolean {
  budget.step();
  if (isList(one) && isList(other))
    return one.length === other.length && one.every((item, i) => isSame(item, other[i], budget));
  if (isMap(one) && isMap(other))
    return (
      one.size === other.size && [...one].every(([key, item]) => other.has(key) && isSame(item, other.get(key), budget))
    );
  return (one ?? null) === (other ?? null);
}

function indexed(start: Value, indices: readonly Value[]): Value {
  if (start === null || start === undefined) throw new TemplateError('index of untyped nil');
  let item: Value = start;
  for (const index of indices) {
    if (item === null || item === undefined) throw new TemplateError('index of nil pointer');
    if (isMap(item)) {
      if (typeof index !== 'string') throw new TemplateError(`value has type ${typeName(index)}; should be string`);
      item = item.get(index) ?? null;
    } else if (isList(item) || typeof item === 'string') {
      if (typeof index !== 'bigint') throw new TemplateError(`cannot index slice/array with type ${typeName(index)}`);
      const at = Number(index);
      if (at < 0 || at >= item.length) throw new TemplateError('index out of range');
      item = typeof item === 'string' ? BigInt(item.codePointAt(at)!) : (item[at] ?? null);
    } else throw new TemplateError(`can't index item of type ${typeName(item)}`);
  }
  return item;
}

function lengthOf(value: Value): bigint {
  if (typeof value === 'string' || isList(value)) return BigInt(value.length);
  if (isMap(value)) return BigInt(value.size);
  throw new TemplateError(`len of type ${typeName(value)}`);
}

function sliced(list: readonly Value[], indices: readonly Value[]): Value {
  if (list.length === 0) return null;
  const start = indices.length > 0 ? Number(toInt(indices[0])) : 0;
  const end = indices.length > 1 ? Number(toInt(indices[1])) : list.length;
  if (start < 0 || end > list.length || start > end) throw new TemplateError('slice index out of bounds');
  return list.slice(start, end);
}

function unique(list: readonly Value[], budget: Budget): readonly Value[] {
  const found: Value[] = [];
  for (const item of list) {
    budget.step(found.length);
    if (!found.some((other) => isSame(item, other, budget))) found.push(item);
  }
  return found;
}

/** Merges two maps as mergo does: a value of `target` stays unless it is empty, and nested maps are merged too. */
function merged(target: GoMap, source: GoMap, budget: Budget): GoMap {
  const out = new Map(walked(target, budget));
  for (const [key, value] of source) {
    budget.step();
    const own = out.get(key);
    if (isMap(own) && isMap(value)) out.set(key, merged(own, value, budget));
    else if (!isTrue(own)) out.set(key, value);
  }
  return out;
}

/** Changes the map in place and returns it, as Go does in `{{ $_ := set $map "key" "value" }}`. */
function changed(map: GoMap, change: (map: Map<string, Value>) => void): GoMap {
  if (map === nilMap) throw new TemplateError('assignment to entry in nil map');
  change(map as Map<string, Value>);
  return map;
}

function keyOf(value: Value, budget: Budget): string {
  return typeof value === 'string' ? value : printed(value, budget);
}

function dictOf(args: readonly Value[], budget: Budget): GoMap {
  const map = new Map<string, Value>();
  for (let i = 0; i < args.length; i += 2) map.set(keyOf(args[i], budget), i + 1 < args.length ? args[i + 1]! : '');
  return map;
}

function dug(args: readonly Value[]): Value {
  if (args.length < 3) throw new TemplateError('dig needs at least three arguments');
  let at: Value = args.at(-1)!;
  const fallback = args.at(-2);
  const keys = args.slice(0, -2).map((key) => {
    if (typeof key !== 'string') throw new TemplateError(`dig: a key must be text, not a ${typeName(key)}`);
    return key;
  });
  for (const key of keys) {
    if (!isMap(at)) throw new TemplateError(`dig: a map is wanted, not a ${typeName(at)}`);
    if (!at.has(key)) return fallback;
    at = at.get(key);
  }
  return at;
}

/** The entries of a map whose keys are (`areWanted`), or are not, among `keys`. */
function chosen(map: GoMap, keys: readonly string[], areWanted: boolean, budget: Budget): GoMap {
  const named = new Set(keys);
  budget.step(keys.length);
  return new Map([...walked(map, budget)].filter(([key]) => named.has(key) === areWanted));
}

export const collections: Functions = {
  index: variadic(['any'], 'any', ([item], indices) => indexed(item, indices)),
  len: fixed(['any'], ([value]) => lengthOf(value)),
  list: variadic([], 'any', (_, items) => items),
  first: fixed(['any'], ([list], budget) => listOf(list, budget)[0] ?? null),
  last: fixed(['any'], ([list], budget) => listOf(list, budget).at(-1) ?? null),
  rest: fixed(['any'], ([list], budget) => listOf(list, budget).slice(1)),
  initial: fixed(['any'], ([list], budget) => listOf(list, budget).slice(0, -1)),
  append: fixed(['any', 'any'], ([list, item], budget) => [...listOf(list, budget), item]),
  prepend: fixed(['any', 'any'], ([list, item], budget) => [item, ...listOf(list, budget)]),
  concat: variadic([], 'any', (_, lists, budget) => lists.flatMap((list) => listOf(list, budget))),
  reverse: fixed(['any'], ([list], budget) => listOf(list, budget).toReversed()),
  uniq: fixed(['any'], ([list], budget) => unique(listOf(list, budget), budget)),
  compact: fixed(['any'], ([list], budget) => listOf(list, budget).filter(isTrue)),
  without: variadic(['any'], 'any', ([list], items, budget) =>
    listOf(list, budget).filter((item) => !items.some((other) => isSame(item, other, budget))),
  ),
  has: fixed(['any', 'any'], ([item, list], budget) =>
    list === null ? false : listOf(list, budget).some((other) => isSame(item, other, budget)),
  ),
  slice: variadic(['any'], 'any', ([list], indices, budget) => sliced(listOf(list, budget), indices)),
  dict: variadic([], 'any', (_, args, budget) => dictOf(args, budget)),
  get: fixed(['map', 'string'], ([map, key]) => (map.has(key) ? map.get(key) : '')),
  hasKey: fixed(['map', 'string'], ([map, key]) => map.has(key)),
  set: fixed(['map', 'string', 'any'], ([map, key, value]) => changed(map, (own) => own.set(key, value))),
  unset: fixed(['map', 'string'], ([map, key]) => (map.has(key) ? changed(map, (own) => own.delete(key)) : map)),
  keys: variadic([], 'map', (_, maps, budget) => maps.flatMap((map) => sortedKeys(walked(map, budget)))),
  values: fixed(['map'], ([map], budget) =>
    [...walked(map, budget)].sort(([one], [other]) => byBytes(one, other)).map(([, value]) => value),
  ),
  pluck: variadic(['string'], 'map', ([key], maps) => maps.filter((map) => map.has(key)).map((map) => map.get(key))),
  pick: variadic(['map'], 'string', ([map], keys, budget) => chosen(map, keys, true, budget)),
  omit: variadic(['map'], 'string', ([map], keys, budget) => chosen(map, keys, false, budget)),
  merge: variadic(['map'], 'map', ([target], sources, budget) => {
    const out = sources.reduce((all, source) => merged(all, source, budget), target);
    if (out.size === 0) return target;
    return changed(target, (own) => {
      for (const [key, value] of out) own.set(key, value);
    });
  }),
  dig: variadic([], 'any', (_, args) => dug(args)),
};
