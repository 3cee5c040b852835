import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parsePath } from '../query/path.ts';
import { makeCursor, readCursor, rowOrder, sortValue, type KeyRow } from './row-order.ts';

const order = rowOrder({
  types: [],
  nameContains: [],
  text: [],
  labels: [],
  fields: [],
  anyOf: [],
  order: [{ by: parsePath('.spec.id'), descending: false }],
});

function row(text: string): KeyRow {
  const slot = { incarnation: { id: 'i', cluster: 'c' }, namespace: 'n' };
  return { id: 1, type: 'things', slot, name: 'a', created: 0, rv: '1', sort: [sortValue(text)] };
}

test('numbers are sorted by all their digits, before texts, and those before null', () => {
  const sorted = [
    ...['-1e300', '-9223372036854775808', '-9007199254740993', '-9007199254740992', '-1.5', '0', '3', '10'],
    ...['9007199254740992', '9007199254740993', '9223372036854775806', '9223372036854775807'],
    ...['9223372036854775808', '1e300', 'word', 'null'],
  ];
  const rows = sorted.map((text) => row(text));
  const missing = { ...row(''), sort: [sortValue(null)] };
  const all = [...rows.slice(0, -1), missing];
  for (const [at, one] of all.entries())
    for (const [place, other] of all.entries())
      assert.equal(Math.sign(order.compare(one, other)), Math.sign(at - place), `${sorted[at]} ${sorted[place]}`);
});

test('a page goes on behind a number that a double would round', () => {
  const cursor = makeCursor(order, row('9007199254740993'), 7);
  const { row: last, rowsUpTo } = readCursor(order, JSON.parse(JSON.stringify(cursor)) as typeof cursor);
  assert.equal(rowsUpTo, 7);
  assert.ok(order.compare(last, row('9007199254740992')) > 0);
  assert.equal(order.compare(last, row('9007199254740993')), 0);
  assert.ok(order.compare(last, row('9007199254740994')) < 0);
  const [rank, , ...rest] = cursor;
  for (const odd of ['1.5', 'x', '', '0x10', `1${'0'.repeat(400)}`])
    assert.throws(() => readCursor(order, [rank!, odd, ...rest]), /another order/, odd);
});
