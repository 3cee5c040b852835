import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import type { ApiObject } from '../../../kube/types.ts';
import type { ClusterSpec } from '../../../model/records.ts';
import {
  certificateValues,
  changed,
  clusterNamed,
  compiled,
  credentialOf,
  readObjects,
  withData,
} from './hub-objects.fixture.ts';
import { makeOcmSource, type OcmOptions } from './ocm.ts';

const namespace = 'open-cluster-management-credentials';
let values: Awaited<ReturnType<typeof certificateValues>>;
let cluster: ApiObject;
let token: ApiObject;
let secret: ApiObject;
let alone: ApiObject;
let prod: ApiObject;

before(async () => {
  values = await certificateValues();
  [cluster, token] = readObjects('ocm', values) as [ApiObject, ApiObject];
  [secret, alone, prod] = readObjects('cluster-gateway', values) as [ApiObject, ApiObject, ApiObject];
});

function source(options: Partial<OcmOptions> = {}): ReturnType<typeof makeOcmSource> {
  return makeOcmSource({
    managedServiceAccount: 'cluster-gateway',
    secretNamespace: namespace,
    clusterProxy: undefined,
    allowExec: [],
    allowExecEnv: [],
    ...options,
  });
}

function cluster1(objects: readonly ApiObject[], options: Partial<OcmOptions> = {}): ClusterSpec {
  return clusterNamed(compiled(source(options), objects), 'cluster1');
}

function withSpec(fields: object): ApiObject {
  return changed(cluster, (copy) => Object.assign(copy['spec'], fields));
}

function problemOf(objects: readonly ApiObject[], options: Partial<OcmOptions> = {}): string {
  const spec = cluster1(objects, options);
  assert.equal(spec.credential, undefined);
  return `${spec.problem?.reason}: ${spec.problem?.message}`;
}

test('address and CA come from the ManagedCluster, the credential from the managed-serviceaccount token', () => {
  const spec = cluster1([cluster, token], { secretNamespace: undefined });
  assert.equal(spec.problem, undefined);
  assert.deepEqual(spec.endpoint, { scheme: 'https', host: 'api.cluster1.example.com', port: 6443, basePath: '' });
  assert.deepEqual(spec.tls, { ca: values.CA, serverName: undefined, insecure: false });
  assert.equal(credentialOf(spec).authorization, 'Bearer msa-token-of-cluster1');
  assert.equal(spec.source, 'ocm');
  assert.equal(spec.sourceDetail, 'ManagedCluster cluster1, Secret cluster1/cluster-gateway');
  assert.equal(spec.labels['cloud'], 'Amazon');
  assert.equal(spec.clusterGateway?.credentialType, 'ServiceAccountToken');
  assert.equal(spec.clusterGateway?.secret, undefined);
  assert.equal(spec.clusterGateway?.metadata.uid, cluster.metadata.uid);
});

test('every client configuration is an address, tried in order, each with its own CA', () => {
  const spec = cluster1([cluster, token]);
  assert.deepEqual(spec.fallbacks, [
    {
      endpoint: { scheme: 'https', host: '10.0.0.11', port: 6443, basePath: '' },
      tls: { ca: values.CA2, serverName: undefined, insecure: false },
    },
  ]);
  const configs = (cluster['spec'] as { managedClusterClientConfigs: object[] }).managedClusterClientConfigs;
  const first = withSpec({ managedClusterClientConfigs: [{ url: 'ftp://x' }, configs[1]] });
  const rest = cluster1([first, token]);
  assert.equal(rest.endpoint?.host, '10.0.0.11');
  assert.equal(rest.fallbacks, undefined);
  const rejected = rest.conditions?.find(({ type }) => type === 'ClientConfigRejected');
  assert.match(rejected?.message ?? '', /managedClusterClientConfigs\[0\]\.url must start with https/);
});

test('availability, acceptance and taints are conditions of the cluster', () => {
  const conditions = new Map(cluster1([cluster, token]).conditions?.map((each) => [each.type, each]));
  assert.equal(conditions.get('ManagedClusterConditionAvailable')?.status, 'Unknown');
  assert.match(conditions.get('ManagedClusterConditionAvailable')?.message ?? '', /stopped updating its lease/);
  assert.equal(conditions.get('HubAccepted')?.status, 'True');
  const denied = cluster1([withSpec({ hubAcceptsClient: false }), token]);
  assert.ok(denied.conditions?.some(({ type, status }) => type === 'HubAccepted' && status === 'False'));
  assert.equal(conditions.get('Tainted')?.message, 'cluster.open-cluster-management.io/unreachable:NoSelect');
  const leaving = changed(cluster, (copy) => {
    copy['metadata'].deletionTimestamp = '2026-01-13T00:00:00Z';
  });
  assert.ok(cluster1([leaving, token]).conditions?.some(({ type }) => type === 'Deleting'));
});

