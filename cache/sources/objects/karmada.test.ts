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
import { makeKarmadaSource } from './karmada.ts';

let values: Awaited<ReturnType<typeof certificateValues>>;
let cluster: ApiObject;
let authority: ApiObject;
let impersonator: ApiObject;

before(async () => {
  values = await certificateValues();
  [cluster, authority, impersonator] = readObjects('karmada', values) as [ApiObject, ApiObject, ApiObject];
});

const source = (): ReturnType<typeof makeKarmadaSource> => makeKarmadaSource({ secretNamespace: 'karmada-cluster' });

function member1(...objects: readonly ApiObject[]): ClusterSpec {
  return clusterNamed(compiled(source(), objects), 'member1');
}

function withSpec(fields: object): ApiObject {
  return changed(cluster, (copy) => Object.assign(copy['spec'], fields));
}

function problemOf(...objects: readonly ApiObject[]): string {
  const spec = member1(...objects);
  assert.equal(spec.credential, undefined);
  return `${spec.problem?.reason}: ${spec.problem?.message}`;
}

/** The Secret without the owner reference that Karmada sets when a cluster joins. */
function disowned(secret: ApiObject): ApiObject {
  return changed(secret, (copy) => {
    delete copy['metadata'].ownerReferences;
  });
}

test('address from the Cluster, CA of secretRef, token of impersonatorSecretRef, proxy with its headers', () => {
  const spec = member1(cluster, authority, impersonator);
  assert.equal(spec.problem, undefined);
  assert.deepEqual(spec.endpoint, { scheme: 'https', host: '172.18.0.3', port: 6443, basePath: '' });
  assert.deepEqual(spec.tls, { ca: values.CA, serverName: undefined, insecure: false });
  assert.equal(credentialOf(spec).authorization, 'Bearer impersonator-token-of-member1');
  assert.equal(spec.proxy?.host, 'proxy.example.com');
  assert.deepEqual(spec.proxy?.headers, [
    ['X-Tenant', 'a'],
    ['X-Tenant', 'b'],
    ['Proxy-Authorization', 'Basic cHJveHk6c2VjcmV0'],
  ]);
  assert.deepEqual(spec.labels, { tier: 'gold' });
  assert.deepEqual(
    spec.conditions?.map(({ type, status, reason }) => [type, status, reason]),
    [['KarmadaReady', 'True', 'ClusterReady']],
  );
});

test('verification is off only by insecureSkipTLSVerification; without secretRef the system roots verify', () => {
  const insecure = member1(withSpec({ insecureSkipTLSVerification: true }), authority, impersonator);
  assert.deepEqual(insecure.tls, { ca: undefined, serverName: undefined, insecure: true });
  const roots = member1(withSpec({ secretRef: undefined }), impersonator);
  assert.deepEqual(roots.tls, { ca: undefined, serverName: undefined, insecure: false });
  assert.match(
    problemOf(cluster, withData(authority, { caBundle: undefined }), impersonator),
    /caBundle"\] is missing/,
  );
});

test('the administrator token of secretRef is never used in place of the impersonator', () => {
  assert.match(
    problemOf(withSpec({ impersonatorSecretRef: undefined }), authority, impersonator),
    /^NoCredential: Karmada Cluster member1: spec.impersonatorSecretRef is not set/,
  );
  assert.match(problemOf(cluster, authority), /^NoCredential: .*member1-impersonator of spec.impersonatorSecretRef/);
  assert.match(problemOf(cluster, authority, withData(impersonator, { token: '' })), /data\["token"\] is empty/);
});

test('a Cluster that names the Secret of another one does not get its token', () => {
  const thief = changed(cluster, (copy) => {
    copy['metadata'].name = 'thief';
    copy['metadata'].uid = 'thief';
    copy['metadata'].creationTimestamp = '2020-01-01T00:00:00Z';
    copy['spec'].apiEndpoint = 'https://collector.example.net';
  });
  for (const objects of [
    [thief, cluster, authority, impersonator],
    // The owner written by karmadactl decides even when the rightful Cluster is gone, the name when there is no owner.
    [thief, authority, impersonator],
    [thief, cluster, disowned(authority), disowned(impersonator)],
  ]) {
    const spec = clusterNamed(compiled(source(), objects), 'thief');
    assert.equal(spec.credential, undefined);
    assert.match(spec.problem?.message ?? '', /belongs to another cluster/);
  }
  const both = compiled(source(), [thief, cluster, disowned(authority), disowned(impersonator)]);
  assert.equal(clusterNamed(both, 'member1').problem, undefined);
});

