import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import type { ApiObject } from '../../../kube/types.ts';
import { makeArgocdSource } from './argocd.ts';
import {
  base64,
  certificateValues,
  clusterNamed,
  compiled,
  credentialOf,
  readObjects,
  withData,
} from './hub-objects.fixture.ts';
import { makePediaClusterSource } from './pediacluster.ts';
import { changed } from './hub-objects.fixture.ts';
import type { ClusterSpec } from '../../../model/records.ts';

let values: Awaited<ReturnType<typeof certificateValues>>;
let cluster: ApiObject;
let inCluster: ApiObject;
let repository: ApiObject;
let pedia: ApiObject;

before(async () => {
  values = await certificateValues();
  [cluster, inCluster, repository] = readObjects('argocd', values) as [ApiObject, ApiObject, ApiObject];
  [pedia] = readObjects('pediacluster', { ...values, TOKEN: 'pedia-token\n' }) as [ApiObject];
});

function only(object: ApiObject): ClusterSpec {
  const specs = compiled(makeArgocdSource({ namespaces: ['argocd'] }), [object]);
  assert.equal(specs.length, 1);
  return specs[0] as ClusterSpec;
}

function configured(config: unknown, more: Readonly<Record<string, string>> = {}): ApiObject {
  return withData(cluster, { config: typeof config === 'string' ? config : JSON.stringify(config), ...more });
}

function problemOf(object: ApiObject): string {
  const spec = only(object);
  assert.equal(spec.credential, undefined);
  return `${spec.problem?.reason}: ${spec.problem?.message}`;
}

test('an Argo CD cluster Secret gives server, CA and bearer token', () => {
  const specs = compiled(makeArgocdSource({ namespaces: [] }), [cluster, inCluster, repository]);
  assert.equal(specs.length, 2);
  const spec = clusterNamed(specs, 'prod.argo');
  assert.equal(spec.problem, undefined);
  assert.deepEqual(spec.endpoint, { scheme: 'https', host: 'api.prod.example.com', port: 6443, basePath: '' });
  assert.deepEqual(spec.tls, { ca: values.CA, serverName: undefined, insecure: false });
  assert.equal(credentialOf(spec).authorization, 'Bearer argocd-manager-token');
  assert.deepEqual(spec.labels, { env: 'prod' });
});

test('client certificate, password, server name, insecure and proxy of its config', () => {
  const pair = { certData: base64(values.CERT), keyData: base64(values.KEY) };
  const certified = only(
    configured({ tlsClientConfig: { ...pair, serverName: 'api.internal' }, proxyUrl: 'http://p' }),
  );
  assert.deepEqual(credentialOf(certified).clientCertificate, { cert: values.CERT, key: values.KEY });
  assert.deepEqual(certified.tls, { ca: undefined, serverName: 'api.internal', insecure: false });
  assert.equal(certified.proxy?.host, 'p');
  const basic = only(configured({ username: 'a', password: 'b', tlsClientConfig: { insecure: true } }));
  assert.equal(credentialOf(basic).authorization, `Basic ${base64('a:b')}`);
  assert.equal(basic.tls.insecure, true);
});

test('names in its config count without regard to case, as Go reads them; one that stands twice is refused', () => {
  const spec = only(configured({ BearerToken: 't', TLSClientConfig: { CAData: base64(values.CA), INSECURE: false } }));
  assert.equal(credentialOf(spec).authorization, 'Bearer t');
  assert.equal(spec.tls.ca, values.CA);
  assert.match(problemOf(configured({ bearerToken: 't', AWSAuthConfig: { clusterName: 'x' } })), /awsAuthConfig/);
  assert.match(problemOf(configured({ bearerToken: 't', bearertoken: 'u' })), /of Argo CD \(bearerToken\)/);
  const twice = { tlsClientConfig: { insecure: true, Insecure: false }, bearerToken: 't' };
  assert.match(problemOf(configured(twice)), /\(tlsClientConfig.insecure\)/);
});

test('a server without a scheme is one of https where the config says how to verify it, and else refused', () => {
  const server = '10.1.2.3:6443';
  const trusted = { bearerToken: 't', tlsClientConfig: { caData: base64(values.CA) } };
  assert.equal(only(configured(trusted, { server })).endpoint?.scheme, 'https');
  assert.match(problemOf(configured({ bearerToken: 't' }, { server })), /must start with https/);
});