test('a cluster the hub does not accept, without address or without credential is listed with what to do', () => {
  assert.match(
    problemOf([withSpec({ hubAcceptsClient: false }), token]),
    /^HubDeniesClient: ManagedCluster cluster1: /,
  );
  assert.match(problemOf([withSpec({ hubAcceptsClient: undefined }), token]), /^HubDeniesClient/);
  assert.match(problemOf([withSpec({ hubAcceptsClient: 'yes' }), token]), /must be true or false/);
  assert.match(
    problemOf([withSpec({ managedClusterClientConfigs: [] }), token]),
    /^NoAddress: ManagedCluster cluster1/,
  );
  assert.match(problemOf([withSpec({ managedClusterClientConfigs: 'x' }), token]), /must be a list/);
  assert.match(problemOf([withSpec({ managedClusterClientConfigs: [null] }), token]), /no spec.*url/);
  assert.match(
    problemOf([withSpec({ managedClusterClientConfigs: [{ url: 'https://x', caBundle: '!' }] }), token]),
    /caBundle is not valid base64/,
  );
  assert.match(
    problemOf([cluster]),
    /^NoCredential: .*ManagedServiceAccount cluster-gateway in the namespace cluster1/,
  );
  assert.match(problemOf([cluster, withData(token, { token: '' })]), /Secret cluster1\/cluster-gateway: .* is empty/);
});

test('a ManagedCluster with an X509 Secret is one cluster, with the address of the one and the pair of the other (CG-26)', () => {
  const named = changed(withData(prod, { endpoint: undefined, 'proxy-url': undefined }), (copy) => {
    copy['metadata'].name = 'cluster1';
  });
  const specs = compiled(source(), [cluster, token, named]);
  assert.equal(specs.length, 1);
  const spec = clusterNamed(specs, 'cluster1');
  assert.equal(spec.endpoint?.host, 'api.cluster1.example.com');
  assert.equal(spec.tls.ca, values.CA);
  assert.deepEqual(credentialOf(spec).clientCertificate, { cert: values.CERT, key: values.KEY });
  assert.match(spec.identityExchange ?? '', /ClusterGatewayProxyConfiguration/);
  assert.deepEqual(spec.clusterGateway?.secret, { namespace, name: 'cluster1' });
});

test('the CA of the ManagedCluster comes before the `ca.crt` of a token Secret, which is not even read (CG-27)', () => {
  const spec = cluster1([cluster, token, secret]);
  assert.equal(spec.tls.ca, values.CA);
  assert.equal(credentialOf(spec).authorization, 'Bearer gateway-token-of-cluster1');
  assert.equal(spec.clusterGateway?.metadata.uid, secret.metadata.uid);
});

test('with and without ManagedCluster, and one unlabelled: two of three, the third as its ManagedCluster says (CG-30)', () => {
  const unlabelled = changed(prod, (copy) => {
    copy['metadata'].labels = {};
  });
  const specs = compiled(source(), [cluster, secret, alone, unlabelled]);
  assert.deepEqual(specs.map(({ name }) => name).toSorted(), ['cluster1', 'staging.eu-west']);
  const staging = clusterNamed(specs, 'staging.eu-west');
  assert.equal(staging.source, 'cluster-gateway');
  assert.equal(staging.endpoint?.host, 'staging.example.com');
});

test('a Secret that is broken does not fall back to the token; one that goes away does', () => {
  const one = source();
  const uids = new Set<string>();
  const see = (...objects: ApiObject[]): ClusterSpec => {
    const spec = clusterNamed(compiled(one, objects), 'cluster1');
    uids.add(spec.uid);
    return spec;
  };
  assert.equal(credentialOf(see(cluster, token, secret)).authorization, 'Bearer gateway-token-of-cluster1');
  const broken = see(cluster, token, withData(secret, { token: undefined }));
  assert.equal(broken.credential, undefined);
  assert.match(broken.problem?.message ?? '', new RegExp(`Secret ${namespace}/cluster1: data\\["token"\\] is missing`));
  assert.equal(credentialOf(see(cluster, token)).authorization, 'Bearer msa-token-of-cluster1');
  assert.equal(uids.size, 1);
  const again = changed(cluster, (copy) => {
    copy['metadata'].uid = 'created-anew';
  });
  see(again, token);
  assert.equal(uids.size, 2);
});

