// The requests simulator.e2e.ts sends to a real kube-apiserver and to the simulator, in this order. Later ones build on
// what earlier ones wrote, on both sides.

/** One request, and what of its answers may differ. */
export interface Comparison {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Paths of differences that are meant, as `.body.metadata.x`. */
  readonly mayDiffer?: RegExp;
}

const core = '/api/v1/namespaces/default';
const pods = `${core}/pods`;
const maps = `${core}/configmaps`;
const deployments = '/apis/apps/v1/namespaces/default/deployments';
const batch = '/apis/batch/v1/namespaces/default';
const table = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json' };
const nobody = { 'impersonate-user': 'nobody' };
/** What only one side's clock, addresses or build decide. */
const serverOwn = /IP|nodePort|\.serverAddress/;

const patchType = (type: string): Record<string, string> => ({ 'content-type': `application/${type}` });
const apply = patchType('apply-patch+yaml');
const merge = patchType('merge-patch+json');
const json = patchType('json-patch+json');
const strategic = patchType('strategic-merge-patch+json');

const map = (name: string, more: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data: { a: 'b' },
  ...more,
});
const containers = [{ name: 'c', image: 'nginx:1', ports: [{ containerPort: 80 }] }];
const pod = (name: string, spec: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, labels: { app: name } },
  spec: { containers, ...spec },
});
const template = (app: string, spec: object = {}): object => ({
  metadata: { labels: { app } },
  spec: { containers, ...spec },
});
const workload = (name: string, spec: object = {}, kind = 'Deployment'): object => ({
  apiVersion: 'apps/v1',
  kind,
  metadata: { name, labels: { a: 'b' } },
  spec: { replicas: 0, selector: { matchLabels: { app: name } }, template: template(name), ...spec },
});
const review = (kind: string, spec: object): object => ({ apiVersion: 'authorization.k8s.io/v1', kind, spec });
const job = (name: string, spec: object): object => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name },
  spec: { suspend: true, template: { spec: { containers, ...spec } } },
});

type Row = readonly [
  name: string,
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
  mayDiffer?: RegExp,
];

