// Lists, compares, merges and removes fields of objects, as the schemas of their kinds demand (structured-merge-diff
// typed). A list without x-kubernetes-list-type is atomic: one manager owns all of it, and it is replaced as a whole.
import { inOrder } from './patch-strategic.ts';
import { resolve, type Schema } from '../schema/spec.ts';
import { canonical } from '../store/store.ts';
import type { JsonObject } from '../model/types.ts';
import { childOf, emptySet, keyStep, type FieldSet } from './field-set.ts';

/** The OpenAPI schemas of all kinds, by name. */
export type Schemas = Readonly<Record<string, Schema>>;

/**
 * `scalar`: replaced as a whole, also atomic lists and maps. `map`: merged by field. `keyed`: a list that is merged by
 * the key fields of its items. `set`: a list that is merged by value.
 */
type Shape = 'scalar' | 'map' | 'keyed' | 'set';

/**
 * How server-side apply treats a value, according to its schema. Without a schema, maps are merged and lists are
 * atomic.
 */
function shapeOf(schemas: Schemas, schema: Schema | undefined, value: unknown): Shape {
  const plain = resolve(schemas, schema);
  const is = (name: 'x-kubernetes-list-type' | 'x-kubernetes-map-type'): string | undefined =>
    schema?.[name] ?? plain?.[name];
  if (Array.isArray(value)) {
    if (is('x-kubernetes-list-type') === 'map') return 'keyed';
    return is('x-kubernetes-list-type') === 'set' ? 'set' : 'scalar';
  }
  if (value === null || typeof value !== 'object') return 'scalar';
  return is('x-kubernetes-map-type') === 'atomic' ? 'scalar' : 'map';
}

function fieldSchema(schemas: Schemas, schema: Schema | undefined, key: string): Schema | undefined {
  const plain = resolve(schemas, schema);
  if (plain?.properties !== undefined && Object.hasOwn(plain.properties, key)) return plain.properties[key];
  return typeof plain?.additionalProperties === 'object' ? plain.additionalProperties : undefined;
}

function isNamed(schemas: Schemas, schema: Schema | undefined, key: string): boolean {
  return Object.hasOwn(resolve(schemas, schema)?.properties ?? {}, key);
}

function itemSchema(schemas: Schemas, schema: Schema | undefined): Schema | undefined {
  return schema?.items ?? resolve(schemas, schema)?.items;
}

/** A part of a map or list, with the path step that leads to it. */
interface Child {
  readonly step: string;
  readonly value: unknown;
  readonly schema: Schema | undefined;
}

/** The fields or items of a value that is merged, each with its path step. */
function childrenOf(schemas: Schemas, schema: Schema | undefined, value: unknown, shape: Shape): readonly Child[] {
  if (shape === 'map')
    return Object.entries(value as JsonObject).map(([key, item]) => ({
      step: `f:${key}`,
      value: item,
      schema: fieldSchema(schemas, schema, key),
    }));
  const items = value as readonly unknown[];
  const inner = itemSchema(schemas, schema);
  if (shape === 'set')
    return items.map((item) => ({ step: `v:${JSON.stringify(item)}`, value: item, schema: undefined }));
  return items.map((item) => ({ step: stepOf(schemas, schema, item), value: item, schema: inner }));
}

function stepOf(schemas: Schemas, schema: Schema | undefined, item: unknown): string {
  const names =
    schema?.['x-kubernetes-list-map-keys'] ?? resolve(schemas, schema)?.['x-kubernetes-list-map-keys'] ?? [];
  const inner = itemSchema(schemas, schema);
  const keys: JsonObject = {};
  for (const name of names) {
    const value: unknown = (item as JsonObject | null)?.[name] ?? fieldSchema(schemas, inner, name)?.default;
    if (value !== undefined) keys[name] = value;
  }
  return keyStep(keys);
}

function isBare(value: unknown): boolean {
  return value === null || (typeof value === 'object' && Object.keys(value).length === 0);
}

/** All fields of a value. A manager that applies the value owns them afterwards. */
export function fieldsOf(schemas: Schemas, schema: Schema | undefined, value: unknown): FieldSet {
  const set = emptySet();
  const shape = shapeOf(schemas, schema, value);
  if (shape === 'scalar') {
    set.self = true;
    return set;
  }
  for (const child of childrenOf(schemas, schema, value, shape)) {
    const inner = fieldsOf(schemas, child.schema, child.value);
    const isMember = shape !== 'map' || isBare(child.value) || !isNamed(schemas, schema, child.step.slice(2));
    set.children.set(child.step, { self: inner.self || isMember, children: inner.children });
  }
  return set;
}

/**
 * The fields in which two values differ: those only in the second value, those with another value, those only in the
 * first.
 */
