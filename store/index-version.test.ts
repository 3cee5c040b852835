import assert from 'node:assert/strict';
import { test } from 'node:test';

import { indexVersionsOf, newStoreId } from './index-version.ts';

const { make, read } = indexVersionsOf('0123456789abcdef');

test('an index resourceVersion has 19 digits, sorts as its time and is read back', () => {
  const times = [1_000_000_000_000_000, 1_795_328_232_427_002, 1_795_328_232_427_003, 9_007_199_254_740_991];
  const versions = times.map(make);
  assert.ok(versions.every((version) => /^\d{19}$/.test(version)));
  assert.deepEqual(versions.toSorted(), versions);
  assert.deepEqual(versions.map(read), times);
});

test('a text no index has issued is not read', () => {
  const issued = make(1_795_328_232_427_002);
  const others = ['', '0', '12345', `${issued}0`, issued.slice(1), `-${issued.slice(1)}`, '9'.repeat(19), ` ${issued}`];
  const changed = [...issued].map(
    (digit, at) => issued.slice(0, at) + ((Number(digit) + 1) % 10) + issued.slice(at + 1),
  );
  for (const text of [...others, ...changed]) assert.equal(read(text), undefined, text);
});

test('of the versions of another store about one in a thousand has digits that fit', () => {
  const firstUs = 1_795_328_232_000_000;
  for (const other of ['0123456789abcdee', '1123456789abcdef', 'ffffffffffffffff', '0000000000000000']) {
    const theirs = indexVersionsOf(other);
    let fitting = 0;
    for (let i = 0; i < 20_000; i++) if (read(theirs.make(firstUs + i * 37)) !== undefined) fitting++;
    assert.ok(fitting > 2 && fitting < 60, `${other}: ${fitting} of 20,000`);
  }
});

test('every store is named otherwise, by 16 hexadecimal digits', () => {
  assert.notEqual(newStoreId(), newStoreId());
  assert.match(newStoreId(), /^[\da-f]{16}$/);
  for (const id of ['', '0123456789ABCDEF', '123']) assert.throws(() => indexVersionsOf(id), RangeError);
});
