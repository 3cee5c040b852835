// Sets of field paths, as in managedFields (`fieldsV1`; sigs.k8s.io/structured-merge-diff fieldpath). A set is a tree
// of path steps. A path is in the set only if `self` is true at its last node: `{"f:a":{"f:b":{}}}` contains the path
// a.b but not a.
import { canonical } from '../store/store.ts';
import type { JsonObject } from '../model/types.ts';

/**
 * A set of field paths as a tree. Keys of children are `f:name`, `k:{"name":"x"}` or `v:"x"`. Only the code that
 * creates a set may change it.
 */
export interface FieldSet {
  self: boolean;
  readonly children: Map<string, FieldSet>;
}

export function emptySet(): FieldSet {
  return { self: false, children: new Map() };
}

/** Whether the set contains no path. */
export function isEmpty(set: FieldSet): boolean {
  return !set.self && [...set.children.values()].every(isEmpty);
}

/** Returns the child for a path step, and adds it when it is missing. Only for code that creates a set. */
export function childOf(set: FieldSet, step: string): FieldSet {
  let child = set.children.get(step);
  if (child === undefined) set.children.set(step, (child = emptySet()));
  return child;
}

function combine(a: FieldSet, b: FieldSet, keep: (inA: boolean, inB: boolean) => boolean): FieldSet {
  const result: FieldSet = { self: keep(a.self, b.self), children: new Map() };
  for (const step of new Set([...a.children.keys(), ...b.children.keys()])) {
    const child = combine(a.children.get(step) ?? emptySet(), b.children.get(step) ?? emptySet(), keep);
    if (!isEmpty(child)) result.children.set(step, child);
  }
  return result;
}

export function union(a: FieldSet, b: FieldSet): FieldSet {
  return combine(a, b, (inA, inB) => inA || inB);
}

export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  return combine(a, b, (inA, inB) => inA && inB);
}

export function difference(a: FieldSet, b: FieldSet): FieldSet {
  return combine(a, b, (inA, inB) => inA && !inB);
}

export function isEqual(a: FieldSet, b: FieldSet): boolean {
  return isEmpty(difference(a, b)) && isEmpty(difference(b, a));
}

/** Parses `fieldsV1` of a managedFields entry into a set. */
export function decodeFields(fields: JsonObject): FieldSet {
  const set = emptySet();
  const entries = Object.entries(fields);
  for (const [step, value] of entries) {
    if (step === '.') set.self = true;
    else set.children.set(step, decodeChild(value as JsonObject));
  }
  return set;
}

function decodeChild(fields: JsonObject): FieldSet {
  const set = decodeFields(fields);
  if (set.children.size === 0) set.self = true;
  return set;
}

/** Returns the set as JSON for `fieldsV1` of a managedFields entry. */
export function encodeFields(set: FieldSet): JsonObject {
  const result: JsonObject = {};
  for (const [step, child] of [...set.children].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const encoded = encodeFields(child);
    result[step] = child.self && child.children.size > 0 ? { '.': {}, ...encoded } : encoded;
  }
  return result;
}

/** All paths of the set as text, such as `.spec.containers[name="c"].image`. */
export function pathTexts(set: FieldSet, prefix = ''): string[] {
  const own = set.self ? [prefix] : [];
  const below = [...set.children]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([step, child]) => pathTexts(child, prefix + stepText(step)));
  return [...own, ...below];
}

function stepText(step: string): string {
  const rest = step.slice(2);
  if (step.startsWith('f:')) return `.${rest}`;
  if (step.startsWith('v:')) return `[=${rest}]`;
  const keys = Object.entries(JSON.parse(rest) as JsonObject).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
  return `[${keys.join(',')}]`;
}

/** The path step of a list item, from the fields that identify it, such as `{"name":"c"}` of a container. */
export function keyStep(keys: JsonObject): string {
  return `k:${canonical(keys)}`;
}
