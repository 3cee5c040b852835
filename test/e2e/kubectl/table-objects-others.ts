// Objects of all other types, custom ones too, for comparing tables with a real kube-apiserver's. Names of
// cluster-scoped objects must not meet those that kube-apiserver makes itself.
import { expressions, inCluster, inNamespace, labels, ns, time } from './table-object.ts';
import type { TableObject } from './table-object.ts';

export function coreObjects(): readonly TableObject[] {
  const node = inCluster('v1', 'Node', 'nodes');
  const event = inNamespace('v1', 'Event', 'events');
  const newEvent = inNamespace('events.k8s.io/v1', 'Event', 'events');
  const about = { kind: 'Pod', namespace: ns, name: 'web', fieldPath: 'spec.containers{one}' };
  const regarding = {
    regarding: about,
    reportingController: 'x.io/c',
    reportingInstance: 'c-1',
    action: 'Do',
    reason: 'Done',
    type: 'Normal',
  };
  const micro = '2024-05-01T10:00:00.123456Z';
  const hard = { 'limits.cpu': '2', 'requests.memory': '1536Mi', pods: '10', 'limits.memory': '1Gi' };
  return [
    node(
      'n1',
      { spec: { unschedulable: true } },
      {
        metadata: {
          labels: {
            'node-role.kubernetes.io/worker': '',
            'kubernetes.io/role': 'edge',
          },
        },
        status: {
          conditions: [{ type: 'Ready', status: 'False' }],
          addresses: [
            { type: 'ExternalIP', address: '203.0.113.5' },
            { type: 'InternalIP', address: '10.0.0.5' },
          ],
          nodeInfo: {
            kubeletVersion: 'v1.36.3',
            osImage: 'Linux',
            kernelVersion: '6.1',
            containerRuntimeVersion: 'containerd://2',
            architecture: 'arm64',
            bootID: '',
            kubeProxyVersion: '',
            machineID: '',
            operatingSystem: 'linux',
            systemUUID: '',
          },
        },
      },
    ),
    node('n2', {}, { status: { conditions: [{ type: 'Ready', status: 'True' }] } }),
    node('n3', {}),
    inNamespace('v1', 'ConfigMap', 'configmaps')('two', { data: { a: '1' }, binaryData: { b: 'AA==' } }),
    inNamespace('v1', 'ConfigMap', 'configmaps')('none', {}),
    inNamespace('v1', 'Secret', 'secrets')('two', { stringData: { a: '1', b: '2' } }),
    event('old', {
      involvedObject: about,
      reason: 'Pulled',
      message: '  done \n',
      type: 'Normal',
      source: { component: 'kubelet', host: 'n1' },
      firstTimestamp: time,
      lastTimestamp: time,
      count: 4,
    }),
    event('bare', { involvedObject: { kind: 'Node', namespace: ns }, source: { component: 'c' } }),
    newEvent('new', { ...regarding, note: 'note', eventTime: micro, series: { count: 6, lastObservedTime: micro } }),
    newEvent('single', { ...regarding, eventTime: micro }),
    inNamespace('v1', 'ResourceQuota', 'resourcequotas')(
      'quota',
      { spec: { hard } },
      { status: { hard, used: { pods: '3', 'limits.cpu': '500m' } } },
    ),
    inNamespace(
      'v1',
      'LimitRange',
      'limitranges',
    )('limits', { spec: { limits: [{ type: 'Pod', max: { cpu: '2' } }] } }),
  ];
}

