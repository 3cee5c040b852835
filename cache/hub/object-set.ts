// The objects a reflector holds, and what each list or event changes in them. A map that was handed out never changes
// afterwards, and an unchanged object stays the very same object, since sources remember results by object.
import type { HubObject, HubObjects } from './hub-types.ts';

/** One difference. `old` is the object before it was MODIFIED. */
export type ObjectChange =
  | { readonly type: 'ADDED'; readonly key: string; readonly object: HubObject }
  | { readonly type: 'MODIFIED'; readonly key: string; readonly object: HubObject; readonly old: HubObject }
  | { readonly type: 'DELETED'; readonly key: string; readonly object: HubObject };

/**
 * Objects by `namespace/name`, or `name`. Every method says what it changed; an object that was created anew is a
 * deletion and an addition.
 */
export interface ObjectSet {
  /** The objects now; the map never changes afterwards. */
  current(): HubObjects;
  /** The whole list. */
  swap(items: readonly HubObject[]): readonly ObjectChange[];
  put(object: HubObject): readonly ObjectChange[];
  remove(object: HubObject): readonly ObjectChange[];
}

/** `namespace/name`, or `name` of an object without namespace. */
export function keyOf({ metadata }: HubObject): string {
  return metadata.namespace === undefined ? metadata.name : `${metadata.namespace}/${metadata.name}`;
}

/**
 * Whether resourceVersion `a` is surely older than `b`, which tells a replayed event from a new one. Only decimal
 * versions can be compared (KEP-5504).
 */
export function isOlder(a: string, b: string): boolean {
  if (!/^[1-9]\d*$/.test(a) || !/^[1-9]\d*$/.test(b)) return false;
  return a.length === b.length ? a < b : a.length < b.length;
}

/** An empty set. */
export function makeObjectSet(): ObjectSet {
  let objects = new Map<string, HubObject>();
  let given = false;

  /** The map to change: a copy when the present one was handed out. */
  function own(): Map<string, HubObject> {
    if (given) objects = new Map(objects);
    given = false;
    return objects;
  }

  return {
    current() {
      given = true;
      return objects;
    },
    swap(items) {
      const before = objects;
      const after = new Map<string, HubObject>();
      const changes: ObjectChange[] = [];
      for (const item of items) {
        const key = keyOf(item);
        const old = before.get(key);
        after.set(key, old !== undefined && isSame(old, item) ? old : item);
        changes.push(...difference(key, old, item));
      }
      for (const [key, object] of before) if (!after.has(key)) changes.push({ type: 'DELETED', key, object });
      if (changes.length === 0) return changes;
      objects = after;
      given = false;
      return changes;
    },
    put(object) {
      const key = keyOf(object);
      const old = objects.get(key);
      // This covers former objects of the same name, too.
      const replayed = old !== undefined && isOlder(object.metadata.resourceVersion, old.metadata.resourceVersion);
      const changes = replayed ? [] : difference(key, old, object);
      if (changes.length > 0) own().set(key, object);
      return changes;
    },
    remove(object) {
      const key = keyOf(object);
      const old = objects.get(key);
      // A replayed deletion of a former object with this name.
      if (old === undefined || old.metadata.uid !== object.metadata.uid) return [];
      own().delete(key);
      return [{ type: 'DELETED', key, object: old }];
    },
  };
}

function isSame(a: HubObject, b: HubObject): boolean {
  return a.metadata.uid === b.metadata.uid && a.metadata.resourceVersion === b.metadata.resourceVersion;
}

function difference(key: string, old: HubObject | undefined, object: HubObject): readonly ObjectChange[] {
  if (old === undefined) return [{ type: 'ADDED', key, object }];
  if (isSame(old, object)) return [];
  if (old.metadata.uid === object.metadata.uid) return [{ type: 'MODIFIED', key, object, old }];
  return [
    { type: 'DELETED', key, object: old },
    { type: 'ADDED', key, object },
  ];
}
