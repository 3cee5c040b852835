import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiObject } from '../../../kube/types.ts';
import type { ClusterSpec } from '../../../model/records.ts';
import { makePediaClusterSource } from './pediacluster.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

function object(name: string, fields: object, metadata: object = {}): ApiObject {
  return { metadata: { name, uid: `uid-${name}`, resourceVersion: '1', ...metadata }, ...fields };
}

/** What the source makes of one PediaCluster and the Secrets of its namespace. */
function made(
  cluster: ApiObject,
  secrets: Readonly<Record<string, Readonly<Record<string, string>>>> = {},
): ClusterSpec | undefined {
  const source = makePediaClusterSource({ namespace: 'ns', shardingName: '' });
  const kept = Object.entries(secrets).map(([name, texts]) => {
    const data = Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, base64(text)]));
    return [`ns/${name}`, object(name, { data }, { namespace: 'ns' })] as const;
  });
  return source.compile([new Map([[cluster.metadata.name, cluster]]), new Map(), new Map(kept)])[0];
}

const from = { token: { name: 's', key: 't' } };

test('a credential is read from a Secret of the one namespace, unless one is written in the object', async () => {
  const referring = object('a', { spec: { apiserver: 'https://a', authenticationFrom: from } });
  const tokenOf = async (spec: ClusterSpec | undefined): Promise<string | undefined> =>
    (await spec?.credential?.current())?.authorization;
  assert.equal(await tokenOf(made(referring, { s: { t: 'one' } })), 'Bearer one');
  const both = object('b', { spec: { apiserver: 'https://a', tokenData: base64('two'), authenticationFrom: from } });
  assert.equal(await tokenOf(made(both)), 'Bearer two');
});

test('what is missing is told in the words of Clusterpedia', () => {
  const problems: readonly [object, Readonly<Record<string, Readonly<Record<string, string>>>>, RegExp][] = [
    [{ tokenData: base64('t') }, {}, /: Cluster APIServer Endpoint is required$/],
    [{ apiserver: 'https://a' }, {}, /: Cluster APIServer's Token or Cert is required$/],
    [
      { apiserver: 'https://a', authenticationFrom: from },
      {},
      /: Cluster Authentication Error: there is no Secret "s"$/,
    ],
    [
      { apiserver: 'https://a', authenticationFrom: from },
      { s: { u: 'x' } },
      /: Cluster Authentication Error: .*key "t"$/,
    ],
  ];
  for (const [spec, secrets, words] of problems)
    assert.match(made(object('a', { spec }), secrets)?.problem?.message ?? '', words);
});

test('clusters of another shard, of another owner, and those that end are left out', () => {
  const spec = { apiserver: 'https://a', tokenData: base64('t') };
  assert.notEqual(made(object('a', { spec })), undefined);
  assert.equal(made(object('a', { spec: { ...spec, shardingName: 'x' } })), undefined);
  assert.equal(made(object('a', { spec, status: { shardingName: 'x' } })), undefined);
  assert.equal(made(object('a', { spec }, { deletionTimestamp: 'now' })), undefined);
});

test('what is indexed is its own list and that of a ClusterSyncResources; a reference that leads nowhere stands for nothing', () => {
  const source = makePediaClusterSource();
  const access = { apiserver: 'https://a', tokenData: base64('t') };
  const own = { syncResources: [{ group: '', resources: ['pods'] }] };
  const chosen = (spec: object, shared: ReadonlyMap<string, ApiObject> = new Map()): string | undefined => {
    const cluster = object('a', { spec: { ...access, ...spec } }, { resourceVersion: JSON.stringify(spec) });
    const [made] = source.compile([new Map([['a', cluster]]), shared]);
    return made?.indexing?.resources.map(({ resource }) => resource).join();
  };
  const shared = new Map([
    ['s', object('s', { spec: { syncResources: [{ group: 'apps', resources: ['deployments'] }] } })],
  ]);
  assert.equal(chosen({ ...own, syncResourcesRefName: 's' }, shared), 'pods,deployments');
  assert.equal(chosen({ ...own, syncResourcesRefName: 's' }), 'pods');
  assert.equal(chosen({ syncResources: [], syncResourcesRefName: 's' }), '', 'not what the configuration chooses');
  assert.equal(chosen({ syncResources: [] }), '', 'as in Clusterpedia, nothing');
  assert.equal(
    chosen({ syncResources: [{ group: 5, resources: ['pods'] }] }),
    '',
    'what cannot be read chooses no more',
  );
  for (const none of [{}, { syncResources: null }, { syncAllCustomResources: false }, { syncResourcesRefName: '' }])
    assert.equal(chosen(none), undefined, JSON.stringify(none));
});

test('annotations about the index are of the cluster, and no others are', () => {
  const annotations = { 'index.portcullis.io/exclude': 'secrets', 'index.portcullis.io/new': 'x', other: 'y' };
  const spec = { apiserver: 'https://a', tokenData: base64('t') };
  assert.deepEqual(made(object('a', { spec }, { annotations }))?.indexOptions, {
    'index.portcullis.io/exclude': 'secrets',
    'index.portcullis.io/new': 'x',
  });
  assert.equal(made(object('a', { spec }, { annotations: { other: 'y' } }))?.indexOptions, undefined);
});