test('the token of another cluster is never used', () => {
  const other = changed(token, (copy) => {
    copy['metadata'].namespace = 'cluster2';
  });
  assert.match(problemOf([cluster, other]), /^NoCredential/);
  const otherName = changed(token, (copy) => {
    copy['metadata'].name = 'another-account';
  });
  assert.match(problemOf([cluster, otherName]), /^NoCredential/);
});

test('without caBundle the CA beside the token verifies, else the system roots do and a condition says so', () => {
  const bare = withSpec({ managedClusterClientConfigs: [{ url: 'https://x.example.com' }] });
  assert.equal(cluster1([bare, token]).tls.ca, values.CA);
  const spec = cluster1([bare, withData(token, { 'ca.crt': undefined })]);
  assert.deepEqual(spec.tls, { ca: undefined, serverName: undefined, insecure: false });
  assert.ok(spec.conditions?.some(({ type, reason }) => type === 'SystemRoots' && reason === 'NoCertificateAuthority'));
  const named = changed(bare, (copy) => {
    copy['metadata'].annotations['gateway.portcullis.io/tls-server-name'] = 'api.internal';
  });
  assert.equal(cluster1([named, token]).tls.serverName, 'api.internal');
});

test('a cluster behind the proxy server: by the label of the Secret, or when nobody gave it an address', () => {
  const clusterProxy = { scheme: 'https', host: 'proxy', port: 8090, userinfo: undefined, tls: {} } as const;
  const labelled = changed(withData(secret, { 'ca.crt': values.CA2 }), (copy) => {
    copy['metadata'].labels['cluster.core.oam.dev/cluster-endpoint-type'] = 'ClusterProxy';
  });
  for (const [objects, ca] of [
    [[cluster, labelled], values.CA2],
    [[withSpec({ managedClusterClientConfigs: undefined }), token], values.CA],
  ] as const) {
    const spec = cluster1(objects, { clusterProxy });
    assert.deepEqual(spec.endpoint, { scheme: 'https', host: 'cluster1', port: 443, basePath: '' });
    assert.deepEqual(spec.tls, { ca, serverName: 'kubernetes.default.svc', insecure: false });
    assert.deepEqual(spec.proxy, clusterProxy);
    assert.equal(spec.clusterGateway?.endpointType, 'ClusterProxy');
  }
  assert.match(problemOf([cluster, labelled]), /^NoClusterProxy: /);
});

test('a heartbeat gives the same spec, a condition that changes keeps the credential, a new token keeps the connections', () => {
  const one = source();
  const see = (...objects: ApiObject[]): ClusterSpec => clusterNamed(compiled(one, objects), 'cluster1');
  const first = see(cluster, token);
  const beat = changed(cluster, (copy) => {
    copy['status'].capacity.cpu = '32';
  });
  assert.equal(see(beat, token), first);
  const back = changed(beat, (copy) => {
    copy['status'].conditions[2].status = 'True';
  });
  const available = see(back, token);
  assert.notEqual(available, first);
  assert.equal(available.credential, first.credential);
  assert.equal(available.transportKey, first.transportKey);
  const renewed = see(back, withData(token, { token: 'next' }));
  assert.equal(credentialOf(renewed).authorization, 'Bearer next');
  assert.equal(renewed.transportKey, first.transportKey);
});

test('2,000 clusters are compiled again in no time when one of them changed', () => {
  const many = Array.from({ length: 2000 }, (_, index) => {
    const name = `c${index}`;
    const rename = (object: ApiObject, change: (metadata: Record<string, unknown>) => void): ApiObject =>
      changed(object, (copy) => {
        copy['metadata'].uid = `${copy['metadata'].uid}-${index}`;
        change(copy['metadata']);
      });
    return [
      rename(cluster, (metadata) => (metadata['name'] = name)),
      rename(token, (metadata) => (metadata['namespace'] = name)),
    ] as const;
  });
  const one = source();
  const clusters = new Map(many.map(([object]) => [object.metadata.name, object]));
  const tokens = new Map(many.map(([, object]) => [`${object.metadata.namespace}/cluster-gateway`, object]));
  const first = one.compile([clusters, tokens, new Map()]);
  tokens.set('c7/cluster-gateway', withData(tokens.get('c7/cluster-gateway') as ApiObject, { token: 'next' }));
  const second = one.compile([clusters, tokens, new Map()]);
  assert.equal(first.length, 2000);
  const different = second.filter((spec, index) => spec !== first[index]);
  assert.deepEqual(
    different.map(({ name }) => name),
    ['c7'],
  );
});
