import assert from 'node:assert/strict';
import { test } from 'node:test';

import { isOneOf, fragment, withLiterals } from './sql.ts';

test('bytes get into a statement as hexadecimal digits, whatever they are', () => {
  const hostile = Buffer.from(`'); DROP TABLE obj; --\\'\0`);
  const text = withLiterals(fragment('o.name = ? AND o.uid = ANY(?::bytea[])', hostile, [hostile, Buffer.from('a')]));
  const hex = hostile.toString('hex');
  assert.equal(text, `o.name = E'\\\\x${hex}' AND o.uid = ANY(E'{"\\\\\\\\x${hex}","\\\\\\\\x61"}'::bytea[])`);
});

test('numbers get into a statement as they are, and nothing else does', () => {
  const text = withLiterals(fragment('? ? ? ? ?', 1, -2.5, '9007199254740993', '1e+21', [1, '-2']));
  assert.equal(text, `'1' '-2.5' '9007199254740993' '1e+21' E'{1,-2}'`);
  for (const value of ["1'", '1; x', '', 'NaN', undefined, null, { toString: () => 'x' }, ['1}'], [[`'`]]]) {
    assert.throws(() => withLiterals(fragment('?', value)), RangeError);
  }
});

test('a question mark in bytes is not taken for another value', () => {
  assert.equal(withLiterals(fragment('? ?', Buffer.from('?'), 7)), `E'\\\\x3f' '7'`);
});

test('one value is compared, several are searched for', () => {
  assert.equal(isOneOf('o.inc', 'int4', [1]).text, 'o.inc = ?::int4');
  assert.equal(isOneOf('o.inc', 'int4', [1, 2]).text, 'o.inc = ANY(?::int4[])');
  assert.equal(isOneOf('o.inc', 'int4', []).text, 'o.inc = ANY(?::int4[])');
});
