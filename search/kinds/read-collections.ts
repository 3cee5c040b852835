// Reads requests for collections: their list, one of them, and a watch of one.
import { GatewayError } from '../../model/errors.ts';
import { onlyParameters, urlParameters } from '../../query/parameters.ts';
import type { Parameters } from '../../query/parameters.ts';
import { readQuery } from '../../query/read/read-query.ts';
import { collectionTypes } from '../api/collection-types.ts';
import type { CollectionDefinition } from '../collections/definitions.ts';
import type { CollectionNamesQuestion, CollectionQuestion } from '../api/question.ts';
import type { IndexRequest } from '../request/request.ts';

/** What is needed to read a request for collections, besides the request. */
export interface CollectionsOf {
  /** The collections that administrators have defined. */
  readonly own: readonly CollectionDefinition[];
  /** Whether `whereSQL` is read; otherwise it is refused. */
  readonly allowsWhereSql: boolean;
}

/**
 * Reads a request for a collection.
 * @throws GatewayError NOT_FOUND for an unknown collection, BAD_REQUEST for invalid parameters
 */
export function readCollection(request: IndexRequest, name: string, of: CollectionsOf): CollectionQuestion {
  return collectionOf(request, name, urlParameters(request.query.slice(1)), of);
}

/**
 * Reads a request for the list of collections. kubectl watches one collection by a watch of the list with a field
 * selector.
 * @throws GatewayError METHOD_NOT_ALLOWED for a watch of more than one collection
 */
export function readCollectionNames(
  request: IndexRequest,
  of: CollectionsOf,
): CollectionNamesQuestion | CollectionQuestion {
  const parameters = urlParameters(request.query.slice(1));
  const name = /^metadata\.name==?([^,=!]+)$/.exec(parameters.text('fieldSelector') ?? '')?.[1];
  if (parameters.flag('watch') !== true) return { kind: 'collections', name, as: request.form(['Table', '']).as };
  if (name === undefined)
    throw new GatewayError(
      'METHOD_NOT_ALLOWED',
      'the list of collections cannot be watched; watch one of them: …/collectionresources/<name>?watch=1',
    );
  const others = parameters.names.filter((each) => each !== 'fieldSelector');
  return collectionOf(request, name, onlyParameters(parameters, others), of);
}

function collectionOf(
  request: IndexRequest,
  name: string,
  parameters: Parameters,
  { own, allowsWhereSql }: CollectionsOf,
): CollectionQuestion {
  const types = collectionTypes(name, parameters, own);
  if (types === undefined) {
    throw new GatewayError('NOT_FOUND', `collectionresources.clusterpedia.io ${JSON.stringify(name)} not found`, {
      kind: 'collectionresources',
      group: 'clusterpedia.io',
      name,
    });
  }
  // Groups are not replaced by their types here, because a continue token is bound to this query. A type that a group
  // gets later must not invalidate the token.
  const asked = readQuery(parameters, { types: [...types.groups, ...types.named] }, allowsWhereSql);
  const isWatch = parameters.flag('watch') === true;
  const forms = ['Table', '', 'PartialObjectMetadata', 'PartialObjectMetadataList'] as const;
  const { as } = request.form(isWatch ? forms.slice(0, 3) : forms);
  return { kind: isWatch ? 'collection-watch' : 'collection', name, types, as, parameters, asked };
}
