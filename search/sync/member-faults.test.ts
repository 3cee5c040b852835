import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../cache/model/errors.ts';
import { makeBreaker } from '../../routing/members/breaker.ts';
import { setbackOf } from './member-faults.ts';

test('the fault of a cluster that stays unreachable has the same words whether it was asked or not', () => {
  const breaker = makeBreaker('m1');
  const refused = new GatewayError('MEMBER_UNAVAILABLE', 'connection refused by https://m1');
  for (let each = 0; each < 3; each += 1) breaker.fail(refused);
  assert.throws(
    () => breaker.enter(),
    (error: unknown) => {
      assert.notEqual((error as Error).message, refused.message);
      assert.deepEqual(setbackOf(error, 'm1', 'index').fault, setbackOf(refused, 'm1', 'index').fault);
      return true;
    },
  );
});
