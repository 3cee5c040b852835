import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { AuthenticationRequest } from '../../auth/callers/authentication-request.ts';
import type { Attributes } from '../../auth/rules/attributes.ts';
import type { Authorizer, Decision } from '../../auth/rules/authorize.ts';
import { GatewayError } from '../../model/errors.ts';
import { makeUser } from '../../model/user.ts';
import type { User } from '../../model/user.ts';
import { startStreamReviews } from './stream-reviews.ts';
import type { ReviewedStream, StreamReviews } from './stream-reviews.ts';

const yes: Decision = { allowed: true, reason: '' };
const no: Decision = { allowed: false, reason: 'no more' };
const unauthenticated = new GatewayError('UNAUTHENTICATED', 'revoked');
const down = new GatewayError('HUB_UNAVAILABLE', 'down');
const alice = makeUser({ name: 'alice', groups: ['dev'] });

interface Setting {
  authenticate: (request: AuthenticationRequest) => User | Promise<User>;
  authorize: Authorizer['authorize'];
}

function setting(
  t: TestContext,
): Setting & Pick<StreamReviews, 'follow' | 'forget' | 'sweep'> & { open(name?: string, caller?: User): string[] } {
  const change: Setting = { authenticate: () => alice, authorize: () => yes };
  const reviews = startStreamReviews({
    authenticate: (request) => change.authenticate(request),
    authorizer: { authorize: (question) => change.authorize(question) },
    intervalMs: 3_600_000,
  });
  t.after(() => reviews.close());
  /** Returns why it was ended, so far. */
  const open = (name = 'm1', caller = alice): string[] => {
    const ended: string[] = [];
    const stream = {
      request: { rawHeaders: ['Authorization', `Bearer ${name}`], peerCertificates: [], tlsAuthorized: false },
      caller,
      questions: () => [{ user: caller, verb: 'watch', name, resource: 'pods', apiGroup: '' } as Attributes],
      end: (reason: GatewayError) => {
        ended.push(reason.code);
        reviews.forget(stream);
      },
    };
    reviews.follow(stream);
    return ended;
  };
  return Object.assign(change, {
    follow: (stream: ReviewedStream) => reviews.follow(stream),
    forget: (stream: ReviewedStream) => reviews.forget(stream),
    sweep: () => reviews.sweep(),
    open,
  });
}

test('a stream whose caller and right are still the same stays open', async (t) => {
  const made = setting(t);
  const ended = made.open();
  await made.sweep();
  await made.sweep();
  assert.deepEqual(ended, []);
});

test('a stream ends when its token is revoked, its identity has changed, or its right is gone; others stay', async (t) => {
  const made = setting(t);
  const [kept, revoked, regrouped, denied] = ['kept', 'revoked', 'regrouped', 'denied'].map((name) => made.open(name));
  made.authenticate = ({ rawHeaders: [, header = ''] }) => {
    if (header === 'Bearer revoked') throw unauthenticated;
    return header === 'Bearer regrouped' ? makeUser({ name: 'alice', groups: ['ops'] }) : makeUser(alice);
  };
  made.authorize = ({ name }) => (name === 'denied' ? no : yes);
  await made.sweep();
  assert.deepEqual([kept, revoked, regrouped, denied], [[], ['UNAUTHENTICATED'], ['UNAUTHENTICATED'], ['FORBIDDEN']]);
});

test('a hub that cannot be asked ends nothing, and what it says when it is back counts', async (t) => {
  const made = setting(t);
  const ended = made.open();
  made.authenticate = () => Promise.reject(down);
  await made.sweep();
  made.authenticate = () => alice;
  made.authorize = () => Promise.reject(down);
  await made.sweep();
  assert.deepEqual(ended, []);
  made.authorize = async () => no;
  await made.sweep();
  assert.deepEqual(ended, ['FORBIDDEN']);
});

test('a review that fails in an unforeseen way ends the stream', async (t) => {
  const made = setting(t);
  const ended = made.open();
  made.authenticate = () => {
    throw new TypeError('bug');
  };
  await made.sweep();
  assert.deepEqual(ended, ['INTERNAL']);
});

