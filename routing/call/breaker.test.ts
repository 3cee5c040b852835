import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../model/errors.ts';
import { makeBreaker } from './breaker.ts';

const refused = new GatewayError('MEMBER_REFUSED', 'connection refused by https://m:1');
const timedOut = new GatewayError('MEMBER_TIMEOUT', 'no connection within 5 s');

function withClock() {
  let now = 0;
  const breaker = makeBreaker('m1', { failuresToOpen: 3, firstOpenMs: 100, longestOpenMs: 300 }, () => now);
  return { breaker, pass: (ms: number) => (now += ms) };
}

test('one connect time-out opens it, and the refusal names cluster and cause', () => {
  const { breaker } = withClock();
  breaker.enter();
  breaker.fail(timedOut);
  assert.throws(
    () => breaker.enter(),
    (error: GatewayError) => error.status === 503 && /m1.*within 5 s/.test(error.message),
  );
});

test('a wrong certificate stays a 502 while the breaker is open', () => {
  const { breaker } = withClock();
  for (let i = 0; i < 3; i++) breaker.fail(new GatewayError('MEMBER_TLS', 'the certificate is not valid'));
  assert.throws(
    () => breaker.enter(),
    (error: GatewayError) => error.status === 502 && /m1.*certificate is not valid/.test(error.message),
  );
});

test('refusals open it after three in a row, not before, and a success starts the count again', () => {
  const { breaker } = withClock();
  breaker.fail(refused);
  breaker.fail(refused);
  breaker.succeed();
  breaker.fail(refused);
  breaker.fail(refused);
  breaker.enter();
  breaker.fail(refused);
  assert.throws(() => breaker.enter());
});

test('after a while one request may try; its failure doubles the wait, its success closes', () => {
  const { breaker, pass } = withClock();
  breaker.fail(timedOut);
  pass(100);
  breaker.enter();
  assert.throws(() => breaker.enter(), 'only one tries');
  breaker.fail(refused);
  pass(100);
  assert.throws(() => breaker.enter(), 'twice as long');
  pass(100);
  breaker.enter();
  breaker.succeed();
  breaker.enter();
  assert.equal(breaker.state, 'closed');
});

test('a try whose client went away leaves the way free for the next', () => {
  const { breaker, pass } = withClock();
  breaker.fail(timedOut);
  pass(100);
  breaker.enter();
  breaker.forget();
  breaker.enter();
});

test('a trip by the probe lasts until something succeeds', () => {
  const { breaker, pass } = withClock();
  breaker.trip(timedOut);
  pass(1_000_000);
  assert.throws(() => breaker.enter());
  breaker.succeed();
  breaker.enter();
});

test('what a caller or this gateway is the cause of closes no cluster for the others (ATT-67)', () => {
  const { breaker, pass } = withClock();
  for (const code of ['MEMBER_OVERLOADED', 'MEMBER_CREDENTIAL', 'CLUSTER_UNUSABLE', 'BAD_REQUEST'] as const) {
    for (let i = 0; i < 5; i++) breaker.fail(new GatewayError(code, 'too many upgrades are open'));
    assert.equal(breaker.state, 'closed', code);
  }
  for (let i = 0; i < 3; i++) breaker.fail(refused);
  pass(100);
  breaker.enter();
  breaker.fail(new GatewayError('MEMBER_OVERLOADED', 'too many upgrades are open'));
  breaker.enter();
  assert.equal(breaker.state, 'half-open', 'the next request is the test');
});
