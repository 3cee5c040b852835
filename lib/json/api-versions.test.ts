import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { withApiVersions, withUid } from './api-versions.ts';
import { MalformedAnswer } from './json-scan.ts';
import { parseJson } from './parse-json.ts';

const replaced = (text: string): string => withApiVersions(Buffer.from(text), 'g/v1', 'g/stored').toString();

test('versions are replaced at any depth, and every other byte stays as it was written', () => {
  const text = (version: string): string =>
    `{ "apiVersion" : ${version}, "n": 9007199254740993, "f": 1.0, "k": "apiVersion", "g/v1": "g/v1",\n` +
    `"items": [{"api\\u0056ersion":${version},"a":"\\u0041"}, ["g/v1", {"apiVersion":"v1"}]], "apiVersion":null}\n`;
  assert.equal(replaced(text('"g/v1"')), text('"g/stored"'));
  assert.equal(replaced(text('"g\\/v1"')), text('"g/stored"'), 'a text that is escaped is the same text');
  for (const others of ['"v1"', '1', '["g/v1"]', '{"apiVersion":1}'])
    assert.equal(replaced(text(others)), text(others));
});

test('any JSON means the same as after parsing, replacing and printing it', () => {
  const versions = fc.constantFrom('g/v1', 'g/stored', 'v1', 'apiVersion', '');
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      versions,
      fc.integer(),
      fc.string({ unit: 'binary' }),
      fc.array(tie('tree'), { maxLength: 4 }),
      fc.dictionary(fc.constantFrom('apiVersion', 'a', '"', '\\', '\\b', 'items'), tie('tree'), { maxKeys: 4 }),
    ),
  }));
  const versioned = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(versioned);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => [
        key,
        key === 'apiVersion' && each === 'g/v1' ? 'g/stored' : versioned(each),
      ]),
    );
  };
  fc.assert(
    fc.property(tree, fc.constantFrom(undefined, 1), (value, indent) => {
      assert.deepEqual(parseJson(replaced(JSON.stringify(value, undefined, indent))), versioned(value));
    }),
  );
});

test('text that is no JSON, more than one value, and nesting too deep for an API server are refused', () => {
  for (const text of ['', '{', '{"apiVersion":"g/v1"', '{} {}', '{"a":1}x', "{'a':1}", '['.repeat(20_000)])
    assert.throws(() => replaced(text), MalformedAnswer, text.slice(0, 20));
  const deep = '['.repeat(9_000) + ']'.repeat(9_000);
  assert.equal(replaced(deep), deep);
});

test('an object with a uid is found by it or refused; where a reader could find another uid nothing is given', () => {
  const given = (text: string): string | undefined => withUid(Buffer.from(text), 'u1')?.toString();
  assert.equal(given('{"metadata":{"name":"a"}}'), '{"metadata":{"uid":"u1","name":"a"}}');
  assert.equal(given('{"metadata":{ }}'), '{"metadata":{"uid":"u1" }}');
  assert.equal(given('{"metadata":{"uid":"other"}}'), '{"metadata":{"uid":"other"}}');
  for (const text of [
    '{}',
    '{"metadata":null}',
    '{"metadata":[]}',
    '{"metadata":{},"metadata":{}}',
    '{"metadata":{},"met\\u0061data":{}}',
    '{"metadata":{"uid":"u1","uid":""}}',
    '{"metadata":{"uid":""}}',
    '{"metadata":{"uid":null}}',
  ])
    assert.equal(given(text), undefined, text);
  assert.throws(() => given('[]'), MalformedAnswer);
});
