// The kinds of requests whose audit events are compared with the cluster's own, in the order in which they are sent.
// Later ones build on what earlier ones made; and what a kind is about must be in the request, since nothing else is
// recorded.

/** One request. */
export interface AuditKind {
  readonly name: string;
  readonly method: string;
  /** Path at the member. */
  readonly path: string;
  readonly body?: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default carol, who may do everything. */
  readonly as?: 'carol' | 'bob' | 'root';
  readonly code: number;
}

const core = '/api/v1/namespaces/default';
const maps = `${core}/configmaps`;
const batch = '/apis/batch/v1/namespaces/default';
const deployments = '/apis/apps/v1/namespaces/default/deployments';

const map = (name: string, metadata: object = {}): string =>
  JSON.stringify({
    apiVersion: 'v1',
    data: { metadata: '{"name":"of no object"}' },
    kind: 'ConfigMap',
    metadata: { annotations: { name: 'no name' }, name, ...metadata },
  });

/** One length-delimited protobuf field, shorter than 128 bytes. */
function field(number: number, value: string | Buffer): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([Buffer.from([number * 8 + 2, bytes.length]), bytes]);
}

/** A ConfigMap as Go clients send it. */
function protobufMap(name: string): Buffer {
  const raw = field(1, field(1, name));
  const typeMeta = Buffer.concat([field(1, 'v1'), field(2, 'ConfigMap')]);
  return Buffer.concat([Buffer.from('k8s\0', 'latin1'), field(1, typeMeta), field(2, raw), field(3, ''), field(4, '')]);
}

const protobuf = { 'content-type': 'application/vnd.kubernetes.protobuf', accept: 'application/json' };
const merge = { 'content-type': 'application/merge-patch+json' };
const deployment = JSON.stringify({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'none', namespace: 'default' },
  spec: {
    replicas: 0,
    selector: { matchLabels: { app: 'none' } },
    template: { metadata: { labels: { app: 'none' } }, spec: { containers: [{ name: 'c', image: 'x' }] } },
  },
});
const scale = { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: 'none', namespace: 'default' } };
const asBob = { 'impersonate-user': 'bob', 'impersonate-group': 'night' };

