import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import type { ApiObject } from '../../../kube/types.ts';
import type { ClusterSpec } from '../../../model/records.ts';
import { makeClusterGatewaySource, type ClusterGatewayOptions } from './cluster-gateway.ts';
import {
  certificateValues,
  changed,
  clusterNamed,
  compiled,
  credentialOf,
  readObjects,
  withData,
} from './hub-objects.fixture.ts';

const namespace = 'open-cluster-management-credentials';
const apiVersion = 'client.authentication.k8s.io/v1beta1';
let values: Awaited<ReturnType<typeof certificateValues>>;
let copied: ApiObject;
let staging: ApiObject;
let prod: ApiObject;

before(async () => {
  values = await certificateValues();
  [copied, staging, prod] = readObjects('cluster-gateway', values) as [ApiObject, ApiObject, ApiObject];
});

function source(options: Partial<ClusterGatewayOptions> = {}): ReturnType<typeof makeClusterGatewaySource> {
  return makeClusterGatewaySource({
    secretNamespace: namespace,
    clusterProxy: undefined,
    allowExec: [],
    allowExecEnv: [],
    ...options,
  });
}

function only(object: ApiObject, options: Partial<ClusterGatewayOptions> = {}): ClusterSpec {
  return clusterNamed(compiled(source(options), [object]), object.metadata.name);
}

function problemOf(object: ApiObject, options: Partial<ClusterGatewayOptions> = {}): string {
  const spec = only(object, options);
  assert.equal(spec.credential, undefined);
  assert.equal(spec.endpoint, undefined);
  assert.ok(spec.problem);
  assert.match(spec.problem.message, new RegExp(`^Secret ${namespace}/${object.metadata.name}: `));
  return spec.problem.message;
}

function labelled(object: ApiObject, key: string, value: string | undefined): ApiObject {
  return changed(object, (copy) => {
    if (value === undefined) delete copy['metadata'].labels[`cluster.core.oam.dev/${key}`];
    else copy['metadata'].labels[`cluster.core.oam.dev/${key}`] = value;
  });
}

test('a Secret without the credential type label is no cluster, and is not even asked for (CG-17)', () => {
  const unlabelled = labelled(staging, 'cluster-credential-type', undefined);
  assert.deepEqual(compiled(source(), [unlabelled]), []);
  assert.deepEqual(source().watches, [
    {
      group: '',
      version: 'v1',
      resource: 'secrets',
      namespace,
      labelSelector: 'cluster.core.oam.dev/cluster-credential-type',
    },
  ]);
  assert.deepEqual(source().compile([new Map([[`${namespace}/x`, unlabelled]])]), []);
});

test('a ServiceAccountToken Secret gives token, address and CA; a dot in its name stays (CG-18)', () => {
  const spec = only(staging);
  assert.equal(spec.problem, undefined);
  assert.deepEqual(spec.endpoint, { scheme: 'https', host: 'staging.example.com', port: 6443, basePath: '' });
  assert.deepEqual(spec.tls, { ca: values.CA, serverName: undefined, insecure: false });
  assert.deepEqual(credentialOf(spec), {
    authorization: 'Bearer token-of-staging',
    clientCertificate: undefined,
    expiresAtMs: undefined,
  });
  assert.equal(spec.name, 'staging.eu-west');
  assert.equal(spec.source, 'cluster-gateway');
  assert.equal(spec.sourceDetail, `Secret ${namespace}/staging.eu-west`);
  assert.deepEqual(spec.labels, { env: 'staging' });
});

