// Finds which clusters each of Karmada's ResourceRegistries selects, and which of its resources are in the index. The
// status of the ResourceRegistry shows this.
import type { ClusterStore } from '../../model/store.ts';
import type { RegisteredResource } from '../../cache/sources/objects/karmada-registries.ts';
import type { IndexedRegistries } from '../../import/registries/registry-status.ts';
import type { ClusterState } from '../../sync/member/sync-types.ts';
import type { GatewayIndex } from '../parts/gateway-index.ts';

/** Makes the functions that read the clusters and resources of ResourceRegistries from this gateway. */
export function indexedRegistries(store: ClusterStore, index: GatewayIndex): IndexedRegistries {
  return {
    clusters(registry, resources) {
      const states = new Map(index.state()?.map((state) => [state.uid, state]));
      return store
        .list()
        .filter(({ spec }) => spec.indexing?.registries?.includes(registry) === true)
        .map(({ spec }) => ({ name: spec.name, missing: missingOf(states.get(spec.uid), resources) }));
    },
    onChange(listener) {
      const ends = [store.subscribe(() => listener()), index.onChange(listener)];
      return () => {
        for (const end of ends) end();
      };
    },
  };
}

function missingOf(state: ClusterState | undefined, resources: readonly RegisteredResource[]): readonly string[] {
  if (state === undefined) return ['not indexed yet'];
  if (state.types.length === 0) return [state.fault?.message ?? 'not indexed yet'];
  const kinds = new Map(resources.map((resource) => [`${resource.kind}.${resource.group}`.toLowerCase(), resource]));
  return [...kinds].flatMap(([key, { kind }]) => {
    const found = state.types.find(
      ({ type, isChosen }) => isChosen && `${type.kind}.${type.group}`.toLowerCase() === key,
    );
    const why = state.fault ?? found?.fault;
    if (found?.isWhole === true && why === undefined) return [];
    const text = why?.message ?? state.refused.find(({ resource }) => resource === key)?.message;
    return [
      `${kind} ${found?.isWhole === true ? 'as of before a fault' : 'not indexed yet'}${text === undefined ? '' : ` (${text})`}`,
    ];
  });
}
