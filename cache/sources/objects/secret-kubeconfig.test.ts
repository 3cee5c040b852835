import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { stringify } from 'yaml';
import { GatewayError } from '../../../model/errors.ts';
import type { ApiObject } from '../../../kube/types.ts';
import type { ClusterSpec } from '../../../model/records.ts';
import { makeClusterApiSource } from './cluster-api.ts';
import {
  base64,
  certificateValues,
  changed,
  clusterNamed,
  compiled,
  credentialOf,
  readObjects,
  withData,
} from './hub-objects.fixture.ts';
import { readSecretKubeconfig } from './secret-kubeconfig.ts';
import { makeVclusterSource } from './vcluster.ts';
import { kubeconfigOf } from '../../../test/pretend/kubeconfig.ts';

let values: Awaited<ReturnType<typeof certificateValues>>;
let cluster: ApiObject;
let secret: ApiObject;
let virtual: ApiObject;
let configuration: ApiObject;

before(async () => {
  values = await certificateValues();
  [cluster, secret] = readObjects('cluster-api', values) as [ApiObject, ApiObject];
  [virtual, configuration] = readObjects('vcluster', values) as [ApiObject, ApiObject];
});

/** A kubeconfig of one cluster. */
function kubeconfig(clusterFields: object, user: object, more: object = {}): string {
  return stringify({ ...kubeconfigOf({ server: 'https://c.example.com', ...clusterFields }, user), ...more });
}

function refusal(text: string): string {
  try {
    readSecretKubeconfig('data["value"]', text);
  } catch (error) {
    assert.ok(error instanceof GatewayError);
    return error.message;
  }
  return assert.fail('it was taken');
}

test('a Cluster of Cluster API is reached by the kubeconfig of its provider', () => {
  for (const version of ['v1beta1', 'v1beta2']) {
    const served = changed(cluster, (copy) => {
      copy['apiVersion'] = `cluster.x-k8s.io/${version}`;
    });
    const specs = compiled(makeClusterApiSource({ namespaces: ['default'] }), [served, secret]);
    const spec = clusterNamed(specs, 'capi-quickstart');
    assert.equal(spec.problem, undefined);
    assert.deepEqual(spec.endpoint, { scheme: 'https', host: '172.18.0.5', port: 6443, basePath: '' });
    assert.equal(spec.tls.ca, values.CA);
    assert.deepEqual(credentialOf(spec).clientCertificate, { cert: values.CERT, key: values.KEY });
    assert.equal(spec.sourceDetail, 'Cluster API Cluster default/capi-quickstart');
    assert.deepEqual(spec.labels, { cni: 'calico' });
    const [condition] = spec.conditions ?? [];
    assert.equal(condition?.type, 'ClusterAPIAvailable');
    assert.equal(condition?.message, '* WorkersAvailable: * MachineDeployment md-0: 0 available replicas');
  }
});

test('a Cluster without kubeconfig, with that of another one, or with a Secret without the key', () => {
  const problemOf = (...objects: ApiObject[]): string => {
    const spec = clusterNamed(compiled(makeClusterApiSource({ namespaces: [] }), objects), 'capi-quickstart');
    assert.equal(spec.credential, undefined);
    return `${spec.problem?.reason}: ${spec.problem?.message}`;
  };
  assert.match(problemOf(cluster), /^NoCredential: .*default\/capi-quickstart-kubeconfig is missing/);
  const elsewhere = changed(secret, (copy) => {
    copy['metadata'].namespace = 'other';
  });
  assert.match(problemOf(cluster, elsewhere), /^NoCredential/);
  const mislabelled = changed(secret, (copy) => {
    copy['metadata'].labels['cluster.x-k8s.io/cluster-name'] = 'other';
  });
  assert.match(problemOf(cluster, mislabelled), /names another cluster/);
  assert.match(problemOf(cluster, withData(secret, { value: undefined })), /data\["value"\] is missing/);
  assert.match(problemOf(cluster, withData(secret, { value: '- a' })), /it must be a kubeconfig/);
});

