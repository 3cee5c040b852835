import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../model/errors.ts';
import { makeReviewCache } from './review-cache.ts';

function cache(change: { maxEntries?: number; maxKeyLength?: number; maxPending?: number; countFrom?: 'answer' } = {}) {
  const clock = { ms: 0 };
  const made = makeReviewCache<{ readonly n: number }>({
    maxEntries: 10,
    maxKeyLength: 1000,
    maxPending: 10,
    ...change,
    now: () => clock.ms,
  });
  return { ...made, clock };
}
const answered =
  (n: number, ttlMs = 100) =>
  () =>
    Promise.resolve({ answer: { n }, ttlMs });

test('an answer is known until its time is over, counted from when it was asked', async () => {
  const { known, ask, clock } = cache();
  const slow = Promise.withResolvers<{ answer: { n: number }; ttlMs: number }>();
  const asking = ask('k', () => slow.promise);
  clock.ms = 60;
  slow.resolve({ answer: { n: 1 }, ttlMs: 100 });
  assert.deepEqual(await asking, { n: 1 });
  clock.ms = 99;
  assert.deepEqual(known('k'), { n: 1 });
  clock.ms = 100;
  assert.equal(known('k'), undefined);
});

test('where the hub remembers as well, time counts from its answer, so that the next question finds its memory empty', async () => {
  const { known, ask, clock } = cache({ countFrom: 'answer' });
  const slow = Promise.withResolvers<{ answer: { n: number }; ttlMs: number }>();
  const asking = ask('k', () => slow.promise);
  clock.ms = 60;
  slow.resolve({ answer: { n: 1 }, ttlMs: 100 });
  await asking;
  clock.ms = 159;
  assert.deepEqual(known('k'), { n: 1 });
  clock.ms = 160;
  assert.equal(known('k'), undefined);
});

test('who asks while somebody asks already shares the call; who asks later does not', async () => {
  const { ask } = cache();
  let calls = 0;
  const count = () => {
    calls += 1;
    return answered(calls, 0)();
  };
  assert.deepEqual(await Promise.all([ask('k', count), ask('k', count), ask('other', count)]), [
    { n: 1 },
    { n: 1 },
    { n: 2 },
  ]);
  assert.deepEqual(await ask('k', count), { n: 3 });
});

test('an error reaches everybody who waits and is forgotten', async () => {
  const { ask, known } = cache();
  const fail = () => Promise.reject(new Error('down'));
  const both = await Promise.allSettled([ask('k', fail), ask('k', answered(1))]);
  assert.deepEqual(
    both.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  assert.equal(known('k'), undefined);
  assert.deepEqual(await ask('k', answered(2)), { n: 2 });
});

test('an error does not take an answer away that may still be used', async () => {
  const { ask, known } = cache();
  await ask('k', answered(1));
  await assert.rejects(ask('k', () => Promise.reject(new Error('down'))));
  assert.deepEqual(known('k'), { n: 1 });
});

test('an answer with no time is for those who wait, and replaces an older one', async () => {
  const { ask, known } = cache();
  await ask('k', answered(1));
  assert.deepEqual(await ask('k', answered(2, 0)), { n: 2 });
  assert.equal(known('k'), undefined);
});

test('a review gets the last answer, however old', async () => {
  const { ask, clock } = cache();
  await ask('k', answered(1));
  clock.ms = 10_000;
  let last: unknown;
  await ask('k', (before) => {
    last = before;
    return answered(2)();
  });
  assert.deepEqual(last, { n: 1 });
});

test('memory is bounded by entries and by the length of their keys', async () => {
  const few = cache({ maxEntries: 2 });
  for (const key of ['a', 'b', 'c']) await few.ask(key, answered(1));
  assert.deepEqual([few.known('a'), few.known('c')], [undefined, { n: 1 }]);
  const short = cache({ maxKeyLength: 20 });
  await short.ask('x'.repeat(15), answered(1));
  await short.ask('y'.repeat(15), answered(2));
  assert.equal(short.known('x'.repeat(15)), undefined);
  assert.deepEqual(await short.ask('z'.repeat(30), answered(3)), { n: 3 });
  assert.equal(short.known('z'.repeat(30)), undefined);
});

test('questions beyond the limit are refused at once, and there is room again when others are answered', async () => {
  const { ask } = cache({ maxPending: 1 });
  const slow = Promise.withResolvers<{ answer: { n: number }; ttlMs: number }>();
  const first = ask('a', () => slow.promise);
  await assert.rejects(
    ask('b', answered(1)),
    (error) => error instanceof GatewayError && error.code === 'HUB_UNAVAILABLE',
  );
  const shared = ask('a', answered(9));
  slow.resolve({ answer: { n: 1 }, ttlMs: 0 });
  assert.deepEqual(await Promise.all([first, shared]), [{ n: 1 }, { n: 1 }]);
  assert.deepEqual(await ask('b', answered(2)), { n: 2 });
});
