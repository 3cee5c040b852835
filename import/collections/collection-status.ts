// The status of CollectionResources: the condition `Accepted` says whether the definition can be used, `Indexed`
// whether the index has the objects of all its types. No cluster is named, since whoever may read the definition may
// not be allowed to know of any cluster.
import type { ApiObject } from '../../kube/types.ts';
import type { Finding } from '../../kube/objects/conditions.ts';
import type { StatusSubject } from '../../controllers/status/status-controllers.ts';

/** The API group and version of CollectionResources. */
export const collectionGroup = 'index.portcullis.io';
export const collectionVersion = 'v1alpha1';
export const collectionPlural = 'collectionresources';

/** How much of one entry of a CollectionResource's `resourceTypes` is in the index. */
export interface CollectionType {
  /**
   * The type as messages name it: `RESOURCE.GROUP`, or `RESOURCE` for the core group; `*.GROUP` for all types of a
   * group.
   */
  readonly name: string;
  /**
   * `unknown`: the type is indexed for no cluster. `listing`: the first list of at least one cluster is not complete.
   */
  readonly is: 'indexed' | 'listing' | 'unknown';
}

/** What the gateway knows of the types that CollectionResources name. */
export interface IndexedCollections {
  /**
   * How much of each type of the definition is in the index; undefined while no index runs.
   * @throws Error that says what is wrong with the definition
   */
  types(object: ApiObject): readonly CollectionType[] | undefined;
  /** Calls the listener when the answer of `types` may have changed. Returns a function that removes the listener. */
  onChange(listener: () => void): () => void;
}

/** Says for `startStatusControllers` which conditions a CollectionResource gets, from what the index has. */
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
