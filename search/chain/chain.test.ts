import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../model/errors.ts';
import type { AnswerDependencies } from '../api/answer-dependencies.ts';
import { catalogOf } from '../catalog/catalog.ts';
import { answerIndexRequest } from './chain.ts';
import type { IndexRequest } from '../request/request.ts';

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

const unwatched: readonly IndexRequest['asked'][] = [
  { part: 'indexes', name: undefined },
  { part: 'indexes', name: 'default' },
  { part: 'indexes', name: 'other' },
  ...(['facets', 'values', 'counts', 'freshness', 'status', 'query', 'move', 'rebuild'] as const).map((part) => ({
    part,
  })),
  { part: 'whocan' },
  { part: 'whatcan' },
  { part: 'collections', name: undefined },
];
for (const asked of unwatched) {
  test(`a watch of ${JSON.stringify(asked)}, which cannot be watched, is 405`, async () => {
    for (const method of ['GET', 'HEAD'])
      for (const watch of ['watch=true', 'watch=1', 'watch=True', 'watch', 'watch=', 'a=b&%77atch=yes', 'watch=2']) {
        const { dependencies } = withoutRights();
        await assert.rejects(answerIndexRequest(request(asked, `?${watch}`, method), dependencies), (error) => {
          assert.ok(error instanceof GatewayError);
          assert.equal(error.status, 405, watch);
          return true;
        });
      }
  });
}

test('watch=false is no watch: indexes are answered', async () => {
  for (const query of ['', '?watch=false', '?watch=0', '?watch=False', '?watchable=true']) {
    const { dependencies } = withoutRights();
    const store = { resourceVersion: () => '7' };
    const sent: string[] = [];
    const inbound = {
      method: 'GET',
      respond: (status: number) => void sent.push(String(status)),
      write: (bytes: Buffer) => sent.push(bytes.toString('utf8')) > 0,
      end: () => undefined,
      onClose: () => undefined,
      onDrain: () => undefined,
    };
    const asked = { ...request({ part: 'indexes', name: undefined }, query), inbound, progress: {}, auditId: 'a' };
    await answerIndexRequest(asked as never, { ...dependencies, store } as never);
    assert.equal(sent[0], '200', query);
    assert.match(sent[1]!, /"IndexList"/);
  }
});

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
  const lost = {
    ...site.dependencies,
    catalog: () => Promise.reject(new GatewayError('INDEX_UNAVAILABLE', 'no store')),
  };
  for (const dependencies of [site.dependencies, lost]) await answerIndexRequest(asked, dependencies);
  const wanted = 'c1 /api/v1/pods?labelSelector=a%3Db';
  assert.deepEqual([relayed, site.asked], [[wanted, wanted], []], 'also while the store cannot be read');
});
