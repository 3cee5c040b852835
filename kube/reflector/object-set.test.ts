import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiObject } from '../types.ts';
import { isOlder, makeObjectSet, type ObjectChange } from './object-set.ts';

function object(name: string, uid: string, resourceVersion: string, namespace?: string): ApiObject {
  return { metadata: { name, uid, resourceVersion, ...(namespace === undefined ? {} : { namespace }) } };
}

function shown(changes: readonly ObjectChange[]): readonly string[] {
  return changes.map(
    ({ type, key, object }) => `${type} ${key} ${object.metadata.uid}@${object.metadata.resourceVersion}`,
  );
}

test('a list replaces everything at once, and what did not change stays the very same object', () => {
  const set = makeObjectSet();
  const a = object('a', 'u1', '5', 'ns');
  set.swap([a, object('b', 'u2', '6', 'ns'), object('c', 'u3', '7', 'ns')]);
  const before = set.current();
  const changes = set.swap([object('a', 'u1', '5', 'ns'), object('b', 'u9', '9', 'ns'), object('d', 'u4', '9')]);
  assert.deepEqual(shown(changes), ['DELETED ns/b u2@6', 'ADDED ns/b u9@9', 'ADDED d u4@9', 'DELETED ns/c u3@7']);
  assert.equal(set.current().get('ns/a'), a);
  assert.deepEqual([...before.keys()], ['ns/a', 'ns/b', 'ns/c'], 'who got the map earlier sees it unchanged');
  assert.equal(before.get('ns/b')?.metadata.uid, 'u2');
});

test('a list that changes nothing keeps even the map', () => {
  const set = makeObjectSet();
  set.swap([object('a', 'u1', '5')]);
  const before = set.current();
  assert.deepEqual(set.swap([object('a', 'u1', '5')]), []);
  assert.equal(set.current(), before);
});

test('events that come twice or are replayed change nothing, nor does the end of a former object', () => {
  const set = makeObjectSet();
  assert.deepEqual(shown(set.put(object('a', 'u1', '99'))), ['ADDED a u1@99']);
  assert.deepEqual(set.put(object('a', 'u1', '99')), []);
  assert.deepEqual(shown(set.put(object('a', 'u1', '100'))), ['MODIFIED a u1@100']);
  assert.deepEqual(set.put(object('a', 'u1', '99')), [], 'it would go back to an older state');
  assert.deepEqual(shown(set.put(object('a', 'u2', '101'))), ['DELETED a u1@100', 'ADDED a u2@101']);
  assert.deepEqual(set.remove(object('a', 'u1', '102')), []);
  assert.deepEqual(shown(set.remove(object('a', 'u2', '103'))), ['DELETED a u2@101']);
  assert.deepEqual(set.remove(object('a', 'u2', '103')), []);
});

test('a map that was handed out is not changed by later events', () => {
  const set = makeObjectSet();
  set.put(object('a', 'u1', '1'));
  const before = set.current();
  set.put(object('b', 'u2', '2'));
  assert.deepEqual([...before.keys()], ['a']);
  assert.deepEqual([...set.current().keys()], ['a', 'b']);
});

test('versions are compared only where both are numbers', () => {
  assert.ok(isOlder('99', '100'));
  assert.ok(isOlder('99999999999999999998', '99999999999999999999'));
  for (const [a, b] of [
    ['100', '99'],
    ['5', '5'],
    ['a', 'b'],
    ['0', '1'],
    ['', '1'],
    ['1', 'x'],
  ] as const) {
    assert.ok(!isOlder(a, b), `${a} ${b}`);
  }
});
