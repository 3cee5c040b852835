import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allowAuthenticated, makeRulesAuthorizer } from '../auth/rules/authorize.ts';
import type { Authorizer } from '../auth/rules/authorize.ts';
import { makeOutgoingRules, outgoingIdentity } from '../auth/outgoing/outgoing.ts';
import type { Rule } from '../auth/rules/rules.ts';
import { GatewayError } from '../model/errors.ts';
import type { ClusterRecord } from '../model/records.ts';
import { makeUser } from '../model/user.ts';
import type { User } from '../model/user.ts';
import type { ModeChange } from './modes.ts';
import type { AccessReviewSpec, MemberReviews } from './review.ts';
import {
  allowRule,
  binding,
  makeTestStore,
  role,
  rule,
  testIncarnation,
  testRecord,
  testUser,
} from './rights.fixture.ts';
import type { TestStore } from './rights.fixture.ts';
import { makeScopes } from './scopes.ts';
import type { OpenScopes, ScopesOptions } from './scopes.ts';

const pods = { group: '', resource: 'pods' };
const nodes = { group: '', resource: 'nodes' };
const one = testIncarnation('one');
const two = testIncarnation('two');
const jane = testUser('jane');
const nowMs = 1_000_000_000_000;
const minute = 60_000;

interface Site {
  readonly store: TestStore;
  readonly scopes: OpenScopes;
  readonly clock: { nowMs: number };
}

/** Two clusters, everybody authenticated may list pods in `one`'s namespace team and in all of `two`. */
function site(given: Partial<ScopesOptions> & { readonly records?: readonly ClusterRecord[] } = {}): Site {
  const store = makeTestStore();
  const clock = { nowMs };
  for (const incarnation of [one, two]) {
    store.putAll(incarnation, [
      role('reader', undefined, rule('list', 'pods')),
      { kind: 'Namespace', metadata: { name: 'team' } },
      { kind: 'Namespace', metadata: { name: 'other' } },
    ]);
    store.confirm(incarnation, nowMs);
  }
  store.putAll(one, [binding('b', 'team', 'ClusterRole/reader', 'Group/system:authenticated')]);
  store.putAll(two, [binding('b', undefined, 'ClusterRole/reader', 'Group/system:authenticated')]);
  const outgoing = makeOutgoingRules({
    trust: { forwardSystemMasters: false, serviceAccountIdentity: 'prefixed' },
    exchange: { concerns: () => false, exchange: () => undefined, fault: () => undefined },
    extra: undefined,
    usernameOnly: false,
  });
  const records = given.records ?? [testRecord('one'), testRecord('two')];
  const scopes = makeScopes({
    store: store as unknown as ScopesOptions['store'],
    clusters: { list: () => records },
    authorizer: allowAuthenticated(),
    outgoing: (user, cluster) => outgoingIdentity(user, cluster, outgoing),
    outgoingGeneration: () => 0,
    maxAgeMs: 10 * minute,
    reviews: { isAllowed: unanswered, isIncomplete: async () => false },
    sampleRate: 0,
    now: () => clock.nowMs,
    ...given,
  });
  return { store, scopes, clock };
}

function unanswered(): Promise<never> {
  return Promise.reject(new GatewayError('MEMBER_UNAVAILABLE', 'the cluster does not answer'));
}

function allowing(...rules: readonly Partial<Rule>[]): Authorizer {
  return makeRulesAuthorizer({ file: 'rules', rules: rules.map(allowRule) });
}

/** Grants of pods by cluster name, in a form that is easy to compare. */
async function podsOf({ scopes }: Site, user: User = jane, verb: 'get' | 'list' | 'watch' = 'list'): Promise<object> {
  const { scope } = await scopes.scope(user, verb, [pods]);
  return Object.fromEntries(
    [...scope.grants].map(([incarnation, types]) => [
      incarnation.slice('uid-'.length, 'uid-one'.length),
      types.get('pods.'),
    ]),
  );
}

