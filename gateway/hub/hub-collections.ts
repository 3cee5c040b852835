// Follows the CollectionResource objects of the hub, which define collections of the index.
import type { ApiClient, ApiObject } from '../../kube/types.ts';
import { startReflector } from '../../kube/reflector/reflector.ts';
import { fieldOf } from '../../lib/objects/json-object.ts';
import { collectionGroup, collectionPlural, collectionVersion } from '../../import/collections/collection-status.ts';
import { readDefinition } from '../../search/collections/definitions.ts';
import type { CollectionDefinition } from '../../search/collections/definitions.ts';
import type { Log } from '../../lib/log.ts';

const resource = { group: collectionGroup, version: collectionVersion, resource: collectionPlural };

/** The collections (named lists of types) that objects of the hub define. */
export interface HubCollections {
  /** The present collections, sorted by name. The same array is returned until an object on the hub changes. */
  current(): readonly CollectionDefinition[];
  close(): void;
}

/** Reads the definition in a CollectionResource. @throws Error that says what is wrong with it */
export function definitionOf(object: ApiObject): CollectionDefinition {
  return readDefinition(object.metadata.name, fieldOf(object, 'resourceTypes'));
}

/**
 * Starts to watch CollectionResource objects on the hub. Returns at once; `current()` is empty until the hub has
 * answered.
 */
export function startHubCollections(client: ApiClient, log: Log): HubCollections {
  let current: readonly CollectionDefinition[] = [];
  const read = (): void => {
    current = [...reflector.objects.values()]
      .flatMap((object) => {
        try {
          return definitionOf(object);
        } catch (error) {
          const fault = error instanceof Error ? error.message : 'it cannot be read';
          log.warn({ collection: object.metadata.name, fault }, 'a CollectionResource of the hub cannot be used');
          return [];
        }
      })
      .toSorted((one, other) => (one.name < other.name ? -1 : 1));
  };
  const reflector = startReflector({
    client,
    resource,
    onChange: read,
    onState: ({ phase, fault }) => {
      if (fault !== undefined) log.warn({ fault: fault.message }, 'CollectionResources of the hub cannot be followed');
      else if (phase === 'missing')
        log.warn({}, 'the hub has no CollectionResources: portcullis generate crds prints their definition');
    },
    onError: (error) => log.error({ err: error }, 'CollectionResources of the hub could not be read'),
  });
  return { current: () => current, close: () => reflector.close() };
}
