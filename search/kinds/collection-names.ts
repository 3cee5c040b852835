// Answers the list of collections. Each one names the types in it that the caller may list.
import { urlParameters } from '../../query/parameters.ts';
import { typeKey } from '../../query/types.ts';
import { jsonAnswer } from '../api/answer.ts';
import type { WholeAnswer } from '../api/answer.ts';
import type { FetchDependencies } from '../api/answer-dependencies.ts';
import { collectionTypes, indexedTypes } from '../api/collection-types.ts';
import { builtInCollections } from '../collections/definitions.ts';
import type { CollectionNamesQuestion } from '../api/question.ts';
import type { Fetched, Planned } from '../api/state.ts';
import type { Overview } from './rights-to-types.ts';

const apiVersion = 'clusterpedia.io/v1beta1';

interface Collection {
  readonly kind: string;
  readonly apiVersion: string;
  readonly metadata: { readonly name: string; readonly creationTimestamp: null };
  readonly resourceTypes: readonly { readonly group: string; readonly resource: string }[];
  readonly items: readonly never[];
}

export function fetchCollectionNames(
  { question, visibility: { answer, catalog } }: Planned<CollectionNamesQuestion, Overview>,
  { collections }: FetchDependencies,
): readonly Collection[] {
  const own = collections();
  const seen = new Set([...answer.scope.grants.values()].flatMap((types) => [...types.keys()]));
  const indexed = indexedTypes(catalog);
  const infos = new Map(catalog.all.map(({ type }) => [typeKey(type), type]));
  const all = [...builtInCollections, ...new Set(own.map(({ name }) => name))];
  const wanted = all.filter((name) => question.name === undefined || question.name === name);
  return wanted.map((name) => {
    // The collection `any` has no types of its own; each request names them.
    const found = name === 'any' ? undefined : collectionTypes(name, urlParameters(''), own);
    const types = found === undefined ? [] : [...found.named, ...found.members(indexed)];
    return {
      kind: 'CollectionResource',
      apiVersion,
      metadata: { name, creationTimestamp: null },
      resourceTypes: types.flatMap((type) => {
        const there = seen.has(typeKey(type)) ? infos.get(typeKey(type)) : undefined;
        return there === undefined
          ? []
          : [{ group: there.group, version: there.version, kind: there.kind, resource: there.resource }];
      }),
      items: [],
    };
  });
}

export function formCollectionNames({
  question: { as },
  found: items,
}: Fetched<CollectionNamesQuestion, Overview, unknown, readonly Collection[]>): WholeAnswer {
  if (as !== 'Table') return jsonAnswer({ kind: 'CollectionResourceList', apiVersion, metadata: {}, items });
  const column = (name: string, description: string): object => ({
    name,
    type: 'string',
    format: '',
    description,
    priority: 0,
  });
  return jsonAnswer({
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata: {},
    columnDefinitions: [
      column('Name', 'Name of the collection.'),
      column('Resources', 'Types in it that you may list.'),
    ],
    rows: items.map((item) => ({
      cells: [
        item.metadata.name,
        item.resourceTypes.map(({ group, resource }) => (group === '' ? resource : `${resource}.${group}`)).join(','),
      ],
      object: { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: item.metadata },
    })),
  });
}
