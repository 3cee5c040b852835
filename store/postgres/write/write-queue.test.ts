import assert from 'node:assert/strict';
import { test } from 'node:test';

import { GatewayError } from '../../../model/errors.ts';
import { rowWrite, typeInfo } from '../../conformance/model.fixture.ts';
import { FencedError } from '../../fenced-error.ts';
import type { WriteBatch } from '../../store.ts';
import { shardOfIncarnation } from '../connection/shard.ts';
import { ShardsLostError } from './seal.ts';
import { WriteQueue } from './write-queue.ts';
import type { Write, Writer } from './writer.ts';

const pods = typeInfo('', 'pods');

function batchOf(cluster: string, ...names: readonly string[]): WriteBatch {
  const incarnation = { id: `record-${cluster}/system`, cluster };
  const upserts = names.map((name) =>
    rowWrite({
      ...{ cluster, incarnation: incarnation.id, type: pods, namespace: 'default', name, uid: name, ownerUid: '' },
      ...{ createdAtMs: 1, resourceVersion: '1', labels: {}, rest: {} },
    }),
  );
  return { incarnation, type: pods, upserts, deletes: [] };
}

/** What a transaction was given, as `cluster:name,name`. */
function textOf(writes: readonly Write[]): string {
  return writes
    .map(({ batch: { incarnation, upserts } }) => `${incarnation.cluster}:${upserts.map(({ name }) => name).join()}`)
    .join(' ');
}

/** A queue whose transactions only note what they were given. */
function queueOf({
  fail,
  mend = async () => false,
}: { fail?: (writes: readonly Write[]) => void; mend?: () => Promise<boolean> } = {}) {
  const transactions: string[] = [];
  let us = 1_800_000_000_000_000;
  const writer: Pick<Writer, 'apply' | 'forget'> = {
    apply: async (writes) => {
      transactions.push(textOf(writes));
      await Promise.resolve();
      fail?.(writes);
      return { lastUs: ++us, counts: writes.map(({ batch }) => ({ written: batch.upserts.length, deleted: 0 })) };
    },
    forget: async (incarnation) => {
      transactions.push(`forget ${incarnation}`);
      return { lastUs: ++us, deleted: 2, isDone: transactions.filter((one) => one.startsWith('forget')).length > 1 };
    },
  };
  const committed: number[] = [];
  const queue = new WriteQueue(writer, { lanes: 1, onCommit: (last) => committed.push(last), versionOf: String, mend });
  return { queue, transactions, committed };
}

test('what is given in one go is one transaction, but never two changes of one object', async () => {
  const { queue, transactions } = queueOf();
  await Promise.all([
    queue.apply(batchOf('a', 'x', 'y'), undefined),
    queue.apply(batchOf('b', 'x'), undefined),
    queue.apply(batchOf('a', 'z', 'y'), undefined),
    queue.apply(batchOf('c', 'x'), undefined),
  ]);
  assert.deepEqual(transactions, ['a:x,y b:x', 'a:z,y c:x']);
});

test('a deletion of a cluster is done where it was asked for, in as many transactions as it takes', async () => {
  const { queue, transactions } = queueOf();
  const before = queue.apply(batchOf('a', 'x'), undefined);
  const forget = queue.forget('record-a/system', undefined, undefined);
  const after = queue.apply(batchOf('a', 'y'), undefined);
  assert.equal((await forget).deleted, 4);
  await Promise.all([before, after]);
  assert.deepEqual(transactions, ['a:x', 'forget record-a/system', 'forget record-a/system', 'a:y']);
});

test('the batches of a lost shard fail and the others are written without them', async () => {
  const lost = { shard: shardOfIncarnation('record-b/system'), epoch: 4 };
  const { queue, transactions } = queueOf({
    fail: (writes) => {
      if (writes.some(({ writer }) => writer === lost)) throw new ShardsLostError(new Set([`${lost.shard}/4`]));
    },
  });
  const [a, b, c] = await Promise.allSettled([
    queue.apply(batchOf('a', 'x'), undefined),
    queue.apply(batchOf('b', 'x'), lost),
    queue.apply(batchOf('c', 'x'), undefined),
  ]);
  assert.deepEqual([a!.status, c!.status], ['fulfilled', 'fulfilled']);
  assert.ok(b!.status === 'rejected' && b!.reason instanceof FencedError && !(b!.reason instanceof ShardsLostError));
  assert.deepEqual(transactions, ['a:x b:x c:x', 'a:x c:x']);
});

