import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Authorizer } from '../auth/rules/authorize.ts';
import { GatewayError } from '../model/errors.ts';
import { makeUser } from '../model/user.ts';
import { binding, role, rule, testRecord } from './rights.fixture.ts';

import { allowing, inTeam, jane, minute, nodes, nowMs, one, pods, podsOf, site, two } from './scopes.fixture.ts';

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
