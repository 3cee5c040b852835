// Which lifecycles depend on an object of the hub, whether it is there or not.
import { resourceKey } from '../../cache/hub/hub-paths.ts';
import type { ResourceType } from '../../controllers/objects.ts';
import type { Dependency } from '../policies/lifecycle-object.ts';

export interface Dependents {
  /** What the lifecycle depends on from now on. */
  set(lifecycle: string, dependencies: readonly Dependency[]): void;
  /** @param key `namespace/name`, or `name` */
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

/** Selectors of the type do not count. */
function objectKey({ group, version, resource }: ResourceType, key: string): string {
  return `${resourceKey({ group, version, resource })} ${key}`;
}