export function storageObjects(): readonly TableObject[] {
  const volume = inCluster('v1', 'PersistentVolume', 'persistentvolumes');
  const claim = inNamespace('v1', 'PersistentVolumeClaim', 'persistentvolumeclaims');
  const storageClass = inCluster('storage.k8s.io/v1', 'StorageClass', 'storageclasses');
  const driver = inCluster('storage.k8s.io/v1', 'CSIDriver', 'csidrivers');
  const source = { capacity: { storage: '1536Mi' }, csi: { driver: 'x.io', volumeHandle: 'h' } };
  const requests = { accessModes: ['ReadWriteOnce', 'ReadOnlyMany'], resources: { requests: { storage: '1Gi' } } };
  return [
    volume(
      'bound',
      {
        spec: {
          ...source,
          accessModes: ['ReadWriteMany', 'ReadWriteOnce'],
          persistentVolumeReclaimPolicy: 'Retain',
          storageClassName: 'fast',
          claimRef: { namespace: ns, name: 'bound' },
        },
      },
      { status: { phase: 'Bound', reason: 'Why' } },
    ),
    volume(
      'beta',
      { spec: { ...source, accessModes: ['ReadWriteOncePod'], volumeMode: 'Block' } },
      { metadata: { annotations: { 'volume.beta.kubernetes.io/storage-class': 'beta' } } },
    ),
    claim('pending', { spec: { ...requests, storageClassName: 'fast' } }),
    claim(
      'bound',
      { spec: { ...requests, volumeName: 'bound' } },
      { status: { phase: 'Bound', accessModes: ['ReadWriteOnce'], capacity: { storage: '2Gi' } } },
    ),
    storageClass(
      'fast',
      {
        provisioner: 'x.io',
        reclaimPolicy: 'Retain',
        volumeBindingMode: 'WaitForFirstConsumer',
        allowVolumeExpansion: true,
      },
      { metadata: { annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } } },
    ),
    storageClass('plain', { provisioner: 'x.io' }),
    inCluster(
      'storage.k8s.io/v1',
      'VolumeAttributesClass',
      'volumeattributesclasses',
    )('gold', { driverName: 'x.io', parameters: { a: 'b' } }),
    inCluster('storage.k8s.io/v1', 'VolumeAttachment', 'volumeattachments')(
      'a',
      { spec: { attacher: 'x.io', nodeName: 'n1', source: { persistentVolumeName: 'bound' } } },
      { status: { attached: true } },
    ),
    inCluster('storage.k8s.io/v1', 'CSINode', 'csinodes')('n1', { spec: { drivers: [{ name: 'x.io', nodeID: 'n' }] } }),
    driver('x.io', {
      spec: {
        podInfoOnMount: true,
        tokenRequests: [{ audience: 'a' }, { audience: 'b' }],
        volumeLifecycleModes: ['Persistent', 'Ephemeral'],
      },
    }),
    driver('plain.x.io', { spec: { attachRequired: false } }),
    inNamespace(
      'storage.k8s.io/v1',
      'CSIStorageCapacity',
      'csistoragecapacities',
    )('c', { storageClassName: 'fast', capacity: '1Gi' }),
  ];
}

