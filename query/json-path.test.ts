import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { documentPaths, readDocument, readValues } from './document.ts';
import { compilePaths, readPaths } from './json-path.ts';
import type { PathStep } from '../lib/json/raw-json.ts';
import { parsePath } from './path.ts';

function slices(json: string, ...paths: readonly string[]): readonly (readonly string[])[] {
  const bytes = Buffer.from(json);
  const found = readPaths(bytes, compilePaths(paths.map((path) => parsePath(path, true))));
  return found.map((values) => values.map(({ start, end }) => bytes.toString('utf8', start, end)));
}

test('a path gives the bytes of its value, however the rest is written', () => {
  const json = ' { "a" : [ { "b" : 1.0 } , { "b":9007199254740993,"c":"}]\\"" } ],\n"d":{"e":null} } ';
  assert.deepEqual(slices(json, 'a[].b', 'a[1].b', 'a[1].c', 'd', 'd.e', 'a[2].b', 'x.y'), [
    ['1.0', '9007199254740993'],
    ['9007199254740993'],
    ['"}]\\""'],
    ['{"e":null}'],
    ['null'],
    [],
    [],
  ]);
});

test('of a key that stands twice the last one counts, below lists too, and keys may be written with escapes', () => {
  assert.deepEqual(slices('{"a":{"b":1},"a":{"b":2}}', 'a.b'), [['2']]);
  assert.deepEqual(slices('{"a":{"b":1},"a":{}}', 'a.b'), [[]]);
  assert.deepEqual(slices('{"l":[{"b":1},{"b":2,"b":3}]}', 'l[].b'), [['1', '3']]);
  assert.deepEqual(slices('{"\\u0061":1,"\\u003c":2}', 'a', "'<'"), [['1'], ['2']]);
});

test('a document nested a hundred thousand deep is passed over, and one cut short is an error', () => {
  const deep = '['.repeat(100_000) + ']'.repeat(100_000);
  assert.deepEqual(slices(`{"x":${deep},"a":1}`, 'a'), [['1']]);
  for (const json of ['{"a"', '{"a":', '{"a":"x', '{"b":{"a":1}', '[1', '{"a":1', '{"a" 1}', '{a:1}'])
    assert.throws(() => slices(json, 'a', 'b.c'), SyntaxError, json);
});

const key = fc.constantFrom('a', 'b', '__proto__', 'constructor', '1', 'x.y/z', 'é', '');
const step: fc.Arbitrary<PathStep> = fc.oneof(
  fc.record({ kind: fc.constant('key' as const), key }),
  fc.record({ kind: fc.constant('index' as const), index: fc.nat(2) }),
  fc.constant({ kind: 'each' } as const),
);
const { json } = fc.letrec<{ json: unknown; list: unknown[]; object: unknown }>((tie) => ({
  json: fc.oneof({ maxDepth: 4 }, fc.constantFrom(null, true, 1, 'q"\\', ''), tie('list'), tie('object')),
  list: fc.array(tie('json'), { maxLength: 3 }),
  object: fc.array(fc.tuple(key, tie('json')), { maxLength: 4 }).map((entries) => Object.fromEntries(entries)),
}));

test('bytes and the parsed object give the same values of any paths', () => {
  fc.assert(
    fc.property(json, fc.array(fc.array(step, { maxLength: 4 }), { minLength: 1, maxLength: 4 }), (value, paths) => {
      const prepared = documentPaths(paths);
      const text = JSON.stringify(value);
      const bytes = Buffer.from(text);
      const parsed: unknown = JSON.parse(text);
      assert.deepEqual(readDocument(bytes, prepared), readDocument(parsed, prepared));
      assert.deepEqual(readValues(bytes, prepared), readValues(parsed, prepared));
    }),
    { numRuns: 300 },
  );
});

test('a path is found however its keys are written, and not where they stand as values or elsewhere', () => {
  const read = (path: string, text: string) => readDocument(Buffer.from(text), documentPaths([parsePath(path)]))[0];
  assert.deepEqual(read('spec.a', String.raw`{"spec":{"\u0061":"x"}}`), ['x']);
  assert.deepEqual(read("metadata.annotations['a.io/b']", String.raw`{"metadata":{"annotations":{"a.io\/b":"x"}}}`), [
    'x',
  ]);
  assert.deepEqual(read("metadata.annotations['a.io/b']", '{"metadata":{"annotations":{"a.io/c":"x"}}}'), []);
  assert.deepEqual(read('spec.a', '{"spec":{"b":"a"},"a":"x"}'), []);
  assert.deepEqual(read('spec.a', '{"spec":{"b":"x"}}'), []);
  assert.deepEqual(readDocument(Buffer.from('{"a":"x"}'), documentPaths([parsePath('b'), parsePath('a')])), [
    [],
    ['x'],
  ]);
});

test('a path behind long texts with quotes and backslashes is found', () => {
  for (const length of [0, 20, 21, 22, 23, 24, 25, 26, 60]) {
    for (const end of ['', '\\', '"', '\\"', '"\\', '\\\\', '""', '\\\\"\\']) {
      const document = {
        note: `${'x'.repeat(length)}${end}`,
        [`${'k'.repeat(length)}${end}`]: 1,
        spec: { a: 'found' },
      };
      assert.deepEqual(slices(JSON.stringify(document), 'spec.a'), [['"found"']], JSON.stringify(document));
    }
  }
});
