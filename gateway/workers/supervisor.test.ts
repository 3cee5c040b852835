import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { makeLog } from '../../lib/log.ts';
import { startSupervisor } from './supervisor.ts';
import type { Supervisor, SupervisorOptions } from './supervisor.ts';
import type { MetricReading, ToWorker, WorkerStart } from './messages.ts';
import type { StartFault } from './wire-error.ts';
import type { UnsentSocket, WorkerEvents, WorkerProcess } from './worker-process.ts';

/** A worker process that does what the test says. */
class Pretended implements WorkerProcess {
  readonly pid = 1;
  isReady = false;
  isHealthy = true;
  readonly ready = undefined;
  connections = 0;
  metrics: readonly MetricReading[] = [];
  killed = false;
  fault: StartFault | undefined;
  unsent: readonly UnsentSocket[] = [];
  readonly reported: ToWorker['kind'][] = [];
  readonly #events: WorkerEvents;

  constructor(events: WorkerEvents) {
    this.#events = events;
  }

  becomeReady(): void {
    this.isReady = true;
    this.#events.onReady(this);
  }

  end(isDrained = false): void {
    this.isReady = false;
    this.#events.onEnd(this, {
      code: isDrained ? 0 : 1,
      signal: null,
      isDrained,
      fault: this.fault,
      unsent: this.unsent,
    });
  }

  send(message: ToWorker): void {
    this.reported.push(message.kind);
  }

  take(): void {
    this.connections += 1;
  }

  readMetrics(): Promise<void> {
    return Promise.resolve();
  }

  kill(): void {
    this.killed = true;
  }
}

function supervisorOf(
  workers: number,
  more: Partial<SupervisorOptions> = {},
): { readonly supervisor: Supervisor; readonly forked: Pretended[] } {
  const forked: Pretended[] = [];
  const supervisor = startSupervisor({
    workers,
    log: makeLog('silent'),
    start: () => ({}) as WorkerStart,
    onMessage: () => undefined,
    onReady: () => undefined,
    onLost: () => undefined,
    onUnsent: () => undefined,
    fork: (events) => {
      const worker = new Pretended(events);
      forked.push(worker);
      return worker;
    },
    ...more,
  });
  return { supervisor, forked };
}

test('a worker gets its start message first, also before messages that making it sends', () => {
  let supervisor: Supervisor | undefined;
  const start = (): WorkerStart => {
    supervisor?.send({ kind: 'ping' });
    return {} as WorkerStart;
  };
  const made = supervisorOf(1, { start });
  supervisor = made.supervisor;
  supervisor.send({ kind: 'unready' });
  assert.deepEqual(made.forked[0]!.reported, ['start', 'unready']);
});

test('the first worker starts alone, the others when it has made what all of them need', () => {
  const { forked } = supervisorOf(3);
  assert.equal(forked.length, 1);
  forked[0]!.becomeReady();
  assert.equal(forked.length, 3);
});

test('connections go to the worker with the fewest of those that are ready, in turns among equals', () => {
  const { supervisor, forked } = supervisorOf(3);
  assert.equal(supervisor.idlest(), undefined);
  forked[0]!.becomeReady();
  forked[1]!.becomeReady();
  for (let i = 0; i < 10; i++) supervisor.idlest()!.take(undefined as never, 'requests');
  assert.deepEqual(
    forked.map(({ connections }) => connections),
    [5, 5, 0],
  );
  forked[1]!.connections = 2;
  assert.equal(supervisor.idlest(), forked[1]);
});

test('a worker that is not ready for requests gets connections only when no other is', () => {
  const { supervisor, forked } = supervisorOf(2);
  forked[0]!.becomeReady();
  forked[1]!.becomeReady();
  forked[0]!.isHealthy = false;
  for (let i = 0; i < 3; i++) supervisor.idlest()!.take(undefined as never, 'requests');
  forked[1]!.isHealthy = false;
  supervisor.idlest()!.take(undefined as never, 'requests');
  assert.deepEqual(
    forked.map(({ connections }) => connections),
    [1, 3],
  );
});

test('a mistake in the configuration that a worker found is what the start fails with', async () => {
  const { supervisor, forked } = supervisorOf(1);
  forked[0]!.fault = { faults: [{ file: 'tokens.csv', line: 2, message: 'has no name' }] };
  forked[0]!.end();
  await assert.rejects(supervisor.ready, /tokens\.csv:2: has no name/);
});

test('a worker that ends before all were ready fails the start', async () => {
  const { supervisor, forked } = supervisorOf(2);
  forked[0]!.becomeReady();
  forked[1]!.end();
  await assert.rejects(supervisor.ready, /before it could serve/);
});

test('a worker that ends is replaced after growing waits, and after the first wait again once one has served long enough', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  t.mock.method(Math, 'random', () => 1);
  const lost: unknown[] = [];
  const { supervisor, forked } = supervisorOf(1, { onLost: (metrics) => void lost.push(metrics) });
  forked[0]!.becomeReady();
  await supervisor.ready;
  const waitsMs: number[] = [];
  const lose = (): void => {
    const count = forked.length;
    forked.at(-1)!.end();
    assert.equal(supervisor.list().length, 0);
    let waitedMs = 0;
    for (; forked.length === count; waitedMs += 50) t.mock.timers.tick(50);
    waitsMs.push(waitedMs);
  };
  lose();
  lose();
  forked.at(-1)!.becomeReady();
  lose();
  forked.at(-1)!.becomeReady();
  t.mock.timers.tick(60_000);
  lose();
  assert.deepEqual(waitsMs, [200, 400, 800, 200]);
  assert.equal(supervisor.restarts, 4);
  assert.equal(lost.length, 4);
});

test('connections that never reached a worker that ended are given back', () => {
  const returned: UnsentSocket[] = [];
  const { forked } = supervisorOf(1, { onUnsent: (sockets) => void returned.push(...sockets) });
  const unsent = [{} as Socket, 'requests'] as const;
  forked[0]!.unsent = [unsent];
  forked[0]!.end();
  assert.deepEqual(returned, [unsent]);
});

test('a drain waits for all workers, replaces none, and kills those that take too long', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { supervisor, forked } = supervisorOf(2);
  forked[0]!.becomeReady();
  forked[1]!.becomeReady();
  const drained = supervisor.drain(1000);
  assert.deepEqual(
    forked.map(({ reported }) => reported),
    [
      ['start', 'drain'],
      ['start', 'drain'],
    ],
  );
  forked[0]!.end(true);
  t.mock.timers.tick(1000);
  assert.deepEqual(
    forked.map(({ killed }) => killed),
    [false, true],
  );
  forked[1]!.end();
  await drained;
  t.mock.timers.tick(60_000);
  assert.equal(forked.length, 2);
});
