import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../cache/model/errors.ts';
import type { AnswerDependencies } from './answer-dependencies.ts';
import { catalogOf } from './catalog.ts';
import { answerIndexRequest } from './chain.ts';
import type { IndexRequest } from './request.ts';

const pods = ['api', 'v1', 'pods'];

function request(asked: IndexRequest['asked'], query = '', method = 'GET'): IndexRequest {
  return { asked, inbound: { method }, headers: [], query, user: { name: 'alice' }, form: () => ({ as: '' }) } as never;
}

/** Dependencies that note what they are asked; rights cannot be read, and the store must not be. */
function withoutRights(): { readonly asked: string[]; readonly dependencies: AnswerDependencies } {
  const asked: string[] = [];
  const store = new Proxy(
    {},
    {
      get: (_, name) => () => {
        asked.push(`store.${String(name)}`);
        throw new Error('the store was asked');
      },
    },
  );
  const dependencies = {
    store,
    catalog: async () => catalogOf([]),
    chosen: [],
    collections: () => [],
    settled: async () => void asked.push('settled'),
    rights: {
      scope: async () => {
        asked.push('rights');
        throw new GatewayError('INDEX_UNAVAILABLE', 'rights cannot be read');
      },
      current: async () => '',
      onChange: () => () => undefined,
    },
  };
  return { asked, dependencies: dependencies as unknown as AnswerDependencies };
}

const questions: readonly (readonly [what: string, asked: IndexRequest['asked'], query?: string])[] = [
  ['a list', { part: 'proxy', segments: pods }],
  ['a watch', { part: 'proxy', segments: pods }, '?watch=1'],
  ['an object', { part: 'proxy', segments: ['api', 'v1', 'namespaces', 'a', 'pods', 'p'] }],
  ['discovery', { part: 'proxy', segments: ['apis'] }],
  ['a collection', { part: 'collections', name: 'workloads' }],
  ['a watch of a collection', { part: 'collections', name: 'workloads' }, '?watch=1'],
  ['the list of collections', { part: 'collections', name: undefined }],
  ['counts', { part: 'counts' }, '?resource=pods.v1.'],
  ['facets', { part: 'facets' }, '?resource=pods.v1.&by=namespace'],
  ['values', { part: 'values' }, '?resource=pods.v1.&by=namespace'],
  ['freshness', { part: 'freshness' }],
];

for (const [what, asked, query] of questions) {
  test(`the store is not asked for ${what} when rights cannot be read`, async () => {
    const site = withoutRights();
    await assert.rejects(answerIndexRequest(request(asked, query), site.dependencies), { code: 'INDEX_UNAVAILABLE' });
    assert.equal(site.asked.at(-1), 'rights');
    assert.deepEqual(
      site.asked.filter((each) => each.startsWith('store')),
      [],
    );
  });
}

test('a write is refused before anything is looked up', async () => {
  const site = withoutRights();
  const write = request({ part: 'proxy', segments: pods }, '', 'POST');
  await assert.rejects(answerIndexRequest(write, site.dependencies), { code: 'METHOD_NOT_ALLOWED' });
  assert.deepEqual(site.asked, []);
});

test('an object whose cluster is asked instead is relayed without rights of the index', async () => {
  const site = withoutRights();
  const relayed: string[] = [];
  const asked: IndexRequest = {
    ...request(
      { part: 'resources', segments: ['clusters', 'c1', ...pods] },
      '?labelSelector=search.clusterpedia.io%2Fforward%3Dtrue%2Ca%3Db',
    ),
    live: async (cluster, path, query) => void relayed.push(`${cluster} ${path}${query}`),
  };
  await answerIndexRequest(asked, site.dependencies);
  assert.deepEqual([relayed, site.asked], [['c1 /api/v1/pods?labelSelector=a%3Db'], []]);
});
