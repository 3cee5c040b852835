import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isTooDeep, mostLevels } from './nesting.ts';

const nested = (levels: number, [open, close]: readonly [string, string]): unknown =>
  JSON.parse(`${open.repeat(levels)}${open === '[' ? '' : '1'}${close.repeat(levels)}`);
const lists = ['[', ']'] as const;
const objects = ['{"a":', '}'] as const;

test('objects and lists are too deep from a bound on, however deep they are', () => {
  for (const form of [lists, objects]) {
    for (const levels of [1, 100, mostLevels]) assert.equal(isTooDeep(nested(levels, form)), false, `${levels}`);
    for (const levels of [mostLevels + 1, 5_000, 100_000])
      assert.equal(isTooDeep(nested(levels, form)), true, `${levels}`);
  }
  for (const flat of [undefined, null, 1, 'text', {}, [], Array.from({ length: 10_000 }, () => ({ a: [1] }))])
    assert.equal(isTooDeep(flat), false);
});
