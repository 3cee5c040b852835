import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Commit } from '../../store.ts';
import { typeInfo } from '../../conformance/model.fixture.ts';
import { packBatch, type PackedBatch } from '../tables/messages.ts';
import { WriteQueue } from './write-queue.ts';

const pods = typeInfo('', 'pods');

function batchOf(cluster: string): PackedBatch {
  return packBatch({ incarnation: { id: cluster, cluster }, type: pods, upserts: [], deletes: [] });
}

/** Takes at most so many batches a transaction, and deletes an incarnation in so many. */
function queueOf(batchesAtOnce: number, transactions: number) {
  const done: string[] = [];
  const left = new Map<string, number>();
  let timeSlices = 0;
  const commit: Commit = { resourceVersion: '', written: 0, deleted: 1 };
  const writer = {
    apply: (batches: readonly PackedBatch[]) => {
      const some = batches.slice(0, batchesAtOnce);
      for (const { incarnation } of some) done.push(`write ${incarnation.id}`);
      return some.map(({ incarnation }) =>
        incarnation.id === 'refused' ? { error: new Error('refused') } : { commit },
      );
    },
    forget: (incarnation: string) => {
      const after = (left.get(incarnation) ?? transactions) - 1;
      left.set(incarnation, after);
      done.push(`delete ${incarnation}`);
      return { commit, isDone: after === 0 };
    },
  };
  const queue = new WriteQueue(writer, () => timeSlices++);
  const runAll = (): void => {
    while (!queue.isEmpty) {
      assert.ok(timeSlices > 0, 'a turn was asked for');
      timeSlices = 0;
      queue.turn();
    }
  };
  return { queue, done, runAll };
}

test('what is written to an incarnation and its deletion take effect in the order in which they came', async () => {
  const { queue, done, runAll } = queueOf(1, 3);
  const asked = [queue.apply(batchOf('a')), queue.forget('a', undefined), queue.apply(batchOf('a'))];
  const others = [queue.apply(batchOf('b')), queue.forget('b', undefined)];
  runAll();
  const ofA = done.filter((what) => what.endsWith('a'));
  assert.deepEqual(ofA, ['write a', 'delete a', 'delete a', 'delete a', 'write a']);
  assert.deepEqual(
    done.filter((what) => what.endsWith('b')),
    ['write b', 'delete b', 'delete b', 'delete b'],
  );
  assert.ok(done.indexOf('write b') < done.lastIndexOf('delete a'), 'other incarnations are written meanwhile');
  assert.deepEqual(
    (await Promise.all([...asked, ...others])).map(({ deleted }) => deleted),
    [1, 3, 1, 1, 3],
  );
});

test('a batch that is refused is answered so, and what follows goes on', async () => {
  const { queue, done, runAll } = queueOf(9, 1);
  const refused = assert.rejects(queue.apply(batchOf('refused')), /refused/);
  const taken = queue.apply(batchOf('a'));
  runAll();
  await refused;
  await taken;
  assert.deepEqual(done, ['write refused', 'write a']);
});

test('when it is closed every batch is written but those behind a deletion, which are refused with it', async () => {
  const { queue, done } = queueOf(1, 3);
  const before = [queue.apply(batchOf('a')), queue.apply(batchOf('b'))];
  const behind = [queue.forget('a', undefined), queue.apply(batchOf('a'))];
  queue.close(new Error('closed'));
  assert.deepEqual(done, ['write a', 'write b']);
  await Promise.all(before);
  for (const each of behind) await assert.rejects(each, /closed/);
});
