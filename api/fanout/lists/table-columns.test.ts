import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cellOrder, mergedRow, readColumns, unionColumns, type Columns } from './table-columns.ts';

const columns = (...names: readonly string[]): Columns =>
  readColumns(Buffer.from(JSON.stringify(names.map((name) => ({ name })))));

function cellsOf(own: Columns, merged: Columns, cells: readonly unknown[]): unknown {
  const row = mergedRow(Buffer.from(JSON.stringify({ cells })), cellOrder(own, merged), { cluster: 'm1' });
  return (JSON.parse(row.toString()) as { readonly cells: unknown }).cells;
}

test('of several columns with one name each shows its own values, and a cluster may have more of them than another', () => {
  const [one, two, three] = [columns('Name', 'Status'), columns('Name', 'Status', 'Status'), columns('X', 'Status')];
  const merged = unionColumns([one, two, three]);
  assert.deepEqual(merged.names, ['Name', 'Status', 'Status', 'X']);
  assert.equal(merged.definitions.length, 4);
  assert.deepEqual(cellsOf(one, merged, ['a', 1]), ['m1', 'a', 1, null, null]);
  assert.deepEqual(cellsOf(two, merged, ['a', 1, 2]), ['m1', 'a', 1, 2, null]);
  assert.deepEqual(cellsOf(three, merged, ['x', 1]), ['m1', null, 1, null, 'x']);
});
