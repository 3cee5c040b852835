import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseSize } from '../settings/kinds.ts';
import { flagsAlone } from '../settings/settings.ts';
import { readLimitsConfig } from './limits-config.ts';

function faultsOf(given: Readonly<Record<string, unknown>>): string[] {
  const faults: string[] = [];
  readLimitsConfig(flagsAlone(given, (flag) => faults.push(flag)));
  return faults;
}

test('without flags everything is bounded but the rate of a user', () => {
  const limits = readLimitsConfig(flagsAlone({}, assert.fail));
  const unbounded = Object.entries(limits).filter(([, value]) => value === Infinity);
  assert.deepEqual(unbounded, [['userQps', Infinity]]);
});

test('0 is no limit, text and numbers mean the same', () => {
  const limits = readLimitsConfig(
    flagsAlone(
      { maxRequestsInflight: '0', maxUserRequestsInflight: 7, maxStreams: '9', slowClientTimeout: '0', userQps: '5' },
      assert.fail,
    ),
  );
  assert.deepEqual(
    [
      limits.requests,
      limits.userRequests,
      limits.streams,
      limits.slowClientTimeoutMs,
      limits.userQps,
      limits.userBurst,
    ],
    [Infinity, 7, 9, Infinity, 5, 10],
  );
});

test('a value that is no number, duration or size is a fault of its flag', () => {
  assert.deepEqual(faultsOf({ maxRequestsInflight: 'many' }), ['--max-requests-inflight']);
  assert.deepEqual(faultsOf({ maxStreams: '-1' }), ['--max-streams']);
  assert.deepEqual(faultsOf({ userQps: '1.5' }), ['--user-qps']);
  assert.deepEqual(faultsOf({ userBurst: '5' }), ['--user-burst']);
  assert.deepEqual(faultsOf({ userQps: '5', userBurst: '0' }), ['--user-burst']);
  assert.deepEqual(faultsOf({ requestQueueTimeout: '15' }), ['--request-queue-timeout']);
  assert.deepEqual(faultsOf({ maxMemory: '12 apples' }), ['--max-memory']);
  assert.deepEqual(faultsOf({ maxMemory: '1Mi' }), ['--max-memory']);
});

test('sizes are Kubernetes quantities', () => {
  assert.deepEqual(['512Mi', '2Gi', '1500M', '1024', '1.5Gi', '5 G', 'x'].map(parseSize), [
    536_870_912,
    2_147_483_648,
    1_500_000_000,
    1024,
    1_610_612_736,
    undefined,
    undefined,
  ]);
});
