import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../model/errors.ts';
import { makePromptReviewer } from './prompt-reviewer.ts';
import { answerCountsMs, makeReviewer } from './review.ts';
import type { AskedCluster, Reviewer, TimedGrant } from './review.ts';
import type { RbacView } from './rbac/rbac-view.ts';
import { testRecord, testUser } from './rights.fixture.ts';

const pods = { group: '', resource: 'pods', namespaced: true };
const nodes = { group: '', resource: 'nodes', namespaced: false };
const view = {} as RbacView;

function cluster(name: string): AskedCluster {
  return { record: testRecord(name), incarnation: `${name}-1`, view };
}

/** A reviewer whose grants are decided by the test, and a clock. No question waits longer than a turn of timers. */
function site() {
  const clock = { ms: 1_000_000 };
  const open: (PromiseWithResolvers<TimedGrant> & { readonly user: string; readonly asked: AskedCluster })[] = [];
  const reviewer: Reviewer = {
    grant: (asked, { name }) => {
      const decided = Promise.withResolvers<TimedGrant>();
      open.push({ ...decided, user: name, asked });
      return decided.promise;
    },
  };
  const prompt = makePromptReviewer(reviewer, { waitMs: 0, now: () => clock.ms });
  const list = (of: AskedCluster, user: string, type = pods) => prompt.grant(of, testUser(user), 'list', type);
  return { clock, open, list };
}

const isLate = (error: unknown): boolean => error instanceof GatewayError && error.code === 'MEMBER_TIMEOUT';
const settled = () => new Promise<void>((resolve) => void setImmediate(resolve));

test('a question gives up on a cluster that does not answer, and its reviews go on for the next question', async () => {
  const { clock, open, list } = site();
  await assert.rejects(
    list(cluster('slow'), 'jane'),
    /cluster "slow" has not answered yet who may see what; try again/,
  );
  await assert.rejects(list(cluster('slow'), 'jane'), isLate);
  assert.equal(open.length, 1, 'the cluster is not asked twice');
  clock.ms += 12_000;
  open[0]!.resolve({ grant: 'all', untilMs: clock.ms - 2_000 });
  await settled();
  assert.deepEqual(await list(cluster('slow'), 'jane'), { grant: 'all', untilMs: clock.ms + answerCountsMs / 2 });
  assert.equal(open.length, 1);
  clock.ms += answerCountsMs - 1;
  const kept = { grant: 'all', untilMs: clock.ms + 1 };
  assert.deepEqual(await list(cluster('slow'), 'jane'), kept, 'what was found late counts for ten seconds');
  assert.equal(open.length, 2, 'and is asked for anew before they end');
  open[1]!.reject(new GatewayError('MEMBER_UNAVAILABLE', 'gone'));
  await settled();
  assert.deepEqual(await list(cluster('slow'), 'jane'), kept);
  clock.ms += 1;
  await assert.rejects(list(cluster('slow'), 'jane'), isLate);
  assert.equal(open.length, 3, 'then it counts no more');
});

test('what a cluster found late for one user, verb or type is not given to another', async () => {
  const { clock, open, list } = site();
  await assert.rejects(list(cluster('slow'), 'jane'), isLate);
  clock.ms += 12_000;
  open[0]!.resolve({ grant: 'all', untilMs: 0 });
  await settled();
  await assert.rejects(list(cluster('slow'), 'joe'), isLate);
  await assert.rejects(list(cluster('slow'), 'jane', nodes), isLate);
  await assert.rejects(list(cluster('other'), 'jane'), isLate);
  assert.equal(open.length, 4);
});

test('a slow cluster is asked only so much at once: further users are told to try again (ATT-67)', async () => {
  const { open, list } = site();
  const asked = Array.from({ length: 100 }, (_, user) => `user-${user}`);
  for (const user of asked) await assert.rejects(list(cluster('slow'), user), isLate);
  assert.equal(open.length, 32);
  open[0]!.resolve({ grant: 'all', untilMs: Infinity });
  await settled();
  await assert.rejects(list(cluster('slow'), 'one more'), isLate);
  assert.deepEqual(
    open.slice(32).map(({ user }) => user),
    ['one more'],
  );
});

test('users of a quick cluster wait for their turn and are all answered', async () => {
  let atOnce = 0;
  let most = 0;
  const reviewer: Reviewer = {
    async grant() {
      most = Math.max(most, (atOnce += 1));
      await settled();
      atOnce -= 1;
      return { grant: 'all', untilMs: answerCountsMs };
    },
  };
  const prompt = makePromptReviewer(reviewer, { now: () => 0 });
  const users = Array.from({ length: 200 }, (_, user) => testUser(`user-${user}`));
  const grants = await Promise.all(users.map((user) => prompt.grant(cluster('quick'), user, 'list', pods)));
  assert.deepEqual(new Set(grants.map(({ grant }) => grant)), new Set(['all']));
  assert.equal(most, 32);
});

test('a cluster that fails after a long time is not asked for five seconds, by nobody', async () => {
  const { clock, open, list } = site();
  await assert.rejects(list(cluster('gone'), 'jane'), isLate);
  clock.ms += 10_000;
  open[0]!.reject(new GatewayError('MEMBER_UNAVAILABLE', 'no answer from the cluster'));
  await settled();
  await assert.rejects(list(cluster('gone'), 'joe'), /no answer from the cluster/);
  await assert.rejects(list(cluster('gone'), 'jane'), /no answer from the cluster/);
  assert.equal(open.length, 1);
  clock.ms += 5_000;
  await assert.rejects(list(cluster('gone'), 'joe'), isLate);
  assert.equal(open.length, 2);
});

test('a cluster that refuses at once is asked again by the next question', async () => {
  const { open, list } = site();
  for (const count of [1, 2]) {
    const asking = list(cluster('refusing'), 'jane');
    await Promise.resolve();
    assert.equal(open.length, count);
    open.at(-1)!.reject(new GatewayError('MEMBER_UNAVAILABLE', 'connection refused'));
    await assert.rejects(asking, /connection refused/);
  }
});

test('a grant that takes one user too many questions is not the answer for the others', async () => {
  const { clock, open, list } = site();
  await assert.rejects(list(cluster('slow'), 'jane'), isLate);
  clock.ms += 3_000;
  open[0]!.reject(new GatewayError('CLUSTER_UNUSABLE', 'deciding takes 30000 questions'));
  await settled();
  await assert.rejects(list(cluster('slow'), 'joe'), isLate);
  assert.equal(open.length, 2);
});

test('every grant has 30 seconds from its question; then no further review is sent for it', async () => {
  const { clock, open, list } = site();
  await assert.rejects(list(cluster('slow'), 'jane'), isLate);
  const { byMs } = open[0]!.asked;
  assert.equal(byMs, clock.ms + 30_000);
  let reviews = 0;
  const isAllowed = async (): Promise<boolean> => {
    reviews += 1;
    clock.ms += 1_000;
    return reviews > 1;
  };
  const reviewer = makeReviewer({ reviews: { isAllowed }, now: () => clock.ms });
  const namespaces = Array.from({ length: 1_000 }, (_, number) => `n${number}`);
  const rbac = { namespaces, grant: () => ({ namespaces: [], names: [] }) } as unknown as RbacView;
  const asked = { ...cluster('slow'), view: rbac };
  await assert.rejects(reviewer.grant({ ...asked, byMs: byMs! }, testUser('jane'), 'list', pods), isLate);
  assert.equal(reviews, 31);
});
