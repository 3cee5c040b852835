import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quantile, Series } from './request-series.ts';
import { makeStatistics } from './request-statistics.ts';

/** Counts requests with this code that took so many seconds, half of them in the gateway. */
function add(series: Series, code: number, seconds: number, times = 1): void {
  for (let i = 0; i < times; i++) {
    series.codes.set(code, (series.codes.get(code) ?? 0) + 1);
    series.total.add(seconds);
    series.upstream.add(seconds / 2);
    series.gateway.add(seconds / 2);
  }
}

test('numbers of a cluster are summed over verbs, and the recent ones are those since an earlier reading', () => {
  const get = new Series('m1', 'get');
  const list = new Series('m1', 'list');
  let nowMs = 1_000_000;
  const read = makeStatistics(
    () => [get, list, new Series('', 'get')],
    () => nowMs,
  );
  add(get, 200, 0.001, 3);
  assert.equal(read().of('m1')!.recent, undefined, 'there is nothing to compare with');
  assert.equal(read().of('elsewhere'), undefined);

  nowMs += 10_000;
  add(get, 200, 0.001, 90);
  add(list, 503, 7, 10);
  const now = read().of('m1')!;
  assert.deepEqual(now.requests, {
    total: 103,
    aborted: 0,
    bytesIn: 0,
    bytesOut: 0,
    codes: { '200': 93, '503': 10 },
    verbs: { get: 93, list: 10 },
  });
  const recent = now.recent!;
  assert.deepEqual(
    [recent.seconds, recent.requestsPerSecond, recent.serverErrorsPerSecond],
    [10, 10, 1],
    '100 requests in 10 seconds, 10 of them failed',
  );
  assert.ok(recent.duration!.p50 <= 0.005, `${recent.duration!.p50}`);
  assert.ok(recent.duration!.p99 > 6 && recent.duration!.p99 <= 8, `${recent.duration!.p99}`);
  assert.ok(recent.gateway!.p99 > 3 && recent.gateway!.p99 <= 4, `${recent.gateway!.p99}`);
});

test('numbers are read anew at most once a second, and what is recent goes back a minute', () => {
  const get = new Series('m1', 'get');
  let nowMs = 0;
  let readings = 0;
  const read = makeStatistics(
    () => {
      readings += 1;
      return [get];
    },
    () => nowMs,
  );
  read();
  nowMs += 999;
  read();
  assert.equal(readings, 1);
  for (let i = 0; i < 20; i++) {
    nowMs += 6_001;
    read();
  }
  const { seconds } = read().of('m1')!.recent!;
  assert.ok(seconds >= 60 && seconds < 72, `${seconds}`);
  assert.equal(read().of('m1')!.recent!.duration, undefined, 'nothing was asked');
  nowMs += 600_000;
  assert.equal(Math.round(read().of('m1')!.recent!.seconds), 600, 'who asks seldom is told how long ago it was');
});

test('a quantile lies within its bucket, and beyond the last bound at that bound', () => {
  const counts = new Float64Array(24);
  assert.equal(quantile(counts, 0.5), undefined);
  counts[1] = 4;
  assert.ok(Math.abs(quantile(counts, 0.5)! - 0.015) < 1e-9, 'in the middle between 5 and 25 ms');
  counts[23] = 96;
  assert.equal(quantile(counts, 0.99), 60);
});
