// What an operator does with the index, over HTTP: see how it stands, have a cluster read anew; and who may not.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { JsonObject } from '../../../sim/model/types.ts';
import { eventually } from '../../site/polling.ts';
import { binding, startIndexSite } from './index-site.ts';
import type { Answer, IndexSite } from './index-site.ts';
import { rulesText } from '../../site/site.ts';
import { tempDir } from '../../pretend/temp-dir.ts';

const index = '/apis/search.portcullis.io/v1alpha1/indexes/default';
const configMaps = `${index}/proxy/api/v1/configmaps`;
const folder = tempDir('operations');
let site: IndexSite;

interface IndexStatus {
  readonly store: { readonly kind: string };
  readonly whole: boolean;
  readonly replicas?: unknown;
  readonly clusters: readonly { readonly cluster: string; readonly indexed: string; readonly objects: number }[];
}

const configMap = (name: string): JsonObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default' },
});
const seed = [
  binding('all', 'cluster-admin', 'operator'),
  binding('reader', 'cluster-admin', 'reader'),
  configMap('a'),
  configMap('b'),
];

before(async () => {
  const file = join(folder, 'rules.yaml');
  const everything = { verbs: ['*'], apiGroups: ['*'], resources: ['*'] };
  const rules = [
    { subjects: [{ kind: 'User', name: 'operator' }], ...everything },
    {
      subjects: [{ kind: 'User', name: 'reader' }],
      ...{ verbs: ['get', 'list', 'create'], apiGroups: ['search.portcullis.io'], resources: ['indexes/query'] },
    },
  ];
  writeFileSync(file, rulesText(rules), { mode: 0o600 });
  const flags = { indexResources: 'configmaps', authorizationRules: file };
  site = await startIndexSite(['operator', 'reader'], { alpha: seed, beta: seed }, flags);
  await eventually('the index is whole', async () => (await status()).whole);
});
after(async () => {
  await site?.close();
});

async function status(): Promise<IndexStatus> {
  const answer = await site.ask(`${index}/status`);
  assert.equal(answer.status, 200, answer.text);
  return answer.json<IndexStatus>();
}

const post = (operation: string, body: object, user?: string): Promise<Answer> =>
  site.ask(`${index}/${operation}`, user, { method: 'POST', body });

test('the status says how much of each cluster is in the index', async () => {
  const { store, whole, replicas, clusters } = await status();
  assert.deepEqual(store, { kind: 'SQLite' });
  assert.equal(whole, true);
  assert.equal(replicas, undefined);
  assert.deepEqual(
    clusters.map(({ cluster, indexed }) => `${cluster} ${indexed}`),
    ['alpha Synced', 'beta Synced'],
  );
  assert.ok(clusters.every(({ objects }) => objects > 2));
});

test('a cluster that is read anew loses its rows and gets them back, and no other cluster does', async () => {
  const watch = site.watch(`${configMaps}?watch=true`);
  const before = (await watch.until(4)).length;
  const answer = await post('rebuild', { clusters: ['alpha'] });
  assert.equal(answer.status, 200, answer.text);
  assert.match(
    answer.json<{ message: string }>().message,
    /^The \d+ objects of cluster "alpha" are dropped from the index and read anew from now on\.$/,
  );
  await eventually('rows are gone and back', () => {
    const events = watch.events.slice(before).filter(({ type }) => type !== 'BOOKMARK');
    const of = (type: string, name: string): boolean =>
      events.some((event) => event.type === type && event.object.metadata.name === name);
    return ['a', 'b'].every((name) => of('DELETED', name) && of('ADDED', name));
  });
  for (const { type, object } of watch.events.slice(before)) {
    const cluster = object.metadata.annotations?.['shadow.clusterpedia.io/cluster-name'];
    if (type !== 'BOOKMARK') assert.equal(cluster, 'alpha', `${type} ${object.metadata.name}`);
  }
  watch.close();
  await eventually('the index is whole again', async () => (await status()).whole);
  const { items } = (await site.ask(configMaps)).json<{ items: unknown[] }>();
  assert.ok(items.length >= 4);
});

test('what cannot be done is refused as a whole, with what is wrong', async () => {
  for (const [operation, body, code, message] of [
    ['rebuild', { clusters: ['alpha', 'gone'] }, 404, /cluster "gone" is not in the index/],
    ['rebuild', { clusters: [] }, 400, /clusters is a list of names/],
    ['rebuild', { cluster: 'alpha' }, 400, /there is no field "cluster"/],
    ['move', { cluster: 'gone', replica: 'x' }, 404, /cluster "gone" is not in the index/],
    ['move', { cluster: 'alpha', replica: 'x' }, 400, /the index is in SQLite, which one process follows for all/],
    ['move', { cluster: 'alpha', to: 'x' }, 400, /there is no field "to"/],
    ['move', { replica: 'x' }, 400, /cluster is the name of a cluster/],
  ] as const) {
    const answer = await post(operation, body);
    assert.equal(answer.status, code, JSON.stringify(body));
    assert.match(answer.json<{ message: string }>().message, message);
  }
  assert.equal((await status()).whole, true);
  assert.equal((await site.ask(`${index}/rebuild`)).status, 405);
  assert.equal((await post('status', {})).status, 405);
});

test('nobody operates the index without a rule that says so', async () => {
  for (const [operation, body] of [
    ['move', { cluster: 'alpha', replica: 'x' }],
    ['rebuild', { clusters: ['alpha'] }],
  ] as const)
    assert.equal((await post(operation, body, 'reader')).status, 403);
  assert.equal((await site.ask(`${index}/status`, 'reader')).status, 403);
  const open = await startIndexSite(['anybody'], { alpha: seed });
  try {
    const refused = await open.ask(`${index}/status`, 'anybody');
    assert.equal(refused.status, 403);
    assert.match(refused.text, /need a rule in an authorization rules file of the gateway/);
    const body = { clusters: ['alpha'] };
    assert.equal((await open.ask(`${index}/rebuild`, 'anybody', { method: 'POST', body })).status, 403);
    assert.equal((await open.ask(`${index}/freshness`, 'anybody')).status, 200);
  } finally {
    await open.close();
  }
});
