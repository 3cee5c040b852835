import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Life } from './conformance/lives.fixture.ts';
import { rowWrite } from './conformance/model.fixture.ts';
import { leaveOut, piecesOf, whyLeftOut } from './left-out.ts';
import type { RowWrite, WriteBatch } from './store.ts';

const life = new Life(1);
const row = (more: Partial<RowWrite> = {}): RowWrite => ({ ...rowWrite(life.row('a', 1)), ...more });

test('an object is left out for each text, time and size that a store cannot keep, and for no other', () => {
  const most = 'x'.repeat(512);
  assert.equal(whyLeftOut(row({ namespace: most, name: most, uid: most, ownerUid: most })), undefined);
  // NUL is kept, because such texts are bytes in both stores. Labels and values have no limit of their own.
  const value = 'v'.repeat(100_000);
  assert.equal(
    whyLeftOut(row({ name: 'a\0b', labels: [['k', value]], terms: [['p', `${value}\0\ud800`]] })),
    undefined,
  );
  assert.equal(whyLeftOut(row({ name: `${most}x` })), 'its name has 513 bytes, more than 512');
  assert.equal(whyLeftOut(row({ name: 'ä'.repeat(257) })), 'its name has 514 bytes, more than 512');
  assert.equal(whyLeftOut(row({ namespace: `${most}x` })), 'its namespace has 513 bytes, more than 512');
  assert.equal(whyLeftOut(row({ uid: `${most}x` })), 'its uid has 513 bytes, more than 512');
  assert.equal(whyLeftOut(row({ ownerUid: 'x'.repeat(5000) })), 'the uid of its owner has 5000 bytes, more than 512');
  assert.equal(whyLeftOut(row({ name: 'a\ud800' })), 'its name is not valid Unicode');
  for (const createdAtMs of [Number.NaN, 0.5, 1e300])
    assert.equal(whyLeftOut(row({ createdAtMs })), 'its time of creation is out of range');
  const raw = { byteLength: 1 << 30 } as Uint8Array;
  assert.equal(whyLeftOut(row({ raw })), 'it has more than 268435456 bytes');
});

test('what is left out of a batch is deleted by it, and the last version of an object decides', () => {
  const fine = life.batch([life.row('a', 1), life.row('b', 1)]);
  assert.equal(leaveOut(fine).kept, fine);
  const upserts = [
    ...[row({ name: 'once' }), row({ name: 'once', ownerUid: 'x'.repeat(600) })],
    ...[row({ name: 'again', ownerUid: 'x'.repeat(600) }), row({ name: 'again' })],
  ];
  const deletes = [{ namespace: 'default', name: 'gone' }];
  const { kept, leftOut } = leaveOut({ ...fine, upserts, deletes });
  const reason = 'the uid of its owner has 600 bytes, more than 512';
  assert.deepEqual(leftOut, [{ namespace: 'default', name: 'once', reason }]);
  assert.deepEqual(
    kept.upserts.map(({ name }) => name),
    ['again'],
  );
  assert.deepEqual(kept.deletes, [...deletes, { namespace: 'default', name: 'once' }]);
});

/** Writes a batch in pieces into a list of names. A piece with one of the bad names is refused. */
function written(batch: WriteBatch, bad: readonly string[]) {
  const names: string[] = [];
  const texts: string[] = [];
  const fragments = piecesOf(batch);
  let next = fragments.next();
  while (next.done !== true) {
    const { upserts, deletes, position } = next.value;
    const isFine = !upserts.some(({ name }) => bad.includes(name));
    if (isFine) names.push(...upserts.map(({ name }) => name));
    const at = position === undefined ? '' : ` at ${position.resourceVersion}`;
    texts.push(`+${upserts.map(({ name }) => name).join()} -${deletes.map(({ name }) => name).join()}${at}`);
    next = fragments.next(isFine);
  }
  return { names, texts, leftOut: next.value?.map(({ name }) => name) };
}

test('the objects for which a database refuses a batch are found, deleted, and all others are written', () => {
  const rows = Array.from({ length: 100 }, (_, i) => life.row(`pod-${i}`, 1));
  const position = { resourceVersion: '7', confirmedAtMs: 1 };
  const batch = life.batch(rows, { deletes: [{ namespace: 'default', name: 'gone' }], position });
  const { names, texts, leftOut } = written(batch, ['pod-3', 'pod-98']);
  assert.deepEqual(leftOut, ['pod-3', 'pod-98']);
  assert.deepEqual(
    names,
    rows.map(({ name }) => name).filter((name) => name !== 'pod-3' && name !== 'pod-98'),
  );
  assert.equal(texts[0], '+ -gone');
  assert.equal(texts.at(-1), '+ -pod-3,pod-98 at 7');
  assert.ok(
    texts.slice(1, -1).every((text) => text.endsWith(' -')),
    'no piece before the last has a position',
  );
  assert.ok(texts.length < 40, `${texts.length} pieces`);
});

test('a batch that is refused even without its objects is not split', () => {
  const fragments = piecesOf(life.batch([life.row('a', 1)]));
  assert.equal(fragments.next().done, false);
  assert.deepEqual(fragments.next(false), { done: true, value: undefined });
});
