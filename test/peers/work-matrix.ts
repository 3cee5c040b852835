// Objects of many kinds in five states each: as they are made, with one field changed, with one field less, with a list
// in another order, and with a number beyond 2^53 where the kind takes one.
import type { Json } from '../e2e/distribute/works-site.ts';

/** One kind, with what its object holds beside its metadata. */
export interface MatrixKind {
  readonly apiVersion: string;
  readonly kind: string;
  readonly resource: string;
  readonly isNamespaced: boolean;
  /** First, changed, with less, reordered, with a large number; a kind without such numbers is reordered again. */
  readonly states: States;
}

type States = readonly [Json, Json, Json, Json, Json?];
/** How many states each kind has. */
export const stateCount = 5;

/** 2^53 + 1, which no double holds. */
const large = 9007199254740993n;

export function matrixObject(each: MatrixKind, name: string, state: number): Json {
  const { apiVersion, kind, isNamespaced, states } = each;
  const metadata = { name, ...(isNamespaced && { namespace: 'ns1' }) };
  return { apiVersion, kind, metadata, ...(states[state] ?? states[3]) };
}

export function matrixPath({ apiVersion, resource, isNamespaced }: MatrixKind, name: string): string {
  const root = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`;
  return `${root}/${isNamespaced ? 'namespaces/ns1/' : ''}${resource}/${name}`;
}

/** Chooses a strategy for all objects of all kinds; undefined leaves the default. */
export function matrixConfigs(updateStrategy: Json): Json {
  if (updateStrategy === undefined) return {};
  const identifiers = matrixKinds.map(({ apiVersion, resource, isNamespaced }) => ({
    group: apiVersion.includes('/') ? apiVersion.split('/')[0] : '',
    ...{ resource, name: '*', namespace: isNamespaced ? 'ns1' : '' },
  }));
  return { manifestConfigs: identifiers.map((resourceIdentifier) => ({ resourceIdentifier, updateStrategy })) };
}

export const matrixStrategies: Readonly<Record<string, Json>> = {
  Update: undefined,
  ServerSideApply: { type: 'ServerSideApply', serverSideApply: { force: true } },
  CreateOnly: { type: 'CreateOnly' },
  ReadOnly: { type: 'ReadOnly' },
};

const rbac = 'rbac.authorization.k8s.io/v1';
const admission = 'admissionregistration.k8s.io/v1';

function namespaced(apiVersion: string, kind: string, resource: string, ...states: States): MatrixKind {
  return { apiVersion, kind, resource, isNamespaced: true, states };
}

function global(apiVersion: string, kind: string, resource: string, ...states: States): MatrixKind {
  return { apiVersion, kind, resource, isNamespaced: false, states };
}

/** The same fields of a spec, in four states. */
const specs = (...states: States): States => states.map((spec: Json) => ({ spec })) as unknown as States;

const env = (...names: readonly string[]): Json[] => names.map((name) => ({ name, value: name }));
const template = (image: string, variables: readonly Json[], further: Json = {}): Json => ({
  metadata: { labels: { app: 'x' } },
  spec: { containers: [{ name: 'c', image, env: variables }], ...further },
});
const selector = { matchLabels: { app: 'x' } };
const workload = (further: Json = {}): States =>
  specs(
    { selector, minReadySeconds: 3, replicas: 2, template: template('one', env('A', 'B')), ...further },
    { selector, minReadySeconds: 5, replicas: 2, template: template('two', env('A', 'B')), ...further },
    { selector, replicas: 2, template: template('two', env('A', 'B')), ...further },
    { selector, replicas: 2, template: template('two', env('B', 'A')), ...further },
    {
      ...{ selector, replicas: 2, ...further },
      template: template('two', env('B', 'A'), { terminationGracePeriodSeconds: large }),
    },
  );
const run = (image: string, variables: readonly Json[]): Json => ({
  ...template(image, variables, { restartPolicy: 'Never' }),
});
const rule = (...verbs: readonly string[]): Json => ({ apiGroups: [''], resources: ['configmaps'], verbs });
const roles: States = [
  { rules: [rule('get', 'list'), rule('watch')] },
  { rules: [rule('get', 'list', 'create'), rule('watch')] },
  { rules: [rule('get', 'list', 'create')] },
  { rules: [rule('list', 'get', 'create')] },
];
const subject = (name: string): Json => ({ kind: 'ServiceAccount', name, namespace: 'ns1' });
const bound = (...names: readonly string[]): Json => ({
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
  subjects: names.map(subject),
});
const bindings: States = [bound('a', 'b'), bound('a', 'c'), bound('a'), bound('c', 'a')];
const webhook = (name: string, operations: readonly string[], further: Json = {}): Json => ({
  ...{ name, admissionReviewVersions: ['v1'], sideEffects: 'None', failurePolicy: 'Ignore' },
  clientConfig: { url: 'https://hooks.example' },
  rules: [{ apiGroups: ['none.example'], apiVersions: ['v1'], operations, resources: ['things'] }],
  ...further,
});
const hooks: States = [
  { webhooks: [webhook('a.example.org', ['CREATE']), webhook('b.example.org', ['DELETE'])] },
  { webhooks: [webhook('a.example.org', ['UPDATE'], { timeoutSeconds: 3 }), webhook('b.example.org', ['DELETE'])] },
  { webhooks: [webhook('a.example.org', ['UPDATE'])] },
  { webhooks: [webhook('b.example.org', ['DELETE']), webhook('a.example.org', ['UPDATE'])] },
];
const matched = {
  resourceRules: [{ apiGroups: ['none.example'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['things'] }],
};
const validated = (validations: readonly Json[], further: Json = {}): Json => ({
  ...{ validations, matchConstraints: matched },
  ...further,
});
const says = (message: string): Json => ({ expression: 'true', message });
const port = (name: string, number: number): Json => ({ name, port: number });

export const matrixKinds: readonly MatrixKind[] = [
  namespaced(
    'v1',
    'ConfigMap',
    'configmaps',
    { data: { a: '1', b: '1' } },
    { data: { a: '2', b: '1' } },
    ...([{ data: { a: '2' } }, { data: { a: '2', c: '3' } }] as const),
  ),
  namespaced(
    'v1',
    'Secret',
    'secrets',
    { stringData: { a: '1', b: '1' } },
    { stringData: { a: '2', b: '1' } },
    ...([{ data: { a: 'Mg==' } }, { data: { a: 'Mg==' }, immutable: true }, { data: { a: 'Mw==' } }] as const),
  ),
  namespaced(
    'v1',
    'Service',
    'services',
    ...specs(
      { selector: { app: 'x', v: '1' }, ports: [port('http', 80), port('https', 443)] },
      { selector: { app: 'x', v: '1' }, ports: [port('https', 443), port('metrics', 9090)] },
      { selector: { app: 'x' }, ports: [port('https', 443), port('metrics', 9090)] },
      { selector: { app: 'x' }, ports: [port('metrics', 9090), port('https', 443)] },
    ),
  ),
  namespaced(
    'v1',
    'ResourceQuota',
    'resourcequotas',
    ...specs(
      { hard: { pods: '100', services: '100' } },
      { hard: { pods: '200', services: '100' } },
      { hard: { pods: '200' } },
      { hard: { configmaps: '1000', pods: '200' } },
      { hard: { configmaps: large, pods: '200' } },
    ),
  ),
  namespaced(
    'v1',
    'LimitRange',
    'limitranges',
    ...specs(
      { limits: [{ type: 'PersistentVolumeClaim', max: { storage: '10Gi' }, min: { storage: '1Mi' } }] },
      { limits: [{ type: 'PersistentVolumeClaim', max: { storage: '20Gi' }, min: { storage: '1Mi' } }] },
      { limits: [{ type: 'PersistentVolumeClaim', max: { storage: '20Gi' } }] },
      { limits: [{ max: { storage: '20Gi' }, type: 'PersistentVolumeClaim' }] },
      { limits: [{ max: { storage: large }, type: 'PersistentVolumeClaim' }] },
    ),
  ),
  namespaced('apps/v1', 'Deployment', 'deployments', ...workload()),
  namespaced('apps/v1', 'ReplicaSet', 'replicasets', ...workload()),
  namespaced('apps/v1', 'StatefulSet', 'statefulsets', ...workload({ serviceName: 'x' })),
  namespaced('apps/v1', 'DaemonSet', 'daemonsets', ...workload({ replicas: undefined })),
  namespaced(
    'batch/v1',
    'CronJob',
    'cronjobs',
    ...specs(
      {
        schedule: '1 * * * *',
        startingDeadlineSeconds: 100,
        jobTemplate: { spec: { template: run('one', env('A', 'B')) } },
      },
      {
        schedule: '2 * * * *',
        startingDeadlineSeconds: 100,
        jobTemplate: { spec: { template: run('two', env('A', 'B')) } },
      },
      { schedule: '2 * * * *', jobTemplate: { spec: { template: run('two', env('A', 'B')) } } },
      { schedule: '2 * * * *', jobTemplate: { spec: { template: run('two', env('B', 'A')) } } },
      {
        schedule: '2 * * * *',
        startingDeadlineSeconds: large,
        jobTemplate: { spec: { activeDeadlineSeconds: large, template: run('two', env('B', 'A')) } },
      },
    ),
  ),
  namespaced(
    'autoscaling/v2',
    'HorizontalPodAutoscaler',
    'horizontalpodautoscalers',
    ...specs(
      { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' }, minReplicas: 2, maxReplicas: 5 },
      { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' }, minReplicas: 2, maxReplicas: 9 },
      { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' }, maxReplicas: 9 },
      { maxReplicas: 9, scaleTargetRef: { kind: 'Deployment', name: 'x', apiVersion: 'apps/v1' } },
      {
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' },
        maxReplicas: 9,
        metrics: [{ type: 'External', external: { metric: { name: 'm' }, target: { type: 'Value', value: large } } }],
      },
    ),
  ),
  namespaced(
    'networking.k8s.io/v1',
    'Ingress',
    'ingresses',
    ...specs(
      {
        ingressClassName: 'x',
        tls: [{ hosts: ['a.example', 'b.example'] }],
        defaultBackend: { service: { name: 'x', port: { number: 80 } } },
      },
      {
        ingressClassName: 'y',
        tls: [{ hosts: ['a.example', 'b.example'] }],
        defaultBackend: { service: { name: 'x', port: { number: 81 } } },
      },
      {
        tls: [{ hosts: ['a.example', 'b.example'] }],
        defaultBackend: { service: { name: 'x', port: { number: 81 } } },
      },
      {
        tls: [{ hosts: ['b.example', 'a.example'] }],
        defaultBackend: { service: { name: 'x', port: { number: 81 } } },
      },
    ),
  ),
  namespaced(
    'networking.k8s.io/v1',
    'NetworkPolicy',
    'networkpolicies',
    ...specs(
      {
        podSelector: { matchLabels: { app: 'x' } },
        policyTypes: ['Ingress', 'Egress'],
        ingress: [{ ports: [{ port: 80 }, { port: 81 }] }],
      },
      {
        podSelector: { matchLabels: { app: 'y' } },
        policyTypes: ['Ingress', 'Egress'],
        ingress: [{ ports: [{ port: 80 }, { port: 81 }] }],
      },
      { podSelector: {}, policyTypes: ['Ingress', 'Egress'], ingress: [{ ports: [{ port: 80 }, { port: 81 }] }] },
      { podSelector: {}, policyTypes: ['Ingress', 'Egress'], ingress: [{ ports: [{ port: 81 }, { port: 80 }] }] },
    ),
  ),
  namespaced(
    'policy/v1',
    'PodDisruptionBudget',
    'poddisruptionbudgets',
    ...specs(
      { selector: { matchLabels: { app: 'x', v: '1' } }, maxUnavailable: 1 },
      { selector: { matchLabels: { app: 'x', v: '1' } }, maxUnavailable: '30%' },
      { selector: { matchLabels: { app: 'x' } }, maxUnavailable: '30%' },
      { maxUnavailable: '30%', selector: { matchLabels: { app: 'x' } } },
    ),
  ),
  namespaced(rbac, 'Role', 'roles', ...roles),
  namespaced(rbac, 'RoleBinding', 'rolebindings', ...bindings),
  global(rbac, 'ClusterRole', 'clusterroles', ...roles),
  global(rbac, 'ClusterRoleBinding', 'clusterrolebindings', ...bindings),
  global(admission, 'ValidatingWebhookConfiguration', 'validatingwebhookconfigurations', ...hooks),
  global(admission, 'MutatingWebhookConfiguration', 'mutatingwebhookconfigurations', ...hooks),
  global(
    admission,
    'ValidatingAdmissionPolicy',
    'validatingadmissionpolicies',
    ...specs(
      validated([says('a'), says('c')], { failurePolicy: 'Ignore' }),
      validated([says('b'), says('c')], { failurePolicy: 'Ignore' }),
      validated([says('b'), says('c')]),
      validated([says('c'), says('b')]),
    ),
  ),
  global(
    'scheduling.k8s.io/v1',
    'PriorityClass',
    'priorityclasses',
    { value: 5, description: 'a' },
    ...([
      { value: 5, description: 'b' },
      { value: 5 },
      { value: 5, preemptionPolicy: 'PreemptLowerPriority' },
    ] as const),
  ),
  global(
    'storage.k8s.io/v1',
    'StorageClass',
    'storageclasses',
    ...([
      { provisioner: 'x.example', allowVolumeExpansion: true, mountOptions: ['ro', 'sync'] },
      { provisioner: 'x.example', allowVolumeExpansion: false, mountOptions: ['ro', 'sync'] },
      { provisioner: 'x.example', mountOptions: ['ro', 'sync'] },
      { provisioner: 'x.example', mountOptions: ['sync', 'ro'] },
    ] as const),
  ),
  global(
    'networking.k8s.io/v1',
    'IngressClass',
    'ingressclasses',
    ...specs(
      { controller: 'x.example/y', parameters: { kind: 'Thing', name: 'a', scope: 'Cluster' } },
      { controller: 'x.example/y', parameters: { kind: 'Thing', name: 'b', scope: 'Cluster' } },
      { controller: 'x.example/y' },
      { controller: 'x.example/y' },
    ),
  ),
  namespaced(
    'coordination.k8s.io/v1',
    'Lease',
    'leases',
    ...specs(
      { holderIdentity: 'a', leaseDurationSeconds: 5 },
      { holderIdentity: 'b', leaseDurationSeconds: 5 },
      { holderIdentity: 'b' },
      { holderIdentity: 'b', leaseTransitions: 1 },
    ),
  ),
  namespaced(
    'example.com/v1',
    'Widget',
    'widgets',
    ...specs(
      { id: 9007199254740993n, list: [1, 2, 2 ** 40], nested: { a: 1, b: null } },
      { id: 9223372036854775807n, list: [1, 2, 2 ** 40], nested: { a: 1 } },
      { id: 9223372036854775807n, list: [1, 2, 2 ** 40] },
      { id: 9223372036854775807n, list: [2 ** 40, 2, 1] },
      { id: -9223372036854775808n, list: [large, 2, 1] },
    ),
  ),
];
