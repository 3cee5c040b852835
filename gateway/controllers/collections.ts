// Finds which types of a CollectionResource, Clusterpedia's named list of types, are in the index. The status of the
// CollectionResource shows this.
import type { CollectionType, IndexedCollections } from '../../import/collections/collection-status.ts';
import type { AskedType } from '../../search/request/plan-question.ts';
import type { TypeState } from '../../sync/member/sync-types.ts';
import { definitionOf } from '../hub/hub-collections.ts';
import type { GatewayIndex } from '../parts/gateway-index.ts';

/** Makes the functions that say how far the index has read the types of collections. */
export function indexedCollections(index: GatewayIndex): IndexedCollections {
  return {
    types(object) {
      const { resourceTypes } = definitionOf(object);
      const chosen = index.state()?.flatMap(({ types }) => types.filter(({ isChosen }) => isChosen));
      return chosen && resourceTypes.map((type) => stateOf(type, chosen));
    },
    onChange: (listener) => index.onChange(listener),
  };
}

function stateOf({ group, resource }: AskedType, chosen: readonly TypeState[]): CollectionType {
  const meant = chosen.filter(
    ({ type }) => (group === '*' || type.group === group) && (resource === '*' || type.resource === resource),
  );
  const is = meant.length === 0 ? 'unknown' : meant.every(({ isWhole }) => isWhole) ? 'indexed' : 'listing';
  return { name: group === '' ? resource : `${resource}.${group}`, is };
}