test('a batch that the database refuses fails alone; when the database is away all fail at once', async () => {
  const refused = new GatewayError('INDEX_UNAVAILABLE', 'refused', {
    cause: Object.assign(new Error('x'), { code: '22001' }),
  });
  const one = queueOf({
    fail: (writes) => {
      if (writes.some(({ batch }) => batch.incarnation.cluster === 'b')) throw refused;
    },
  });
  const results = await Promise.allSettled(
    ['a', 'b'].map((cluster) => one.queue.apply(batchOf(cluster, 'x'), undefined)),
  );
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected'],
  );
  const away = new GatewayError('INDEX_UNAVAILABLE', 'away', {
    cause: Object.assign(new Error('x'), { code: 'ECONNREFUSED' }),
  });
  const other = queueOf({
    fail: () => {
      throw away;
    },
  });
  await Promise.allSettled(['a', 'b'].map((cluster) => other.queue.apply(batchOf(cluster, 'x'), undefined)));
  assert.deepEqual(other.transactions, ['a:x b:x']);
});

test('an object for which the database refuses a batch is left out, and all others are written with the position', async () => {
  const { queue, transactions } = queueOf({
    fail: (writes) => {
      if (writes.some(({ batch }) => batch.upserts.some(({ name }) => name === 'bad'))) throw refusedWith('54000');
    },
  });
  const names = ['a', 'b', 'bad', 'c'];
  const [made, other] = await Promise.all([
    queue.apply(batchOf('a', ...names), undefined),
    queue.apply(batchOf('b', 'x'), undefined),
  ]);
  assert.deepEqual([made.written, other.written], [3, 1]);
  const reason = 'the database of the index refuses it';
  assert.deepEqual(made.leftOut, [{ namespace: 'default', name: 'bad', reason }]);
  assert.deepEqual(transactions, [
    ...['a:a,b,bad,c b:x', 'a:a,b,bad,c'],
    ...['a:', 'a:a,b,bad,c', 'a:a,b', 'a:bad,c', 'a:bad', 'a:c', 'a:', 'b:x'],
  ]);
});

test('a batch is not split for what is no fault of its objects, and a lost lease ends the splitting', async () => {
  for (const code of ['57014', '53100', '40001', '23514', 'ECONNRESET']) {
    const { queue, transactions } = queueOf({
      fail: () => {
        throw refusedWith(code);
      },
    });
    await assert.rejects(queue.apply(batchOf('a', 'x', 'y'), undefined), { message: 'refused' });
    assert.deepEqual(transactions, ['a:x,y'], code);
  }
  const lease = { shard: shardOfIncarnation('record-a/system'), epoch: 4 };
  const { queue } = queueOf({
    fail: ([{ batch } = assert.fail()]) => {
      if (batch.upserts.length === 2) throw refusedWith('22001');
      if (batch.upserts.length === 1) throw new ShardsLostError(new Set([`${lease.shard}/4`]));
    },
  });
  await assert.rejects(queue.apply(batchOf('a', 'x', 'y'), lease), FencedError);
});

function refusedWith(code: string): GatewayError {
  return new GatewayError('INDEX_UNAVAILABLE', 'refused', { cause: Object.assign(new Error('x'), { code }) });
}

test('a write that missed a partition is tried once more when that was made', async () => {
  let isMade = false;
  const { queue, transactions } = queueOf({
    fail: () => {
      if (!isMade) throw new Error('no partition');
    },
    mend: async () => (isMade = true),
  });
  assert.equal((await queue.apply(batchOf('a', 'x'), undefined)).written, 1);
  assert.equal(transactions.length, 2);
});
