// Clusterpedia's collections: several types in one list. Easy to get wrong: `continue` and `remainingItemCount` stand
// at the top of the answer here, not in its metadata, and its clients look for them there.
import { GatewayError } from '../../cache/model/errors.ts';
import { urlParameters } from '../query/parameters.ts';
import type { Parameters } from '../query/parameters.ts';
import { readQuery } from '../query/read-query.ts';
import { collectionTable } from '../table/table.ts';
import { typeKey } from '../types.ts';
import type { ResourceType } from '../types.ts';
import { sendJson } from './answer-body.ts';
import type { Catalog } from './catalog.ts';
import { collectionDocument, objectForm, tableDocument } from './forms.ts';
import { mostTypes } from './inner-path.ts';
import { askedWarnings, readListPage, sendListPage } from './list-rows.ts';
import { readListVersion } from './list-options.ts';
import type { AnswerParts } from './parts.ts';
import { planAnswer, queryOf } from './plan.ts';
import type { AskedType } from './plan-question.ts';
import type { IndexRequest } from './request.ts';

const workloads: readonly ResourceType[] = ['deployments', 'daemonsets', 'statefulsets'].map((resource) => ({
  group: 'apps',
  resource,
}));
/** Groups that kube-apiserver itself serves; any of `*.k8s.io` is one, too. */
const builtInGroups: ReadonlySet<string> = new Set(['', 'apps', 'batch', 'autoscaling', 'policy', 'extensions']);

const collectionNames = ['any', 'workloads', 'kuberesources'] as const;

/** Answers the list of collections, or one of them. @throws GatewayError (rejects) while nothing was sent */
export async function answerCollections(
  request: IndexRequest,
  name: string | undefined,
  parts: AnswerParts,
): Promise<void> {
  if (name === undefined) {
    await listCollections(request, parts);
    return;
  }
  const parameters = urlParameters(request.query.slice(1));
  if (parameters.flag('watch') === true)
    throw new GatewayError('METHOD_NOT_ALLOWED', 'a collection cannot be watched; watch its types one by one');
  await parts.settled();
  const found = collectionTypes(name, parameters, await parts.catalog());
  if (found === undefined) {
    throw new GatewayError('NOT_FOUND', `collectionresources.clusterpedia.io ${JSON.stringify(name)} not found`, {
      kind: 'collectionresources',
      group: 'clusterpedia.io',
      name,
    });
  }
  // A token is for what was asked: a type that comes to a group later must not make it worthless.
  const asked = readQuery(parameters, { types: [...found.groups, ...found.named] });
  if (asked.query.owner !== undefined) throw new GatewayError('BAD_REQUEST', 'a collection has no owner filter');
  const { as } = request.form(['Table', '', 'PartialObjectMetadata', 'PartialObjectMetadataList']);
  const isPartial = as !== '';
  const plan = await planAnswer(parts, {
    user: request.user,
    verb: 'list',
    types: distinct([...found.members, ...found.named]),
    clusters: asked.query.clusters,
    cluster: undefined,
    // A group that only a cluster out of reach has is answered as one that nobody has.
    mayBeNone: found.groups.length > 0,
  });
  // What a group has is told as discovery tells it: the types of which the caller may see anything.
  const seen = new Set([...plan.scope.grants.values()].flatMap((types) => [...types.keys()]));
  const shown = plan.views.map(({ type }) => type).filter((type) => seen.has(typeKey(type)));
  const members = found.members.filter((type) => seen.has(typeKey(type)));
  const { query } = readQuery(parameters, { types: distinct([...members, ...found.named]) });
  const version = readListVersion(parameters, parts.store);
  await sendListPage(
    request,
    () => readListPage(request, asked, queryOf(query, plan.views), plan, version, parts),
    (meta) =>
      as === 'Table'
        ? tableDocument(
            collectionTable(parts.now()),
            meta,
            objectForm(plan.views, { onlyMetadata: false, fields: undefined }),
            'Metadata',
          )
        : collectionDocument(name, shown, meta, objectForm(plan.views, { ...asked, isPartial })),
    [...askedWarnings(asked, true), ...plan.warnings],
    parts,
  );
}

/** What a collection is of. */
interface CollectionTypes {
  /** Types that the question or the collection names. */
  readonly named: readonly AskedType[];
  /** Types of the groups it names, as the index has them, whoever may see them. */
  readonly members: readonly AskedType[];
  /** These groups, as types that stand for all of theirs. */
  readonly groups: readonly ResourceType[];
}

function distinct(types: readonly AskedType[]): readonly AskedType[] {
  return [...new Map(types.map((type) => [typeKey(type), type])).values()];
}