test('a kubeconfig Secret of another type is used as Cluster API uses it, when it has the label', () => {
  const source = makeClusterApiSource({ namespaces: ['default'] });
  const label = 'cluster.x-k8s.io/cluster-name';
  const specOf = (...objects: ApiObject[]): ClusterSpec =>
    clusterNamed(compiled(source, [cluster, ...objects]), 'capi-quickstart');
  let version = 100;
  const typed = (type: string | undefined, metadata: object = {}, data: object = {}): ApiObject =>
    changed(secret, (copy) => {
      version += 1;
      copy['metadata'] = { ...copy['metadata'], resourceVersion: `${version}`, ...metadata };
      Object.assign(copy, { type }, data);
    });
  for (const type of ['Opaque', 'example.com/kubeconfig', '', undefined]) {
    const spec = specOf(typed(type));
    assert.equal(spec.problem, undefined, `type ${type}`);
    assert.deepEqual(credentialOf(spec).clientCertificate, { cert: values.CERT, key: values.KEY });
  }
  // With the type the label may be missing, as before.
  assert.equal(specOf(typed('cluster.x-k8s.io/secret', { labels: {} })).problem, undefined);

  const refused = (what: RegExp, ...objects: ApiObject[]): void => {
    const spec = specOf(...objects);
    assert.equal(spec.credential, undefined);
    assert.match(`${spec.problem?.reason}: ${spec.problem?.message}`, what);
  };
  const neither = /^NoCredential: .*is missing, or has neither the type cluster\.x-k8s\.io\/secret nor the label /;
  refused(neither);
  // The label that an update takes away takes the credential away.
  for (const labels of [{}, null, undefined, { [label.toUpperCase()]: 'capi-quickstart' }])
    refused(neither, typed('Opaque', { labels }));
  for (const name of ['capi-quickstart', 'capi-quickstart-kubeconfig-2', 'other-kubeconfig'])
    refused(neither, typed('Opaque', { name }));
  refused(neither, typed('Opaque', { namespace: 'tenant' }));
  for (const value of ['', 'other', 'capi-quickstart-kubeconfig'])
    refused(/names another cluster/, typed('Opaque', { labels: { [label]: value } }));
  for (const data of [{}, { kubeconfig: 'eA==' }, { value: null }, null, undefined])
    refused(/data\["value"\] is missing/, typed('Opaque', {}, { data }));
  refused(/^InvalidConfiguration: /, typed('Opaque', {}, { data: { value: '' } }));
});

test('of two Clusters of one name the older keeps it, whatever its namespace is called', () => {
  const specs = compiled(makeClusterApiSource({ namespaces: ['a-younger', 'default'] }), [
    changed(cluster, (copy) => {
      copy['metadata'] = {
        ...copy['metadata'],
        namespace: 'a-younger',
        uid: 'b',
        creationTimestamp: '2026-03-02T00:00:00Z',
      };
    }),
    cluster,
    secret,
  ]);
  assert.deepEqual(
    specs.map(({ name, sourceDetail }) => [name, sourceDetail]),
    [
      ['capi-quickstart', 'Cluster API Cluster default/capi-quickstart'],
      ['capi-quickstart', 'Cluster API Cluster a-younger/capi-quickstart'],
    ],
  );
  assert.notEqual(specs[0]?.uid, specs[1]?.uid);
});

test('a Cluster that is served in two versions is one cluster', () => {
  const source = makeClusterApiSource({ namespaces: ['default'] });
  const clusters = new Map([['default/capi-quickstart', cluster]]);
  const secrets = new Map([['default/capi-quickstart-kubeconfig', secret]]);
  assert.deepEqual(
    source.watches.map(({ resource, version, fieldSelector, labelSelector }) => [
      resource,
      version,
      fieldSelector,
      labelSelector,
    ]),
    [
      ['clusters', 'v1beta2', undefined, undefined],
      ['clusters', 'v1beta1', undefined, undefined],
      ['secrets', 'v1', 'type=cluster.x-k8s.io/secret', undefined],
      ['secrets', 'v1', 'type!=cluster.x-k8s.io/secret', 'cluster.x-k8s.io/cluster-name'],
    ],
  );
  assert.equal(source.compile([clusters, clusters, secrets, new Map()]).length, 1);
});

function vcluster(object: ApiObject): ClusterSpec {
  return clusterNamed(compiled(makeVclusterSource({ namespaces: ['team-x'] }), [object, configuration]), 'my-vcluster');
}

test('a vcluster that calls itself localhost is reached at its Service, under the certificate of localhost', () => {
  const spec = vcluster(virtual);
  assert.equal(spec.problem, undefined);
  assert.deepEqual(spec.endpoint, { scheme: 'https', host: 'my-vcluster.team-x.svc', port: 443, basePath: '' });
  assert.deepEqual(spec.tls, { ca: values.CA, serverName: 'localhost', insecure: false });
  assert.deepEqual(credentialOf(spec).clientCertificate, { cert: values.CERT, key: values.KEY });
  assert.deepEqual(
    spec.conditions?.map(({ type }) => type),
    ['AddressReplaced'],
  );
  const exported = withData(virtual, { config: kubeconfig({}, { token: 't' }) });
  assert.equal(vcluster(exported).endpoint?.host, 'c.example.com');
  assert.equal(vcluster(exported).conditions, undefined);
});

