import assert from 'node:assert/strict';
import { test } from 'node:test';

import { StreamSet } from './http2-stream-set.ts';

test('streams are found by id, whatever order they end in', () => {
  const set = new StreamSet<{ readonly id: number; place: number }>();
  const streams = Array.from({ length: 7 }, (_, i) => ({ id: i * 2 + 1, place: -1 }));
  for (const stream of streams) set.add(stream);
  const open = new Set(streams);
  for (const index of [3, 0, 6, 1, 5, 2, 4]) {
    const gone = streams[index]!;
    set.delete(gone);
    set.delete(gone);
    open.delete(gone);
    assert.equal(set.size, open.size);
    assert.deepEqual(new Set(set.values()), open);
    for (const stream of streams) assert.equal(set.get(stream.id), open.has(stream) ? stream : undefined);
  }
  assert.equal(set.get(99), undefined);
});
