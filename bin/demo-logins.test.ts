import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeDemoLogins } from './demo-logins.ts';

test('a link of the demo logs in once and within ten minutes, and only its first try is told', () => {
  const ada = { name: 'ada', token: 'secret' };
  const spent: string[] = [];
  let nowMs = 0;
  const logins = makeDemoLogins(
    ({ name }) => spent.push(name),
    () => nowMs,
  );
  const [first, second] = [logins.issue(ada), logins.issue(ada)];
  assert.notEqual(first, second);
  assert.equal(logins.redeem(first), 'secret');
  assert.equal(logins.redeem(first), undefined);
  nowMs = 600_000;
  assert.equal(logins.redeem(second), undefined);
  assert.equal(logins.redeem(second), undefined);
  assert.equal(logins.redeem('invented'), undefined);
  assert.deepEqual(spent, ['ada', 'ada']);
});
