import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WatchedResource } from '../../../kube/types.ts';
import { clusterProxyAddress, makeHubSources, type HubSourceOptions } from './catalogue.ts';
import { hubSourceNames } from '../names.ts';

function made(names: readonly string[], options: Partial<HubSourceOptions> = {}): ReturnType<typeof makeHubSources> {
  return makeHubSources({
    names,
    secretNamespace: 'credentials',
    secretNamespaces: [],
    managedServiceAccount: 'gateway',
    clusterProxy: undefined,
    ...options,
  });
}

function secretsOf(names: readonly string[], options: Partial<HubSourceOptions> = {}): readonly WatchedResource[] {
  return made(names, options)
    .flatMap(({ watches }) => watches)
    .filter(({ resource }) => resource === 'secrets');
}

test('the order of the names is the order of the sources; other names and repetitions are passed over', () => {
  const names = (...given: string[]): string[] => made(given).map(({ name }) => name);
  assert.deepEqual(names('kubeconfig', 'argocd', 'karmada', 'argocd', 'nothing'), ['argocd', 'karmada']);
  assert.deepEqual(names(), []);
  for (const name of hubSourceNames) assert.deepEqual(names(name), [name]);
});

test('ocm and cluster-gateway together are one source at the position of the first', () => {
  assert.deepEqual(
    made(['cluster-gateway', 'karmada', 'ocm']).map(({ name }) => name),
    ['cluster-gateway', 'karmada'],
  );
  assert.deepEqual(
    made(['karmada', 'ocm', 'vcluster', 'cluster-gateway']).map(({ name }) => name),
    ['karmada', 'ocm', 'vcluster'],
  );
  assert.deepEqual(secretsOf(['ocm', 'cluster-gateway']), [
    { group: '', version: 'v1', resource: 'secrets', fieldSelector: 'metadata.name=gateway' },
    {
      group: '',
      version: 'v1',
      resource: 'secrets',
      namespace: 'credentials',
      labelSelector: 'cluster.core.oam.dev/cluster-credential-type',
    },
  ]);
});

test('no Secret is asked for that the source does not need', () => {
  assert.deepEqual(secretsOf(['ocm']), [
    { group: '', version: 'v1', resource: 'secrets', fieldSelector: 'metadata.name=gateway' },
  ]);
  assert.deepEqual(
    secretsOf(['cluster-gateway']).map(({ namespace }) => namespace),
    ['credentials'],
  );
  assert.deepEqual(
    secretsOf(['karmada']).map(({ namespace }) => namespace),
    ['karmada-cluster'],
  );
  assert.deepEqual(
    secretsOf(['karmada'], { karmadaNamespace: 'other' }).map(({ namespace }) => namespace),
    ['other'],
  );
  assert.deepEqual(secretsOf(['pediacluster']), []);
  for (const name of ['cluster-api', 'vcluster', 'argocd']) {
    const named = secretsOf([name], { secretNamespaces: ['a', 'b', 'a'] });
    assert.deepEqual([...new Set(named.map(({ namespace }) => namespace))], ['a', 'b']);
    const unnamed = secretsOf([name]);
    // Cluster API's are found by their type or by their label.
    assert.equal(unnamed.length, name === 'cluster-api' ? 2 : 1);
    for (const { namespace, labelSelector, fieldSelector } of unnamed) {
      assert.equal(namespace, name === 'argocd' ? 'argocd' : undefined);
      const isNarrow = labelSelector !== undefined || /^[a-z.]+=[^=!]+$/i.test(fieldSelector ?? '');
      assert.ok(isNarrow, `${name} asks for every Secret of the hub`);
    }
  }
});

test('the proxy server is spoken to over mTLS', () => {
  const address = clusterProxyAddress({ host: 'proxy', port: 8090, ca: 'CA', cert: 'CERT', key: 'KEY' });
  assert.deepEqual(address, {
    scheme: 'https',
    host: 'proxy',
    port: 8090,
    userinfo: undefined,
    tls: { ca: 'CA', cert: 'CERT', key: 'KEY' },
  });
  assert.deepEqual(clusterProxyAddress({ host: 'p', port: 1, ca: undefined, cert: undefined, key: undefined }).tls, {});
});
