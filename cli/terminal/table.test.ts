import assert from 'node:assert/strict';
import test from 'node:test';
import { align, printTable } from './table.ts';

test('columns are six wide at least, three apart, and the last is not padded, as in kubectl', () => {
  assert.equal(
    align([
      ['A', 'BB', 'C'],
      ['x', 'four', ''],
    ]),
    'A     BB     C\nx     four   \n',
  );
});

test('a wide character counts as one, not as its two UTF-16 halves', () => {
  assert.equal(
    align([
      ['🐳🐳🐳🐳', 'b'],
      ['x', 'y'],
    ]),
    '🐳🐳🐳🐳   b\nx      y\n',
  );
});

test('a faulty table of a server is shown as far as it goes', () => {
  const options = { wide: false, nowMs: 0 };
  assert.equal(printTable({}, options), '');
  const columnDefinitions = [{ name: 'Name' }, { priority: 0 }, null, { name: 'Count', priority: 0 }];
  const rows = [{ cells: ['a', { b: 1 }, 3, 'too many'] }, { cells: 'none' }, 7, { cells: [] }];
  assert.equal(
    printTable({ columnDefinitions, rows }, options),
    'NAME             COUNT\na      {"b":1}   3\n                 \n                 \n',
  );
});
