// One cluster registered on a hub in the way of every source: its objects for a given member and credential, and the
// same with something wrong. Objects are applied one after the other, so those that lead somewhere come last.
import { stringify } from 'yaml';
import { secretNamespace } from '../../hub/objects.ts';
import { kubeconfigOf } from '../../pretend/kubeconfig.ts';

/** Where a registration leads, and as whom. */
export interface Way {
  readonly url: string;
  readonly caPem: string;
  /** Of a ServiceAccount or user of the member that may impersonate. */
  readonly token: string;
  /** Of such a user. */
  readonly certPem: string;
  readonly keyPem: string;
}

/** How one source knows a cluster. */
export interface Registration {
  /** For the name of the test. */
  readonly title: string;
  /** `spec.source.type` of the cluster. */
  readonly source: string;
  readonly cluster: string;
  readonly objects: (way: Way) => readonly object[];
  /** What to apply in place of `objects` so that they contradict themselves. */
  readonly contradiction: (way: Way) => readonly object[];
  /** Reason and message of the condition then. */
  readonly complaint: RegExp;
  /** Paths whose objects go for the cluster to go. */
  readonly paths: readonly string[];
  /** Paths of what is left over then. */
  readonly rest: readonly string[];
}

/** Namespaces beside `default` and cluster-gateway's that the registrations lie in. */
export const registrationNamespaces = ['joined', 'tokened', 'karmada-cluster', 'argocd', 'team-x'] as const;
/** For `--secret-namespaces`. */
export const secretNamespaces = 'default,argocd,team-x';

const base64 = (text: string): string => Buffer.from(text, 'utf8').toString('base64');

function secret(
  namespace: string,
  name: string,
  stringData: object,
  more: { labels?: object; type?: string } = {},
): object {
  const { labels = {}, type = 'Opaque' } = more;
  return { apiVersion: 'v1', kind: 'Secret', type, metadata: { name, namespace, labels }, stringData };
}

function secretPath(namespace: string, name: string): string {
  return `/api/v1/namespaces/${namespace}/secrets/${name}`;
}

function kubeconfig(name: string, way: Way, user: object): string {
  return stringify(kubeconfigOf({ server: way.url, caPem: way.caPem }, user, name));
}

function certificateUser(way: Way): object {
  return { 'client-certificate-data': base64(way.certPem), 'client-key-data': base64(way.keyPem) };
}

function managedCluster(name: string, way: Way, spec: object = {}): object {
  return {
    apiVersion: 'cluster.open-cluster-management.io/v1',
    kind: 'ManagedCluster',
    metadata: { name },
    spec: {
      hubAcceptsClient: true,
      managedClusterClientConfigs: [{ url: way.url, caBundle: base64(way.caPem) }],
      ...spec,
    },
  };
}

const managedClusterPath = '/apis/cluster.open-cluster-management.io/v1/managedclusters';

function ocm(): Registration {
  const objects = (way: Way): readonly object[] => [
    secret('tokened', 'cluster-gateway', { token: way.token, 'ca.crt': way.caPem }),
    managedCluster('tokened', way),
  ];
  return {
    title: 'an OCM ManagedCluster with the token of a managed-serviceaccount',
    source: 'ocm',
    cluster: 'tokened',
    objects,
    contradiction: (way) => [managedCluster('tokened', way, { hubAcceptsClient: false })],
    complaint: /^HubDeniesClient ManagedCluster tokened: .*hubAcceptsClient/,
    paths: [`${managedClusterPath}/tokened`],
    rest: [secretPath('tokened', 'cluster-gateway')],
  };
}

const gatewayLabels = { 'cluster.core.oam.dev/cluster-credential-type': 'ServiceAccountToken' };

function joined(): Registration {
  const credential = (data: object): object => secret(secretNamespace, 'joined', data, { labels: gatewayLabels });
  return {
    title: 'an OCM ManagedCluster with a Secret of cluster-gateway beside a managed-serviceaccount token',
    source: 'ocm',
    cluster: 'joined',
    objects: (way) => [
      // This token works nowhere: the Secret of cluster-gateway counts.
      secret('joined', 'cluster-gateway', { token: 'of-nobody', 'ca.crt': way.caPem }),
      credential({ token: way.token, 'ca.crt': 'not read' }),
      managedCluster('joined', way),
    ],
    contradiction: () => [credential({ token: 'two words' })],
    complaint: new RegExp(
      `^InvalidConfiguration Secret ${secretNamespace}/joined: data\\["token"\\] holds white space`,
    ),
    // Alone, the Secret would be a cluster of its own.
    paths: [`${managedClusterPath}/joined`, secretPath(secretNamespace, 'joined')],
    rest: [secretPath('joined', 'cluster-gateway')],
  };
}

function clusterGateway(): Registration {
  const credential = (data: object): object =>
    secret(secretNamespace, 'vela.dotted', data, {
      labels: { 'cluster.core.oam.dev/cluster-credential-type': 'X509Certificate' },
    });
  const data = (way: Way): object => ({
    endpoint: `${way.url}\n`,
    'ca.crt': way.caPem,
    'tls.crt': way.certPem,
    'tls.key': way.keyPem,
  });
  return {
    title: 'a Secret of cluster-gateway with a client certificate and a dot in its name',
    source: 'cluster-gateway',
    cluster: 'vela.dotted',
    objects: (way) => [credential(data(way))],
    contradiction: (way) => [credential({ ...data(way), 'tls.crt': way.caPem })],
    complaint: /^InvalidConfiguration Secret .*\/vela.dotted: .*the key belongs to another certificate/,
    paths: [secretPath(secretNamespace, 'vela.dotted')],
    rest: [],
  };
}