export function accessObjects(): readonly TableObject[] {
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' };
  const rbac = 'rbac.authorization.k8s.io/v1';
  const subject = (kind: string, name: string): object => ({ apiGroup: 'rbac.authorization.k8s.io', kind, name });
  const account = (name: string): object => ({ kind: 'ServiceAccount', namespace: ns, name });
  const subjects = [subject('User', 'u1'), subject('Group', 'g1'), subject('User', 'u2'), account('s1'), account('s2')];
  const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }];
  const admission = 'admissionregistration.k8s.io/v1';
  const webhook = (name: string): object => ({
    name,
    admissionReviewVersions: ['v1'],
    sideEffects: 'None',
    failurePolicy: 'Ignore',
    clientConfig: { url: 'https://127.0.0.1:1/' },
  });
  const matchConstraints = {
    resourceRules: [{ apiGroups: ['x.io'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['nothings'] }],
  };
  const policyBinding = inCluster(admission, 'ValidatingAdmissionPolicyBinding', 'validatingadmissionpolicybindings');
  const binding = (paramRef?: object): object => ({
    spec: { policyName: 'checks', validationActions: ['Deny'], ...(paramRef === undefined ? {} : { paramRef }) },
  });
  const missing = { parameterNotFoundAction: 'Allow' };
  return [
    inNamespace(rbac, 'Role', 'roles')('reads', { rules }),
    inCluster(rbac, 'ClusterRole', 'clusterroles')('reads-tables', { rules }),
    inNamespace(rbac, 'RoleBinding', 'rolebindings')('all', { roleRef, subjects }),
    inNamespace(rbac, 'RoleBinding', 'rolebindings')('none', { roleRef }),
    inCluster(rbac, 'ClusterRoleBinding', 'clusterrolebindings')('tables', { roleRef, subjects }),
    inCluster(
      admission,
      'ValidatingWebhookConfiguration',
      'validatingwebhookconfigurations',
    )('two', { webhooks: [webhook('a.x.io'), webhook('b.x.io')] }),
    inCluster(
      admission,
      'MutatingWebhookConfiguration',
      'mutatingwebhookconfigurations',
    )('one', { webhooks: [webhook('a.x.io')] }),
    inCluster(
      admission,
      'ValidatingAdmissionPolicy',
      'validatingadmissionpolicies',
    )('checks', {
      spec: {
        paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
        matchConstraints,
        validations: [{ expression: 'true' }, { expression: '1 == 1' }],
      },
    }),
    inCluster(
      admission,
      'MutatingAdmissionPolicy',
      'mutatingadmissionpolicies',
    )('changes', {
      spec: {
        matchConstraints,
        reinvocationPolicy: 'Never',
        mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression: 'Object{}' } }],
      },
    }),
    inCluster(
      admission,
      'MutatingAdmissionPolicyBinding',
      'mutatingadmissionpolicybindings',
    )('changes', {
      spec: { policyName: 'changes', paramRef: { ...missing, name: 'p' } },
    }),
    policyBinding('by-name', binding({ ...missing, name: 'p', namespace: ns })),
    policyBinding('anywhere', binding({ ...missing, name: 'p' })),
    policyBinding('by-labels', binding({ ...missing, selector: expressions })),
    policyBinding('without', binding()),
    inCluster(
      'certificates.k8s.io/v1',
      'CertificateSigningRequest',
      'certificatesigningrequests',
    )('signing', {
      spec: {
        signerName: 'x.io/signer',
        expirationSeconds: 86_400,
        usages: ['client auth'],
        request: certificateRequest,
      },
    }),
  ];
}

export function clusterObjects(): readonly TableObject[] {
  const flow = 'flowcontrol.apiserver.k8s.io/v1';
  const priorityLevelConfiguration = { name: 'workload-low' };
  const devices = 'resource.k8s.io/v1';
  const device = { requests: [{ name: 'r', exactly: { deviceClassName: 'gpu' } }] };
  return [
    inNamespace('coordination.k8s.io/v1', 'Lease', 'leases')('held', { spec: { holderIdentity: 'me' } }),
    inNamespace('coordination.k8s.io/v1', 'Lease', 'leases')('free', {}),
    inCluster(
      'scheduling.k8s.io/v1',
      'PriorityClass',
      'priorityclasses',
    )('high', { value: 1000, preemptionPolicy: 'Never' }),
    inCluster('node.k8s.io/v1', 'RuntimeClass', 'runtimeclasses')('sandbox', { handler: 'runsc' }),
    inCluster(
      flow,
      'FlowSchema',
      'flowschemas',
    )('mine', {
      spec: { priorityLevelConfiguration, matchingPrecedence: 777, distinguisherMethod: { type: 'ByUser' } },
    }),
    inCluster(
      'apiregistration.k8s.io/v1',
      'APIService',
      'apiservices',
    )('v1.nowhere.x.io', {
      spec: {
        group: 'nowhere.x.io',
        version: 'v1',
        groupPriorityMinimum: 10,
        versionPriority: 10,
        insecureSkipTLSVerify: true,
        service: { namespace: ns, name: 'none' },
      },
    }),
    inCluster(devices, 'DeviceClass', 'deviceclasses')('gpu', {}),
    inNamespace(devices, 'ResourceClaim', 'resourceclaims')('one', { spec: { devices: device } }),
    inNamespace(
      devices,
      'ResourceClaimTemplate',
      'resourceclaimtemplates',
    )('one', { spec: { spec: { devices: device } } }),
    inCluster(
      devices,
      'ResourceSlice',
      'resourceslices',
    )('one', { spec: { driver: 'x.io', nodeName: 'n1', pool: { name: 'p', resourceSliceCount: 1 } } }),
  ];
}

