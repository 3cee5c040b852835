import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeBackoff } from '../../lib/backoff.ts';
import type { RowWrite, WriteBatch } from '../../store/store.ts';
import { makeBatcher } from './batch.ts';
import { makeByteBudget } from '../../lib/concurrency/gates.ts';

const key = { namespace: 'a', name: 'p' };
function row(version: string, uid = 'u'): RowWrite {
  const raw = Buffer.from(`{"v":${version}}`);
  return { ...key, uid, resourceVersion: version, ownerUid: '', createdAtMs: 0, labels: [], terms: [], raw };
}

test('of changes of one object that come together the last is written, whatever came before it (CP-163)', async () => {
  for (const [changes, expected] of [
    [['put 1', 'remove'], 'deleted'],
    [['put 1', 'put 2'], '2'],
    [['put 1', 'put 2', 'put 3'], '3'],
    // Deleted and added: a row of another uid, which the store tells as DELETED and ADDED; Clusterpedia has one update.
    [['remove', 'put 4'], '4'],
    // What came after a deletion is no less true; Clusterpedia forgets it.
    [['remove', 'put 5', 'remove'], 'deleted'],
    [['remove'], 'deleted'],
    [['put 6'], '6'],
  ] as const) {
    const applied: Pick<WriteBatch, 'upserts' | 'deletes' | 'position'>[] = [];
    const batcher = makeBatcher({
      apply: async (batch) => {
        applied.push(batch);
        return { resourceVersion: '', written: 0, deleted: 0 };
      },
      budget: makeByteBudget(1 << 20),
      waitMs: 60_000,
      positionEveryMs: 60_000,
      waits: makeBackoff(1, 2, () => 1),
      reading: new AbortController().signal,
      signal: new AbortController().signal,
      onCommit: () => undefined,
      onFault: assert.ifError,
      onFull: () => assert.fail('it is not full'),
      onFenced: assert.ifError,
    });
    for (const [i, change] of changes.entries()) {
      const position = { resourceVersion: String(i), confirmedAtMs: i };
      const [verb, version = ''] = change.split(' ');
      await (verb === 'put' ? batcher.put(row(version, `u${i}`), position) : batcher.remove(key, position));
    }
    await batcher.flush();
    assert.equal(applied.length, 1, 'one commit');
    const [{ upserts, deletes, position }] = applied as [(typeof applied)[0]];
    const shown = [...upserts.map(({ resourceVersion }) => resourceVersion), ...deletes.map(() => 'deleted')];
    assert.deepEqual(shown, [expected], changes.join());
    assert.equal(position?.resourceVersion, String(changes.length - 1));
  }
});
