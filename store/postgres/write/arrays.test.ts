import assert from 'node:assert/strict';
import { test } from 'node:test';

import { byteas, int2s, int4s, int8s, texts } from './arrays.ts';

/** Fields of array_send: dimensions, whether there are nulls, type, length, first index; length and bytes of each. */
function hex(...fields: readonly string[]): string {
  return fields.join('');
}

test('numbers are sent with the length of their type', () => {
  assert.equal(
    int2s([1, -2]).toString('hex'),
    hex('00000001', '00000000', '00000015', '00000002', '00000001', '00000002', '0001', '00000002', 'fffe'),
  );
  assert.equal(
    int4s([7]).toString('hex'),
    hex('00000001', '00000000', '00000017', '00000001', '00000001', '00000004', '00000007'),
  );
  assert.equal(
    int8s([2 ** 40, -1n]).toString('hex'),
    hex(
      ...['00000001', '00000000', '00000014', '00000002', '00000001'],
      ...['00000008', '0000010000000000', '00000008', 'ffffffffffffffff'],
    ),
  );
});

test('a missing value has the length -1 and the array says that there are such', () => {
  assert.equal(
    byteas([Buffer.from([0, 255]), null, Buffer.alloc(0)]).toString('hex'),
    hex(
      ...['00000001', '00000001', '00000011', '00000003', '00000001'],
      ...['00000002', '00ff', 'ffffffff', '00000000'],
    ),
  );
  assert.equal(
    texts(['é']).toString('hex'),
    hex('00000001', '00000000', '00000019', '00000001', '00000001', '00000002', 'c3a9'),
  );
});

test('an array of nothing has no dimensions', () => {
  assert.equal(int8s([]).toString('hex'), hex('00000000', '00000000', '00000014'));
  assert.equal(byteas([]).toString('hex'), hex('00000000', '00000000', '00000011'));
});
