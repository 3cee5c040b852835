import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { IgnoredFields } from '../work/manifest-config.ts';
import { IgnoreFieldFault, withoutIgnored } from './ignore-fields.ts';

const rule = (more: Partial<IgnoredFields>): IgnoredFields => ({
  condition: 'OnSpokePresent',
  jsonPaths: [],
  jsonPointers: [],
  jqPathExpressions: [],
  ...more,
});
const object = { kind: 'X', spec: { replicas: 1, list: [{ a: 1, b: 2 }, { a: 3 }], 'a/b': 1 } };

test('fields are removed by path and by pointer, and what is not there is no fault', () => {
  const without = (more: Partial<IgnoredFields>): unknown => withoutIgnored(object, [rule(more)])['spec'];
  const { spec } = object;
  assert.deepEqual(without({ jsonPaths: ['.spec.replicas', '.spec.no.such'] }), { list: spec.list, 'a/b': 1 });
  assert.deepEqual(without({ jsonPaths: ['.spec.list[*].a'] }), { ...spec, list: [{ b: 2 }, {}] });
  assert.deepEqual(without({ jsonPointers: ['/spec/a~1b', '/spec/no/such'] }), { replicas: 1, list: spec.list });
  assert.deepEqual(without({ jsonPointers: ['/spec/list/0'] }), { ...spec, list: [{ a: 3 }] });
  assert.equal(object.spec.replicas, 1, 'the manifest itself stays');
});

test('a field is named in every form of JSONPath', () => {
  const annotated = {
    metadata: { annotations: { 'example.org/owner': 'hub', keep: 'x' } },
    data: { 'app.conf': 'hub', app: { conf: 'x' }, other: '1' },
    list: [{ name: 'a', image: 'x', deep: { image: 'y' } }, { name: 'b' }],
  };
  const { metadata, data, list } = annotated;
  const withoutKey = { annotations: { keep: 'x' } };
  const cases: readonly (readonly [string, object])[] = [
    [".metadata.annotations['example.org/owner']", { metadata: withoutKey, data, list }],
    [String.raw`.metadata.annotations['example\.org/owner']`, { metadata: withoutKey, data, list }],
    [String.raw`.metadata.annotations.example\.org/owner`, { metadata: withoutKey, data, list }],
    [String.raw`$.data.app\.conf`, { metadata, data: { app: { conf: 'x' }, other: '1' }, list }],
    ['.data.app.conf', { metadata, data: { 'app.conf': 'hub', app: {}, other: '1' }, list }],
    [".data['app.conf']", { metadata, data: { app: {}, other: '1' }, list }],
    ['.data.*', { metadata, data: {}, list }],
    ['.list[?(@.name=="a")].image', { metadata, data, list: [{ name: 'a', deep: { image: 'y' } }, { name: 'b' }] }],
    ['.list[*]..image', { metadata, data, list: [{ name: 'a', deep: {} }, { name: 'b' }] }],
    ['.list[7].image', annotated],
    ['.list', { metadata, data }],
  ];
  for (const [path, left] of cases)
    assert.deepEqual(withoutIgnored(annotated, [rule({ jsonPaths: [path] })]), left, path);
});

test('a path that cannot be read, or does not end in a field, is refused by name', () => {
  const odd = [
    '',
    '.',
    '.spec.',
    'spec.replicas',
    '{.spec.replicas}',
    '.spec.list[0]',
    '.spec.list[*]',
    '.spec[',
    '.a b',
  ];
  for (const path of [
    ...odd,
    '.spec.list[?(@.a==1)]',
    '.spec["replicas"]',
    '.spec.list[?(@.a==].b',
    '.spec...a',
    '.kind[0].a',
  ])
    assert.throws(
      () => withoutIgnored(object, [rule({ jsonPaths: [path] })]),
      (error) => error instanceof IgnoreFieldFault && error.message.startsWith(`JSONPath error in '${path}': `),
      path,
    );
});

test('fields that are ignored until the work changes stay in the manifest', () => {
  assert.deepEqual(
    withoutIgnored(object, [rule({ condition: 'OnSpokeChange', jsonPaths: ['.spec.replicas'] })]),
    object,
  );
});

test('an expression of jq and a pointer that is none are refused by name', () => {
  for (const [more, message] of [
    [{ jqPathExpressions: ['.spec'] }, /JQ expression error in '\.spec'/],
    [{ jsonPointers: ['spec'] }, /JSON Pointer error in 'spec'/],
  ] as const) {
    assert.throws(
      () => withoutIgnored(object, [rule(more)]),
      (error) => error instanceof IgnoreFieldFault && message.test(error.message),
    );
  }
});

test('rules that together walk over too much are a fault of the manifest, and nothing is half removed (ATT-56)', () => {
  const wide = { ...object, list: Array.from({ length: 10_000 }, () => ({ a: 1, b: 2 })) };
  const jsonPaths = Array.from({ length: 100 }, () => '.list[*].a');
  assert.doesNotThrow(() => withoutIgnored(wide, [rule({ jsonPaths: jsonPaths.slice(0, 2) })]));
  assert.throws(() => withoutIgnored(wide, [rule({ jsonPaths })]), IgnoreFieldFault);
});

test('a path of any length and pointers of any number end at a count (ATT-56)', () => {
  const list = Array.from({ length: 10_000 }, (_, index) => index);
  const refused = (more: Partial<IgnoredFields>, why: RegExp): void =>
    assert.throws(
      () => withoutIgnored({ ...object, list }, [rule(more)]),
      (error) => error instanceof IgnoreFieldFault && why.test(error.message) && error.message.length < 512,
    );
  for (const unit of ['[', "['a", "[''", '[""', '.a'])
    refused({ jsonPaths: [unit.repeat(2_049)] }, /longer than 2048 characters/);
  refused({ jsonPaths: ["['".repeat(1_024)] }, /must end in the name of a field/);
  refused({ jsonPaths: Array.from({ length: 100_000 }, () => '.none') }, /visit more than 75000 values/);
  refused({ jsonPointers: Array.from({ length: 20_000 }, () => '/a/b/c/d') }, /visit more than 75000 values/);
  refused({ jsonPointers: Array.from({ length: 10 }, () => '/list/0') }, /visit more than 75000 values/);
  const some = rule({ jsonPointers: ['/list/0', '/list/1'] });
  assert.deepEqual(withoutIgnored({ list }, [some]), { list: [1, ...list.slice(3)] });
});

test('the last step of a path is found behind brackets that hold quotes, or do not end', () => {
  const odd = {
    list: [
      { x: ']', y: 1 },
      { x: '[', y: 1 },
    ],
    "q'": { a: 1 },
  };
  const cases: readonly (readonly [string, object])[] = [
    [`.list[?(@.x=="]")].y`, { ...odd, list: [{ x: ']' }, { x: '[', y: 1 }] }],
    [`.list[?(@.x=='[')].y`, { ...odd, list: [{ x: ']', y: 1 }, { x: '[' }] }],
    [String.raw`.list[?(@.x=="\"")].y`, odd],
    [String.raw`.q\'.a`, { ...odd, "q'": {} }],
  ];
  for (const [path, left] of cases) assert.deepEqual(withoutIgnored(odd, [rule({ jsonPaths: [path] })]), left, path);
});
