// Puts back, into a manifest without its ignored fields, those of them that the gateway's field manager still owns in
// the object, with the values that they have there. Server-side apply removes a field that its manager owns alone and
// leaves out, so leaving it out would not leave it alone.
import { isDeepStrictEqual } from 'node:util';
import { parseExact } from '../../lib/json/exact-json.ts';
import { fieldOf, isJsonObject, listAt, objectAt, type JsonObject } from '../../lib/objects/json-object.ts';

/** The fields that this field manager owns by server-side apply, in the form of `fieldsV1`. */
export function appliedFields(live: JsonObject, fieldManager: string): JsonObject {
  const entries = listAt(live, 'metadata', 'managedFields').filter(isJsonObject);
  const own = entries.find(
    ({ manager, operation, subresource }) =>
      manager === fieldManager && operation === 'Apply' && (subresource ?? '') === '',
  );
  return own === undefined ? {} : objectAt(own, 'fieldsV1');
}

/**
 * Returns `fewer`, with the fields that only `manifest` has taken from `live`, as far as they are in `owned`; the same
 * JavaScript object when nothing was put back.
 */
export function withOwnedFields(manifest: unknown, fewer: unknown, live: unknown, owned: JsonObject): unknown {
  if (isDeepStrictEqual(manifest, fewer)) return fewer;
  if (Array.isArray(manifest) && Array.isArray(fewer) && Array.isArray(live))
    return withOwnedItems(manifest, fewer, live, owned);
  if (!isJsonObject(manifest) || !isJsonObject(fewer) || !isJsonObject(live)) return fewer;
  let made = fewer;
  for (const [key, given] of Object.entries(manifest)) {
    const fields = fieldOf(owned, `f:${key}`);
    const value = fieldOf(live, key);
    if (!isJsonObject(fields) || value === undefined) continue;
    const kept = Object.hasOwn(fewer, key)
      ? withOwnedFields(given, fewer[key], value, fields)
      : ownedPart(value, fields);
    if (kept !== fewer[key]) made = { ...made, [key]: kept };
  }
  return made;
}

/** The same for the items of a list that have keys. Other lists have one owner as a whole, and stay as they are. */
function withOwnedItems(
  manifest: readonly unknown[],
  fewer: readonly unknown[],
  live: readonly unknown[],
  owned: JsonObject,
): readonly unknown[] {
  const keyed = keyedIn(owned);
  const [given, left, there] = [manifest, fewer, live].map((items) => finderOf(items, keyed)) as [Find, Find, Find];
  const changed = new Map<unknown, unknown>();
  const added: unknown[] = [];
  for (const { key, fields } of keyed) {
    const [wanted, value, item] = [given(key), there(key), left(key)];
    if (wanted === undefined || value === undefined) continue;
    if (item === undefined) added.push(ownedPart(value, fields));
    else {
      const kept = withOwnedFields(wanted, item, value, fields);
      if (kept !== item) changed.set(item, kept);
    }
  }
  if (changed.size === 0 && added.length === 0) return fewer;
  return [...fewer.map((item) => changed.get(item) ?? item), ...added];
}

/** The part of a value that is in `owned`; the whole value when `owned` does not name parts of it. */
function ownedPart(value: unknown, owned: JsonObject): unknown {
  const parts = Object.entries(owned).filter(([path]) => path !== '.');
  if (parts.length === 0) return value;
  if (Array.isArray(value)) {
    const keyed = keyedIn(owned);
    const find = finderOf(value, keyed);
    const items = keyed.flatMap(({ key, fields }) => {
      const item = find(key);
      return item === undefined ? [] : [ownedPart(item, fields)];
    });
    return [
      ...items,
      ...value.filter((item) => !isJsonObject(item) && Object.hasOwn(owned, `v:${JSON.stringify(item)}`)),
    ];
  }
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    parts.flatMap(([path, fields]) => {
      const key = path.slice('f:'.length);
      return Object.hasOwn(value, key) ? [[key, ownedPart(value[key], isJsonObject(fields) ? fields : {})]] : [];
    }),
  );
}

interface KeyedFields {
  /** The fields by which `k:{"name":"x"}` names an item of a list. */
  readonly key: JsonObject;
  /** The owned fields of that item. */
  readonly fields: JsonObject;
}

/** The items of a list in `owned`. The keys of all items of a list have the same fields; others are passed over. */
function keyedIn(owned: JsonObject): readonly KeyedFields[] {
  const all = Object.entries(owned).flatMap(([path, fields]) => {
    const key = path.startsWith('k:') ? objectIn(path.slice('k:'.length)) : undefined;
    return key === undefined || !isJsonObject(fields) ? [] : [{ key, fields }];
  });
  const namesOf = ({ key }: KeyedFields): string => JSON.stringify(Object.keys(key));
  const [first] = all;
  return first === undefined ? [] : all.filter((each) => namesOf(each) === namesOf(first));
}

function objectIn(text: string): JsonObject | undefined {
  try {
    const parsed = parseExact(text);
    return isJsonObject(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

type Find = (key: JsonObject) => JsonObject | undefined;

/**
 * Finds items of a list by their keys. A manifest may leave out a field of the key that has a default, such as
 * `protocol` of a port: then an item counts that has the other fields, unless one has them all. Lists may be long, so
 * each item is looked at once.
 */
function finderOf(items: readonly unknown[], [first]: readonly KeyedFields[]): Find {
  const names = Object.keys(first?.key ?? {});
  const textOf = (object: JsonObject, some: readonly string[]): string =>
    JSON.stringify(some.map((name) => object[name]));
  const groups = new Map<string, { readonly names: readonly string[]; readonly items: Map<string, JsonObject> }>();
  for (const item of items.filter(isJsonObject)) {
    const present = names.filter((name) => item[name] !== undefined);
    if (present.length === 0) continue;
    const id = present.join();
    const group = groups.get(id) ?? { names: present, items: new Map<string, JsonObject>() };
    groups.set(id, group);
    const text = textOf(item, present);
    if (!group.items.has(text)) group.items.set(text, item);
  }
  const byLength = [...groups.values()].toSorted((one, other) => other.names.length - one.names.length);
  return (key) => {
    for (const group of byLength) {
      const found = group.items.get(textOf(key, group.names));
      if (found !== undefined) return found;
    }
    return undefined;
  };
}
