import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterSpec } from './records.ts';
import { createClusterStore } from './store.ts';

const trust = { ca: 'one authority', serverName: undefined, insecure: false };

function cluster(
  name: string,
  source: string,
  registeredAt: string | undefined,
  more: Partial<ClusterSpec> = {},
): ClusterSpec {
  return {
    name,
    originalName: name,
    uid: `uid of ${name}`,
    source,
    sourceDetail: `${source} ${name}`,
    labels: {},
    ...(registeredAt === undefined ? {} : { registeredAt }),
    endpoint: { scheme: 'https', host: 'api.example', port: 6443, basePath: '' },
    tls: trust,
    proxy: undefined,
    credential: undefined,
    transportKey: name,
    problem: undefined,
    ...more,
  };
}

/** By name, as which other cluster each is known. */
function same(...specs: readonly ClusterSpec[]): Readonly<Record<string, string>> {
  const store = createClusterStore();
  for (const [source, own] of Map.groupBy(specs, (spec) => spec.source)) store.apply(source, own);
  return Object.fromEntries(store.list().flatMap(({ spec }) => (spec.sameAs ? [[spec.name, spec.sameAs.name]] : [])));
}

test('a PediaCluster with the address and authority of a cluster that was registered before is that cluster', () => {
  const native = cluster('native', 'cluster-api', '2026-01-01T00:00:00Z');
  assert.deepEqual(same(native, cluster('imported', 'pediacluster', '2026-01-02T00:00:00Z')), { imported: 'native' });
  assert.deepEqual(same(native, cluster('imported', 'pediacluster', '2026-01-01T00:00:00Z')), { imported: 'native' });
  assert.deepEqual(same(native, cluster('first', 'pediacluster', '2025-01-01T00:00:00Z')), { native: 'first' });
  assert.deepEqual(
    same(cluster('context', 'kubeconfig', undefined), cluster('p', 'pediacluster', '2025-01-01T00:00:00Z')),
    {
      p: 'context',
    },
  );
});

test('another address, authority, proxy or none that is verified is another cluster', () => {
  const native = cluster('native', 'cluster-api', '2026-01-01T00:00:00Z');
  const proxy = { scheme: 'http', host: 'proxy', port: 1, userinfo: undefined } as const;
  for (const more of [
    { endpoint: { ...native.endpoint!, port: 443 } },
    { tls: { ...trust, ca: 'another authority' } },
    { tls: { ...trust, insecure: true } },
    { proxy },
    { endpoint: undefined },
  ] satisfies Partial<ClusterSpec>[])
    assert.deepEqual(same(native, cluster('imported', 'pediacluster', '2026-01-02T00:00:00Z', more)), {});
  const insecure = { tls: { ...trust, insecure: true } };
  assert.deepEqual(
    same(
      cluster('native', 'cluster-api', '2026-01-01T00:00:00Z', insecure),
      cluster('imported', 'pediacluster', '2026-01-02T00:00:00Z', insecure),
    ),
    {},
  );
});

test('two PediaClusters of one cluster, and two clusters of other kinds, are left as they are', () => {
  assert.deepEqual(same(cluster('a', 'pediacluster', '1'), cluster('b', 'pediacluster', '2')), {});
  assert.deepEqual(
    same(cluster('a', 'ocm', '1'), cluster('b', 'cluster-api', '2'), cluster('c', 'pediacluster', '3')),
    { c: 'a' },
  );
});

test('when the first of two goes, the other is a cluster of its own again', () => {
  const store = createClusterStore();
  store.apply('cluster-api', [cluster('native', 'cluster-api', '1')]);
  store.apply('pediacluster', [cluster('imported', 'pediacluster', '2')]);
  assert.equal(store.get('imported')?.spec.sameAs?.name, 'native');
  store.apply('cluster-api', []);
  assert.equal(store.get('imported')?.spec.sameAs, undefined);
});