const rows: readonly Row[] = [
  ['version', 'GET', '/version', undefined, {}, /git|build|goVersion|compiler|platform/],
  ['core versions', 'GET', '/api', undefined, {}, serverOwn],
  ['one group', 'GET', '/apis/apps'],
  ['resources of a group', 'GET', '/apis/apps/v1', undefined, {}, /storageVersionHash/],
  ['no such group', 'GET', '/apis/none'],
  ['no such path', 'GET', '/nothing'],
  ['no such version', 'GET', '/api/v2/pods'],
  ['no such resource', 'GET', '/api/v1/things'],
  ['no such subresource', 'GET', `${pods}/p/nothing`],
  ['PUT to a list', 'PUT', maps, map('x')],
  ['DELETE of all namespaces', 'DELETE', '/api/v1/namespaces'],
  ['POST without namespace', 'POST', '/api/v1/configmaps', map('x')],
  ['GET of a review', 'GET', '/apis/authentication.k8s.io/v1/selfsubjectreviews'],
  ['unknown body type', 'POST', maps, 'x', { 'content-type': 'application/foo' }, /message/],
  ['unknown patch type', 'PATCH', `${maps}/x`, '{}', { 'content-type': 'application/json' }],
  ['create', 'POST', maps, map('a')],
  ['create again', 'POST', maps, map('a')],
  ['get', 'GET', `${maps}/a`],
  ['get what is not there', 'GET', `${maps}/none`],
  ['create in no namespace', 'POST', '/api/v1/namespaces/none/configmaps', map('a')],
  ['a bad name', 'POST', maps, map('Bad_')],
  ['no name', 'POST', maps, { apiVersion: 'v1', kind: 'ConfigMap', metadata: {} }],
  ['a wrong version', 'POST', maps, map('b', { apiVersion: 'v2' })],
  ['a wrong namespace', 'POST', maps, map('b', { metadata: { name: 'b', namespace: 'kube-system' } })],
  ['a resourceVersion on create', 'POST', maps, map('b', { metadata: { name: 'b', resourceVersion: '5' } })],
  ['a wrong type', 'POST', maps, map('b', { data: { a: 1 } })],
  ['a bad label key', 'POST', maps, map('b', { metadata: { name: 'b', labels: { 'a b': 'c' } } })],
  ['a bad label value', 'POST', maps, map('b', { metadata: { name: 'b', labels: { a: 'c d' } } })],
  ['a bad data key', 'POST', maps, map('b', { data: { 'a/b': 'c' } })],
  ['an unknown field, strict', 'POST', `${maps}?fieldValidation=Strict`, map('b', { bogus: 1 })],
  ['an unknown inner field, strict', 'POST', `${deployments}?fieldValidation=Strict`, workload('b', { foo: {} })],
  ['a wrong dryRun', 'POST', `${maps}?dryRun=Some`, map('b')],
  ['a dry run', 'POST', `${maps}?dryRun=All`, map('b')],
  ['another name in the body', 'PUT', `${maps}/a`, map('b')],
  ['replace what is not there', 'PUT', `${maps}/none`, map('none')],
  ['replace an old version', 'PUT', `${maps}/a`, map('a', { metadata: { name: 'a', resourceVersion: '1' } })],
  ['merge patch', 'PATCH', `${maps}/a?fieldManager=x`, { data: { c: 'd' } }, merge],
  ['json patch, failing test', 'PATCH', `${maps}/a`, [{ op: 'test', path: '/data/a', value: 'z' }], json],
  ['json patch, missing path', 'PATCH', `${maps}/a`, [{ op: 'remove', path: '/data/zz' }], json],
  ['json patch that is no list', 'PATCH', `${maps}/a`, { op: 'x' }, json],
  ['patch of an old version', 'PATCH', `${maps}/a`, { metadata: { resourceVersion: '1' }, data: { q: 'r' } }, merge],
  ['apply without a manager', 'PATCH', `${maps}/ssa`, map('ssa'), apply],
  ['apply', 'PATCH', `${maps}/ssa?fieldManager=m`, map('ssa'), apply],
  ['apply again', 'PATCH', `${maps}/ssa?fieldManager=m`, map('ssa'), apply],
  ['apply, conflict', 'PATCH', `${maps}/ssa?fieldManager=n`, map('ssa', { data: { a: 'z' } }), apply],
  ['apply, forced', 'PATCH', `${maps}/ssa?fieldManager=n&force=true`, map('ssa', { data: { a: 'z' } }), apply],
  ['apply of another version', 'PATCH', `${maps}/ssa?fieldManager=n`, map('ssa', { apiVersion: 'v2' }), apply],
  ['apply of another name', 'PATCH', `${maps}/ssa?fieldManager=n`, map('other'), apply],
  [
    'apply with managedFields',
    'PATCH',
    `${maps}/ssa?fieldManager=n`,
    map('ssa', { metadata: { name: 'ssa', managedFields: [{}] } }),
    apply,
  ],
  ['an unknown field selector', 'GET', `${pods}?fieldSelector=spec.foo%3Dx`],
  ['a broken field selector', 'GET', `${pods}?fieldSelector=foo`],
  ['a bad resourceVersion', 'GET', `${maps}?resourceVersion=x`],
  ['match without resourceVersion', 'GET', `${maps}?resourceVersionMatch=Exact`],
  ['exactly version 0', 'GET', `${maps}?resourceVersionMatch=Exact&resourceVersion=0`],
  ['an unknown match', 'GET', `${maps}?resourceVersionMatch=Foo&resourceVersion=1`],
  ['a bad limit', 'GET', `${maps}?limit=x`],
  ['initial events without match', 'GET', `${maps}?watch=1&sendInitialEvents=true`],
  ['match on a plain watch', 'GET', `${maps}?watch=1&resourceVersionMatch=NotOlderThan&resourceVersion=1`],
  ['a watch', 'GET', `${maps}?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Da`],
  [
    'a watch of tables',
    'GET',
    `${maps}?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Da`,
    undefined,
    table,
    /description/,
  ],
  ['delete', 'DELETE', `${maps}/a`],
  ['delete again', 'DELETE', `${maps}/a`],
  [
    'a secret',
    'POST',
    `${core}/secrets`,
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, stringData: { a: 'b' } },
  ],
  ['a pod', 'POST', pods, pod('p', { nodeName: 'none' }), {}, /volume/i],
  ['a pod without containers', 'POST', pods, pod('q', { containers: [] })],
  ['a pod with bad containers', 'POST', pods, pod('q', { containers: [{ image: 'x' }, { name: 'b' }] })],
  ['log of an unknown container', 'GET', `${pods}/p/log?container=zz`],
  ['a deployment', 'POST', `${deployments}?fieldManager=kubectl-create`, workload('d')],
  ['selector and labels apart', 'POST', deployments, workload('e', { selector: { matchLabels: { x: 'y' } } })],
  ['no selector', 'POST', deployments, workload('e', { selector: undefined })],
  ['a negative number', 'POST', deployments, workload('e', { replicas: -1 })],
  ['its scale', 'GET', `${deployments}/d/scale`],
  ['apply of a deployment', 'PATCH', `${deployments}/ssa?fieldManager=m`, workload('ssa'), apply],
  ['apply, scale conflict', 'PATCH', `${deployments}/ssa?fieldManager=n`, workload('ssa', { replicas: 5 }), apply],
  [
    'a list item without its key',
    'PATCH',
    `${deployments}/ssa`,
    { spec: { template: { spec: { containers: [{ image: 'x' }] } } } },
    strategic,
  ],
  ['a job', 'POST', `${batch}/jobs`, job('j', { restartPolicy: 'Never' }), {}, /status/],
  ['a job that restarts', 'POST', `${batch}/jobs`, job('k', {})],
  [
    'a cron job',
    'POST',
    `${batch}/cronjobs`,
    {
      apiVersion: 'batch/v1',
      kind: 'CronJob',
      metadata: { name: 'c' },
      spec: { schedule: '0 0 1 1 *', jobTemplate: { spec: { template: template('c', { restartPolicy: 'Never' }) } } },
    },
  ],
  ['a stateful set', 'POST', '/apis/apps/v1/namespaces/default/statefulsets', workload('st', {}, 'StatefulSet')],
  [
    'a daemon set',
    'POST',
    '/apis/apps/v1/namespaces/default/daemonsets',
    workload('ds', { replicas: undefined }, 'DaemonSet'),
  ],
  [
    'a service',
    'POST',
    `${core}/services`,
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 's' },
      spec: { selector: { app: 'd' }, ports: [{ port: 80 }] },
    },
    {},
    serverOwn,
  ],
  [
    'a service without ports',
    'POST',
    `${core}/services`,
    { apiVersion: 'v1', kind: 'Service', metadata: { name: 't' }, spec: {} },
  ],
  [
    'a load balancer',
    'POST',
    `${core}/services`,
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'l' },
      spec: { type: 'LoadBalancer', ports: [{ port: 80, targetPort: 'x' }] },
    },
    {},
    serverOwn,
  ],
  [
    'a budget',
    'POST',
    '/apis/policy/v1/namespaces/default/poddisruptionbudgets',
    {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'b' },
      spec: { minAvailable: 1, selector: { matchLabels: { app: 'd' } } },
    },
  ],
  ['a namespace', 'POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'n' } }],
  ['its end', 'DELETE', '/api/v1/namespaces/n'],
  ['refused list', 'GET', pods, undefined, nobody],
  ['refused get', 'GET', `${deployments}/d`, undefined, nobody],
  ['refused subresource', 'GET', `${pods}/p/log`, undefined, nobody],
  ['refused cluster resource', 'GET', '/api/v1/nodes', undefined, nobody],
  ['refused path', 'GET', '/metrics', undefined, nobody],
  ['refused unknown resource', 'GET', '/apis/foo.bar/v1/things', undefined, nobody],
  ['a group without a user', 'GET', pods, undefined, { 'impersonate-group': 'x' }],
  [
    'who am I',
    'POST',
    '/apis/authentication.k8s.io/v1/selfsubjectreviews',
    { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
    { ...nobody, 'impersonate-uid': 'u', 'impersonate-extra-a%2fb': 'v' },
  ],
  [
    'may I',
    'POST',
    '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    review('SelfSubjectAccessReview', { resourceAttributes: { verb: 'get', resource: 'pods' } }),
    nobody,
    /managedFields/,
  ],
  [
    'may I what',
    'POST',
    '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    review('SelfSubjectAccessReview', {}),
  ],
];

const tables = [
  ...[
    'namespaces',
    'services',
    'nodes',
    'pods',
    'serviceaccounts',
    'secrets',
    'configmaps',
    'events',
    'endpoints',
    'persistentvolumes',
  ].map((name) => `/api/v1/${name}`),
  ...['persistentvolumeclaims', 'resourcequotas', 'limitranges', 'replicationcontrollers', 'podtemplates'].map(
    (name) => `/api/v1/${name}`,
  ),
  ...['deployments', 'replicasets', 'statefulsets', 'daemonsets', 'controllerrevisions'].map(
    (name) => `/apis/apps/v1/${name}`,
  ),
  ...['jobs', 'cronjobs'].map((name) => `/apis/batch/v1/${name}`),
  ...['roles', 'rolebindings', 'clusterroles', 'clusterrolebindings'].map(
    (name) => `/apis/rbac.authorization.k8s.io/v1/${name}`,
  ),
  ...['ingresses', 'ingressclasses', 'networkpolicies', 'ipaddresses', 'servicecidrs'].map(
    (name) => `/apis/networking.k8s.io/v1/${name}`,
  ),
  ...['storageclasses', 'csinodes', 'csidrivers', 'volumeattributesclasses'].map(
    (name) => `/apis/storage.k8s.io/v1/${name}`,
  ),
  '/apis/policy/v1/poddisruptionbudgets',
  '/apis/coordination.k8s.io/v1/leases',
  '/apis/discovery.k8s.io/v1/endpointslices',
  '/apis/autoscaling/v2/horizontalpodautoscalers',
  '/apis/scheduling.k8s.io/v1/priorityclasses',
  '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
];

/** All requests, in order. */
export const comparisons: readonly Comparison[] = [
  ...rows.map(([name, method, path, body, headers = {}, mayDiffer]) => ({
    name,
    method,
    path,
    body,
    headers,
    ...(mayDiffer && { mayDiffer }),
  })),
  ...tables.map((path) => ({
    name: `columns of ${path}`,
    method: 'GET',
    path: `${path}?limit=1`,
    headers: table,
    mayDiffer: /description|rows|metadata/,
  })),
];