test('an X509Certificate Secret gives the pair, its address without the line end, CA and forward proxy (CG-19)', () => {
  for (const type of ['X509Certificate', 'X509']) {
    const spec = only(labelled(prod, 'cluster-credential-type', type));
    assert.equal(spec.problem, undefined);
    assert.deepEqual(spec.endpoint, { scheme: 'https', host: 'prod.example.com', port: 443, basePath: '' });
    assert.equal(spec.tls.ca, values.CA);
    const credential = credentialOf(spec);
    assert.equal(credential.authorization, undefined);
    assert.deepEqual(credential.clientCertificate, { cert: values.CERT, key: values.KEY });
    assert.equal(typeof credential.expiresAtMs, 'number');
    assert.deepEqual(spec.proxy, { scheme: 'socks5', host: 'proxy.example.com', port: 1080, userinfo: undefined });
    assert.equal(spec.clusterGateway?.credentialType, 'X509Certificate');
  }
});

test('an endpoint of type ClusterProxy goes through the proxy server to the cluster of that name, verified by the CA of the Secret (CG-20)', () => {
  const proxied = labelled(withData(staging, { endpoint: undefined }), 'cluster-endpoint-type', 'ClusterProxy');
  const clusterProxy = { scheme: 'https', host: 'proxy-entrypoint', port: 8090, userinfo: undefined, tls: {} } as const;
  const spec = only(proxied, { clusterProxy });
  assert.deepEqual(spec.endpoint, { scheme: 'https', host: 'staging.eu-west', port: 443, basePath: '' });
  assert.deepEqual(spec.proxy, clusterProxy);
  assert.deepEqual(spec.tls, { ca: values.CA, serverName: 'kubernetes.default.svc', insecure: false });
  assert.equal(spec.clusterGateway?.endpointType, 'ClusterProxy');
  assert.match(problemOf(proxied), /--proxy-host/);
});

test('without a CA the system roots verify and a condition says so; only the annotation switches verification off (CG-21)', () => {
  const bare = withData(staging, { 'ca.crt': undefined });
  const spec = only(bare);
  assert.deepEqual(spec.tls, { ca: undefined, serverName: undefined, insecure: false });
  assert.deepEqual(
    spec.conditions?.map(({ type, reason }) => [type, reason]),
    [['SystemRoots', 'NoCertificateAuthority']],
  );
  const annotate = (object: ApiObject, value: string): ApiObject =>
    changed(object, (copy) => {
      copy['metadata'].annotations['gateway.portcullis.io/insecure-skip-tls-verify'] = value;
    });
  assert.equal(only(annotate(bare, 'true')).tls.insecure, true);
  assert.deepEqual(only(annotate(staging, 'true')).tls, { ca: undefined, serverName: undefined, insecure: true });
  assert.equal(only(annotate(staging, 'false')).tls.insecure, false);
  assert.match(problemOf(annotate(staging, 'yes')), /must be "true"/);
  assert.equal(only(withData(bare, { ca: values.CA2 })).tls.ca, values.CA2);
});

test('the health annotations, the alias and the labels are in the view; secrets and rules in annotations are not (CG-22)', () => {
  const view = only(prod).clusterGateway;
  assert.deepEqual(view?.metadata.annotations, {
    'status.cluster.core.oam.dev/healthy': 'True',
    'status.cluster.core.oam.dev/healthy-reason': 'MyReason',
  });
  assert.deepEqual(view?.secret, { namespace, name: 'prod' });
  assert.equal(view?.metadata.uid, prod.metadata.uid);
  assert.equal(view?.metadata.resourceVersion, '300');
  assert.equal(view?.metadata.creationTimestamp, '2026-01-09T08:00:00Z');
  assert.match(only(prod).identityExchange ?? '', /kind: ClusterGatewayProxyConfiguration/);
  const other = only(staging).clusterGateway;
  assert.deepEqual(other?.metadata.annotations, {
    'cluster.core.oam.dev/cluster-alias': 'Staging',
    'cluster.core.oam.dev/cluster-version': '{"gitVersion":"v1.33.1"}',
  });
  assert.equal(other?.metadata.labels['env'], 'staging');
  assert.equal(only(staging).identityExchange, undefined);
  // An unreadable health annotation concerns the health API alone; the cluster is still usable.
  const odd = changed(prod, (copy) => {
    copy['metadata'].annotations['status.cluster.core.oam.dev/healthy'] = 'maybe';
  });
  assert.equal(only(odd).problem, undefined);
});

