// Strategic merge patch (apimachinery/pkg/util/strategicpatch). The merge keys of lists come from the schemas. A list
// without a merge strategy is replaced. The order of a merged list follows `$setElementOrder`; items that the patch
// does not name keep their position.
import { resolve, type Schema } from '../schema/spec.ts';
import { badRequest, unexplained } from '../model/status-error.ts';
import { canonical } from '../store/store.ts';
import { isObject, type JsonObject } from '../model/types.ts';

type Schemas = Readonly<Record<string, Schema>>;

const directive = '$patch';
const retainKeys = '$retainKeys';
const deletePrefix = '$deleteFromPrimitiveList/';
const orderPrefix = '$setElementOrder/';

/**
 * Returns the object after the patch. Neither argument is changed.
 * @throws StatusError 400 for an invalid patch, or 500 where kube-apiserver answers 500
 */
export function applyStrategicPatch(
  schemas: Schemas,
  schema: Schema | undefined,
  current: JsonObject,
  patch: JsonObject,
): JsonObject {
  return mergeMap(schemas, schema, current, patch) ?? {};
}

function isDirective(key: string): boolean {
  return key === directive || key === retainKeys || key.startsWith(deletePrefix) || key.startsWith(orderPrefix);
}

/** Merges a patch into one JSON object. Returns undefined when the patch deletes the object. */
function mergeMap(
  schemas: Schemas,
  schema: Schema | undefined,
  current: JsonObject,
  patch: JsonObject,
): JsonObject | undefined {
  const plain = resolve(schemas, schema);
  if (patch[directive] === 'replace') return withoutNulls({ ...patch, [directive]: undefined }) as JsonObject;
  if (patch[directive] === 'delete') return undefined;
  if (patch[directive] !== undefined && patch[directive] !== 'merge')
    throw badRequest(`unknown patch type found: ${patch[directive]}`);
  const result: JsonObject = { ...current };
  const kept: unknown = patch[retainKeys];
  if (Array.isArray(kept)) for (const key of Object.keys(result)) if (!kept.includes(key)) delete result[key];

  removePrimitives(result, patch);
  for (const [key, value] of Object.entries(patch)) {
    if (isDirective(key)) continue;
    const merged = value === null ? undefined : mergeField(schemas, plain, key, result[key], patch);
    if (merged === undefined) delete result[key];
    else Object.defineProperty(result, key, { value: merged, enumerable: true, configurable: true, writable: true });
  }
  orderLists(result, current, patch, plain);
  return result;
}

/** Removes from lists the values that `$deleteFromPrimitiveList/<field>` of the patch contains. */
function removePrimitives(result: JsonObject, patch: JsonObject): void {
  for (const [key, value] of Object.entries(patch)) {
    if (!key.startsWith(deletePrefix)) continue;
    const field = key.slice(deletePrefix.length);
    if (!Array.isArray(result[field]) || !Array.isArray(value)) continue;
    const gone = new Set(value.map((item) => canonical(item)));
    result[field] = result[field].filter((item: unknown) => !gone.has(canonical(item)));
  }
}

/** The new value of one field; undefined when the patch deletes it. */
function mergeField(
  schemas: Schemas,
  schema: Schema | undefined,
  key: string,
  before: unknown,
  patch: JsonObject,
): unknown {
  const value: unknown = patch[key];
  const field = fieldSchema(schema, key);
  const strategy = (field?.['x-kubernetes-patch-strategy'] ?? '').split(',');
  if (isObject(value))
    return mergeMap(schemas, field, isObject(before) && !strategy.includes('replace') ? before : {}, value);
  if (!Array.isArray(value) || !strategy.includes('merge')) return withoutNulls(value);
  return mergeList(
    schemas,
    resolve(schemas, field)?.items,
    field?.['x-kubernetes-patch-merge-key'],
    Array.isArray(before) ? before : [],
    value,
    patch[orderPrefix + key],
  );
}

