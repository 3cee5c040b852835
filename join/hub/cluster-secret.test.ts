import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answer, FakeClient } from '../../test/pretend/fake-client.ts';
import { isConflict, makeObjectWriter } from '../../kube/objects/object-writer.ts';
import { labelsOf } from '../../cache/sources/objects/hub-object.ts';
import { tokenPlan } from '../../cache/sources/objects/hub-credential.ts';
import type { Access } from '../../cache/sources/objects/registration.ts';
import type { ApiObject } from '../../kube/types.ts';
import { deleteBootstrap } from './bootstrap.ts';
import { accessIn, addressOf, storeSecret } from './cluster-secret.ts';

const join: ApiObject = { metadata: { name: 'edge', uid: 'u1', resourceVersion: '1' } };
const access: Access = {
  endpoint: { scheme: 'https', host: '2001:db8::1', port: 6443, basePath: '' },
  tls: { ca: undefined, serverName: 'edge.example', insecure: false },
  proxy: { scheme: 'http', host: 'proxy.example', port: 3128, userinfo: { username: 'me@x', password: 'p:w/d' } },
  plan: tokenPlan('token', 'first'),
};

test('the Secret of a cluster that joined gives the same access, with the user and password of a proxy', async () => {
  const hub = new FakeClient();
  await storeSecret(hub, makeObjectWriter(hub), join, 'clusters', access, 'first');
  const stored = hub.get('secrets', 'edge', 'clusters') as ApiObject;
  const read = accessIn(stored);
  assert.deepEqual(read.proxy?.userinfo, access.proxy?.userinfo);
  assert.equal(addressOf(read), 'https://[2001:db8::1]:6443');
  assert.equal(read.tls.serverName, 'edge.example');
  assert.deepEqual(read.plan, access.plan);
});

test('a cluster that joins again keeps nothing of how it was reached before, but labels of others', async () => {
  const hub = new FakeClient();
  const writer = makeObjectWriter(hub);
  const read = (): ApiObject => hub.get('secrets', 'edge', 'clusters') as ApiObject;
  const unverified: Access = { ...access, tls: { ca: 'old', serverName: 'old.example', insecure: true } };
  await storeSecret(hub, writer, join, 'clusters', unverified, 'first');
  assert.equal(accessIn(read()).tls.insecure, true);
  hub.put('secrets', { ...read(), metadata: { ...read().metadata, labels: { ...labelsOf(read()), site: 'north' } } });
  const verified: Access = {
    ...access,
    tls: { ca: undefined, serverName: undefined, insecure: false },
    proxy: undefined,
  };
  await storeSecret(hub, writer, join, 'clusters', verified, 'second');
  const after = accessIn(read());
  assert.deepEqual(after.tls, verified.tls);
  assert.equal(after.proxy, undefined);
  assert.deepEqual(after.plan, tokenPlan('token', 'second'));
  assert.equal(labelsOf(read())['site'], 'north');
});

test('the Secret is not written over a change that was made since it was read', async () => {
  const hub = new FakeClient();
  const writer = makeObjectWriter(hub);
  await storeSecret(hub, writer, join, 'clusters', access, 'first');
  hub.refuse = ({ method }) => {
    if (method === 'PATCH') hub.put('secrets', { metadata: { name: 'edge', namespace: 'clusters' }, type: 'Other' });
    return undefined;
  };
  await assert.rejects(storeSecret(hub, writer, join, 'clusters', access, 'second'), isConflict);
  assert.deepEqual(accessIn(hub.get('secrets', 'edge', 'clusters') as ApiObject).plan, access.plan);
});

test('the Secret of another cluster of the same name is never replaced', async () => {
  const hub = new FakeClient();
  hub.put('secrets', { metadata: { name: 'edge', namespace: 'clusters' }, data: { token: 'dGhlaXJz' } });
  await assert.rejects(storeSecret(hub, makeObjectWriter(hub), join, 'clusters', access, 'ours'), /not of this join/);
  assert.equal(hub.get('secrets', 'edge', 'clusters')!['data'].token, 'dGhlaXJz');
});

test('a bootstrap Secret that Cluster API or an owner looks after is never deleted', async () => {
  const hub = new FakeClient();
  const { uid } = hub.put('secrets', { metadata: { name: 'owner', namespace: 'ns' } }).metadata;
  const owner = { apiVersion: 'v1', kind: 'Secret', name: 'owner', uid };
  const put = (name: string, more: { type?: string; metadata?: object }): ApiObject =>
    hub.put('secrets', { ...more, metadata: { ...more.metadata, name, namespace: 'ns' } });
  const secrets = [
    put('capi', { type: 'cluster.x-k8s.io/secret' }),
    put('capi-opaque', { type: 'Opaque', metadata: { labels: { 'cluster.x-k8s.io/cluster-name': 'edge' } } }),
    put('capi-empty-label', { metadata: { labels: { 'cluster.x-k8s.io/cluster-name': '' } } }),
    put('owned', { metadata: { ownerReferences: [owner] } }),
    put('plain', { type: 'Opaque' }),
  ];
  for (const secret of secrets) await deleteBootstrap(makeObjectWriter(hub), { secret, access });
  assert.deepEqual(hub.names('secrets').toSorted(), ['capi', 'capi-empty-label', 'capi-opaque', 'owned', 'owner']);
});

test('a hub that answers with an error gives an error, and no missing Secret', async () => {
  const hub = new FakeClient();
  hub.refuse = () => answer(403, { kind: 'Status', reason: 'Forbidden' });
  await assert.rejects(
    storeSecret(hub, makeObjectWriter(hub), join, 'clusters', access, 't'),
    /may not create secrets/,
  );
});
