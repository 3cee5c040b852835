import assert from 'node:assert/strict';
import test from 'node:test';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import { SpanQueue } from './span-queue.ts';

type Sent = { readonly spans: readonly ReadableSpan[]; readonly done: (error?: Error) => void };

function queueOf(queueSize: number, batchSize: number) {
  const sent: Sent[] = [];
  const exporter: SpanExporter = {
    export: (spans, done) => void sent.push({ spans, done: (error) => done(error ? { code: 1, error } : { code: 0 }) }),
    shutdown: () => Promise.resolve(),
  };
  const counts = { exported: 0, dropped: 0, failed: 0 };
  const reported: (string | undefined)[] = [];
  const options = { queueSize, batchSize, delayMs: 3_600_000, counts };
  const queue = new SpanQueue(exporter, { ...options, onFailing: (error) => void reported.push(error?.message) });
  const add = (many: number): void => {
    for (let i = 0; i < many; i++) queue.onEnd({} as ReadableSpan);
  };
  return { queue, sent, counts, reported, add };
}
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('a collector that takes nothing costs spans, counted, and never more memory than the queue', async () => {
  const { queue, sent, counts, add } = queueOf(10, 4);
  add(25);
  await turn();
  assert.equal(sent.length, 1, 'one batch at a time');
  assert.deepEqual([queue.length, counts], [10, { exported: 0, dropped: 15, failed: 0 }]);
  sent[0]!.done();
  await turn();
  assert.deepEqual([queue.length, counts.exported, sent[1]!.spans.length], [6, 4, 4]);
  await queue.shutdown();
});

test('a batch that failed is lost and counted; the failure is reported once when it begins and once when it ends', async () => {
  const { sent, counts, reported, add, queue } = queueOf(10, 1);
  for (const error of [new Error('down'), new Error('still'), undefined, undefined]) {
    add(1);
    await turn();
    sent.at(-1)!.done(error);
    await turn();
  }
  assert.deepEqual(counts, { exported: 2, dropped: 0, failed: 2 });
  assert.deepEqual(reported, ['down', undefined]);
  await queue.shutdown();
});

test('a flush sends what no batch was full of', async () => {
  const { queue, sent, counts, add } = queueOf(10, 4);
  add(6);
  const flushed = queue.forceFlush();
  await turn();
  sent[0]!.done();
  await turn();
  sent[1]!.done();
  await flushed;
  assert.deepEqual([sent.map(({ spans }) => spans.length), counts.exported, queue.length], [[4, 2], 6, 0]);
  await queue.shutdown();
});
