import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeUser } from '../model/user.ts';
import type { ModeChange } from './modes.ts';
import type { AccessReviewSpec, MemberReviews } from './review.ts';
import { binding, role, rule, testRecord, testUser } from './rights.fixture.ts';

import { inTeam, jane, one, pods, podsOf, site, two, unanswered } from './scopes.fixture.ts';

/** A member that answers reviews. */
function member(answer: (spec: AccessReviewSpec) => boolean, isIncomplete = true) {
  const specs: AccessReviewSpec[] = [];
  const state = { down: false, incomplete: isIncomplete };
  const reviews: MemberReviews = {
    isAllowed: async (_record, spec) => {
      specs.push(spec);
      return state.down ? await unanswered() : answer(spec);
    },
    isIncomplete: async () => (state.down ? await unanswered() : state.incomplete),
  };
  return { specs, state, reviews };
}

test('a cluster with authorizers beside RBAC is asked: over all, then for each namespace, about the identity as it arrives there', async (t) => {
  const asked = member(({ resourceAttributes: { namespace } }) => namespace === 'other');
  const made = site({ reviews: asked.reviews, records: [testRecord('one')] });
  t.after(() => made.scopes.close());
  const bob = makeUser({ name: 'bob', uid: 'u1', groups: ['dev', 'system:authenticated'], extra: [['k', ['v']]] });
  assert.deepEqual(await podsOf(made, bob), { one: { namespaces: ['other'], names: [] } });
  assert.deepEqual(asked.specs[0], {
    user: 'bob',
    uid: 'u1',
    groups: ['dev', 'system:authenticated'],
    extra: { k: ['v'] },
    resourceAttributes: { verb: 'list', group: '', resource: 'pods', namespace: '', name: '' },
  });
  assert.deepEqual(asked.specs.map(({ resourceAttributes }) => resourceAttributes.namespace).toSorted(), [
    '',
    'other',
    'team',
  ]);
  await podsOf(made, bob);
  assert.equal(asked.specs.length, 3, 'remembered for seconds');
  await podsOf(
    made,
    makeUser({ name: 'bob', uid: 'u2', groups: ['dev', 'system:authenticated'], extra: [['k', ['v']]] }),
  );
  assert.equal(asked.specs.length, 6, 'another uid is another identity');
});

test('no name can be written into a Role that, beside the empty one, would stand for every object', async (t) => {
  const mayGet = ['', 'portcullis:any', 'a'];
  const asked = member(({ resourceAttributes: { name } }) => mayGet.includes(name));
  const made = site({ reviews: asked.reviews, records: [testRecord('one')] });
  t.after(() => made.scopes.close());
  assert.deepEqual(await podsOf(made, jane, 'get'), {});
  // What has been asked of one process says nothing of the next.
  const names = asked.specs.map(({ resourceAttributes }) => resourceAttributes.name);
  assert.ok(
    names.some((name) => /^portcullis:any:[\da-f-]{36}$/.test(name)),
    names.join(),
  );
});

test('a member that does not answer reviews is hidden and named; the others are not touched, and it is asked again', async (t) => {
  const asked = member(() => true);
  const records = [testRecord('one', { 'search.portcullis.io/rights': 'review' }), testRecord('two')];
  asked.state.incomplete = false;
  const made = site({ reviews: asked.reviews, records });
  t.after(() => made.scopes.close());
  assert.deepEqual(await podsOf(made), { one: 'all', two: 'all' });
  asked.state.down = true;
  const { scope, hidden } = await made.scopes.scope(testUser('joe'), 'list', [pods]);
  assert.deepEqual([...scope.grants.keys()], [two.id]);
  assert.deepEqual(
    hidden.map(({ cluster, reason }) => [cluster, reason]),
    [['one', 'RightsUnknown']],
  );
  asked.state.down = false;
  assert.deepEqual(await podsOf(made, testUser('joe')), { one: 'all', two: 'all' });
});

