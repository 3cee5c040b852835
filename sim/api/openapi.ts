// Answers OpenAPI v3 requests: the index, and one document for each group and version, made from Kubernetes'
// specification. kubectl reads the PATCH operation of a kind: its parameters show whether the server supports
// fieldValidation, and its content types whether it supports strategic merge patch.
import { createHash } from 'node:crypto';
import { commonHeaders, sendPieces } from '../call/answer.ts';
import type { Call, Cluster } from '../call/cluster.ts';
import { headerValue } from '../wire/headers.ts';
import type { GroupVersions, Registry, Resource } from '../store/resources.ts';
import { refsOf, type Schema } from '../schema/spec.ts';
import { noSuchPath, notAcceptable } from '../model/status-error.ts';
import type { JsonObject } from '../model/types.ts';

const jsonTypes = /^(application\/json|application\/\*|\*\/\*)$/;

/**
 * Answers the paths below /openapi. /openapi/v2 is a document without paths, because kubectl reads v2 only for kinds
 * that are missing in v3.
 * @throws StatusError 404 for an unknown document, 406 when the client does not accept JSON
 */
export async function serveOpenApi(call: Call): Promise<void> {
  const { path } = call.info;
  if (path === '/openapi/v2') return sendVersion2(call);
  const accept = headerValue(call.rawHeaders, 'accept') ?? '*/*';
  const isJson = accept.split(',').some((clause) => jsonTypes.test(clause.split(';', 1)[0]?.trim() ?? ''));
  if (!isJson) throw notAcceptable(['application/json']);
  const groups = call.cluster.registry.groups();
  if (path === '/openapi/v3') return send(call, JSON.stringify({ paths: index(call.cluster, groups) }));
  const [, name] = /^\/openapi\/v3\/(.+)$/.exec(path) ?? [];
  const found = groups
    .flatMap(({ group, versions }) => versions.map((entry) => ({ group, ...entry })))
    .find(({ group, version }) => pathOf(group, version) === name);
  if (found === undefined) throw noSuchPath();
  await send(call, documentText(call.cluster.registry, found.group, found.version, found.resources));
}

/**
 * The content type under which kube-openapi sends protobuf. Accept headers have `v2@v1.0` where this type has
 * `v2.v1.0`; Go cannot parse a media type with an `@`.
 */
const protobufType = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';

/** Encodes a length-delimited protobuf field. */
function field(number: number, value: Buffer | string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([Buffer.from([(number << 3) | 2, bytes.length]), bytes]);
}

/**
 * The protobuf bytes of an empty openapiv2.Document of gnostic. Its fields are swagger (1), info (2) with title (1) and
 * version (2), paths (8), definitions (9).
 */
function emptyVersion2(): Buffer {
  const info = Buffer.concat([field(1, 'Kubernetes'), field(2, 'simulated')]);
  return Buffer.concat([field(1, '2.0'), field(2, info), field(8, ''), field(9, '')]);
}

async function sendVersion2(call: Call): Promise<void> {
  const accept = headerValue(call.rawHeaders, 'accept') ?? '';
  if (accept.includes('proto-openapi.spec.v2')) {
    const body = emptyVersion2();
    call.reply
      .writeHead(200, { ...commonHeaders(call, protobufType), 'content-length': String(body.length) })
      .end(body);
    return;
  }
  const info = { title: 'Kubernetes', version: 'simulated' };
  await sendPieces(call, 200, 'application/json', [
    JSON.stringify({ swagger: '2.0', info, paths: {}, definitions: {} }),
  ]);
}

async function send(call: Call, text: string): Promise<void> {
  const etag = `"${hashOf(text)}"`;
  call.reply.setHeader('etag', etag);
  call.reply.setHeader('vary', 'Accept');
  if (headerValue(call.rawHeaders, 'if-none-match') === etag)
    call.reply.writeHead(304, commonHeaders(call, 'application/json')).end();
  else await sendPieces(call, 200, 'application/json', [text]);
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').toUpperCase();
}

