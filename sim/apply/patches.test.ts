import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyJsonPatch } from './patch-json.ts';
import { applyMergePatch } from './patch-merge.ts';
import { applyStrategicPatch } from './patch-strategic.ts';
import { loadKubernetesSpec } from '../schema/spec.ts';
import type { JsonObject } from '../model/types.ts';

/** RFC 7386, appendix A. */
const mergeCases: readonly (readonly [unknown, unknown, unknown])[] = [
  [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
  [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
  [{ a: 'b' }, { a: null }, {}],
  [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
  [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
  [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
  [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
  [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
  [
    ['a', 'b'],
    ['c', 'd'],
    ['c', 'd'],
  ],
  [{ a: 'b' }, ['c'], ['c']],
  [{ a: 'foo' }, null, null],
  [{ a: 'foo' }, 'bar', 'bar'],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: 'b', c: null }, { a: 'b' }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
];
for (const [target, patch, expected] of mergeCases)
  test(`merge patch: ${JSON.stringify(target)} with ${JSON.stringify(patch)}`, () =>
    assert.deepEqual(applyMergePatch(target, patch), expected));

/** RFC 6902, appendix A, and what kube-apiserver refuses. */
const jsonCases: readonly (readonly [string, unknown, readonly JsonObject[], unknown])[] = [
  ['adds a member', { foo: 'bar' }, [{ op: 'add', path: '/baz', value: 'qux' }], { foo: 'bar', baz: 'qux' }],
  [
    'adds an element',
    { foo: ['bar', 'baz'] },
    [{ op: 'add', path: '/foo/1', value: 'qux' }],
    { foo: ['bar', 'qux', 'baz'] },
  ],
  [
    'appends',
    { foo: ['bar'] },
    [{ op: 'add', path: '/foo/-', value: ['abc', 'def'] }],
    { foo: ['bar', ['abc', 'def']] },
  ],
  ['removes a member', { baz: 'qux', foo: 'bar' }, [{ op: 'remove', path: '/baz' }], { foo: 'bar' }],
  ['removes an element', { foo: ['bar', 'qux', 'baz'] }, [{ op: 'remove', path: '/foo/1' }], { foo: ['bar', 'baz'] }],
  ['replaces', { baz: 'qux' }, [{ op: 'replace', path: '/baz', value: 'boo' }], { baz: 'boo' }],
  ['replaces an element', { a: [1, 2] }, [{ op: 'replace', path: '/a/0', value: 3 }], { a: [3, 2] }],
  [
    'moves',
    { foo: { bar: 1 }, qux: {} },
    [{ op: 'move', from: '/foo/bar', path: '/qux/thud' }],
    { foo: {}, qux: { thud: 1 } },
  ],
  [
    'moves an element',
    { foo: ['all', 'grass', 'cows', 'eat'] },
    [{ op: 'move', from: '/foo/1', path: '/foo/3' }],
    { foo: ['all', 'cows', 'eat', 'grass'] },
  ],
  ['copies', { a: { b: 1 } }, [{ op: 'copy', from: '/a', path: '/c' }], { a: { b: 1 }, c: { b: 1 } }],
  ['tests', { a: { b: [1] } }, [{ op: 'test', path: '/a', value: { b: [1] } }], { a: { b: [1] } }],
  [
    'unescapes ~1 and ~0',
    { 'a/b': 1, 'm~n': 2 },
    [
      { op: 'remove', path: '/a~1b' },
      { op: 'replace', path: '/m~0n', value: 3 },
    ],
    { 'm~n': 3 },
  ],
  ['tests a missing member against null', {}, [{ op: 'test', path: '/a', value: null }], {}],
];
for (const [name, document, patch, expected] of jsonCases)
  test(`json patch ${name}`, () => assert.deepEqual(applyJsonPatch(document, patch), expected));

for (const [name, patch, code] of [
  ['a failed test', [{ op: 'test', path: '/a', value: 2 }], 422],
  ['a missing path', [{ op: 'remove', path: '/b' }], 422],
  ['a missing parent', [{ op: 'add', path: '/b/c', value: 1 }], 422],
  ['an index out of range', [{ op: 'add', path: '/l/5', value: 1 }], 422],
  ['an unknown operation', [{ op: 'burn', path: '/a' }], 400],
  ['something that is no list', { op: 'add' }, 400],
  ['too many operations', Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/a', value: 1 })), 413],
] as const)
  test(`json patch refuses ${name}`, () => assert.throws(() => applyJsonPatch({ a: 1, l: [] }, patch), { code }));

test('a json patch leaves its document alone', () => {
  const document = { a: [1] };
  applyJsonPatch(document, [{ op: 'add', path: '/a/-', value: 2 }]);
  assert.deepEqual(document, { a: [1] });
});

const { schemas } = loadKubernetesSpec();
const podSchema = schemas['io.k8s.api.core.v1.Pod'];
const strategic = (current: JsonObject, patch: JsonObject): JsonObject =>
  applyStrategicPatch(schemas, podSchema, current, patch);
const container = (name: string, more: JsonObject = {}): JsonObject => ({ name, image: name, ...more });
const spec = (...containers: JsonObject[]): JsonObject => ({ spec: { containers } });

test('strategic patch merges containers by name', () => {
  const patched = strategic(spec(container('a'), container('b')), spec({ name: 'b', image: 'new' }, container('c')));
  assert.deepEqual(patched, spec(container('a'), { name: 'b', image: 'new' }, container('c')));
});
test('strategic patch deletes a list item by directive', () => {
  assert.deepEqual(
    strategic(spec(container('a'), container('b')), spec({ name: 'a', $patch: 'delete' })),
    spec(container('b')),
  );
});
test('strategic patch replaces a whole list by directive', () => {
  assert.deepEqual(
    strategic(spec(container('a'), container('b')), spec({ $patch: 'replace' }, container('c'))),
    spec(container('c')),
  );
});
test('strategic patch replaces a list without merge key', () => {
  const before = spec(container('a', { args: ['1', '2'] }));
  assert.deepEqual(strategic(before, spec({ name: 'a', args: ['3'] })), spec(container('a', { args: ['3'] })));
});
test('strategic patch merges and prunes lists of plain values', () => {
  const before = { metadata: { finalizers: ['a', 'b'] } };
  assert.deepEqual(strategic(before, { metadata: { finalizers: ['c', 'a'] } }), {
    metadata: { finalizers: ['a', 'b', 'c'] },
  });
  assert.deepEqual(strategic(before, { metadata: { '$deleteFromPrimitiveList/finalizers': ['a'] } }), {
    metadata: { finalizers: ['b'] },
  });
});
test('strategic patch puts a list in the order asked for, others in place', () => {
  const patch = {
    spec: { '$setElementOrder/containers': [{ name: 'c' }, { name: 'a' }], containers: [container('c')] },
  };
  assert.deepEqual(
    strategic(spec(container('a'), container('b')), patch),
    spec(container('c'), container('a'), container('b')),
  );
});
test('strategic patch keeps only the keys of $retainKeys', () => {
  const volume = (source: JsonObject): JsonObject => ({ spec: { volumes: [{ name: 'v', ...source }] } });
  const patch = volume({ $retainKeys: ['name', 'emptyDir'], emptyDir: {} });
  assert.deepEqual(strategic(volume({ hostPath: { path: '/' } }), patch), volume({ emptyDir: {} }));
});
test('strategic patch removes with null and replaces a map by directive', () => {
  const before = { metadata: { labels: { a: '1', b: '2' } } };
  assert.deepEqual(strategic(before, { metadata: { labels: { a: null } } }), { metadata: { labels: { b: '2' } } });
  assert.deepEqual(strategic(before, { metadata: { labels: { $patch: 'replace', c: '3' } } }), {
    metadata: { labels: { c: '3' } },
  });
});
test('strategic patch refuses an item without its merge key', () => {
  assert.throws(() => strategic(spec(container('a')), spec({ image: 'x' })), {
    code: 500,
    message: 'map: map[image:x] does not contain declared merge key: name',
  });
});
test('strategic patch merges ports by number', () => {
  const ports = (...list: JsonObject[]): JsonObject => spec(container('a', { ports: list }));
  const patched = strategic(
    ports({ containerPort: 80 }),
    spec({ name: 'a', ports: [{ containerPort: 80, name: 'http' }, { containerPort: 81 }] }),
  );
  assert.deepEqual(patched, ports({ containerPort: 80, name: 'http' }, { containerPort: 81 }));
});