function karmada(): Registration {
  const namespace = 'karmada-cluster';
  const cluster = (way: Way, spec: object = {}): object => ({
    apiVersion: 'cluster.karmada.io/v1alpha1',
    kind: 'Cluster',
    metadata: { name: 'pushed' },
    spec: {
      syncMode: 'Push',
      apiEndpoint: way.url,
      secretRef: { namespace, name: 'pushed' },
      impersonatorSecretRef: { namespace, name: 'pushed-impersonator' },
      ...spec,
    },
  });
  return {
    title: 'a Cluster of Karmada',
    source: 'karmada',
    cluster: 'pushed',
    objects: (way) => [
      secret(namespace, 'pushed', { caBundle: way.caPem, token: 'of-nobody' }),
      secret(namespace, 'pushed-impersonator', { token: way.token }),
      cluster(way),
    ],
    contradiction: (way) => [cluster(way, { apiEndpoint: way.url.replace('https', 'http') })],
    complaint: /^InvalidConfiguration Karmada Cluster pushed: spec.apiEndpoint must start with https/,
    paths: ['/apis/cluster.karmada.io/v1alpha1/clusters/pushed'],
    rest: [secretPath(namespace, 'pushed'), secretPath(namespace, 'pushed-impersonator')],
  };
}

function clusterApi(): Registration {
  const credential = (text: string): object =>
    secret(
      'default',
      'workload-kubeconfig',
      { value: text },
      { type: 'cluster.x-k8s.io/secret', labels: { 'cluster.x-k8s.io/cluster-name': 'workload' } },
    );
  return {
    title: 'a Cluster of Cluster API',
    source: 'cluster-api',
    cluster: 'workload',
    objects: (way) => [
      credential(kubeconfig('workload', way, certificateUser(way))),
      {
        apiVersion: 'cluster.x-k8s.io/v1beta2',
        kind: 'Cluster',
        metadata: { name: 'workload', namespace: 'default' },
        spec: { paused: false },
      },
    ],
    contradiction: (way) => [credential(kubeconfig('workload', way, { tokenFile: '/etc/hostname' }))],
    complaint: /^InvalidConfiguration Secret default\/workload-kubeconfig: .*names a file \(tokenFile\)/,
    paths: ['/apis/cluster.x-k8s.io/v1beta2/namespaces/default/clusters/workload'],
    rest: [secretPath('default', 'workload-kubeconfig')],
  };
}

function vcluster(): Registration {
  const credential = (text: string): object => secret('team-x', 'vc-virtual', { config: text });
  return {
    title: 'a vcluster',
    source: 'vcluster',
    cluster: 'virtual',
    objects: (way) => [credential(kubeconfig('virtual', way, certificateUser(way)))],
    contradiction: (way) => [
      credential(
        kubeconfig('virtual', way, {
          exec: { apiVersion: 'client.authentication.k8s.io/v1', command: 'true', interactiveMode: 'Never' },
        }),
      ),
    ],
    complaint: /^InvalidConfiguration Secret team-x\/vc-virtual: .*has an exec plugin/,
    paths: [secretPath('team-x', 'vc-virtual')],
    rest: [],
  };
}

function argocd(): Registration {
  const credential = (way: Way, config: object): object =>
    secret(
      'argocd',
      'cluster-api.example.com-1234',
      {
        name: 'deployed',
        server: way.url,
        config: JSON.stringify({ tlsClientConfig: { caData: base64(way.caPem) }, ...config }),
      },
      { labels: { 'argocd.argoproj.io/secret-type': 'cluster' } },
    );
  return {
    title: 'a cluster Secret of Argo CD',
    source: 'argocd',
    cluster: 'deployed',
    objects: (way) => [credential(way, { bearerToken: way.token })],
    contradiction: (way) => [credential(way, { bearerToken: way.token, username: 'admin', password: 'secret' })],
    complaint: /^InvalidConfiguration Secret argocd\/cluster-api.example.com-1234: has more than one credential/,
    paths: [secretPath('argocd', 'cluster-api.example.com-1234')],
    rest: [],
  };
}

function pediaCluster(): Registration {
  const cluster = (way: Way, spec: object): object => ({
    apiVersion: 'cluster.clusterpedia.io/v1alpha2',
    kind: 'PediaCluster',
    metadata: { name: 'searched' },
    spec: { apiserver: way.url, caData: base64(way.caPem), syncResources: [], ...spec },
  });
  return {
    title: 'a PediaCluster',
    source: 'pediacluster',
    cluster: 'searched',
    objects: (way) => [cluster(way, { tokenData: base64(`${way.token}\n`) })],
    contradiction: (way) => [cluster(way, { tokenData: base64(way.token), caData: base64('no certificate') })],
    complaint: /^InvalidConfiguration PediaCluster searched: spec.caData holds no valid PEM/,
    paths: ['/apis/cluster.clusterpedia.io/v1alpha2/pediaclusters/searched'],
    rest: [],
  };
}

/** One for each source, and one for the two of Open Cluster Management together. */
export const registrations: readonly Registration[] = [
  ocm(),
  joined(),
  clusterGateway(),
  karmada(),
  clusterApi(),
  vcluster(),
  argocd(),
  pediaCluster(),
];