/** @returns undefined for a collection that is none */
function collectionTypes(name: string, parameters: Parameters, catalog: Catalog): CollectionTypes | undefined {
  const keys = new Map(catalog.all.map(({ type }) => [typeKey(type), { group: type.group, resource: type.resource }]));
  const there = [...keys.values()].toSorted((one, other) => (typeKey(one) < typeKey(other) ? -1 : 1));
  const inAnyVersion = (types: readonly ResourceType[]): readonly AskedType[] =>
    types.map((type) => ({ ...type, version: undefined }));
  if (name === 'workloads') return { named: inAnyVersion(workloads), members: [], groups: [] };
  if (name === 'kuberesources') {
    const builtIn = there.filter(({ group }) => builtInGroups.has(group) || group.endsWith('.k8s.io'));
    return { named: [], members: inAnyVersion(builtIn), groups: [{ group: name, resource: '*' }] };
  }
  if (name !== 'any') return undefined;
  const groups = parameters.all('groups').flatMap((text) => text.split(','));
  // `groups=` alone stands for the core group.
  const isCore = parameters.names.includes('groups') && groups.length === 0;
  const resources = parameters.all('resources').flatMap((text) => text.split(','));
  if (!isCore && groups.length === 0 && resources.length === 0)
    throw new GatewayError('BAD_REQUEST', 'the collection "any" needs groups= or resources=');
  if (groups.length + resources.length > mostTypes)
    throw new GatewayError('BAD_REQUEST', `groups= and resources= name more than ${mostTypes} types`);
  const ofGroups = (isCore ? [''] : groups).map((text) => text.trim());
  return {
    named: distinct(resources.map((text) => readResource(text.trim()))),
    members: ofGroups.flatMap((text) => typesOfGroup(text, there)),
    groups: ofGroups.map((group) => ({ group, resource: '*' })),
  };
}

/** `apps`, `apps/v1`, `''`, `/` or `/v1` for core, `*` for every group. */
function typesOfGroup(text: string, there: readonly ResourceType[]): readonly AskedType[] {
  const [group = '', version, ...behind] = text.split('/');
  if (behind.length > 0)
    throw new GatewayError('BAD_REQUEST', `groups: "${text.slice(0, 60)}" is not GROUP or GROUP/VERSION`);
  return there
    .filter((type) => group === '*' || type.group === group)
    .map((type) => ({ ...type, version: version || undefined }));
}

/** `apps/deployments`, `apps/v1/deployments`, `/v1/pods`, `/pods`, and `pods`. */
function readResource(text: string): AskedType {
  const parts = text.split('/');
  const resource = parts.at(-1) ?? '';
  if (resource === '' || parts.length > 3)
    throw new GatewayError(
      'BAD_REQUEST',
      `resources: "${text.slice(0, 60)}" is not GROUP/RESOURCE or GROUP/VERSION/RESOURCE`,
    );
  return {
    group: parts.length > 1 ? parts[0]! : '',
    version: parts.length === 3 ? parts[1] || undefined : undefined,
    resource,
  };
}

async function listCollections(request: IndexRequest, parts: AnswerParts): Promise<void> {
  const { as } = request.form(['Table', '']);
  const catalog = await parts.catalog();
  const known = [...new Map(catalog.all.map(({ type }) => [typeKey(type), type])).values()];
  // What is named must be what the caller may see anything of.
  const { scope } = await parts.rights.scope(
    request.user,
    'list',
    known.map(({ group, resource }) => ({ group, resource })),
  );
  const seen = new Set([...scope.grants.values()].flatMap((types) => [...types.keys()]));
  const items = collectionNames.map((name) => {
    const parameters = name === 'any' ? undefined : urlParameters('');
    const found = parameters === undefined ? undefined : collectionTypes(name, parameters, catalog);
    const types = [...(found?.named ?? []), ...(found?.members ?? [])];
    return {
      kind: 'CollectionResource',
      apiVersion: 'clusterpedia.io/v1beta1',
      metadata: { name, creationTimestamp: null },
      resourceTypes: types.flatMap((type) => {
        const found = known.find((each) => typeKey(each) === typeKey(type) && seen.has(typeKey(each)));
        return found === undefined
          ? []
          : [{ group: found.group, version: found.version, kind: found.kind, resource: found.resource }];
      }),
      items: [],
    };
  });
  if (as !== 'Table') {
    sendJson(request, { kind: 'CollectionResourceList', apiVersion: 'clusterpedia.io/v1beta1', metadata: {}, items });
    return;
  }
  const column = (name: string, description: string): object => ({
    name,
    type: 'string',
    format: '',
    description,
    priority: 0,
  });
  sendJson(request, {
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
