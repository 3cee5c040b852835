// The status of CollectionResources: `Accepted` says whether the definition can be used, `Indexed` whether objects of
// all its types can be found. No cluster is named, since whoever reads the definition need not know of any.
import type { HubObject } from '../../cache/hub/hub-types.ts';
import type { Finding } from '../../controllers/conditions.ts';
import type { StatusSubject } from '../status-controllers.ts';

/** The API group and version of CollectionResources. */
export const collectionGroup = 'index.portcullis.io';
export const collectionVersion = 'v1alpha1';
export const collectionPlural = 'collectionresources';

/** How far the index is with an entry of `resourceTypes`. */
export interface CollectionType {
  /** `RESOURCE.GROUP`, for the core group `RESOURCE`; `*.GROUP` for a whole group. */
  readonly name: string;
  /** `unknown`: of no cluster indexed. `listing`: the first list of at least one cluster is not complete. */
  readonly is: 'indexed' | 'listing' | 'unknown';
}

/** What the gateway knows of collections. */
export interface IndexedCollections {
  /**
   * How far the index is with each type of the definition; undefined while no index runs.
   * @throws Error that says what is wrong with the definition
   */
  types(object: HubObject): readonly CollectionType[] | undefined;
  /** Calls the listener when that may have changed. Returns a function that removes the listener. */
  onChange(listener: () => void): () => void;
}

/** The status of CollectionResources, as it is written from what the index has. */
export function collectionStatus(indexed: IndexedCollections): StatusSubject {
  return {
    kind: 'CollectionResource',
    resource: { group: collectionGroup, version: collectionVersion, resource: collectionPlural },
    findings(object) {
      try {
        const types = indexed.types(object);
        return [
          { type: 'Accepted', status: 'True', reason: 'Accepted', message: '' },
          { type: 'Indexed', ...indexedOf(types) },
        ];
      } catch (error) {
        const message = error instanceof Error ? error.message : 'it cannot be read';
        return [
          { type: 'Accepted', status: 'False', reason: 'InvalidDefinition', message },
          { type: 'Indexed', status: 'False', reason: 'NotAccepted', message: 'there is no such collection' },
        ];
      }
    },
    onChange: (listener) => indexed.onChange(listener),
  };
}

function indexedOf(types: readonly CollectionType[] | undefined): Omit<Finding, 'type'> {
  if (types === undefined) return { status: 'Unknown', reason: 'NoIndex', message: 'the index does not run yet' };
  const namesOf = (is: CollectionType['is']): string =>
    types
      .filter((type) => type.is === is)
      .map(({ name }) => name)
      .join(', ');
  const [unknown, listing] = [namesOf('unknown'), namesOf('listing')];
  const parts = [
    unknown === '' ? undefined : `indexed of no cluster: ${unknown}`,
    listing === '' ? undefined : `not complete yet: ${listing}`,
  ].filter((part) => part !== undefined);
  if (parts.length === 0) return { status: 'True', reason: 'Complete', message: '' };
  return { status: 'False', reason: unknown === '' ? 'Incomplete' : 'UnknownTypes', message: parts.join('; ') };
}
