import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { BoundExceeded, makeBoundedWorker } from './bounded-worker.ts';

function makeWorker(t: TestContext) {
  const worker = makeBoundedWorker<{ readonly job: string; readonly value?: number }, number>({
    module: new URL('./bounded-worker.fixture.ts', import.meta.url),
    deadlineMs: 300,
    memoryMegabytes: 32,
  });
  t.after(() => worker.close());
  return worker;
}

test('a job that never ends, or takes too much memory, is ended, and those behind it are done', async (t) => {
  const worker = makeWorker(t);
  const outcomes = await Promise.allSettled([
    worker.run('a', { job: 'double', value: 1 }),
    worker.run('a', { job: 'forever' }),
    worker.run('a', { job: 'double', value: 2 }),
    worker.run('a', { job: 'hoard' }),
    worker.run('a', { job: 'fail' }),
    worker.run('a', { job: 'double', value: 3 }),
  ]);
  const reported = outcomes.map((each) => (each.status === 'fulfilled' ? each.value : (each.reason as Error)));
  assert.deepEqual([reported[0], reported[2], reported[5]], [2, 4, 6]);
  for (const [at, words] of [
    [1, /took longer than 300 ms/],
    [3, /took more than 32 MB of memory|took longer/],
  ] as const) {
    assert.ok(reported[at] instanceof BoundExceeded, String(reported[at]));
    assert.match(reported[at].message, words);
  }
  assert.match(String(reported[4]), /broken/);
});

test('a loop in the thread holds back nothing in this one', async (t) => {
  const worker = makeWorker(t);
  await worker.run('a', { job: 'double', value: 1 });
  const endless = worker.run('a', { job: 'forever' }).catch(() => 'ended');
  let turns = 0;
  const counting = setInterval(() => (turns += 1), 1);
  assert.equal(await endless, 'ended');
  clearInterval(counting);
  assert.ok(turns > 20, `${turns} turns of the event loop`);
});

test('owners take turns, however many jobs one of them has', async (t) => {
  const worker = makeWorker(t);
  const done: string[] = [];
  const run = async (owner: string, value: number): Promise<void> => {
    await worker.run(owner, { job: 'double', value });
    done.push(owner);
  };
  await Promise.all([...Array.from({ length: 5 }, (_, i) => run('many', i)), run('one', 1), run('two', 1)]);
  assert.ok(done.indexOf('one') <= 2 && done.indexOf('two') <= 3, done.join());
});

test('a worker that is closed ends what waits for it', async (t) => {
  const worker = makeWorker(t);
  const waiting = [worker.run('a', { job: 'forever' }), worker.run('a', { job: 'double', value: 1 })];
  const outcomes = Promise.allSettled(waiting);
  worker.close();
  for (const { status } of await outcomes) assert.equal(status, 'rejected');
  await assert.rejects(worker.run('a', { job: 'double', value: 1 }), /closed/);
});

test('an input that cannot be sent is rejected, leaves no timer, and the next job runs', async (t) => {
  const worker = makeWorker(t);
  await worker.run('a', { job: 'double', value: 1 });
  const timers = () => process.getActiveResourcesInfo().filter((one) => one === 'Timeout').length;
  const before = timers();
  await assert.rejects(worker.run('a', { job: 'double', value: (() => 1) as never }), { name: 'DataCloneError' });
  assert.equal(timers(), before);
  assert.equal(await worker.run('a', { job: 'double', value: 2 }), 4);
});
