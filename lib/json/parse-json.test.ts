import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { parseExact } from './exact-json.ts';
import { hasEscapedKey, parseEscaped, parseJson } from './parse-json.ts';

test('no key becomes that of an object that was read earlier', () => {
  // Each text is read right after the one before it, as answers of different clusters are.
  for (const text of [
    String.raw`{"q1":1,"x\\":1}`,
    String.raw`{"q1":1,"x\"":1}`,
    String.raw`{"routes":{"first":1,"\\\\d":"theirs"}}`,
    String.raw`{"routes":{"first":1,"\\d+":"mine"}}`,
    String.raw`{"k":0,"x\\":1,"y":0}`,
    String.raw`{"k":0,"x\"":1,"x\\":2}`,
  ]) {
    assert.equal(JSON.stringify(parseJson(text)), text);
    assert.equal(JSON.stringify(parseExact(text)), text);
  }
});

const tree = fc.letrec((tie) => ({
  tree: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom<unknown>(null, true, false, '', 0, -1, 1.5, 'a', '"\\\n', '{"a":1}', 2 ** 53),
    fc.array(tie('tree'), { maxLength: 4 }),
    fc.dictionary(
      fc.string({ unit: fc.constantFrom('\\', '"', 'x', '\n', 'u', '{', ':'), maxLength: 4 }),
      tie('tree'),
      {
        maxKeys: 5,
      },
    ),
  ),
})).tree;

test('any JSON is read as it is written, one text after the other', () => {
  fc.assert(
    fc.property(tree, fc.constantFrom(undefined, 1, '\t'), (value, indent) => {
      const text = JSON.stringify(value, undefined, indent);
      assert.equal(JSON.stringify(parseJson(text), undefined, indent), text);
      assert.equal(JSON.stringify(parseEscaped(text, Number), undefined, indent), text);
    }),
    { numRuns: 3_000, seed: 20261129 },
  );
});

test('a text has escaped keys only where a key has an escape, not where a value looks like one', () => {
  for (const text of [String.raw`{"a":"\":1"}`, String.raw`["\\","x"]`, String.raw`{"a":"{\"b\":1}"}`, '{"a":1}', '"'])
    assert.equal(hasEscapedKey(text), false, text);
  for (const text of [String.raw`{"\\":1}`, String.raw`{"a":[{"x\u0041" :1}]}`, String.raw`{"a":"b","\"":1}`])
    assert.equal(hasEscapedKey(text), true, text);
});

test('numbers with all digits, repeated keys, __proto__ and deep lists are read as always', () => {
  const text = String.raw`{"\n":9007199254740993,"a":1,"__proto__":{"\\":2},"a":3,"b":-0.5e1}`;
  const value = parseExact(text) as Record<string, unknown>;
  assert.deepEqual(Object.entries(value), [
    ['\n', 9007199254740993n],
    ['a', 3],
    ['__proto__', { '\\': 2 }],
    ['b', -5],
  ]);
  assert.equal(Object.getPrototypeOf(value), Object.prototype);
  const deep = `${'[{"\\\\":'.repeat(5_000)}1${'}]'.repeat(5_000)}`;
  assert.equal(JSON.stringify(parseJson(deep)).length, deep.length);
  for (const wrong of [String.raw`{"\\":1`, String.raw`{"\\":01}`, String.raw`{"\\":1}x`, String.raw`{"\x":1}`])
    assert.throws(() => parseJson(wrong), SyntaxError, wrong);
  assert.throws(() => parseExact(String.raw`{"\\":1e400}`), /a number that is too large/);
});