const inTeam = { namespaces: ['team'], names: [] };

test('rows are what the RBAC of each cluster lets the caller list', async (t) => {
  const made = site();
  t.after(() => made.scopes.close());
  assert.deepEqual(await podsOf(made), { one: inTeam, two: 'all' });
  assert.deepEqual(await podsOf(made, jane, 'get'), {});
  assert.deepEqual([...(await made.scopes.scope(jane, 'list', [pods], ['two'])).scope.grants.keys()], [two.id]);
});

test('a cluster that the gateway does not let the caller reach appears nowhere, not even among the hidden ones', async (t) => {
  const made = site({ authorizer: allowing({ clusters: ['two'] }) });
  t.after(() => made.scopes.close());
  made.store.confirm(one, nowMs - 60 * minute);
  made.store.confirm(two, nowMs - 60 * minute);
  const answer = await made.scopes.scope(jane, 'list', [pods]);
  assert.equal(answer.scope.grants.size, 0);
  assert.deepEqual(
    answer.hidden.map(({ cluster, reason }) => [cluster, reason]),
    [['two', 'RightsStale']],
  );
  assert.deepEqual([...answer.reachable.keys()], ['two']);
});

test('the gateway is asked about each cluster by its own name: a right to the name * opens none', async (t) => {
  const asked: string[] = [];
  const authorizer: Authorizer = {
    authorize: ({ cluster }) => {
      asked.push(cluster?.name ?? '');
      return { allowed: cluster?.name === '*', reason: '' };
    },
    hints: () => ({ namespaces: [], names: [] }),
  };
  const made = site({ authorizer });
  t.after(() => made.scopes.close());
  assert.deepEqual(await podsOf(made), {});
  assert.deepEqual([...new Set(asked)], ['one', 'two']);
});

test('rules of the gateway that allow some namespaces or names narrow what the member allows', async (t) => {
  const made = site({
    authorizer: allowing(
      { clusters: ['one'], namespaces: ['other'] },
      { clusters: ['two'], namespaces: ['team', 'gone'] },
    ),
  });
  t.after(() => made.scopes.close());
  assert.deepEqual(await podsOf(made), { two: { namespaces: ['gone', 'team'], names: [] } });
  const named = site({ authorizer: allowing({ namespaces: ['team'], resourceNames: ['x'] }) });
  t.after(() => named.scopes.close());
  const x = { namespaces: [], names: [{ namespace: 'team', name: 'x' }] };
  assert.deepEqual(await podsOf(named), { one: x, two: x });
});

test('an authorizer that does not say where it may allow is asked about every namespace there is', async (t) => {
  const authorizer: Authorizer = {
    authorize: ({ namespace }) => ({ allowed: namespace === 'other', reason: '' }),
  };
  const made = site({ authorizer });
  t.after(() => made.scopes.close());
  assert.deepEqual(await podsOf(made), { two: { namespaces: ['other'], names: [] } });
});

test('an authorizer without an answer ends the question: a shorter list would look like a whole one', async (t) => {
  const authorizer: Authorizer = {
    authorize: () => Promise.reject(new GatewayError('HUB_UNAVAILABLE', 'the hub does not answer')),
  };
  const made = site({ authorizer });
  t.after(() => made.scopes.close());
  await assert.rejects(made.scopes.scope(jane, 'list', [pods]), { code: 'HUB_UNAVAILABLE' });
});

test('rights are those of the identity that goes out: system:masters of a hub is not forwarded, an operator’s is', async (t) => {
  const made = site();
  t.after(() => made.scopes.close());
  const groups = ['system:masters', 'system:authenticated'];
  assert.deepEqual(await podsOf(made, makeUser({ name: 'root', groups, origin: 'hub' })), { one: inTeam, two: 'all' });
  assert.deepEqual(await podsOf(made, makeUser({ name: 'root', groups })), { one: 'all', two: 'all' });
});

