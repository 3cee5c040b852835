// The objects that a reflector has received, and the differences that each list or event makes. A map that was returned
// once is never changed afterwards. An object that did not change stays the same instance, because sources cache
// results by object.
import type { ApiObject, ApiObjects } from '../types.ts';

/** One change of the set. `old` is the object before the change; the `object` of DELETED is the deleted one. */
export type ObjectChange =
  | { readonly type: 'ADDED'; readonly key: string; readonly object: ApiObject }
  | { readonly type: 'MODIFIED'; readonly key: string; readonly object: ApiObject; readonly old: ApiObject }
  | { readonly type: 'DELETED'; readonly key: string; readonly object: ApiObject };

/**
 * Objects by `namespace/name`, or by `name` when they have no namespace. Each method returns the changes it made. An
 * object whose UID changed was deleted and created again, so it counts as a DELETED and an ADDED.
 */
export interface ObjectSet {
  /** The present objects. The returned map never changes afterwards. */
  current(): ApiObjects;
  /** Makes the items the only objects of the set. Called after a complete list. */
  swap(items: readonly ApiObject[]): readonly ObjectChange[];
  /** Adds or replaces one object. Does nothing when the set has a newer version of it. */
  put(object: ApiObject): readonly ObjectChange[];
  /** Removes the object with this key if it has this UID. */
  remove(object: ApiObject): readonly ObjectChange[];
}

/** The key of an object in the set: `namespace/name`, or `name` when the object has no namespace. */
export function keyOf({ metadata }: ApiObject): string {
  return metadata.namespace === undefined ? metadata.name : `${metadata.namespace}/${metadata.name}`;
}

/**
 * Whether resourceVersion `a` is certainly older than `b`. Only decimal versions can be compared (KEP-5504); false when
 * one of the two is not decimal. A watch may deliver old events again, and their lower resourceVersion shows it.
 */
export function isOlder(a: string, b: string): boolean {
  if (!/^[1-9]\d*$/.test(a) || !/^[1-9]\d*$/.test(b)) return false;
  return a.length === b.length ? a < b : a.length < b.length;
}

export function makeObjectSet(): ObjectSet {
  let objects = new Map<string, ApiObject>();
  let given = false;

  /** Returns the map of objects for changing it: a copy when the present map was already returned to a caller. */
  function own(): Map<string, ApiObject> {
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
      const after = new Map<string, ApiObject>();
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
      // An event with a lower resourceVersion is old and was delivered again. It may even be about an earlier object of
      // the same name, which has been deleted since then.
      const replayed = old !== undefined && isOlder(object.metadata.resourceVersion, old.metadata.resourceVersion);
      const changes = replayed ? [] : difference(key, old, object);
      if (changes.length > 0) own().set(key, object);
      return changes;
    },
    remove(object) {
      const key = keyOf(object);
      const old = objects.get(key);
      // The deletion of an earlier object of the same name was delivered again. The present object has another UID and
      // stays.
      if (old === undefined || old.metadata.uid !== object.metadata.uid) return [];
      own().delete(key);
      return [{ type: 'DELETED', key, object: old }];
    },
  };
}

function isSame(a: ApiObject, b: ApiObject): boolean {
  return a.metadata.uid === b.metadata.uid && a.metadata.resourceVersion === b.metadata.resourceVersion;
}

function difference(key: string, old: ApiObject | undefined, object: ApiObject): readonly ObjectChange[] {
  if (old === undefined) return [{ type: 'ADDED', key, object }];
  if (isSame(old, object)) return [];
  if (old.metadata.uid === object.metadata.uid) return [{ type: 'MODIFIED', key, object, old }];
  return [
    { type: 'DELETED', key, object: old },
    { type: 'ADDED', key, object },
  ];
}
