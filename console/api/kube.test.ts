import assert from 'node:assert/strict';
import { test } from 'node:test';
import { age, isAt, objectAddress, pathOfPlace, placeOf, readObjectPlace } from './kube.ts';
import type { Kind } from './kube.ts';
import { address, readPlace } from './route.ts';

const kind = (group: string, plural: string, namespaced: boolean): Kind => ({
  id: plural,
  group,
  version: 'v1',
  plural,
  kind: 'X',
  namespaced,
  shortNames: [],
});

test('the address of an object leads back to its path', () => {
  const cases = [
    [kind('', 'pods', true), { name: 'a', namespace: 'b' }, '/api/v1/namespaces/b/pods/a'],
    [kind('apps', 'deployments', true), { name: 'a', namespace: 'b' }, '/apis/apps/v1/namespaces/b/deployments/a'],
    [kind('', 'nodes', false), { name: 'n' }, '/api/v1/nodes/n'],
    [kind('', 'namespaces', false), { name: 'n' }, '/api/v1/namespaces/n'],
    [
      kind('rbac.authorization.k8s.io', 'clusterroles', false),
      { name: 'system:x' },
      '/apis/rbac.authorization.k8s.io/v1/clusterroles/system:x',
    ],
  ] as const;
  for (const [of, metadata, path] of cases) {
    const place = readObjectPlace(readPlace(objectAddress('m1', of, metadata)).segments);
    assert.equal(place?.cluster, 'm1');
    assert.equal(pathOfPlace(place!), path);
  }
});

test('an address of nothing is no object', () => {
  for (const text of [
    'c',
    'c/m1',
    'c/m1/api',
    'c/m1/api/v1/pods',
    'c/m1/apis/apps/v1/namespaces/a/deployments',
    'c/m1/api/v1/namespaces/a/pods/b/log',
    'search',
  ])
    assert.equal(readObjectPlace(text.split('/')), undefined, text);
});

test('an address whose parts are no names of Kubernetes is no object (ATT-58)', () => {
  for (const path of [
    'c/m1/api/v1/namespaces/victim/configmaps%3Fx=1/important',
    'c/m1/api/v1/namespaces/victim/configmaps/',
    'c/m1/api/v1/namespaces//configmaps/important',
    'c/m1/api/v1/configmaps/',
    'c/m1/api/v1%23/namespaces/victim/configmaps/important',
    'c/m1/apis/apps;x/v1/namespaces/victim/deployments/a',
    'c/m1/apis//v1/namespaces/victim/deployments/a',
    'c/m1/api/v1/namespaces/victim/configmaps/a%00',
    'c/m1/api/v1/namespaces/victim/pods:a/a',
  ])
    assert.equal(readObjectPlace(path.split('/').map(decodeURIComponent)), undefined, path);
});

test('only an answer that is the one object of the address may be deleted (ATT-58)', () => {
  const place = { cluster: 'a', group: 'apps', version: 'v1', plural: 'deployments', namespace: 'shop', name: 'web' };
  const metadata = { name: 'web', namespace: 'shop', uid: 'u1' };
  const object = { apiVersion: 'apps/v1', kind: 'Deployment', metadata };
  assert.ok(isAt(place, object));
  assert.ok(
    isAt(
      { ...place, group: '', namespace: undefined },
      { ...object, apiVersion: 'v1', metadata: { name: 'web', uid: 'u' } },
    ),
  );
  for (const [why, other] of Object.entries({
    'a list': { ...object, kind: 'DeploymentList', items: [] },
    'no uid': { ...object, metadata: { ...metadata, uid: undefined } },
    'an empty uid': { ...object, metadata: { ...metadata, uid: '' } },
    'another name': { ...object, metadata: { ...metadata, name: 'other' } },
    'another namespace': { ...object, metadata: { ...metadata, namespace: 'other' } },
    'no namespace': { ...object, metadata: { name: 'web', uid: 'u1' } },
    'another group': { ...object, apiVersion: 'other/v1' },
    'no metadata but a name': { ...object, metadata: { name: 'web' } },
  }))
    assert.equal(isAt(place, other as never), false, why);
});

test('an address holds what it was made of, whatever characters that has', () => {
  const query = { q: 'image~a/b "x y" 100%&=#', kind: '' };
  const place = readPlace(address(['search', 'a b'], query));
  assert.deepEqual(place.segments, ['search', 'a b']);
  assert.equal(place.query.get('q'), query.q);
  assert.equal(place.query.has('kind'), false);
});

test('ages read as those of kubectl', () => {
  const now = Date.parse('2026-01-31T00:00:00Z');
  const ago = (seconds: number): string => age(new Date(now - seconds * 1000).toISOString(), now);
  const minute = 60,
    hour = 3600,
    day = 86_400;
  assert.deepEqual(
    [
      0,
      119,
      2 * minute,
      5 * minute + 7,
      30 * minute,
      179 * minute,
      3 * hour + 12 * minute,
      8 * hour,
      47 * hour,
      2 * day + 9 * hour,
      41 * day,
      800 * day,
    ].map(ago),
    ['0s', '119s', '2m', '5m7s', '30m', '179m', '3h12m', '8h', '47h', '2d9h', '41d', '2y'],
  );
  assert.equal(age(undefined), '');
  assert.equal(age('never'), '');
});

test('a link with a segment that Kubernetes has in no name leads to no object', () => {
  const read = (address: string): unknown => readObjectPlace(readPlace(address).segments);
  assert.ok(read('/console/c/staging/apis/apps/v1/namespaces/shop/deployments/web'));
  for (const segment of ['..%2F..%2F..%2Fclusters%2Fvirginia', '..', '%2e%2e', '.', 'a%2Fb', 'a%5Cb', 'a%25b']) {
    assert.equal(read(`/console/c/staging/apis/${segment}/v1/configmaps/x`), undefined, `group ${segment}`);
    assert.equal(read(`/console/c/${segment}/api/v1/configmaps/x`), undefined, `cluster ${segment}`);
    assert.equal(read(`/console/c/staging/api/v1/configmaps/${segment}`), undefined, `name ${segment}`);
  }
});

test('a name that an object gives for another leads to that one object or to none (ATT-58)', () => {
  const [namespaces, services] = [kind('', 'namespaces', false), kind('', 'services', true)];
  const metadata = { name: 'web', namespace: 'a' };
  assert.equal(pathOfPlace(placeOf('m1', services, metadata)!), '/api/v1/namespaces/a/services/web');
  assert.equal(
    pathOfPlace(placeOf('m1', services, { ...metadata, name: 'b?c' })!),
    '/api/v1/namespaces/a/services/b%3Fc',
  );
  for (const name of ['victim/secrets/db', 'web/proxy/admin', '..', '.', '', '%2e%2e', 'a%2Fb', 'a\\b', 'a\0']) {
    for (const each of [namespaces, services]) {
      const link = objectAddress('m1', each, { ...metadata, name });
      assert.equal(readObjectPlace(readPlace(link).segments), undefined, `link to ${each.plural} ${name}`);
      assert.equal(placeOf('m1', each, { ...metadata, name }), undefined, `${each.plural} ${name}`);
    }
  }
  for (const plural of ['pods/x', 'a?b', '..', ''])
    assert.equal(placeOf('m1', { ...services, plural }, metadata), undefined, `type ${plural}`);
});

test('what could end a path early is encoded wherever it stands', () => {
  const place = readObjectPlace(readPlace('/console/c/a/apis/g/v1/namespaces/n%23/things/y%3Fz').segments)!;
  assert.equal(pathOfPlace(place), '/apis/g/v1/namespaces/n%23/things/y%3Fz');
});
