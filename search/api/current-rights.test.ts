import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { allowAuthenticated } from '../../auth/rules/authorize.ts';
import { GatewayError } from '../../model/errors.ts';
import { mirroredTypes } from '../../rights/mirror.ts';
import { binding, role, rule, testIncarnation, testRecord, testUser } from '../../rights/rights.fixture.ts';
import type { TestObject } from '../../rights/rights.fixture.ts';
import { makeOpenStreams } from '../../routing/forward/open-streams.ts';
import { makeScopes } from '../../rights/scopes.ts';
import { rowWrite, typeInfo } from '../../store/conformance/model.fixture.ts';
import { openSqliteStore } from '../../store/sqlite/store.ts';
import type { IndexStore, WriteBatch } from '../../store/store.ts';
import type { TypeInfo } from '../../query/types.ts';
import { makeChangeFeed } from '../watch/feed.ts';
import type { AnswerDependencies } from './answer-dependencies.ts';
import { makeCatalogReader } from '../catalog/catalog.ts';
import { answerIndexRequest } from '../chain/chain.ts';
import type { IndexRequest } from '../request/request.ts';
import { tempDir } from '../../test/pretend/temp-dir.ts';

const pods = typeInfo('', 'pods');
const incarnation = testIncarnation('one');
const clusterScoped = ['clusterroles', 'clusterrolebindings', 'namespaces'];
const byResource = new Map<string, TypeInfo>(
  mirroredTypes.map(({ group, resource }) => [resource, typeInfo(group, resource, !clusterScoped.includes(resource))]),
);

function batchOf(type: TypeInfo, objects: readonly TestObject[], deletes: WriteBatch['deletes'] = []): WriteBatch {
  const upserts = objects.map(({ metadata: { name, namespace = '' }, ...rest }) => {
    const key = { cluster: incarnation.cluster, incarnation: incarnation.id, type, namespace, name, uid: name };
    return rowWrite({ ...key, ownerUid: '', createdAtMs: 0, resourceVersion: '1', labels: { app: 'web' }, rest });
  });
  return { incarnation, type, upserts, deletes, position: { resourceVersion: '1', confirmedAtMs: Date.now() } };
}

/** Jane and Joe may list and get pods. */
async function site(t: TestContext) {
  const directory = tempDir('rights');
  const store = await openSqliteStore({ directory });
  const scopes = makeScopes({
    store,
    clusters: { list: () => [testRecord('one')] },
    authorizer: allowAuthenticated(),
    outgoing: (user) => user,
    maxAgeMs: 60_000,
    reviews: {
      isAllowed: () => Promise.reject(new GatewayError('MEMBER_UNAVAILABLE', 'it is not asked')),
      isIncomplete: async () => false,
    },
    sampleRate: 0,
  });
  t.after(async () => {
    scopes.close();
    await store.close();
  });
  for (const type of byResource.values()) await store.apply(batchOf(type, []));
  const reader = role('reader', undefined, rule('list,get,watch', 'pods'));
  await store.apply(batchOf(byResource.get('clusterroles')!, [reader]));
  const bindings = ['jane', 'joe'].map((name) => binding(name, undefined, 'ClusterRole/reader', `User/${name}`));
  await store.apply(batchOf(byResource.get('clusterrolebindings')!, bindings));
  const pod = (name: string): TestObject => ({ kind: 'Pod', metadata: { name, namespace: 'team' } });
  await store.apply(batchOf(pods, [pod('a'), pod('b')]));
  return { store, scopes };
}

const revoked = (name: string): WriteBatch =>
  batchOf(byResource.get('clusterrolebindings')!, [], [{ namespace: '', name }]);

/** The store, which is asked after something else has come in between. */
function interrupted(store: IndexStore, interrupt: () => Promise<unknown>) {
  const asked: string[] = [];
  const of = new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      if (!['list', 'count', 'facets', 'values'].includes(String(name))) return value.bind(target) as unknown;
      return async (...given: readonly unknown[]) => {
        if (asked.push(String(name)) === 1) await interrupt();
        return (await Reflect.apply(value, target, given)) as unknown;
      };
    },
  });
  return { of, asked };
}

async function answer(
  { scopes }: Awaited<ReturnType<typeof site>>,
  store: IndexStore,
  asked: IndexRequest['asked'],
  query: string,
): Promise<object> {
  return JSON.parse(await answerText({ scopes }, store, asked, query)) as object;
}