test('Secrets that are no kubeconfig of a vcluster are no cluster; one that is broken is listed', () => {
  const source = makeVclusterSource({ namespaces: [] });
  const nameless = changed(virtual, (copy) => {
    copy['metadata'].name = 'vc-';
  });
  const foreign = changed(virtual, (copy) => {
    copy['metadata'].name = 'other';
  });
  assert.deepEqual(compiled(source, [configuration, nameless, foreign]), []);
  const broken = vcluster(withData(virtual, { config: 'x: [' }));
  assert.match(broken.problem?.message ?? '', /^Secret team-x\/vc-my-vcluster: data\["config"\]/);
});

test('the current context counts, or the only one', () => {
  const more = {
    users: [
      { name: 'u', user: { token: 'one' } },
      { name: 'v', user: { token: 'two\n' } },
    ],
    contexts: [
      { name: 'x', context: { cluster: 'c', user: 'u' } },
      { name: 'y', context: { cluster: 'c', user: 'v' } },
    ],
  };
  const read = (current: string): string | undefined =>
    readSecretKubeconfig('f', kubeconfig({}, {}, { ...more, 'current-context': current })).plan.authorization;
  assert.equal(read('x'), 'Bearer one');
  assert.equal(read('y'), 'Bearer two');
  assert.match(refusal(kubeconfig({}, {}, { ...more, 'current-context': '' })), /several contexts and no current-/);
  assert.match(refusal(kubeconfig({}, {}, { ...more, 'current-context': 'z' })), /not among its contexts/);
  assert.equal(
    readSecretKubeconfig('f', kubeconfig({}, { token: 't' }, { 'current-context': '' })).plan.authorization,
    'Bearer t',
  );
});

test('nothing in it reads a file, runs a program, impersonates or goes out unprotected', () => {
  const refusals: readonly (readonly [string, RegExp])[] = [
    [
      kubeconfig({ 'certificate-authority': '/etc/ssl/ca.pem' }, { token: 't' }),
      /names a file \(certificate-authority\)/,
    ],
    [
      kubeconfig({}, { tokenFile: '/var/run/secrets/kubernetes.io/serviceaccount/token' }),
      /names a file \(tokenFile\)/,
    ],
    [kubeconfig({}, { token: 't', tokenFile: 'token' }), /names a file \(tokenFile\)/],
    [kubeconfig({}, { 'client-certificate': '/c', 'client-key': '/k' }), /names a file \(client-certificate\)/],
    [
      kubeconfig({}, { 'client-certificate-data': base64(values.CERT), 'client-key': '/k' }),
      /names a file \(client-key\)/,
    ],
    [kubeconfig({}, { exec: { apiVersion: 'client.authentication.k8s.io/v1', command: 'sh' } }), /has an exec plugin/],
    [kubeconfig({}, { token: 't', exec: { command: 'sh' } }), /has an exec plugin/],
    [kubeconfig({}, { 'auth-provider': { name: 'gcp' } }), /auth-provider/],
    [kubeconfig({}, { token: 't', as: 'admin' }), /impersonates/],
    [kubeconfig({}, { token: 't', username: 'a', password: 'b' }), /both a token and a password/],
    [kubeconfig({}, {}), /no credential/],
    [kubeconfig({}, { token: 'a b' }), /white space/],
    [kubeconfig({ server: 'http://c.example.com' }, { token: 't' }), /must start with https/],
    [kubeconfig({ server: 'https://a:b@c.example.com' }, { token: 't' }), /user name or password/],
    [
      kubeconfig({ 'insecure-skip-tls-verify': true, 'certificate-authority-data': base64(values.CA) }, { token: 't' }),
      /remove one/,
    ],
    [kubeconfig({ 'certificate-authority-data': base64('no pem') }, { token: 't' }), /no valid PEM/],
    [kubeconfig({}, { token: 't' }, { users: [] }), /the user of its current context is not in it/],
    [kubeconfig({}, { token: 't' }, { clusters: [] }), /the cluster of its current context is not in it/],
    [kubeconfig({}, { token: 't' }, { contexts: [] }), /not among its contexts/],
    ['', /empty/],
    [`# ${'x'.repeat(1024 * 1024)}`, /longer than 1 MiB/],
  ];
  for (const [text, expected] of refusals) assert.match(refusal(text), expected);
  const insecure = readSecretKubeconfig('f', kubeconfig({ 'insecure-skip-tls-verify': true }, { token: 't' }));
  assert.equal(insecure.tls.insecure, true);
});