function dynamic(exec: object | string): ApiObject {
  const secret = withData(staging, {
    token: undefined,
    exec: typeof exec === 'string' ? exec : JSON.stringify({ apiVersion, command: 'echo', ...exec }),
  });
  return labelled(secret, 'cluster-credential-type', 'Dynamic');
}

/** Arguments of an `echo` that answers with this, without a blank, and its command line. */
function answer(status: object): { readonly exec: { readonly args: string[] }; readonly allowExec: string[] } {
  const text = JSON.stringify({ apiVersion, kind: 'ExecCredential', status }).replaceAll(' ', String.raw`\u0020`);
  return { exec: { args: [text] }, allowExec: [`echo ${text}`] };
}

test('a Dynamic Secret whose command line is allowed gives the token of its plugin (CG-23, CG-33)', async () => {
  const { exec, allowExec } = answer({ token: 'fresh' });
  const spec = only(dynamic(exec), { allowExec });
  assert.equal(spec.clusterGateway?.credentialType, 'Dynamic');
  assert.equal(spec.credential?.kind, 'exec');
  assert.equal((await spec.credential?.current())?.authorization, 'Bearer fresh');
});

test('a Dynamic Secret may give a certificate (CG-24, CG-34)', async () => {
  const { exec, allowExec } = answer({ clientCertificateData: values.CERT, clientKeyData: values.KEY });
  const spec = only(dynamic(exec), { allowExec });
  assert.deepEqual((await spec.credential?.current())?.clientCertificate, { cert: values.CERT, key: values.KEY });
});

test('a plugin that fails is an error of the request, not of the cluster list (CG-25)', async () => {
  const spec = only(dynamic({ command: 'false' }), { allowExec: ['false'] });
  assert.equal(spec.problem, undefined);
  await assert.rejects(async () => spec.credential?.current(), /exited with code 1/);
});

test('a Secret of another namespace is no cluster (CG-28)', () => {
  const elsewhere = changed(staging, (copy) => {
    copy['metadata'].namespace = 'default';
  });
  assert.deepEqual(compiled(source(), [elsewhere]), []);
});

test('every Secret is listed, the oldest first; one that cannot be used is listed with its problem (CG-29)', () => {
  const specs = compiled(source(), [staging, prod, copied]);
  assert.deepEqual(
    specs.map(({ name }) => name),
    ['prod', 'cluster1', 'staging.eu-west'],
  );
  // This one has its address in a ManagedCluster, which the source alone does not know.
  assert.match(specs[1]?.problem?.message ?? '', /no data\.endpoint|ca\.crt/);
});

test('a Dynamic Secret without exec, and one whose command nobody allowed (CG-31)', () => {
  assert.match(problemOf(dynamic(''), { allowExec: ['echo'] }), /data\["exec"\] is missing/);
  assert.match(problemOf(dynamic(answer({ token: 'x' }).exec)), /only if --allow-exec names its command line/);
  assert.match(problemOf(dynamic({ command: '/bin/sh' }), { allowExec: ['echo'] }), /command that is not allowed/);
});

test('an exec configuration that is no JSON, or of the wrong shape, or changes what runs (CG-32)', () => {
  const allowExec = ['echo'];
  assert.match(problemOf(dynamic('invalid exec config format'), { allowExec }), /is not JSON$/);
  assert.match(problemOf(dynamic('[]'), { allowExec }), /not an exec configuration/);
  assert.match(problemOf(dynamic({ args: 'x' }), { allowExec }), /\(args\)/);
  assert.match(problemOf(dynamic({ apiVersion: 'v1' }), { allowExec }), /apiVersion must be/);
  for (const name of [
    'LD_PRELOAD',
    'PATH',
    'ld_audit',
    'NODE_OPTIONS',
    'PYTHONSTARTUP',
    'A=B',
    'HOME',
    'aws_profile',
  ]) {
    assert.match(problemOf(dynamic({ env: [{ name, value: 'x' }] }), { allowExec }), /environment variable/);
  }
  assert.equal(only(dynamic({ env: [{ name: 'AWS_PROFILE', value: 'x' }] }), { allowExec }).problem, undefined);
});