export interface Comparison {
  readonly added: FieldSet;
  readonly modified: FieldSet;
  readonly removed: FieldSet;
}

/** Compares two values of the same schema. */
export function compare(schemas: Schemas, schema: Schema | undefined, before: unknown, after: unknown): Comparison {
  const result: Comparison = { added: emptySet(), modified: emptySet(), removed: emptySet() };
  walk(schemas, schema, before, after, result);
  return result;
}

/**
 * Whether a value is missing or null. Compared with a list or map, a missing or null value is treated as an empty list
 * or map.
 */
function isNothing(value: unknown): boolean {
  return value === undefined || value === null;
}

function walk(schemas: Schemas, schema: Schema | undefined, before: unknown, after: unknown, at: Comparison): void {
  if (before === undefined) at.added.self = true;
  else if (after === undefined) at.removed.self = true;
  const shapes = [before, after].map((value) => (isNothing(value) ? undefined : shapeOf(schemas, schema, value)));
  const shape = shapes[0] ?? shapes[1] ?? 'scalar';
  const isMixed = shapes[0] !== undefined && shapes[1] !== undefined && shapes[0] !== shapes[1];
  if (isMixed || shape === 'scalar') {
    if (before !== undefined && after !== undefined && canonical(before) !== canonical(after)) at.modified.self = true;
    return;
  }
  const sides = [before, after].map(
    (value) =>
      new Map((isNothing(value) ? [] : childrenOf(schemas, schema, value, shape)).map((child) => [child.step, child])),
  );
  for (const step of new Set(sides.flatMap((side) => [...side.keys()]))) {
    const [left, right] = [sides[0]?.get(step), sides[1]?.get(step)];
    const below: Comparison = {
      added: childOf(at.added, step),
      modified: childOf(at.modified, step),
      removed: childOf(at.removed, step),
    };
    walk(schemas, (left ?? right)?.schema, left?.value, right?.value, below);
  }
}

/** Merges `config` into `live`, as server-side apply does. */
export function merge(schemas: Schemas, schema: Schema | undefined, live: unknown, config: unknown): unknown {
  const shape = shapeOf(schemas, schema, config);
  if (shape === 'scalar' || live === undefined || live === null || shapeOf(schemas, schema, live) !== shape)
    return config;
  if (shape === 'map') {
    const result: JsonObject = { ...(live as JsonObject) };
    for (const [key, value] of Object.entries(config as JsonObject)) {
      const merged = merge(schemas, fieldSchema(schemas, schema, key), result[key], value);
      Object.defineProperty(result, key, { value: merged, enumerable: true, configurable: true, writable: true });
    }
    return result;
  }
  const old = childrenOf(schemas, schema, live, shape);
  const fresh = childrenOf(schemas, schema, config, shape);
  const oldByStep = new Map(old.map((child) => [child.step, child.value]));
  const steps = [...new Set([...old, ...fresh].map((child) => child.step))];
  const freshByStep = new Map(fresh.map((child) => [child.step, child]));
  const ordered = inOrder(steps, [...oldByStep.keys()], [...freshByStep.keys()], undefined) as string[];
  return ordered.map((step) => {
    const child = freshByStep.get(step);
    return child === undefined ? oldByStep.get(step) : merge(schemas, child.schema, oldByStep.get(step), child.value);
  });
}

/** The value without the fields in the set. */
export function remove(schemas: Schemas, schema: Schema | undefined, value: unknown, set: FieldSet): unknown {
  const shape = shapeOf(schemas, schema, value);
  if (shape === 'scalar' || set.children.size === 0) return value;
  const kept = childrenOf(schemas, schema, value, shape).filter(({ step }) => set.children.get(step)?.self !== true);
  const rest = kept.map((child) => {
    const below = set.children.get(child.step);
    const item = below === undefined ? child.value : remove(schemas, child.schema, child.value, below);
    return [child.step, item] as const;
  });
  return shape === 'map'
    ? Object.fromEntries(rest.map(([step, item]) => [step.slice(2), item]))
    : rest.map(([, item]) => item);
}

/** Adds to the set every field of a schema that contains a member of the set (EnsureNamedFieldsAreMembers). */
export function withParents(schemas: Schemas, schema: Schema | undefined, set: FieldSet): FieldSet {
  const children = new Map<string, FieldSet>();
  for (const [step, child] of set.children) {
    const isField = step.startsWith('f:');
    const inner = isField ? fieldSchema(schemas, schema, step.slice(2)) : itemSchema(schemas, schema);
    const below = withParents(schemas, inner, child);
    children.set(step, {
      self: below.self || (isField && isNamed(schemas, schema, step.slice(2))),
      children: below.children,
    });
  }
  return { self: set.self, children };
}