test('a stream that is over before its turn is not reviewed, one that ends meanwhile is not ended again', async (t) => {
  const made = setting(t);
  const asked = Promise.withResolvers<User>();
  const ended: string[] = [];
  const stream = {
    request: { rawHeaders: [], peerCertificates: [], tlsAuthorized: false },
    caller: alice,
    questions: () => [],
    end: () => void ended.push('ended'),
  };
  made.follow(stream);
  made.authenticate = () => asked.promise;
  const sweeping = made.sweep();
  made.forget(stream);
  asked.reject(unauthenticated);
  await sweeping;
  assert.deepEqual(ended, []);
});

test('questions are asked anew every time: what is known of the cluster may have changed', async (t) => {
  const made = setting(t);
  let count = 0;
  const seen: string[] = [];
  made.authorize = ({ name }) => {
    seen.push(name);
    return yes;
  };
  made.follow({
    request: { rawHeaders: [], peerCertificates: [], tlsAuthorized: false },
    caller: alice,
    questions: () => [{ user: alice, name: `${(count += 1)}` } as Attributes],
    end: assert.fail,
  });
  await made.sweep();
  await made.sweep();
  assert.deepEqual(seen, ['1', '2']);
});

test('thousands of streams are reviewed with few questions under way at a time', async (t) => {
  const made = setting(t);
  for (let i = 0; i < 3000; i++) made.open(`${i}`);
  let under = 0;
  let most = 0;
  let all = 0;
  made.authorize = async () => {
    under += 1;
    most = Math.max(most, under);
    all += 1;
    await new Promise((resolve) => setImmediate(resolve));
    under -= 1;
    return yes;
  };
  await Promise.all([made.sweep(), made.sweep()]);
  assert.equal(all, 3000);
  assert.ok(most <= 16, `${most}`);
});

test('a stream ends in the second its credential does, by the wall clock, without a review', (t) => {
  let nowMs = 1_000;
  const reviews = startStreamReviews({
    authenticate: () => assert.fail('nobody need be asked'),
    authorizer: { authorize: () => assert.fail('nobody need be asked') },
    intervalMs: 3_600_000,
    now: () => nowMs,
  });
  t.after(() => reviews.close());
  const ended: string[] = [];
  const follow = (name: string, expiresAtMs?: number): void =>
    reviews.follow({
      request: { rawHeaders: [], peerCertificates: [], tlsAuthorized: false },
      caller: makeUser({ name, expiresAtMs }),
      questions: () => [],
      end: ({ code }) => void ended.push(`${name} ${code}`),
    });
  follow('soon', 5_000);
  follow('later', 9_000);
  follow('never');
  reviews.expire();
  assert.deepEqual(ended, []);
  nowMs = 5_000;
  reviews.expire();
  assert.deepEqual(ended, ['soon UNAUTHENTICATED']);
});

test('where streams may outlive credentials, neither a revoked nor an expired one ends them, but a lost right does', async (t) => {
  const rights = { decision: yes };
  const reviews = startStreamReviews({
    authenticate: () => Promise.reject(unauthenticated),
    authorizer: { authorize: () => rights.decision },
    intervalMs: 3_600_000,
    endExpired: false,
    now: () => 10,
  });
  t.after(() => reviews.close());
  const ended: string[] = [];
  reviews.follow({
    request: { rawHeaders: [], peerCertificates: [], tlsAuthorized: false },
    caller: makeUser({ name: 'alice', expiresAtMs: 5 }),
    questions: () => [{ user: alice, verb: 'watch', name: 'm1', resource: 'pods', apiGroup: '' } as Attributes],
    end: ({ code }) => void ended.push(code),
  });
  reviews.expire();
  await reviews.sweep();
  assert.deepEqual(ended, []);
  rights.decision = no;
  await reviews.sweep();
  assert.deepEqual(ended, ['FORBIDDEN']);
});
