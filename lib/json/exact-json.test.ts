import assert from 'node:assert/strict';
import { test } from 'node:test';
import { array, assert as check, bigInt, boolean, dictionary, letrec, oneof, property, string } from 'fast-check';
import { goNumber, parseExact } from './exact-json.ts';

test('JSON that is read and written keeps the digits of every integer', () => {
  const leaf = oneof(bigInt(), bigInt({ min: -(2n ** 64n), max: 2n ** 64n }), string(), boolean());
  const { json } = letrec((tie) => ({
    json: oneof({ depthSize: 'small' }, leaf, array(tie('json')), dictionary(string(), tie('json'))),
  }));
  check(
    property(json, (value) => {
      const text = JSON.stringify(value);
      assert.equal(JSON.stringify(parseExact(text)), text);
      assert.equal(JSON.stringify(parseExact(Buffer.from(text))), text);
      const spaced = JSON.stringify(value, undefined, 2);
      assert.equal(JSON.stringify(parseExact(spaced), undefined, 2), spaced);
    }),
  );
});

test('what is no large integer is read as JSON.parse reads it', () => {
  for (const text of ['0.1234567890123456789', '1e21', '{"a":"12345678901234567890"}', '[1.5e-300]', '123456789012345'])
    assert.deepEqual(parseExact(text), JSON.parse(text));
});

test('text that is no JSON, and a number that no double holds, are refused', () => {
  for (const text of ['', '{', '[1e999]', '{"a":12345678901234567890,}', '[-1e400]'])
    assert.throws(() => parseExact(text), SyntaxError, text);
});

test('numbers are int64 and float64 as in Go', () => {
  const texts = ['1', '-0.5', '9223372036854775807', '9223372036854775808', '-9223372036854775808', '1e21', '1.0'];
  const numbers = texts.map((text) => goNumber(parseExact(text) as number | bigint));
  assert.deepEqual(numbers, [1n, -0.5, 2n ** 63n - 1n, 2 ** 63, -(2n ** 63n), 1e21, 1n]);
});
