import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeHub } from '../../controllers/fake-hub.fixture.ts';
import { makeDiscovery, UnservedType } from './discovery.ts';

const group = 'example.io';
const hub = (): FakeHub =>
  new FakeHub([
    { group, versions: ['v2'], resource: 'others' },
    { group, versions: ['v2', 'v1'], resource: 'things', singular: 'thing' },
    { group, versions: ['v1'], resource: 'olds' },
  ]);

test('the preferred version counts unless others are wanted, and the hub’s order decides between them', async () => {
  const discovery = makeDiscovery(hub());
  const versionOf = async (resource: string, versions: readonly string[]): Promise<string> =>
    (await discovery.resolve({ group, resource, versions })).version;
  assert.equal(await versionOf('things', []), 'v2');
  assert.equal(await versionOf('things', ['v1']), 'v1');
  assert.equal(await versionOf('things', ['v1', 'v2']), 'v2');
  assert.equal(await versionOf('olds', []), 'v1');
});

test('a type may be named in the singular', async () => {
  const { resource } = await makeDiscovery(hub()).resolve({ group, resource: 'thing', versions: [] });
  assert.equal(resource, 'things');
});

test('what is not served is told, and asked for anew the next time', async () => {
  const served = hub();
  const discovery = makeDiscovery(served);
  const wanted = { group, resource: 'news', versions: [] };
  await assert.rejects(discovery.resolve(wanted), UnservedType);
  served.serve({ group, versions: ['v2'], resource: 'news' });
  assert.equal((await discovery.resolve(wanted)).version, 'v2');
});

test('a group is read once until it is forgotten', async () => {
  const served = hub();
  let asked = 0;
  const discovery = makeDiscovery({
    request(call) {
      asked += 1;
      return served.request(call);
    },
  });
  const wanted = { group, resource: 'things', versions: [] };
  await discovery.resolve(wanted);
  const first = asked;
  await discovery.resolve(wanted);
  assert.equal(asked, first);
  discovery.forget(group);
  await discovery.resolve(wanted);
  assert.equal(asked, first * 2);
});
