import assert from 'node:assert/strict';
import { readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { Spool } from './spool.ts';
import { WebhookRefusal, AuditWebhook } from './webhook.ts';
import type { BatchOptions } from '../../../config/sections/audit-config.ts';
import type { AuditWebhookOptions } from './webhook.ts';
import type { AuditSink } from './sink.ts';
import { tempDir } from '../../../test/pretend/temp-dir.ts';

let folder: string;
let reported: string[];
/** Batches the webhook has taken. */
let taken: (readonly string[])[];
/** The webhook's reaction to a batch. */
let behave: (lines: readonly string[], signal: AbortSignal) => Promise<void>;
let sinks: AuditSink[];

/** The webhook answers 200. */
function takes(lines: readonly string[]): Promise<void> {
  taken.push(lines);
  return Promise.resolve();
}

beforeEach(() => {
  folder = join(tempDir('spool'), 'audit-spool');
  reported = [];
  taken = [];
  sinks = [];
  behave = takes;
});
afterEach(() => {
  for (const sink of sinks) sink.close();
  rmSync(join(folder, '..'), { recursive: true, force: true });
});

const batch: BatchOptions = { bufferSize: 100, maxSize: 10, maxWaitMs: 60_000, throttleQps: 0, throttleBurst: 1 };

function start(
  options: Partial<Omit<AuditWebhookOptions, 'batch'>> & { batch?: Partial<BatchOptions>; spoolBytes?: number } = {},
): AuditSink {
  const sink = new AuditWebhook({
    mode: 'batch',
    initialBackoffMs: 10,
    random: () => 0,
    send: (lines, signal) => behave(lines, signal),
    spool: new Spool(folder, options.spoolBytes ?? 1_000_000),
    events: {
      failing: (error) => reported.push(`failing: ${(error as Error).message}`),
      recovered: () => reported.push('recovered'),
      lost: (events) => reported.push(`lost ${events}`),
    },
    ...options,
    batch: { ...batch, ...options.batch },
  });
  sinks.push(sink);
  return sink;
}

function write(sink: AuditSink, from: number, to: number): void {
  for (let i = from; i < to; i++) void sink.write(JSON.stringify({ i }));
}

function numbers(batches: readonly (readonly string[])[] = taken): number[] {
  return batches.flat().map((line) => (JSON.parse(line) as { i: number }).i);
}

const range = (to: number): number[] => Array.from({ length: to }, (_, i) => i);

/** Waits until the condition holds; fails the test when it never does. */
async function until(holds: () => boolean): Promise<void> {
  const deadlineMs = performance.now() + 10_000;
  while (!holds()) {
    assert.ok(performance.now() < deadlineMs, 'waited in vain');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const down = (): Promise<never> => Promise.reject(new Error('down'));
const stalled = (_: readonly string[], signal: AbortSignal): Promise<void> =>
  new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('given up'))));

test('a batch goes when it is full, or when the first event has waited long enough', async () => {
  const sink = start({ batch: { maxWaitMs: 30 } });
  write(sink, 0, 25);
  await until(() => taken.length === 3);
  assert.deepEqual(
    taken.map(({ length }) => length),
    [10, 10, 5],
  );
  assert.deepEqual(numbers(), range(25));
});

test('the end of the process sends what has not filled a batch', async () => {
  const sink = start();
  write(sink, 0, 3);
  await sink.flush(5000);
  assert.deepEqual(numbers(), range(3));
});

test('no more batches a second than the throttle lets through', async () => {
  let nowMs = 0;
  const sink = start({ batch: { maxSize: 1, throttleQps: 1, throttleBurst: 2 }, nowMs: () => nowMs });
  write(sink, 0, 5);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(taken.length, 2);
  nowMs += 1000;
  // The sink tries again when a token is due; a second has passed on its clock.
  await until(() => taken.length === 3);
});

test('a webhook that is down gets every event once it is up, and meanwhile they are on disk, not in memory (FLT-18)', async () => {
  behave = down;
  const sink = start();
  write(sink, 0, 55);
  await until(() => readdirSync(folder).length >= 5);
  assert.equal(sink.accepting, true);
  assert.equal(reported[0], 'failing: down');
  for (const name of readdirSync(folder)) assert.equal(statSync(join(folder, name)).mode & 0o777, 0o600);
  behave = takes;
  await sink.flush(10_000);
  await until(() => new Set(numbers()).size === 55 && readdirSync(folder).length === 0);
  assert.deepEqual(
    numbers().toSorted((a, b) => a - b),
    range(55),
    'nothing twice',
  );
  assert.equal(reported.at(-1), 'recovered');
});

test('a webhook that never answers makes the sink full at its bounds, and not before (FLT-18)', async () => {
  behave = stalled;
  const sink = start({ batch: { bufferSize: 30 }, spoolBytes: 200 });
  write(sink, 0, 30);
  assert.equal(sink.accepting, true, 'the disk has room');
  write(sink, 30, 60);
  assert.equal(sink.accepting, false);
  const onDisk = readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
  assert.ok(onDisk > 0 && onDisk <= 200, String(onDisk));
});

test('what a full sink was given all the same is delivered', async () => {
  behave = down;
  const sink = start({ batch: { bufferSize: 10 }, spoolBytes: 100 });
  write(sink, 0, 60);
  await until(() => reported.length > 0);
  assert.equal(sink.accepting, false);
  behave = takes;
  await until(() => new Set(numbers()).size === 60);
  assert.equal(sink.accepting, true);
  assert.ok(!reported.some((line) => line.startsWith('lost')));
});

test('a new process sends what an earlier one left behind, damaged lines left out', async () => {
  behave = stalled;
  const first = start();
  write(first, 0, 25);
  first.close();
  write(first, 25, 27);
  assert.ok(readdirSync(folder).length >= 3);
  const [name] = readdirSync(folder).toSorted();
  writeFileSync(join(folder, name!), `${readFileSync(join(folder, name!), 'utf8')}{"i":`);
  writeFileSync(join(folder, '000000000000001-000000001.jsonl.part'), '{"i":99}\n');
  behave = takes;
  start();
  await until(() => new Set(numbers()).size === 27);
  assert.deepEqual(
    numbers().toSorted((a, b) => a - b),
    range(27),
  );
  await until(() => readdirSync(folder).length === 0);
});

test('a batch the webhook calls wrong is given up after five attempts, and the others go on', async () => {
  let attempts = 0;
  behave = (lines) => {
    if (lines.includes('{"i":0}')) {
      attempts += 1;
      return Promise.reject(new WebhookRefusal(400));
    }
    taken.push(lines);
    return Promise.resolve();
  };
  const sink = start({ initialBackoffMs: 1 });
  write(sink, 0, 20);
  await until(() => taken.length === 1 && reported.some((line) => line === 'lost 10'));
  assert.equal(attempts, 5);
  assert.deepEqual(numbers(), range(20).slice(10));
});

test('mode blocking says of every event whether it was stored', async () => {
  const sink = start({ mode: 'blocking' });
  const promises = [sink.write('{"i":0}'), sink.write('{"i":1}')];
  assert.deepEqual(await Promise.all(promises), [true, true]);
  assert.equal(taken.length, 1, 'what comes in one turn goes together');
  behave = down;
  assert.equal(await sink.write('{"i":2}'), false);
  assert.equal(sink.accepting, false, 'a blocking webhook that fails stores nothing');
  behave = takes;
  await until(() => sink.accepting);
  assert.deepEqual(numbers(), [0, 1, 2]);
});