test('an identity that may not go out sees nothing, and is told why', async (t) => {
  const made = site();
  t.after(() => made.scopes.close());
  const node = makeUser({ name: 'system:node:a', groups: ['system:nodes', 'system:authenticated'], origin: 'hub' });
  const { scope, hidden } = await made.scopes.scope(node, 'list', [pods]);
  assert.equal(scope.grants.size, 0);
  assert.deepEqual(
    hidden.map(({ cluster, reason }) => [cluster, reason]),
    [
      ['one', 'IdentityRefused'],
      ['two', 'IdentityRefused'],
    ],
  );
});

test('a changed binding changes the next scope and its digest; equal rights keep the very same scope', async (t) => {
  const made = site();
  t.after(() => made.scopes.close());
  const before = (await made.scopes.scope(jane, 'list', [pods])).scope;
  assert.equal((await made.scopes.scope(jane, 'list', [pods])).scope, before);
  made.store.putAll(one, [binding('later', 'other', 'ClusterRole/reader', 'User/jane')]);
  const after = (await made.scopes.scope(jane, 'list', [pods])).scope;
  assert.notEqual(after.digest, before.digest);
  assert.deepEqual(await podsOf(made), { one: { namespaces: ['other', 'team'], names: [] }, two: 'all' });
  made.store.remove(one, binding('later', 'other', 'ClusterRole/reader', 'User/jane'));
  assert.equal((await made.scopes.scope(jane, 'list', [pods])).scope, before);
});

test('RBAC that was not confirmed for longer than the limit shows nothing, and the cluster is named', async (t) => {
  const made = site();
  t.after(() => made.scopes.close());
  made.store.confirm(one, nowMs - 10 * minute);
  assert.deepEqual(await podsOf(made), { one: inTeam, two: 'all' });
  made.clock.nowMs += 1;
  made.store.confirm(two, made.clock.nowMs);
  const { scope, hidden } = await made.scopes.scope(jane, 'list', [pods]);
  assert.deepEqual([...scope.grants.keys()], [two.id]);
  assert.match(hidden[0]?.message ?? '', /"one".*last confirmed 10m ago.*10m/);
});

test('a name that was given to another registration shows nothing of the old one', async (t) => {
  const successor = testRecord('one');
  const record = { ...successor, spec: { ...successor.spec, uid: 'uid-another' } };
  const made = site({ records: [record, testRecord('two')] });
  t.after(() => made.scopes.close());
  assert.deepEqual(await podsOf(made), { two: 'all' });
});

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

test('with the person’s own credential every row it could read is shown, as long as that was confirmed', async (t) => {
  const made = site({ outgoing: () => 'self', records: [testRecord('one')] });
  t.after(() => made.scopes.close());
  assert.deepEqual(await podsOf(made), { one: 'all' });
  made.clock.nowMs += 11 * minute;
  const { hidden } = await made.scopes.scope(jane, 'list', [pods, nodes]);
  assert.deepEqual(
    hidden.map(({ reason }) => reason),
    ['RightsStale'],
  );
});

test('a scope over 3,000 namespaces and 1,000 names is made once and found again', async (t) => {
  const made = site({ records: [testRecord('one')] });
  t.after(() => made.scopes.close());
  const names = Array.from({ length: 1_000 }, (_, index) => `pod-${index}`);
  made.store.putAll(one, [
    role('named', undefined, rule('list', 'pods', ...names)),
    binding('n', 'x', 'ClusterRole/named', 'User/jane'),
  ]);
  for (let index = 0; index < 3_000; index++) {
    made.store.putAll(one, [binding('b', `n${index}`, 'ClusterRole/reader', 'User/jane')]);
  }
  const first = (await made.scopes.scope(jane, 'list', [pods])).scope;
  const grant = first.grants.get(one.id)?.get('pods.');
  assert.ok(grant !== undefined && grant !== 'all');
  assert.deepEqual([grant.namespaces.length, grant.names.length], [3_001, 1_000]);
  assert.equal((await made.scopes.scope(jane, 'list', [pods])).scope, first);
});