test('a member that never answers a review does not keep an answer about the others back (ATT-67)', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const reviews: MemberReviews = { isAllowed: () => new Promise<never>(() => {}), isIncomplete: async () => false };
  const records = [testRecord('one', { 'search.portcullis.io/rights': 'review' }), testRecord('two')];
  const made = site({ reviews, records });
  t.after(() => made.scopes.close());
  const first = made.scopes.scope(jane, 'list', [pods]);
  for (let turns = 0; turns < 20; turns++) await new Promise<void>((resolve) => void setImmediate(resolve));
  t.mock.timers.tick(2_000);
  const { scope, hidden } = await first;
  assert.deepEqual([...scope.grants.keys()], [two.id]);
  assert.match(hidden[0]!.message, /nothing of cluster "one" is shown: .*has not answered yet who may see what/);
});

test('a role that names too many objects hides only these, with a warning, and is no fault of the copy (ATT-67)', async (t) => {
  const asked = member(() => true, false);
  const changes: ModeChange[] = [];
  const sampled = Promise.withResolvers<string>();
  const made = site({
    reviews: asked.reviews,
    records: [testRecord('one')],
    sampleRate: 1,
    onModeChange: ({ why }) => changes.push(why as never),
    onSample: (_cluster, result) => sampled.resolve(result),
    confirmedAtMs: () => (made.clock.nowMs += 1),
  });
  t.after(() => made.scopes.close());
  const names = Array.from({ length: 10_001 }, (_, i) => `n${i}`);
  made.store.putAll(one, [
    role('many', 'other', rule('list', 'pods', ...names)),
    binding('many', 'other', 'Role/many', 'Group/system:authenticated'),
  ]);
  const { scope, hidden } = await made.scopes.scope(jane, 'list', [pods]);
  assert.deepEqual(hidden, [
    {
      cluster: 'one',
      reason: 'RightsTooMany',
      message:
        'some objects of cluster "one" are not shown: roles allow you too many single objects by name (resourceNames), more than 10000',
    },
  ]);
  assert.deepEqual(
    [...scope.grants.get(one.id)!.values()].map(({ namespaces, names }: any) => [namespaces, names]),
    [[['team'], []]],
  );
  assert.equal(await sampled.promise, 'agreed');
  assert.deepEqual(changes, ['rules-complete']);
});

test('as long as a member has not said whether RBAC is all it has, RBAC decides nothing; what it said is kept over a restart', async (t) => {
  const asked = member(() => true, false);
  asked.state.down = true;
  let kept: string | undefined;
  const memory = { read: () => kept, write: (text: string) => void (kept = text) };
  const given = { reviews: asked.reviews, memory, records: [testRecord('one')] };
  const first = site(given);
  t.after(() => first.scopes.close());
  const { scope, hidden } = await first.scopes.scope(jane, 'list', [pods]);
  assert.deepEqual([scope.grants.size, hidden[0]?.reason], [0, 'RightsUnknown']);
  asked.state.down = false;
  const second = site(given);
  t.after(() => second.scopes.close());
  assert.deepEqual(await podsOf(second), { one: inTeam });
  asked.state.down = true;
  const third = site(given);
  t.after(() => third.scopes.close());
  assert.deepEqual(await podsOf(third), { one: inTeam });
});

test('a member that disagrees with its mirrored RBAC again and again is asked from then on, and an alarm is raised', async (t) => {
  const asked = member(() => false, false);
  const changes: ModeChange[] = [];
  const results: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const made = site({
    reviews: asked.reviews,
    records: [testRecord('two')],
    sampleRate: 1,
    onModeChange: (change) => changes.push(change),
    onSample: (cluster, result) => {
      results.push(`${cluster} ${result}`);
      resolve();
    },
    // Each look at it is a later confirmation.
    confirmedAtMs: () => (made.clock.nowMs += 1),
  });
  t.after(() => made.scopes.close());
  assert.deepEqual(await podsOf(made), { two: 'all' });
  await promise;
  assert.deepEqual(
    changes.map(({ mode, why }) => `${mode} ${why}`),
    ['rbac rules-complete', 'review mismatch'],
  );
  assert.match(changes[1]!.message, /"two" refuses somebody to list pods.*SubjectAccessReview/);
  assert.deepEqual(results, ['two mismatch']);
  assert.deepEqual(await podsOf(made), {});
});
