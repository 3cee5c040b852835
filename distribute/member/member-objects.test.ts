import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UnusableName } from '../../kube/paths.ts';
import { AnswerTooLong } from '../../routing/members/member-call.ts';
import { FakeMember } from './fake-member.fixture.ts';
import { makeMemberObjects, MemberRefusal, type ObjectName } from './member-objects.ts';

const kind = {
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  resource: 'configmaps',
  namespaced: true,
  verbs: ['get', 'list', 'watch'],
};
const path = '/api/v1/namespaces/ns/configmaps/c';
const start = () => {
  const member = new FakeMember();
  const objects = makeMemberObjects(member.client('sa'), 'manager', () => Promise.resolve(() => undefined));
  return { member, objects };
};

test('no request of any verb goes out for an object whose name, place or type is none (ATT-61)', async () => {
  const good: ObjectName = { kind, namespace: 'ns', name: 'c' };
  const bad: readonly ObjectName[] = [
    ...['', '.', '..', '../secrets/x', 'a/b', 'a%2fb'].map((name) => ({ ...good, name })),
    ...['', '..', 'ns/secrets', 'NS'].map((namespace) => ({ ...good, namespace })),
    ...['', '..', 'configmaps/c/status', 'secrets?'].map((resource) => ({ ...good, kind: { ...kind, resource } })),
    ...['', '..', 'v1/namespaces'].map((version) => ({ ...good, kind: { ...kind, version } })),
    { ...good, kind: { ...kind, group: '../api' } },
  ];
  const { member, objects } = start();
  for (const object of bad)
    for (const call of [
      () => objects.get(object),
      () => objects.create(object, {}),
      () => objects.update(object, {}),
      () => objects.patch(object, { type: 'merge', fieldManager: 'm', body: {} }),
      () => objects.remove(object, 'u'),
    ])
      await assert.rejects(call, UnusableName, JSON.stringify(object));
  assert.deepEqual(member.requests, []);
});

test('an object that is nested thousands of levels deep, and an answer that is none, are faults of that object (ATT-63)', async () => {
  const { member, objects } = start();
  const get = (): Promise<unknown> => objects.get({ kind, namespace: 'ns', name: 'c' });
  for (const levels of [501, 5_000, 100_000]) {
    member.answers.set(path, `{"data":${'['.repeat(levels)}${']'.repeat(levels)}}`);
    await assert.rejects(
      get,
      (error) => error instanceof MemberRefusal && /deeper than 500 levels/.test(error.message),
    );
  }
  for (const text of ['', 'null', '[]', '"x"', '{', '<html>']) {
    member.answers.set(path, text);
    await assert.rejects(get, (error) => error instanceof MemberRefusal && /no JSON object/.test(error.message), text);
  }
  member.answers.set(path, '{"metadata":{"name":"c"}}');
  assert.deepEqual(await get(), { metadata: { name: 'c' } });
});

test('numbers of objects keep all their digits, also when they are written again', async () => {
  const { member, objects } = start();
  const text = '{"metadata":{"name":"c"},"spec":{"id":9007199254740993,"list":[-9223372036854775808]}}';
  member.answers.set(path, text);
  assert.equal(JSON.stringify(await objects.get({ kind, namespace: 'ns', name: 'c' })), text);
});

test('an object that is too long is a fault of that object, and not of its cluster', async () => {
  const long = { ...new FakeMember().client('sa'), request: () => Promise.reject(new AnswerTooLong(3)) };
  const objects = makeMemberObjects(long, 'manager', () => Promise.resolve(() => undefined));
  await assert.rejects(
    () => objects.get({ kind, namespace: 'ns', name: 'c' }),
    (error) => error instanceof MemberRefusal && /longer than 3 bytes/.test(error.message),
  );
});
