// What is kept of request lines is what a fresh reading says.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeGetReader, readRequest } from './read-request.ts';

const member = '/clusters/m1/proxy/api/v1/namespaces/default/configmaps/x';

test('a reading that is kept is the reading that would have been made', () => {
  const read = makeGetReader();
  for (const target of [
    member,
    `${member}?limit=5`,
    '/readyz',
    '/apis',
    `${member}?watch=1&resourceVersion=${'1'.repeat(40)}`,
  ]) {
    const fresh = readRequest('GET', target, undefined, false);
    assert.deepEqual(read(target), fresh);
    assert.deepEqual(read(target), fresh);
  }
  assert.equal(read(member), read(member), 'kept');
  assert.equal(read(`${member}?watch=1`).info.verb, 'get');
  assert.equal(read('/clusters/m1/proxy/api/v1/pods?watch=1').info.verb, 'watch');
  assert.equal(read('/clusters/m1/proxy/api/v1/pods').info.verb, 'list');
});

test('a path that is refused is refused every time', () => {
  const read = makeGetReader();
  for (let i = 0; i < 3; i++) assert.throws(() => read('/clusters/m1/proxy/../m2'), { code: 'BAD_PATH' });
  for (let i = 0; i < 3; i++) assert.throws(() => read('/nothing'), { code: 'NOT_FOUND' });
});

test('paths that are never asked for again do not fill the memory, and readings are still right', () => {
  const read = makeGetReader();
  const first = read(member);
  for (let i = 0; i < 8_200; i++) assert.equal(read(`${member}${i}`).info.name, `x${i}`);
  assert.notEqual(read(member), first);
  assert.deepEqual(read(member), first);
});

test('a few paths of each of 2,000 clusters are read once, however often they come in turn', () => {
  const read = makeGetReader();
  const targets = Array.from(
    { length: 8_000 },
    (_, i) => `/clusters/c${i % 2_000}/proxy/api/v1/nodes/n${i % 4}${i >> 11}`,
  );
  const first = targets.map((target) => read(target));
  const anew = targets.filter((target, i) => read(target) !== first[i]);
  assert.deepEqual(anew, []);
});