test('the cluster Argo CD runs in has no credential of its own, and ours is not lent to it', () => {
  assert.match(problemOf(inCluster), /^HubItself: Secret argocd\/cluster-kubernetes/);
  const given = withData(inCluster, { config: JSON.stringify({ bearerToken: 'own' }) });
  assert.equal(credentialOf(only(given)).authorization, 'Bearer own');
});

test('identities of the pod of Argo CD are refused with a reason, even beside a token', () => {
  const refused = /cloud identities of Argo CD's pod; use a bearerToken/;
  assert.match(problemOf(configured({ awsAuthConfig: { clusterName: 'x' } })), refused);
  assert.match(problemOf(configured({ bearerToken: 't', execProviderConfig: { command: 'sh' } })), refused);
  assert.equal(only(configured({ bearerToken: 't', execProviderConfig: null })).problem, undefined);
});

test('what is malformed or contradictory is reported', () => {
  assert.match(problemOf(configured('{')), /data\["config"\] is not JSON$/);
  assert.match(problemOf(configured('[]')), /not a cluster configuration/);
  assert.match(problemOf(configured({ bearerToken: 7 })), /\(bearerToken\)/);
  assert.match(problemOf(configured({})), /has no credential/);
  assert.match(problemOf(configured('')), /has no credential/);
  assert.match(problemOf(configured({ bearerToken: 't', username: 'u' })), /more than one credential/);
  assert.match(
    problemOf(configured({ bearerToken: 't', tlsClientConfig: { certData: base64('x') } })),
    /more than one/,
  );
  assert.match(problemOf(configured({ tlsClientConfig: { certData: base64(values.CERT) } })), /keyData is missing/);
  assert.match(problemOf(configured({ bearerToken: 't', tlsClientConfig: { caData: '?' } })), /not valid base64/);
  assert.match(problemOf(configured({ bearerToken: 't', tlsClientConfig: { caData: base64('x') } })), /no valid PEM/);
  const both = { insecure: true, caData: base64(values.CA) };
  assert.match(problemOf(configured({ bearerToken: 't', tlsClientConfig: both })), /keep one of them/);
  assert.match(problemOf(configured({ bearerToken: 't' }, { server: '' })), /no data\["server"\]/);
});

test('a name that fits no path is made fit, with a digest of it; without a name it is refused', () => {
  for (const name of ['prod', 'prod.eu', `${'a'.repeat(250)}.bc`])
    assert.deepEqual(
      [only(withData(cluster, { name })).name, only(withData(cluster, { name })).problem],
      [name, undefined],
    );
  for (const [original, stem] of [
    ['Prod', 'prod'],
    ['gke_acme-prod_europe-west1_main', 'gke-acme-prod-europe-west1-main'],
    ['admin@talos-lab', 'admin-talos-lab'],
    ['https://api.prod.example.com', 'https-api-prod-example-com'],
    ['a..b', 'a-b'],
    ['-a', 'a'],
    [`${'a'.repeat(250)}.bcd`, 'a'.repeat(52)],
    ['生产', 'cluster'],
  ] as const) {
    const { problem, name, digestName, originalName } = only(withData(cluster, { name: original }));
    assert.deepEqual([problem, digestName, originalName], [undefined, undefined, original]);
    assert.match(name, new RegExp(`^${stem}-[a-z0-9]{10}$`));
  }
  const { data } = cluster as unknown as { readonly data: Readonly<Record<string, string>> };
  const { name: _name, ...withoutName } = data;
  const nameless = [
    withData(cluster, { name: '' }),
    withData(cluster, { name: ' \n' }),
    changed(cluster, (copy) => void (copy['data'] = withoutName)),
    changed(cluster, (copy) => void (copy['data'] = { ...withoutName, name: null })),
    changed(cluster, (copy) => void (copy['data'] = { ...withoutName, name: '/w==' })),
  ];
  for (const secret of nameless) {
    assert.deepEqual([only(secret).name, only(secret).digestName], ['', undefined]);
    assert.match(problemOf(secret), /^InvalidName: Secret .*has no name; give it one/);
  }
});

test('an object without a time of creation counts as the youngest', () => {
  for (const creationTimestamp of [undefined, null, '', 'yesterday', 5]) {
    const secret = changed(cluster, (copy) => {
      copy['metadata'] = { ...cluster.metadata, creationTimestamp };
    });
    assert.equal(only(secret).registeredAt, '9999-12-31T23:59:59Z');
  }
});