test('a Cluster that is called after the Secret of another one does not get its token, older or younger (ATT-62)', () => {
  for (const created of ['2020-01-01T00:00:00Z', '2040-01-01T00:00:00Z']) {
    const thief = changed(cluster, (copy) => {
      Object.assign(copy['metadata'], { name: 'member1-impersonator', uid: 'thief', creationTimestamp: created });
      Object.assign(copy['spec'], { apiEndpoint: 'https://collector.example.net', secretRef: undefined });
    });
    const rest = [disowned(authority), disowned(impersonator)];
    for (const objects of [
      [cluster, thief, ...rest],
      [thief, cluster, ...rest],
    ]) {
      const specs = compiled(source(), objects);
      assert.match(clusterNamed(specs, 'member1-impersonator').problem?.message ?? '', /belongs to another cluster/);
      const { authorization } = credentialOf(clusterNamed(specs, 'member1'));
      assert.equal(authorization, 'Bearer impersonator-token-of-member1');
    }
  }
});

test('of two Clusters that share a Secret the older keeps it, and the younger gets it when the older goes', () => {
  const named = (object: ApiObject): ApiObject =>
    changed(object, (copy) => {
      copy['metadata'].name = 'shared';
      delete copy['metadata'].ownerReferences;
    });
  const secret = named(withData(impersonator, {}));
  const using = (name: string, created: string): ApiObject =>
    changed(cluster, (copy) => {
      copy['metadata'] = { ...copy['metadata'], name, uid: name, creationTimestamp: created };
      copy['spec'] = {
        apiEndpoint: 'https://x.example.com',
        impersonatorSecretRef: { namespace: 'karmada-cluster', name: 'shared' },
      };
    });
  const [older, younger] = [using('z-older', '2026-01-01T00:00:00Z'), using('a-younger', '2026-01-02T00:00:00Z')];
  const one = source();
  const specs = compiled(one, [older, younger, secret]);
  assert.equal(clusterNamed(specs, 'z-older').problem, undefined);
  assert.match(clusterNamed(specs, 'a-younger').problem?.message ?? '', /belongs to another cluster/);
  assert.equal(clusterNamed(compiled(one, [younger, secret]), 'a-younger').problem, undefined);
});

test('what is malformed is reported with the field it is about', () => {
  const all = [authority, impersonator];
  assert.match(problemOf(withSpec({ apiEndpoint: undefined }), ...all), /no spec.apiEndpoint/);
  assert.match(problemOf(withSpec({ apiEndpoint: 'http://x' }), ...all), /must start with https/);
  assert.match(problemOf(withSpec({ apiEndpoint: 7 }), ...all), /spec.apiEndpoint must be text/);
  assert.match(problemOf(withSpec({ proxyURL: 'gopher://x' }), ...all), /spec.proxyURL must start with/);
  assert.match(problemOf(withSpec({ proxyHeader: { 'A\r\nB': 'x' } }), ...all), /a name that is not valid in HTTP/);
  assert.match(problemOf(withSpec({ proxyHeader: { Host: 'x' } }), ...all), /a name that is not valid in HTTP/);
  assert.match(problemOf(withSpec({ proxyHeader: { A: 'x\r\nB: y' } }), ...all), /a value that is not valid in HTTP/);
  assert.match(problemOf(withSpec({ proxyHeader: ['x'] }), ...all), /must be a mapping/);
  assert.match(problemOf(withSpec({ impersonatorSecretRef: { name: 'x' } }), ...all), /must name a namespace/);
  const away = withSpec({ impersonatorSecretRef: { namespace: 'kube-system', name: 'x' } });
  assert.match(problemOf(away, ...all), /outside of the namespace karmada-cluster/);
});

test('a rotated token keeps the connections', () => {
  const one = source();
  const first = clusterNamed(compiled(one, [cluster, authority, impersonator]), 'member1');
  const next = clusterNamed(compiled(one, [cluster, authority, withData(impersonator, { token: 'n' })]), 'member1');
  assert.equal(credentialOf(next).authorization, 'Bearer n');
  assert.equal(next.transportKey, first.transportKey);
  assert.equal(next.uid, first.uid);
});
