import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClient } from '../../test/pretend/fake-client.ts';
import { hubMapper, resolveType, UnservedType } from './discovery.ts';

const group = 'example.io';
const hub = (): FakeClient =>
  new FakeClient([
    { group, versions: ['v2'], resource: 'others' },
    { group, versions: ['v2', 'v1'], resource: 'things', singular: 'thing' },
    { group, versions: ['v1'], resource: 'olds' },
  ]);

test('the preferred version counts unless others are wanted, and the hub’s order decides between them', async () => {
  const discovery = hubMapper(hub());
  const versionOf = async (resource: string, versions: readonly string[]): Promise<string> =>
    (await resolveType(discovery, { group, resource, versions })).version;
  assert.equal(await versionOf('things', []), 'v2');
  assert.equal(await versionOf('things', ['v1']), 'v1');
  assert.equal(await versionOf('things', ['v1', 'v2']), 'v2');
  assert.equal(await versionOf('olds', []), 'v1');
});

test('a type may be named in the singular', async () => {
  const { resource } = await resolveType(hubMapper(hub()), { group, resource: 'thing', versions: [] });
  assert.equal(resource, 'things');
});

test('what is not served is told, and asked for anew the next time', async () => {
  const served = hub();
  const discovery = hubMapper(served);
  const wanted = { group, resource: 'news', versions: [] };
  await assert.rejects(resolveType(discovery, wanted), UnservedType);
  served.serve({ group, versions: ['v2'], resource: 'news' });
  assert.equal((await resolveType(discovery, wanted)).version, 'v2');
});

test('a group is read once until it is forgotten', async () => {
  const served = hub();
  let asked = 0;
  const discovery = hubMapper({
    request(call) {
      asked += 1;
      return served.request(call);
    },
  });
  const wanted = { group, resource: 'things', versions: [] };
  await resolveType(discovery, wanted);
  const first = asked;
  await resolveType(discovery, wanted);
  assert.equal(asked, first);
  discovery.forget(group);
  await resolveType(discovery, wanted);
  assert.equal(asked, first * 2);
});
