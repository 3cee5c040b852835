import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assert as check, constantFrom, json, property, string } from 'fast-check';
import { readStrictJson } from './strict-json.ts';
import type { JsonValue } from './strict-json.ts';

/** Back to what JSON.parse gives; names as pairs, since `__proto__` is one. */
function plain(value: JsonValue | undefined): unknown {
  if (value instanceof Map) return [...value].map(([name, one]) => [name, plain(one)]);
  return Array.isArray(value) ? value.map(plain) : value;
}

function asPairs(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(asPairs);
  if (typeof value !== 'object' || value === null) return value;
  return Object.keys(value).map((name) => [name, asPairs((value as Record<string, unknown>)[name])]);
}

test('whatever JSON.stringify writes is read as JSON.parse reads it', () => {
  check(
    property(json({ maxDepth: 5 }), (source) => {
      const read = readStrictJson(source);
      assert.notEqual(read, undefined);
      assert.deepEqual(sorted(plain(read)), sorted(asPairs(JSON.parse(source))));
    }),
    { numRuns: 500 },
  );
});

/** Objects put names that look like numbers first. */
function sorted(value: unknown): string {
  return JSON.stringify(value).split('').toSorted().join('');
}

test('arbitrary text is JSON here only if it is JSON for JSON.parse', () => {
  check(
    property(string({ unit: constantFrom(...'{}[]",:0123.e-+tfn \\ulr\n') }), (source) => {
      const read = readStrictJson(source);
      if (read !== undefined) JSON.parse(source);
    }),
    { numRuns: 5_000 },
  );
});

test('a name that stands twice is a fault, also when one of the two is written with escapes, at any depth', () => {
  for (const source of [
    '{"iss":"a","iss":"a"}',
    '{"iss":"a","\\u0069ss":"b"}',
    '{"a":{"exp":1,"exp":2}}',
    '[{"x":1,"x":1}]',
  ]) {
    assert.equal(readStrictJson(source), undefined, source);
  }
});

test('__proto__ and constructor are names like any other', () => {
  const read = readStrictJson('{"__proto__":{"admin":true},"constructor":"c"}');
  assert.ok(read instanceof Map);
  assert.deepEqual([...read.keys()], ['__proto__', 'constructor']);
  assert.equal(({} as Record<string, unknown>)['admin'], undefined);
});

test('numbers beyond what a number can hold, deep nesting and trailing text are faults', () => {
  for (const source of [
    '1e400',
    '{"exp":1e999}',
    `${'['.repeat(40)}${']'.repeat(40)}`,
    '{} {}',
    '{"a":1}x',
    '',
    '01',
    '+1',
    '.5',
    'NaN',
    "{'a':1}",
  ])
    assert.equal(readStrictJson(source), undefined, source);
  assert.equal(readStrictJson(' -12.5e-1 '), -1.25);
});

test('what is read quickly is read as before: words, numbers, blanks and texts with and without escapes', () => {
  for (const source of [
    '[true,false,null]',
    ' [ 0 , -1 ,\t1.5e3\n,10\r] ',
    '{"a":"b","c\\u0041":"\\n\\"","":{}}',
    '"/\u007f é"',
    '[[],[[]],{}]',
  ]) {
    const plain = (value: unknown): unknown =>
      value instanceof Map
        ? Object.fromEntries([...value].map(([name, one]) => [name, plain(one)]))
        : Array.isArray(value)
          ? value.map(plain)
          : value;
    assert.deepEqual(plain(readStrictJson(source)), JSON.parse(source));
  }
  for (const source of [
    'True',
    'nul',
    'truex',
    '[tru]',
    '-',
    '1.',
    '1e',
    '00',
    '"\t"',
    '"\\x"',
    '[1 2]',
    '{"a" "b"}',
    ':',
    '\u00a01',
  ])
    assert.equal(readStrictJson(source), undefined, source);
});