function pediaOf(spec: object): ClusterSpec {
  const object = changed(pedia, (copy) => {
    copy['spec'] = { apiserver: 'https://10.30.43.43:6443', ...spec };
  });
  return clusterNamed(compiled(makePediaClusterSource(), [object]), 'cluster-example');
}

test('a PediaCluster gives server, CA and token; its conditions are shown', () => {
  const spec = clusterNamed(compiled(makePediaClusterSource(), [pedia]), 'cluster-example');
  assert.equal(spec.problem, undefined);
  assert.deepEqual(spec.endpoint, { scheme: 'https', host: '10.30.43.43', port: 6443, basePath: '' });
  assert.equal(spec.tls.ca, values.CA);
  assert.equal(credentialOf(spec).authorization, 'Bearer pedia-token');
  assert.deepEqual(
    spec.conditions?.map(({ type, reason }) => [type, reason]),
    [
      ['PediaClusterReady', 'Ready'],
      ['ClusterHealthy', 'Healthy'],
    ],
  );
});

test('of a PediaCluster a kubeconfig comes first, an empty CA means the system roots, and two credentials are none', () => {
  const pair = { certData: base64(values.CERT), keyData: base64(values.KEY) };
  assert.deepEqual(pediaOf(pair).tls, { ca: undefined, serverName: undefined, insecure: false });
  assert.deepEqual(credentialOf(pediaOf(pair)).clientCertificate, { cert: values.CERT, key: values.KEY });
  assert.match(pediaOf({ ...pair, tokenData: base64('t') }).problem?.message ?? '', /more than one credential/);
  const kubeconfig = JSON.stringify({
    clusters: [{ name: 'c', cluster: { server: 'https://k.example.com' } }],
    users: [{ name: 'u', user: { token: 'from-kubeconfig' } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
  });
  const first = pediaOf({ kubeconfig: base64(kubeconfig), tokenData: base64('t') });
  assert.equal(credentialOf(first).authorization, 'Bearer from-kubeconfig');
  assert.equal(first.endpoint?.host, 'k.example.com');
  assert.match(
    pediaOf({ authenticationFrom: { token: { name: 's', key: 'k' } } }).problem?.message ?? '',
    /with --import-policies only/,
  );
  assert.match(
    pediaOf({}).problem?.message ?? '',
    /^PediaCluster cluster-example: Cluster APIServer's Token or Cert is required/,
  );
  assert.match(pediaOf({ tokenData: 't' }).problem?.message ?? '', /spec.tokenData is not valid base64/);
  assert.match(
    pediaOf({ tokenData: base64('t'), apiserver: '' }).problem?.message ?? '',
    /Cluster APIServer Endpoint is required/,
  );
});

test('a PediaCluster says what of it is indexed, itself and by the ClusterSyncResources it names, which may change later', () => {
  const source = makePediaClusterSource();
  const object = changed(pedia, (copy) => {
    copy['spec'].syncResources = [
      { group: 'apps', versions: ['v1'], resources: ['deployments', 'statefulsets'] },
      { group: 7, resources: ['x'] },
      'nonsense',
    ];
    copy['spec'].syncResourcesRefName = 'shared';
    copy['spec'].syncAllCustomResources = true;
  });
  const shared = (resourceVersion: string, resource: string): ApiObject => ({
    apiVersion: 'cluster.clusterpedia.io/v1alpha2',
    kind: 'ClusterSyncResources',
    metadata: { name: 'shared', uid: 'u1', resourceVersion },
    spec: { syncResources: [{ group: '', resources: [resource] }] },
  });
  const indexing = (...objects: readonly ApiObject[]): ClusterSpec['indexing'] =>
    clusterNamed(compiled(source, objects), 'cluster-example').indexing;
  const own = ['deployments', 'statefulsets'].map((resource) => ({ group: 'apps', resource, versions: ['v1'] }));
  const pods = { group: '', resource: 'pods', versions: [] };
  assert.deepEqual(indexing(object, shared('1', 'pods')), { resources: [...own, pods], allCustomResources: true });
  const nodes = { ...pods, resource: 'nodes' };
  assert.deepEqual(indexing(object, shared('2', 'nodes'))?.resources, [...own, nodes]);
  assert.deepEqual(indexing(object)?.resources, own);
  assert.equal(pediaOf({ tokenData: base64('t') }).indexing, undefined);
});
