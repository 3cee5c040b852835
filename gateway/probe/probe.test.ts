import assert from 'node:assert/strict';
import { test } from 'node:test';

import { probeIntervalMs } from './probe.ts';

test('a cluster is probed at the interval that was asked for, until all of them together would be more than a hundred probes a second', () => {
  assert.equal(probeIntervalMs(10_000, 0), 10_000);
  assert.equal(probeIntervalMs(10_000, 1_000), 10_000);
  assert.equal(probeIntervalMs(10_000, 2_000), 20_000);
  assert.equal(probeIntervalMs(60_000, 10_000), 100_000);
  assert.equal(probeIntervalMs(120_000, 10_000), 120_000, 'never more often than asked for');
});
