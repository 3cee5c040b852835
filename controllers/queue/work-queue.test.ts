import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { until } from '../../kube/client/hub.fixture.ts';
import { makeWorkQueue, type Outcome, type WorkQueueOptions } from './work-queue.ts';

/** A queue whose work ends when the test says so. */
function makeScene(t: TestContext, options: Partial<WorkQueueOptions> = {}) {
  const begun: string[] = [];
  const ends: ((outcome: Outcome) => void)[] = [];
  const errors: string[] = [];
  const queue = makeWorkQueue({
    reconcile(key) {
      begun.push(key);
      return new Promise((resolve) => ends.push(resolve));
    },
    onError: (key, error) => void errors.push(`${key}: ${(error as Error).message}`),
    firstRetryMs: 1,
    maxRetryMs: 2,
    ...options,
  });
  t.after(() => queue.close());
  return { queue, begun, ends, errors };
}

test('a key that is added again while it is worked on is done once more afterwards, and not at the same time', async (t) => {
  const { queue, begun, ends } = makeScene(t);
  queue.add('a');
  for (let times = 0; times < 3; times += 1) queue.add('a');
  assert.deepEqual(begun, ['a']);
  ends[0]!('done');
  await until(() => begun.length === 2);
  ends[1]!('done');
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(begun, ['a', 'a']);
});

test('no more keys are worked on at once than there are workers', async (t) => {
  const { queue, begun, ends } = makeScene(t, { workers: 2 });
  for (const key of ['a', 'b', 'c']) queue.add(key);
  assert.deepEqual(begun, ['a', 'b']);
  ends[1]!('done');
  await until(() => begun.length === 3);
  assert.equal(begun[2], 'c');
});

test('what fails or throws is tried again, and what is to be looked at later is', async (t) => {
  const seen: string[] = [];
  const { queue, errors } = makeScene(t, {
    reconcile: async (key) => {
      seen.push(key);
      if (seen.length === 1) return 'retry';
      if (seen.length === 2) throw new Error('no');
      return seen.length === 3 ? { afterMs: 1 } : 'done';
    },
  });
  queue.add('a');
  await until(() => seen.length === 4);
  assert.deepEqual(errors, ['a: no']);
});

test('a closed queue begins nothing', async (t) => {
  const { queue, begun, ends } = makeScene(t, { workers: 1 });
  queue.add('a');
  queue.add('b');
  queue.close();
  ends[0]!('retry');
  await new Promise((resolve) => setTimeout(resolve, 10));
  assert.deepEqual(begun, ['a']);
});

test('a key that has to wait for longer than a timer can is not handled at once', async (t) => {
  const { queue, begun, ends } = makeScene(t);
  queue.add('late');
  ends[0]!({ afterMs: 2 ** 40 });
  queue.add('soon');
  for (let times = 1; times < 5; times += 1) {
    await until(() => ends.length === times + 1);
    ends[times]!({ afterMs: 2 });
  }
  assert.deepEqual(
    begun.filter((key) => key === 'late'),
    ['late'],
  );
});

test('a key that is to wait for longer than a timer can is not handled again at once', async (t) => {
  const timers = t.mock.method(globalThis, 'setTimeout', () => ({ unref: () => undefined }));
  for (const afterMs of [720 * 3_600_000, 2 ** 31, 1e300, Infinity]) {
    const { queue, ends } = makeScene(t);
    queue.add('a');
    ends[0]!({ afterMs });
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(timers.mock.calls.at(-1)!.arguments[1], 2 ** 31 - 1);
  }
});
