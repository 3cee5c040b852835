// Remembers which PediaClusterLifecycles depend on which objects of the hub. An object that does not exist can be
// depended on too: its creation then causes the lifecycle to be reconciled.
import { resourceKey } from '../../kube/paths.ts';
import type { ResourceType } from '../../kube/objects/objects.ts';
import type { Dependency } from '../policies/lifecycle-object.ts';

export interface Dependents {
  /** Replaces the recorded dependencies of a PediaClusterLifecycle. */
  set(lifecycle: string, dependencies: readonly Dependency[]): void;
  /**
   * Returns the names of the PediaClusterLifecycles that depend on an object. @param key `namespace/name`, or `name`
   */
  of(type: ResourceType, key: string): Iterable<string>;
}

export function makeDependents(): Dependents {
  const byObject = new Map<string, Set<string>>();
  const byLifecycle = new Map<string, readonly string[]>();
  return {
    set(lifecycle, dependencies) {
      for (const key of byLifecycle.get(lifecycle) ?? []) {
        const users = byObject.get(key);
        users?.delete(lifecycle);
        if (users?.size === 0) byObject.delete(key);
      }
      const keys = dependencies.map(({ namespace, name, ...type }) =>
        objectKey(type, namespace === '' ? name : `${namespace}/${name}`),
      );
      if (keys.length === 0) byLifecycle.delete(lifecycle);
      else byLifecycle.set(lifecycle, keys);
      for (const key of keys) byObject.set(key, (byObject.get(key) ?? new Set()).add(lifecycle));
    },
    of: (type, key) => byObject.get(objectKey(type, key)) ?? [],
  };
}

/**
 * Key of an object in the maps above. A selector of the type is not part of the key, because the same object may be
 * watched with a selector and without.
 */
function objectKey({ group, version, resource }: ResourceType, key: string): string {
  return `${resourceKey({ group, version, resource })} ${key}`;
}