test('what is missing or malformed is reported with the key it is about', () => {
  assert.match(problemOf(withData(staging, { token: undefined })), /data\["token"\] is missing/);
  assert.match(problemOf(withData(staging, { token: '\n' })), /data\["token"\] is empty/);
  assert.match(problemOf(withData(staging, { token: 'two\nlines' })), /data\["token"\] holds white space/);
  assert.match(problemOf(withData(staging, { token: 'bell\u0007' })), /data\["token"\] holds white space/);
  assert.match(problemOf(withData(staging, { endpoint: '' })), /no data\.endpoint/);
  assert.match(problemOf(withData(staging, { endpoint: 'http://staging.example.com' })), /must start with https/);
  assert.match(problemOf(withData(staging, { endpoint: 'https://u:p@staging.example.com' })), /user name or password/);
  assert.match(problemOf(withData(staging, { 'ca.crt': 'no pem' })), /data\["ca.crt"\] holds no valid PEM/);
  assert.match(problemOf(withData(staging, { 'proxy-url': 'ftp://x' })), /proxy-url/);
  assert.match(problemOf(withData(prod, { 'tls.key': undefined })), /data\["tls.key"\] is missing/);
  assert.match(problemOf(withData(prod, { 'tls.crt': values.CA })), /another certificate/);
  assert.match(problemOf(labelled(staging, 'cluster-endpoint-type', 'Magic')), /must be Const or ClusterProxy/);
  assert.match(problemOf(labelled(staging, 'cluster-credential-type', 'Magic')), /ServiceAccountToken, X509/);
  const garbled = changed(staging, (copy) => {
    copy['data'].token = '*not base64*';
  });
  assert.match(problemOf(garbled), /data\["token"\] is not valid base64/);
  const binary = changed(staging, (copy) => {
    copy['data'].token = '/w==';
  });
  assert.match(problemOf(binary), /not UTF-8/);
});

test('a token may end with a line end', () => {
  const spec = only(withData(staging, { token: 'token-of-staging\n' }));
  assert.equal(credentialOf(spec).authorization, 'Bearer token-of-staging');
});

test('health written to the Secret keeps credential and connections; a new token keeps the connections; a new address does not', () => {
  const one = source({ allowExec: ['echo'] });
  const [first] = compiled(one, [staging]);
  assert.equal(compiled(one, [structuredClone(staging)])[0], first);
  const written = changed(staging, (copy) => {
    copy['metadata'].annotations['status.cluster.core.oam.dev/healthy'] = 'false';
  });
  const [healthy] = compiled(one, [written]);
  assert.notEqual(healthy, first);
  assert.equal(healthy?.credential, first?.credential);
  assert.equal(healthy?.clusterGateway?.metadata.annotations['status.cluster.core.oam.dev/healthy'], 'false');
  const renewed = withData(written, { token: 'new' });
  const [rotated] = compiled(one, [renewed]);
  assert.notEqual(rotated?.credential, first?.credential);
  assert.equal(rotated?.transportKey, first?.transportKey);
  assert.equal(rotated?.uid, first?.uid);
  const [moved] = compiled(one, [withData(renewed, { endpoint: 'https://new.example.com' })]);
  assert.notEqual(moved?.transportKey, first?.transportKey);
  const again = changed(staging, (copy) => {
    copy['metadata'].uid = 'another';
  });
  assert.notEqual(compiled(one, [again])[0]?.uid, first?.uid);
});