function pathOf(group: string, version: string): string {
  return group === '' ? `api/${version}` : `apis/${group}/${version}`;
}

function index(cluster: Cluster, groups: readonly GroupVersions[]): JsonObject {
  const entries = groups.flatMap(({ group, versions }) =>
    versions.map(({ version, resources }) => {
      const path = pathOf(group, version);
      const hash = hashOf(
        `${cluster.version} ${path} ${JSON.stringify(resources.map((r) => cluster.registry.schemas[r.schemaName ?? '']))}`,
      );
      return [path, { serverRelativeURL: `/openapi/v3/${path}?hash=${hash}` }] as const;
    }),
  );
  return Object.fromEntries(entries);
}

function documentText(registry: Registry, group: string, version: string, resources: readonly Resource[]): string {
  const schemas: Record<string, Schema> = {};
  const wanted = new Set<string>([
    'io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions',
    'io.k8s.apimachinery.pkg.apis.meta.v1.Status',
  ]);
  for (const [name, schema] of Object.entries(registry.schemas)) {
    const gvks = schema['x-kubernetes-group-version-kind'] ?? [];
    if (gvks.some((gvk) => gvk.group === group && gvk.version === version)) wanted.add(name);
  }
  for (const name of wanted) {
    const schema = registry.schemas[name];
    if (schema === undefined) continue;
    schemas[name] = schema;
    refsOf(schema, wanted);
  }
  return JSON.stringify({
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: 'simulated' },
    paths: Object.assign({}, ...resources.map((resource) => pathsOf(resource, pathOf(group, version)))),
    components: { schemas },
  });
}

const query = (name: string, description: string): JsonObject => ({
  name,
  in: 'query',
  description,
  schema: { type: 'string', uniqueItems: true },
});

const writeParameters = [
  query('dryRun', 'When present, indicates that modifications should not be persisted. Valid values are: All'),
  query('fieldManager', 'A name associated with the actor or entity that is making these changes.'),
  query('fieldValidation', 'How the server handles unknown or duplicate fields: Ignore, Warn or Strict.'),
];

function pathsOf(resource: Resource, root: string): JsonObject {
  const prefix = `/${root}${resource.namespaced ? '/namespaces/{namespace}' : ''}/${resource.plural}`;
  const kind = { group: resource.group, version: resource.version, kind: resource.kind };
  const schema = resource.schemaName === undefined ? {} : { $ref: `#/components/schemas/${resource.schemaName}` };
  const json = { 'application/json': { schema } };
  const answer = { responses: { '200': { description: 'OK', content: json } } };
  const operation = (action: string, more: JsonObject = {}): JsonObject => ({
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': kind,
    ...more,
    ...answer,
  });
  const body = { requestBody: { content: { '*/*': { schema } } }, parameters: writeParameters };
  const patchTypes = ['application/apply-patch+yaml', 'application/json-patch+json', 'application/merge-patch+json'];
  if (resource.definition === undefined) patchTypes.push('application/strategic-merge-patch+json');
  const patchSchema = { schema: { type: 'object', description: 'Patch of the content type given.' } };
  const patch = {
    parameters: [...writeParameters, query('force', 'Force is going to "force" Apply requests.')],
    requestBody: { content: Object.fromEntries(patchTypes.map((type) => [type, patchSchema])) },
  };
  const has = (verb: string): boolean => resource.verbs.includes(verb);
  return {
    [prefix]: {
      ...(has('list') && { get: operation('list') }),
      ...(has('create') && { post: operation('post', body) }),
    },
    ...(has('get') && {
      [`${prefix}/{name}`]: {
        get: operation('get'),
        ...(has('update') && { put: operation('put', body) }),
        ...(has('patch') && { patch: operation('patch', patch) }),
        ...(has('delete') && { delete: operation('delete') }),
      },
    }),
  };
}