/** The bytes that are sent until the answer ends; the client of a watch goes after the first bookmark. */
async function answerText(
  { scopes }: Pick<Awaited<ReturnType<typeof site>>, 'scopes'>,
  store: IndexStore,
  asked: IndexRequest['asked'],
  query: string,
): Promise<string> {
  const written: Buffer[] = [];
  const feed = makeChangeFeed(store);
  let leave = (): void => undefined;
  const inbound = {
    method: 'GET',
    respond: () => undefined,
    write: (chunk: Buffer) => {
      written.push(chunk);
      if (chunk.includes('"BOOKMARK"')) leave();
      return true;
    },
    end: () => undefined,
    onDrain: () => undefined,
    onClose: (listener: () => void) => void (leave = listener),
  };
  const request = {
    ...{ asked, inbound, headers: [], query, user: testUser('jane'), form: () => ({ as: '' }), auditId: 'id' },
    ...{ outcome: {}, progress: { bytesOut: 0 } },
  };
  const sync = { state: () => [], stateOf: () => [], version: 0 };
  const dependencies = {
    ...{
      store,
      rights: scopes,
      sync,
      chosen: [],
      collections: () => [],
      settled: async () => undefined,
      now: Date.now,
    },
    catalog: makeCatalogReader({ types: () => store.types(), sync, isChosen: () => true }),
    ...{ issuedRights: { note: () => undefined }, openStreams: makeOpenStreams(), onError: assert.ifError },
    ...{ feed, bookmarkIntervalMs: 60_000, rightsPollMs: 60_000, aggregatedWatchMs: 60_000, statusJson: String },
  };
  await answerIndexRequest(request as unknown as IndexRequest, dependencies as unknown as AnswerDependencies);
  feed.close();
  return Buffer.concat(written).toString('utf8');
}

const list: IndexRequest['asked'] = { part: 'proxy', segments: ['api', 'v1', 'pods'] };
const named = { items: [{ metadata: { name: 'a' } }, { metadata: { name: 'b' } }] };
const questions: readonly (readonly [
  what: string,
  asked: IndexRequest['asked'],
  query: string,
  before: object,
  after: object,
])[] = [
  ['a list', list, '', named, { items: [] }],
  ['a count', { part: 'counts' }, '?resource=pods.v1.', { count: 2 }, { count: 0 }],
  [
    'facets',
    { part: 'facets' },
    '?resource=pods.v1.&by=namespace',
    { facets: [{ value: 'team', count: 2 }] },
    { facets: [] },
  ],
  ['values', { part: 'values' }, '?resource=pods.v1.&by=namespace', { values: ['team'] }, { values: [] }],
];

for (const [what, asked, query, before, after] of questions) {
  test(`${what} shows nothing to who has lost the right before it was read`, async (t) => {
    const given = await site(t);
    assert.partialDeepStrictEqual(await answer(given, given.store, asked, query), before);
    const { of, asked: reads } = interrupted(given.store, () => given.store.apply(revoked('jane')));
    const said = (await answer(given, of, asked, query)) as Readonly<Record<string, unknown>>;
    for (const [field, value] of Object.entries(after)) assert.deepEqual(said[field], value);
    assert.equal(reads.length, 2);
  });
}

test('an object is not found by who has lost the right before it was read', async (t) => {
  const given = await site(t);
  const asked: IndexRequest['asked'] = {
    part: 'proxy',
    segments: ['api', 'v1', 'namespaces', 'team', 'pods', 'a'],
  };
  assert.partialDeepStrictEqual(await answer(given, given.store, asked, ''), { metadata: { name: 'a' } });
  const { of } = interrupted(given.store, () => given.store.apply(revoked('jane')));
  await assert.rejects(answer(given, of, asked, ''), { code: 'NOT_FOUND' });
});

test('a watch begins without the rows of who has lost the right before they were read', async (t) => {
  const given = await site(t);
  const query = '?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
  assert.match(await answerText(given, given.store, list, query), /"ADDED".*"ADDED".*"BOOKMARK"/s);
  const { of, asked } = interrupted(given.store, () => given.store.apply(revoked('jane')));
  const events = await answerText(given, of, list, query);
  assert.match(events, /^\{"type":"BOOKMARK"/);
  assert.equal(asked.length, 2);
});

test('the store is asked once where the rights of somebody else have changed', async (t) => {
  const given = await site(t);
  await answer(given, given.store, list, '');
  const { of, asked } = interrupted(given.store, () => given.store.apply(revoked('joe')));
  assert.partialDeepStrictEqual(await answer(given, of, list, ''), named);
  assert.deepEqual(asked, ['list']);
});

test('who loses and gets a right without end is told to try again', async (t) => {
  const given = await site(t);
  let isGranted = true;
  const grants = byResource.get('clusterrolebindings')!;
  const jane = binding('jane', undefined, 'ClusterRole/reader', 'User/jane');
  const { of } = interrupted(given.store, async () => undefined);
  const restless = new Proxy(of, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (name !== 'count') return value;
      return async (...asked: Parameters<IndexStore['count']>) => {
        isGranted = !isGranted;
        await given.store.apply(isGranted ? batchOf(grants, [jane]) : revoked('jane'));
        return await target.count(...asked);
      };
    },
  });
  await assert.rejects(answer(given, restless, { part: 'counts' }, '?resource=pods.v1.'), {
    code: 'INDEX_UNAVAILABLE',
  });
});
