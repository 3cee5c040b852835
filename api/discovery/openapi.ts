// OpenAPI documents of the served API groups, for `kubectl explain` and for a hub that merges them into its own
// document. A hub merges documents by path and renames schemas that differ. Therefore operation ids and schema names
// must be unique across API servers.
import { apiGroups, gatewayVersion, groupVersionOf } from '../../request/api-groups.ts';
import type { ApiGroup, ApiResource, ServedGroup } from '../../request/api-groups.ts';
import { cachedDocument } from './cached-document.ts';
import type { CachedDocument } from './cached-document.ts';
import { encodeSwagger, openapiProtobufTypes } from './openapi-protobuf.ts';
import { referenceTo, schemaName, schemasOf } from './openapi-schemas.ts';
import type { Dialect } from './openapi-schemas.ts';

/** All OpenAPI documents, serialised. */
export interface OpenapiDocuments {
  readonly v2: CachedDocument;
  /** The schemas of the v2 document, encoded in protobuf. */
  readonly v2Protobuf: CachedDocument;
  /**
   * The list of documents at `/openapi/v3`. Each URL in it contains the hash of the document it leads to, so that
   * clients notice a changed document.
   */
  readonly v3: CachedDocument;
  readonly groups: ReadonlyMap<ServedGroup, CachedDocument>;
}

const info = { title: 'Portcullis', version: gatewayVersion };

/** Makes the OpenAPI documents of these API groups. */
export function makeOpenapi(groups: readonly ApiGroup[] = apiGroups): OpenapiDocuments {
  const documents = new Map(
    groups.map((group): [ServedGroup, CachedDocument] => [group.name, cachedDocument(openapiV3(group))]),
  );
  const paths = Object.fromEntries(
    [...documents].map(([group, { hash }]) => {
      const path = `apis/${groupVersionOf(group)}`;
      return [path, { serverRelativeURL: `/openapi/v3/${path}?hash=${hash}` }];
    }),
  );
  const v2 = openapiV2(groups);
  return {
    v2: cachedDocument(v2),
    v2Protobuf: cachedDocument(encodeSwagger(v2), openapiProtobufTypes[0]),
    v3: cachedDocument({ paths }),
    groups: documents,
  };
}

/** One Swagger 2.0 document that describes all groups. */
export function openapiV2(groups: readonly ApiGroup[]): object {
  return {
    swagger: '2.0',
    info,
    paths: Object.assign({}, ...groups.map((group) => pathsOf(group, 'v2'))) as object,
    definitions: Object.assign({}, ...groups.map(({ name }) => schemasOf(name, 'v2'))) as object,
  };
}

/** The OpenAPI 3.0 document of one group. */
export function openapiV3(group: ApiGroup): object {
  return {
    openapi: '3.0.0',
    info,
    paths: pathsOf(group, 'v3'),
    components: { schemas: schemasOf(group.name, 'v3') },
  };
}

function pathsOf(group: ApiGroup, dialect: Dialect): object {
  const paths: Record<string, object> = {};
  for (const resource of group.resources) {
    const path = `/apis/${groupVersionOf(group.name)}/${resource.plural}`;
    const operation = makeOperation(group.name, resource, dialect);
    paths[path] = {
      get: operation('list', `list${idOf(group.name)}${resource.kind}`, `${resource.kind}List`, 'query'),
    };
    const named = { parameters: [parameter('name', 'path', 'string', 'Name of the object.', dialect)] };
    paths[`${path}/{name}`] = {
      ...named,
      get: operation('get', `read${idOf(group.name)}${resource.kind}`, resource.kind),
    };
    for (const { name, verbs } of resource.subresources) {
      const id = `${idOf(group.name)}${resource.kind}${capital(name)}`;
      if (name === 'proxy') {
        paths[`${path}/{name}/proxy`] = { ...named, ...connectOperations(operation, id) };
        const rest = parameter('path', 'path', 'string', 'Path on the API server of the cluster.', dialect);
        paths[`${path}/{name}/proxy/{path}`] = {
          parameters: [...named.parameters, rest],
          ...connectOperations(operation, `${id}WithPath`),
        };
        continue;
      }
      paths[`${path}/{name}/${name}`] = {
        ...named,
        get: operation('get', `read${id}`, resource.kind),
        ...(verbs.includes('update') ? { put: operation('put', `replace${id}`, resource.kind, 'body') } : {}),
      };
    }
  }
  return paths;
}

type MakeOperation = (action: string, id: string, kind: string | undefined, input?: 'query' | 'body') => object;

function makeOperation(group: ServedGroup, resource: ApiResource, dialect: Dialect): MakeOperation {
  return (action, id, kind, input) => {
    const schema = kind === undefined ? { type: 'string' } : referenceTo(schemaName(group, kind), dialect);
    const body = dialect === 'v2' ? { schema } : { content: { [kind === undefined ? '*/*' : json]: { schema } } };
    const sent =
      dialect === 'v2'
        ? { parameters: [{ name: 'body', in: 'body', required: true, schema }] }
        : { requestBody: { required: true, content: { [json]: { schema } } } };
    return {
      description: descriptions[action]?.replace('KIND', resource.kind),
      operationId: id,
      tags: [idOf(group)],
      ...(dialect === 'v2'
        ? { consumes: ['*/*'], produces: [kind === undefined ? '*/*' : json], schemes: ['https'] }
        : {}),
      ...(input === 'query' ? { parameters: listParameters(dialect) } : {}),
      ...(input === 'body' ? sent : {}),
      responses: { 200: { description: 'OK', ...body }, 401: { description: 'Unauthorized' } },
      'x-kubernetes-action': action,
      'x-kubernetes-group-version-kind': { group, version: gatewayVersion, kind: resource.kind },
    };
  };
}

const json = 'application/json';
const descriptions: Readonly<Record<string, string>> = {
  list: 'list or watch objects of kind KIND',
  get: 'read the specified KIND',
  put: 'replace what can be written of the specified KIND',
  connect: 'send a request to the cluster of the specified KIND',
};

function connectOperations(operation: MakeOperation, id: string): object {
  const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch'];
  return Object.fromEntries(
    methods.map((method) => [method, operation('connect', `connect${capital(method)}${id}`, undefined)]),
  );
}

function listParameters(dialect: Dialect): readonly object[] {
  const query = (name: string, type: string, description: string): object =>
    parameter(name, 'query', type, description, dialect);
  return [
    query('allowWatchBookmarks', 'boolean', 'Bookmarks may be sent in a watch.'),
    query('fieldSelector', 'string', 'Selects by metadata.name.'),
    query('labelSelector', 'string', 'Selects by labels.'),
    query('resourceVersion', 'string', 'Where a watch begins.'),
    query('resourceVersionMatch', 'string', 'How resourceVersion is meant.'),
    query('sendInitialEvents', 'boolean', 'A watch begins with all objects and a bookmark behind them.'),
    query('timeoutSeconds', 'integer', 'When a watch ends.'),
    query('watch', 'boolean', 'Watch for changes instead of a list.'),
  ];
}

function parameter(name: string, where: 'path' | 'query', type: string, description: string, dialect: Dialect): object {
  return {
    name,
    in: where,
    description,
    ...(where === 'path' ? { required: true } : {}),
    ...(dialect === 'v2' ? { type, uniqueItems: true } : { schema: { type, uniqueItems: true } }),
  };
}

/** Turns `gateway.portcullis.io` into `GatewayPortcullisIoV1alpha1`, as kube-apiserver does in operation ids. */
function idOf(group: string): string {
  return group.split('.').map(capital).join('') + capital(gatewayVersion);
}

function capital(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}
