import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../model/errors.ts';
import { makeHubReview } from './hub-review.ts';
import { testReviews } from './review.fixture.ts';
import type { ReviewAnswer } from './review.fixture.ts';

const unreachable = new GatewayError('HUB_UNAVAILABLE', 'the hub cannot be reached');

async function outcome(...answers: readonly ReviewAnswer[]) {
  const { client, calls } = testReviews((_spec, count) => answers[count - 1]!);
  const review = makeHubReview({ client, retryDelayMs: 0 });
  try {
    return { status: await review('TokenReview', { token: 'x' }), calls: calls.length };
  } catch (error) {
    assert.ok(error instanceof GatewayError);
    assert.equal(error.code, 'HUB_UNAVAILABLE');
    return { message: error.message, calls: calls.length };
  }
}

test('a review is a POST of its spec to its own API, and its status comes back', async () => {
  const { review, calls } = testReviews(() => ({ status: { allowed: true } }));
  assert.deepEqual(await review('SubjectAccessReview', { user: 'a' }), { allowed: true });
  const [call] = calls;
  assert.deepEqual([call?.method, call?.path], ['POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews']);
  assert.deepEqual(call?.body, {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: { user: 'a' },
  });
});

for (const passing of [unreachable, { code: 500 }, { code: 429 }, { code: 503 }, { code: 504 }] as const) {
  const name = passing instanceof Error ? 'no answer' : `${passing.code}`;
  test(`after ${name} the hub is asked once more, and no more often`, async () => {
    assert.deepEqual(await outcome(passing, { status: { ok: true } }), { status: { ok: true }, calls: 2 });
    assert.equal((await outcome(passing, passing, { status: {} })).calls, 2);
  });
}

test('a hub that does not let the gateway ask is reported at once, with what to grant', async () => {
  for (const code of [401, 403]) {
    const { message, calls } = await outcome({ code });
    assert.equal(calls, 1);
    assert.match(message!, /system:auth-delegator/);
  }
});

test('an answer that cannot be read is no answer', async () => {
  for (const body of ['', 'text', 'null', '[]', '{}', '{"status":null}', '{"status":"Failure"}', '{"status":true}']) {
    const { message } = await outcome({ code: 201, body });
    assert.match(message ?? '', /hub's answer/, body);
  }
  assert.match((await outcome({ code: 422 })).message ?? '', /422/);
});

test('all of it takes no longer than the deadline: a second try gets what is left, or does not happen', async () => {
  const timeouts: number[] = [];
  const client = {
    request: ({ timeoutMs }: { timeoutMs: number }) => {
      timeouts.push(timeoutMs);
      return Promise.reject(unreachable);
    },
  };
  await assert.rejects(makeHubReview({ client, deadlineMs: 1000, retryDelayMs: 20 })('TokenReview', {}));
  assert.equal(timeouts.length, 2);
  // A timer may be a millisecond early.
  assert.ok(timeouts[0]! <= 1000 && timeouts[1]! <= 985, timeouts.join());
  await assert.rejects(makeHubReview({ client, deadlineMs: 10, retryDelayMs: 20 })('TokenReview', {}));
  assert.equal(timeouts.length, 3);
});
