// Numbers of the requests to each cluster: who sees which, and that they are those of the requests that were made.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { exchange, requestBytes } from '../site/raw-client.ts';
import type { RawAnswer } from '../site/raw-client.ts';
import { startSite } from '../site/site.ts';
import type { Site } from '../site/site.ts';

const alice = 'Authorization: Bearer alice-token';
const bob = 'Authorization: Bearer bob-token';
const carol = 'Authorization: Bearer carol-token';
const asTable = 'Accept: application/json;as=Table;v=v1;g=meta.k8s.io,application/json';
const api = '/apis/gateway.portcullis.io/v1alpha1/statistics';
const all = { verbs: ['*'], apiGroups: ['*'], resources: ['*'], nonResourceURLs: ['*'] };
let site: Site;

interface Statistics {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly requests: { readonly total: number; readonly codes: Readonly<Record<string, number>> };
  readonly recent?: { readonly requestsPerSecond: number };
}

before(async () => {
  site = await startSite({
    members: 2,
    users: ['alice', 'bob', 'carol'].map((name) => ({ token: `${name}-token`, name })),
    rules: [
      { subjects: [{ kind: 'User', name: 'alice' }], ...all },
      { subjects: [{ kind: 'User', name: 'bob' }], ...all, clusters: ['m1'] },
      { subjects: [{ kind: 'User', name: 'carol' }], ...all, clusters: ['m1', 'm2'] },
      {
        subjects: [{ kind: 'User', name: 'bob' }],
        verbs: ['get', 'list', 'watch'],
        apiGroups: ['gateway.portcullis.io'],
        resources: ['statistics'],
      },
    ],
  });
});
after(() => site.close());

async function ask(target: string, lines: readonly string[], method = 'GET'): Promise<RawAnswer> {
  return await exchange(site, requestBytes(`${method} ${target}`, [...lines]));
}

async function listAs(user: string): Promise<readonly Statistics[]> {
  const answer = await ask(api, [user]);
  assert.equal(answer.status, 200, String(answer.body));
  return (JSON.parse(String(answer.body)) as { items: readonly Statistics[] }).items;
}

test('statistics count the requests to each cluster by code', async () => {
  for (let i = 0; i < 3; i++) await ask('/clusters/m1/proxy/api/v1/pods', [alice]);
  const items = await listAs(alice);
  assert.deepEqual(
    items.map(({ kind, metadata, requests }) => [kind, metadata.name, requests.total, requests.codes]),
    [
      ['ClusterStatistics', 'm1', 3, { '200': 3 }],
      ['ClusterStatistics', 'm2', 0, {}],
    ],
  );
  const one = JSON.parse(String((await ask(`${api}/m1`, [alice])).body)) as Statistics;
  assert.equal(one.requests.total, 3);
});

test('who may not reach a cluster sees no number of it, not even that it is there', async () => {
  assert.deepEqual(
    (await listAs(bob)).map(({ metadata }) => metadata.name),
    ['m1'],
  );
  const hidden = await ask(`${api}/m2`, [bob]);
  const absent = await ask(`${api}/m9`, [bob]);
  assert.deepEqual([hidden.status, absent.status], [404, 404]);
  assert.equal(String(hidden.body).replaceAll('m2', 'm9'), String(absent.body));
  const table = String((await ask(api, [bob, asTable])).body);
  assert.match(table, /"Gateway-P99"/);
  assert.match(table, /"m1"/);
  assert.doesNotMatch(table, /m2/);
});

test('statistics need a right of their own beside that to the clusters', async () => {
  const refused = await ask(api, [carol]);
  assert.equal(refused.status, 403, String(refused.body));
  assert.match(String(refused.body), /cannot list resource \\"statistics\\"/);
});

test('statistics are neither watched nor written, and discovery and OpenAPI have them', async () => {
  const watch = await ask(`${api}?watch=true`, [alice]);
  assert.equal(watch.status, 405);
  assert.match(String(watch.body), /get them again/);
  assert.equal((await ask(api, [alice], 'DELETE')).status, 405);
  const discovery = String((await ask('/apis/gateway.portcullis.io/v1alpha1', [alice])).body);
  assert.match(discovery, /"name":"statistics"[^}]*"verbs":\["get","list"\]/);
  const schemas = String((await ask('/openapi/v3/apis/gateway.portcullis.io/v1alpha1', [alice])).body);
  assert.match(schemas, /io\.portcullis\.gateway\.v1alpha1\.ClusterStatistics"/);
});
