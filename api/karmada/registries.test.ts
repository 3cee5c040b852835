import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Attributes } from '../../auth/rules/attributes.ts';
import type { ApiCall, ApiClient } from '../../kube/types.ts';
import { makeLocalSite } from '../local.fixture.ts';

const path = '/apis/search.karmada.io/v1alpha1/resourceregistries';
const apply = 'application/apply-patch+yaml';

/** A hub that has one registry, and a caller who has every right but these verbs. */
function makeScene(...refused: readonly string[]) {
  const calls: ApiCall[] = [];
  const asked: Attributes[] = [];
  const hub = {
    async request(call: ApiCall) {
      calls.push(call);
      const exists = call.path.split('?')[0] === '/apis/search.karmada.io/stored/resourceregistries/old';
      const object = { apiVersion: 'search.karmada.io/stored', metadata: { name: 'old', uid: 'u1' } };
      return { status: exists ? 200 : 404, body: Buffer.from(JSON.stringify(exists ? object : { kind: 'Status' })) };
    },
  } as unknown as ApiClient;
  const authorizer = {
    authorize(attributes: Attributes) {
      asked.push(attributes);
      return { allowed: !refused.includes(attributes.verb), reason: 'no rule' };
    },
  };
  const site = makeLocalSite([], { hub, authorizer });
  const patch = async (name: string, type: string, body: string): Promise<number> => {
    const headers: Record<string, string> = type === '' ? {} : { 'Content-Type': type };
    return (await site.ask(`PATCH ${path}/${name}?fieldManager=x`, headers, body)).status;
  };
  const written = (): readonly string[] =>
    calls.filter(({ method }) => method === 'PATCH').map(({ body }) => String(body));
  return { site, patch, written, asked, calls };
}

const body = '{"apiVersion":"search.karmada.io/v1alpha1","metadata":{"name":"x"},"n":9007199254740993}';
const stored = body.replace('v1alpha1', 'stored');

test('who may patch and not create makes no registry by any kind of patch that could (ATT-57)', async () => {
  for (const type of [apply, `${apply}; charset=utf-8`, 'application/apply-patch+cbor', 'application/unheard+of', '']) {
    const { patch, written, asked } = makeScene('create');
    assert.equal(await patch('new', type, body), 403, type);
    assert.deepEqual(written(), [], type);
    assert.deepEqual(
      asked.map(({ user, verb, apiGroup, resource, name }) => [user.name, verb, apiGroup, resource, name]),
      [['alice', 'create', 'search.karmada.io', 'resourceregistries', 'new']],
    );
  }
});

test('who may patch and not create changes the registry that is there, found by its uid (ATT-57)', async () => {
  const { patch, written } = makeScene('create');
  assert.equal(await patch('old', apply, body), 200);
  assert.deepEqual(written(), [stored.replace('"metadata":{', '"metadata":{"uid":"u1",')]);
  for (const twice of ['{"metadata":{},"metadata":{}}', '{"metadata":{"uid":"u1","uid":""}}', '{}'])
    assert.equal(await patch('old', apply, twice), 400, twice);
  assert.equal(written().length, 1);
});

test('who may create applies as the object was written, and other patches are asked about by their own verb', async () => {
  const { patch, written, asked } = makeScene();
  await patch('new', apply, body);
  assert.deepEqual(written(), [stored]);
  const others = makeScene('create');
  for (const type of ['json-patch', 'merge-patch', 'strategic-merge-patch'])
    await others.patch('new', `application/${type}+json`, body);
  assert.equal(others.written().length, 3);
  assert.deepEqual([asked.length, others.asked.length], [1, 0]);
});

test('a body that is no JSON or nested too deeply is refused, and deep nesting is nobody else’s fault', async () => {
  const { site, calls } = makeScene();
  const post = async (text: string): Promise<number> =>
    (await site.ask(`POST ${path}`, { 'Content-Type': 'application/json' }, text)).status;
  for (const text of ['{', '{} {}', '['.repeat(20_000)]) assert.equal(await post(text), 400, text.slice(0, 9));
  assert.equal(calls.length, 0);
  const nested = `{"spec":${'['.repeat(5_000)}${']'.repeat(5_000)}}`;
  assert.equal(await post(nested), 404, 'the hub decides');
  assert.equal(String(calls[0]!.body), nested);
});