const column = (name: string, type: string, jsonPath: string, more: object = {}): object => ({
  name,
  type,
  jsonPath,
  ...more,
});

/** A type with columns of every kind, in two versions, and one with none. */
export function customTypes(): readonly TableObject[] {
  const definition = inCluster('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'customresourcedefinitions');
  const open = {
    schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
    served: true,
  };
  const names = (kind: string): object => ({
    kind,
    plural: `${kind.toLowerCase()}s`,
    singular: kind.toLowerCase(),
    listKind: `${kind}List`,
  });
  const columns = [
    ...['string', 'integer', 'number', 'boolean', 'date'].flatMap((type) =>
      ['n', 'f', 's', 'b', 'o', 'l', 'z', 't', 'gone'].map((key) => column(`${type} ${key}`, type, `.spec.${key}`)),
    ),
    column('Ready', 'string', '.status.conditions[?(@.type=="Ready")].status', { description: 'Whether it is' }),
    column('Big', 'integer', '.spec.list[?(@.n>1)].n', { format: 'int64', priority: 1 }),
    column('Last', 'string', '.spec.l[-1]'),
    column('Second', 'string', '.spec.l[1]'),
    column('Beyond', 'string', '.spec.l[9]'),
    column('Dotted', 'string', '.metadata.annotations.a\\.b/c'),
    column('Every', 'string', '.spec.list[*].n'),
    column('Below', 'string', '.spec.list.n'),
    column('Mixed', 'string', '.spec.list[?(@.n=="2")].n'),
  ];
  return [
    definition('things.x.io', {
      spec: {
        group: 'x.io',
        scope: 'Namespaced',
        names: names('Thing'),
        versions: [{ name: 'v1', storage: true, additionalPrinterColumns: columns, ...open }],
      },
    }),
    definition('plains.x.io', {
      spec: {
        group: 'x.io',
        scope: 'Cluster',
        names: names('Plain'),
        versions: [{ name: 'v1', storage: true, ...open }],
      },
    }),
  ];
}

export function customObjects(): readonly TableObject[] {
  const thing = inNamespace('x.io/v1', 'Thing', 'things');
  const spec = {
    n: 7,
    f: 2.5,
    s: 'text',
    b: true,
    o: { z: 1, a: ['<'] },
    l: ['x', 'y', 'z'],
    z: null,
    t: time,
    list: [{ n: 1 }, { n: 2 }],
  };
  return [
    thing(
      'full',
      {
        spec,
        status: {
          conditions: [
            { type: 'A', status: 'x' },
            { type: 'Ready', status: 'True' },
          ],
        },
      },
      { metadata: { annotations: { 'a.b/c': 'dotted' }, labels } },
    ),
    thing('odd', { spec: { n: -0.000012, f: 1e300, s: '', o: {}, l: [], t: 'soon', b: 'true' } }),
    thing('big', { spec: { n: 1234567.25, f: 100_000, l: [{ k: 1 }], list: [{ n: 'two' }, { n: 3 }] } }),
    thing('empty', {}),
    inCluster('x.io/v1', 'Plain', 'plains')('one', {}),
  ];
}

/** A PKCS#10 request for `CN=x`, made once with openssl. */
const certificateRequest =
  'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlISE1HNENBUUF3RERFS01BZ0dBMVVFQXd3QmVEQlpNQk1HQnlxR1NNNDlBZ0VHQ0NxR1NNNDlBd0VIQTBJQQpCTDZsQ0E4c1JmanZwdkY5TU5BUTgzT29CM1dkUW9TMjNWbkcyRVpZTWV5ODhScVpNMVpxTUg2cUZ3RWdBRUhxCjYzWmRRc1dWMzk0ampVSjZjb2xPOElPZ0FEQUtCZ2dxaGtqT1BRUURBZ05KQURCR0FpRUFwUnA3c3UrekZQVEsKYSt0aHRqM2E4eEhqb29FZFhsbElPZTdrOGNzRmk0UUNJUUNIUzJ2NEhpTnJWd2F5NzhGMEdtdHpiYTlSeCtMMgpabGN5KzllUnlQcU9UZz09Ci0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo=';
