import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from './json-object.ts';
import { updatedObject } from './updated-object.ts';

type Json = Record<string, any>;

function replaced(type: string, live: Json, manifest: Json): Json {
  const [kind, apiVersion] = type.split(' ') as [string, string];
  const of = (object: Json): JsonObject => ({
    apiVersion,
    kind,
    ...object,
    metadata: { name: 'x', ...object['metadata'] },
  });
  const { apiVersion: _version, kind: _kind, ...made } = updatedObject(of(live), of(manifest));
  return made;
}

test('what left the manifest leaves a Service, and its ports are those of the manifest', () => {
  const live = {
    spec: {
      ...{ clusterIP: '10.0.0.1', externalIPs: ['192.0.2.1'], selector: { app: 'a', gone: 'b' } },
      ports: [
        { name: 'http', port: 80, nodePort: 30_080 },
        { name: 'https', port: 443, nodePort: 30_443 },
      ],
    },
  };
  const spec = {
    selector: { app: 'a' },
    ports: [
      { name: 'https', port: 443 },
      { name: 'metrics', port: 9 },
    ],
  };
  assert.deepEqual(replaced('Service v1', live, { spec })['spec'], spec);
});

test('what a cluster fills in once, or a controller writes by contract, stays as it is', () => {
  const claim = { namespace: 'shop', name: 'data' };
  const cases: readonly (readonly [string, Json, Json, Json])[] = [
    ['Namespace v1', { spec: { finalizers: ['kubernetes'] } }, {}, { spec: { finalizers: ['kubernetes'] } }],
    [
      'PersistentVolumeClaim v1',
      { spec: { volumeName: 'pv', volumeMode: 'Filesystem', resources: { requests: { storage: '1Gi' } } } },
      { spec: { resources: { requests: { storage: '2Gi' } } } },
      { spec: { volumeName: 'pv', volumeMode: 'Filesystem', resources: { requests: { storage: '2Gi' } } } },
    ],
    [
      'PersistentVolume v1',
      { spec: { claimRef: { name: 'c' }, mountOptions: ['ro'] } },
      { spec: { capacity: { storage: '1Gi' } } },
      { spec: { claimRef: { name: 'c' }, capacity: { storage: '1Gi' } } },
    ],
    // The manifest chooses the claim, and the binding has added the rest.
    [
      'PersistentVolume v1',
      { spec: { claimRef: { kind: 'PersistentVolumeClaim', ...claim, uid: 'u', resourceVersion: '7' } } },
      { spec: { claimRef: claim } },
      { spec: { claimRef: { kind: 'PersistentVolumeClaim', ...claim, uid: 'u', resourceVersion: '7' } } },
    ],
    [
      'PersistentVolume v1',
      { spec: { claimRef: { ...claim, uid: 'u', resourceVersion: '7' } } },
      { spec: { claimRef: { ...claim, name: 'other' } } },
      { spec: { claimRef: { ...claim, name: 'other' } } },
    ],
    ['Namespace v1', { spec: { finalizers: ['kubernetes'] } }, { spec: {} }, { spec: { finalizers: ['kubernetes'] } }],
    [
      'Job batch/v1',
      { spec: { selector: { matchLabels: { app: 'a', 'batch.kubernetes.io/controller-uid': 'u' } }, template: {} } },
      { spec: { selector: { matchLabels: { app: 'a' } }, template: {} } },
      { spec: { selector: { matchLabels: { app: 'a', 'batch.kubernetes.io/controller-uid': 'u' } }, template: {} } },
    ],
    [
      'ClusterRole rbac.authorization.k8s.io/v1',
      { rules: [{ verbs: ['get'] }], aggregationRule: { a: 1 } },
      { rules: [], aggregationRule: { b: 1 } },
      { rules: [{ verbs: ['get'] }], aggregationRule: { b: 1 } },
    ],
    [
      'ClusterRole rbac.authorization.k8s.io/v1',
      { rules: [{ verbs: ['get'] }], aggregationRule: { a: 1 } },
      { rules: [] },
      { rules: [] },
    ],
    [
      'ServiceAccount v1',
      { secrets: [{ name: 'token' }], imagePullSecrets: [{ name: 'cfg' }], automountServiceAccountToken: true },
      { imagePullSecrets: [{ name: 'mine' }] },
      { secrets: [{ name: 'token' }], imagePullSecrets: [{ name: 'cfg' }, { name: 'mine' }] },
    ],
    [
      'MutatingWebhookConfiguration admissionregistration.k8s.io/v1',
      {
        webhooks: [
          { name: 'a', clientConfig: { caBundle: 'A', url: 'x' }, rules: [1] },
          { name: 'b', clientConfig: { caBundle: 'B' } },
        ],
      },
      { webhooks: [{ name: 'b', clientConfig: { caBundle: 'mine' } }, { name: 'a', clientConfig: {} }, { name: 'c' }] },
      {
        webhooks: [
          { name: 'b', clientConfig: { caBundle: 'mine' } },
          { name: 'a', clientConfig: { caBundle: 'A' } },
          { name: 'c' },
        ],
      },
    ],
    [
      'Job batch/v1',
      {
        spec: {
          ...{ selector: { matchLabels: { uid: '1' } }, suspend: true, ttlSecondsAfterFinished: 5, completions: 1 },
          template: { metadata: { labels: { uid: '1' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
        },
      },
      { spec: { template: { spec: { containers: [{ name: 'c', image: 'i' }] } } } },
      {
        spec: {
          ...{ selector: { matchLabels: { uid: '1' } }, completions: 1 },
          template: { metadata: { labels: { uid: '1' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
        },
      },
    ],
    [
      'Job batch/v1',
      { metadata: { labels: { 'kueue.x-k8s.io/queue-name': 'q' } }, spec: { suspend: true, template: {} } },
      { spec: { template: {} } },
      { spec: { suspend: true, template: {} } },
    ],
    [
      'Pod v1',
      {
        spec: {
          nodeName: 'n',
          containers: [{ name: 'c', image: 'old', volumeMounts: [{ name: 'token', mountPath: '/t' }] }],
          volumes: [{ name: 'token' }],
          tolerations: [{ key: 'k', operator: 'Exists' }],
        },
      },
      {
        spec: {
          containers: [{ name: 'c', image: 'new', volumeMounts: [{ name: 'token', mountPath: '/u' }] }],
          tolerations: [{ operator: 'Exists', key: 'k' }, { key: 'more' }],
          schedulingGates: [{ name: 'queue' }],
        },
      },
      {
        spec: {
          nodeName: 'n',
          containers: [
            {
              ...{ name: 'c', image: 'new' },
              volumeMounts: [
                { name: 'token', mountPath: '/t' },
                { name: 'token', mountPath: '/u' },
              ],
            },
          ],
          volumes: [{ name: 'token' }],
          tolerations: [{ key: 'k', operator: 'Exists' }, { key: 'more' }],
        },
      },
    ],
    ['Deployment apps/v1', { spec: { replicas: 5, paused: true } }, { spec: {} }, { spec: { replicas: 5 } }],
    ['Deployment apps/v1', { spec: { replicas: 5 } }, { spec: { replicas: 2 } }, { spec: { replicas: 2 } }],
    ['Secret v1', { data: { a: '1' }, type: 'Opaque' }, {}, { type: 'Opaque' }],
    [
      'Secret v1',
      { data: { token: 't', gone: 'x' }, type: 'kubernetes.io/service-account-token' },
      { data: { mine: 'y' }, type: 'kubernetes.io/service-account-token' },
      { data: { token: 't', gone: 'x', mine: 'y' }, type: 'kubernetes.io/service-account-token' },
    ],
  ];
  for (const [type, live, manifest, { ...wanted }] of cases) {
    const { metadata: _, ...made } = replaced(type, live, manifest);
    assert.deepEqual(made, wanted, type);
  }
});

test('certificates that others put in stay only where the manifest asks for them', () => {
  const trusted = { labels: { 'config.openshift.io/inject-trusted-cabundle': 'true' } };
  const live = { metadata: trusted, data: { 'ca-bundle.crt': 'PEM', 'service-ca.crt': 'x', gone: '1' } };
  assert.deepEqual(replaced('ConfigMap v1', live, { metadata: trusted, data: { a: '1' } })['data'], {
    ...{ a: '1', 'ca-bundle.crt': 'PEM' },
  });
  assert.deepEqual(replaced('ConfigMap v1', live, { data: { a: '1' } })['data'], { a: '1' });
  const api = { spec: { caBundle: 'A', group: 'g', insecureSkipTLSVerify: true } };
  const asking = { metadata: { annotations: { 'cert-manager.io/inject-ca-from': 'ns/c' } }, spec: { group: 'g' } };
  const service = 'APIService apiregistration.k8s.io/v1';
  assert.deepEqual(replaced(service, api, asking)['spec'], { group: 'g', caBundle: 'A' });
  assert.deepEqual(replaced(service, api, { spec: { group: 'g' } })['spec'], { group: 'g' });
  const crd = 'CustomResourceDefinition apiextensions.k8s.io/v1';
  const conversion = { webhook: { clientConfig: { caBundle: 'A' } } };
  const wanted = { ...asking, spec: { conversion: { webhook: { clientConfig: { url: 'u' } } } } };
  assert.deepEqual(replaced(crd, { spec: { conversion } }, wanted)['spec'].conversion.webhook.clientConfig, {
    ...{ url: 'u', caBundle: 'A' },
  });
  assert.deepEqual(replaced(crd, { spec: { conversion } }, { ...asking, spec: {} })['spec'], {});
});

test('the choice of the default StorageClass is the administrator’s', () => {
  const chosen = (value: string): Json => ({
    metadata: { annotations: { 'storageclass.kubernetes.io/is-default-class': value } },
  });
  const type = 'StorageClass storage.k8s.io/v1';
  assert.deepEqual(replaced(type, chosen('false'), chosen('true'))['metadata'].annotations, {
    ...chosen('false')['metadata'].annotations,
  });
  assert.deepEqual(replaced(type, {}, chosen('true'))['metadata'].annotations, {
    ...chosen('true')['metadata'].annotations,
  });
});

test(
  'a Pod has each toleration once, however many there are and however they are written (ATT-63)',
  { timeout: 60_000 },
  () => {
    const many = (prefix: string, reads = 0): Json[] =>
      Array.from({ length: 10_000 }, (_, index) => ({
        get key() {
          reads += 1;
          // Comparing each with each other one would read the fields many million times.
          assert.ok(reads < 100_000, 'fields are read too often');
          return `${prefix}${index}`;
        },
        value: 9_007_199_254_740_993n,
      }));
    const tolerationsOf = (live: readonly unknown[], given: readonly unknown[]): unknown[] =>
      replaced('Pod v1', { spec: { tolerations: live } }, { spec: { tolerations: given } })['spec']['tolerations'];
    assert.equal(tolerationsOf(many('a'), many('a')).length, 10_000);
    assert.equal(tolerationsOf(many('a'), many('b')).length, 20_000);
    const one = { key: 'k', value: 9_007_199_254_740_993n };
    const other = { key: 'k', value: 9_007_199_254_740_992n };
    const swapped = { value: 9_007_199_254_740_993n, key: 'k' };
    assert.deepEqual(tolerationsOf([one], [swapped, other, '1', 1]), [one, other, '1', 1]);
  },
);

test('a kind of another group with the same name is replaced as a whole', () => {
  assert.deepEqual(replaced('Pod example.org/v1', { spec: { nodeName: 'n' } }, { spec: {} })['spec'], {});
});

test('neither the object nor the manifest is changed, and odd values are left to the server', () => {
  const live = Object.freeze({ apiVersion: 'v1', kind: 'Pod', metadata: Object.freeze({}), spec: Object.freeze({}) });
  for (const spec of [null, 'text', 5, [], [null]] as const) {
    for (const kind of ['Pod', 'PersistentVolumeClaim', 'Namespace', 'ServiceAccount', 'Secret', 'ConfigMap', 'Node'])
      assert.doesNotThrow(() => updatedObject({ ...live, kind }, { ...live, kind, spec, secrets: spec, data: spec }));
    for (const webhooks of [spec, [spec]]) {
      const kind = { apiVersion: 'admissionregistration.k8s.io/v1', kind: 'ValidatingWebhookConfiguration' };
      assert.deepEqual(updatedObject({ ...live, ...kind }, { ...kind, webhooks })['webhooks'], webhooks);
    }
  }
});