/** Requests without an upgrade. */
export const auditKinds: readonly AuditKind[] = [
  { name: 'list', method: 'GET', path: `${core}/pods`, code: 200 },
  { name: 'list a page of some', method: 'GET', path: `${core}/pods?limit=1&labelSelector=app%3Dbox`, code: 200 },
  { name: 'list one by name', method: 'GET', path: `${core}/pods?fieldSelector=metadata.name%3Dbox`, code: 200 },
  { name: 'list everywhere', method: 'GET', path: '/api/v1/pods', code: 200 },
  { name: 'get', method: 'GET', path: `${core}/pods/box`, code: 200 },
  {
    name: 'get as a table',
    method: 'GET',
    path: `${core}/pods/box`,
    headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
    code: 200,
  },
  { name: 'head', method: 'HEAD', path: `${core}/pods/box`, code: 405 },
  { name: 'get what is not there', method: 'GET', path: `${core}/pods/none`, code: 404 },
  { name: 'a resource that is not there', method: 'GET', path: '/apis/example.com/v1/things/a', code: 404 },
  { name: 'get of the cluster', method: 'GET', path: '/api/v1/nodes/kubelet-0', code: 200 },
  { name: 'get a namespace', method: 'GET', path: '/api/v1/namespaces/default', code: 200 },
  { name: 'create', method: 'POST', path: maps, body: map('first'), code: 201 },
  { name: 'create in protobuf', method: 'POST', path: maps, body: protobufMap('binary'), headers: protobuf, code: 201 },
  {
    name: 'create with a generated name',
    method: 'POST',
    path: maps,
    body: map('', { generateName: 'gen-' }),
    code: 201,
  },
  {
    name: 'create a namespace',
    method: 'POST',
    path: '/api/v1/namespaces',
    body: JSON.stringify({ metadata: { name: 'made' } }),
    code: 201,
  },
  { name: 'create what is there', method: 'POST', path: maps, body: map('first'), code: 409 },
  { name: 'create a bad name', method: 'POST', path: maps, body: map('Bad_'), code: 422 },
  { name: 'create, dry', method: 'POST', path: `${maps}?dryRun=All&fieldManager=test`, body: map('dry'), code: 201 },
  { name: 'create in another group', method: 'POST', path: deployments, body: deployment, code: 201 },
  { name: 'update', method: 'PUT', path: `${maps}/first`, body: map('first', { namespace: 'default' }), code: 200 },
  {
    name: 'update an old version',
    method: 'PUT',
    path: `${maps}/first`,
    body: map('first', { resourceVersion: '1', uid: 'u-1' }),
    code: 409,
  },
  {
    name: 'update a subresource',
    method: 'PUT',
    path: `${deployments}/none/scale`,
    body: JSON.stringify({ ...scale, spec: { replicas: 0 } }),
    code: 200,
  },
  {
    name: 'merge patch',
    method: 'PATCH',
    path: `${maps}/first?fieldManager=test`,
    body: '{"data":{"a":"b"}}',
    headers: merge,
    code: 200,
  },
  {
    name: 'patch of what cannot change',
    method: 'PATCH',
    path: `${maps}/first`,
    body: '{"metadata":{"uid":"no uid"},"data":{"a":"b"}}',
    headers: merge,
    code: 422,
  },
  {
    name: 'apply',
    method: 'PATCH',
    path: `${maps}/applied?fieldManager=test&force=true`,
    body: map('applied'),
    headers: { 'content-type': 'application/apply-patch+yaml' },
    code: 201,
  },
  { name: 'patch of a bad type', method: 'PATCH', path: `${maps}/first`, body: '{}', code: 415 },
  {
    name: 'token of a ServiceAccount',
    method: 'POST',
    path: `${core}/serviceaccounts/default/token`,
    body: '{"spec":{}}',
    code: 201,
  },
  {
    name: 'eviction',
    method: 'POST',
    path: `${core}/pods/none/eviction`,
    body: JSON.stringify({ apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'none' } }),
    code: 404,
  },
  {
    name: 'a review',
    method: 'POST',
    path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    body: JSON.stringify({ spec: { resourceAttributes: { verb: 'get', resource: 'pods' } } }),
    code: 201,
  },
  { name: 'delete', method: 'DELETE', path: `${maps}/applied?propagationPolicy=Background`, code: 200 },
  {
    name: 'delete with options',
    method: 'DELETE',
    path: `${maps}/binary`,
    body: JSON.stringify({ kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid: 'other' } }),
    code: 409,
  },
  { name: 'delete a collection', method: 'DELETE', path: `${batch}/jobs?labelSelector=none`, code: 200 },
  { name: 'watch', method: 'GET', path: `${core}/limitranges?watch=true&timeoutSeconds=1`, code: 200 },
  {
    name: 'watch in the old form',
    method: 'GET',
    path: `/api/v1/watch/namespaces/default/limitranges?timeoutSeconds=1`,
    code: 200,
  },
  { name: 'log', method: 'GET', path: `${core}/pods/box/log?container=main&tailLines=5`, code: 200 },
  { name: 'log of no pod', method: 'GET', path: `${core}/pods/none/log`, code: 404 },
  { name: 'a service by proxy', method: 'GET', path: `${core}/services/box:80/proxy/`, code: 200 },
  { name: 'version', method: 'GET', path: '/version', code: 200 },
  { name: 'a health check', method: 'GET', path: '/readyz?verbose', code: 200 },
  { name: 'discovery', method: 'GET', path: '/apis', code: 200 },
  { name: 'OpenAPI', method: 'GET', path: '/openapi/v3', code: 200 },
  { name: 'refused list', method: 'GET', path: '/api/v1/secrets', as: 'bob', code: 403 },
  { name: 'refused create', method: 'POST', path: maps, body: map('refused'), as: 'bob', code: 403 },
  { name: 'refused watch', method: 'GET', path: '/api/v1/secrets?watch=1', as: 'bob', code: 403 },
  { name: 'as somebody else', method: 'GET', path: `${core}/pods`, headers: asBob, as: 'root', code: 403 },
  {
    name: 'create as somebody else',
    method: 'POST',
    path: maps,
    body: map('as'),
    headers: { 'impersonate-user': 'carol', 'impersonate-uid': 'c' },
    as: 'root',
    code: 201,
  },
];