/** Applies `$setElementOrder/<field>` to lists that the patch itself does not contain. */
function orderLists(result: JsonObject, current: JsonObject, patch: JsonObject, schema: Schema | undefined): void {
  for (const [key, order] of Object.entries(patch)) {
    if (!key.startsWith(orderPrefix) || !Array.isArray(order)) continue;
    const field = key.slice(orderPrefix.length);
    if (patch[field] !== undefined || !Array.isArray(result[field])) continue;
    const mergeKey = fieldSchema(schema, field)?.['x-kubernetes-patch-merge-key'];
    result[field] = inOrder(result[field], current[field] ?? [], order, mergeKey);
  }
}

function fieldSchema(schema: Schema | undefined, key: string): Schema | undefined {
  const own = schema?.properties;
  if (own !== undefined && Object.hasOwn(own, key)) return own[key];
  return typeof schema?.additionalProperties === 'object' ? schema.additionalProperties : undefined;
}

function mergeList(
  schemas: Schemas,
  itemSchema: Schema | undefined,
  mergeKey: string | undefined,
  current: readonly unknown[],
  patch: readonly unknown[],
  order: unknown,
): unknown[] {
  let result: unknown[];
  if (mergeKey === undefined) {
    const seen = new Set(current.map((item) => canonical(item)));
    result = [...current, ...patch.filter((item) => !seen.has(canonical(item)))];
  } else {
    const items = patch.map((item) => {
      if (!isObject(item)) throw badRequest('patch: expected a list of objects');
      return item;
    });
    const replaces = items.some((item) => item[directive] === 'replace' && item[mergeKey] === undefined);
    if (replaces) return items.filter((item) => item[directive] === undefined).map((item) => withoutNulls(item));
    result = [...current];
    for (const item of items) {
      const id: unknown = item[mergeKey];
      if (id === undefined) throw unexplained(`map: ${goMap(item)} does not contain declared merge key: ${mergeKey}`);
      const index = result.findIndex((entry) => isObject(entry) && entry[mergeKey] === id);
      if (item[directive] === 'delete') {
        result = result.filter((entry) => !isObject(entry) || entry[mergeKey] !== id);
        continue;
      }
      const start = index < 0 ? {} : (result[index] as JsonObject);
      const merged = mergeMap(schemas, itemSchema, start, item);
      if (index < 0) result.push(merged);
      else result[index] = merged;
    }
  }
  return Array.isArray(order) ? inOrder(result, current, order, mergeKey) : result;
}

/**
 * Sorts the items as `order` says. An item that is not in `order` goes before the next item of `order` if it was before
 * that item in the list `before`.
 */
export function inOrder(
  items: readonly unknown[],
  before: readonly unknown[],
  order: readonly unknown[],
  mergeKey: string | undefined,
): unknown[] {
  const idOf = (item: unknown): string => canonical(mergeKey !== undefined && isObject(item) ? item[mergeKey] : item);
  const wanted = order.map(idOf);
  const old = before.map(idOf);
  const named = items
    .filter((item) => wanted.includes(idOf(item)))
    .sort((a, b) => wanted.indexOf(idOf(a)) - wanted.indexOf(idOf(b)));
  const others = items.filter((item) => !wanted.includes(idOf(item)));
  const result: unknown[] = [];
  while (named.length > 0 && others.length > 0) {
    const left = old.indexOf(idOf(others[0]));
    const right = old.indexOf(idOf(named[0]));
    result.push(left >= 0 && right >= 0 && left < right ? others.shift() : named.shift());
  }
  return [...result, ...others, ...named];
}

/**
 * A value of the patch that is not merged with an old value: the value without nulls and without directives such as
 * `$patch`.
 */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).filter(
    ([key, item]) => item !== null && item !== undefined && !isDirective(key),
  );
  return Object.fromEntries(entries.map(([key, item]) => [key, withoutNulls(item)]));
}

/** A value as Go prints it, such as `map[a:1 b:x]`. */
function goMap(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(goMap).join(' ')}]`;
  if (!isObject(value)) return String(value);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `map[${entries.map(([key, item]) => `${key}:${goMap(item)}`).join(' ')}]`;
}
