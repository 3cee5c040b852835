import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeUser } from '../../cache/model/user.ts';
import type { PlanQuestion } from '../api/plan-question.ts';
import type { RowScope } from '../rights/scope.ts';
import type { LogEntry } from '../stores/store.ts';
import { makeIssuedRights } from './issued-rights.ts';

const alice = makeUser({ name: 'alice', groups: ['dev'], origin: 'hub' });
const secrets: PlanQuestion = {
  user: alice,
  verb: 'watch',
  types: [{ group: '', resource: 'secrets', version: 'v1' }],
  clusters: undefined,
  cluster: undefined,
};
const scope = (digest: string): RowScope => ({ grants: new Map(), digest });
/** Scopes of now: a watch's, and a list's. */
const now = (watch: string, list = watch) => [scope(watch), () => Promise.resolve(scope(list))] as const;

const binding = { type: 'rolebindings.rbac.authorization.k8s.io', resourceVersion: '060' } as LogEntry;
/** Opened at version 090. */
const store = {
  resourceVersion: () => '090',
  changes: (from: string, types: readonly string[]) =>
    Promise.resolve([binding].filter(({ type, resourceVersion }) => types.includes(type) && resourceVersion > from)),
};

test('the rights of a position are those of the answers that led there', async () => {
  const issued = makeIssuedRights(store);
  issued.note({ ...secrets, verb: 'list' }, '100', scope('one'));
  issued.note(secrets, '110', scope('one'));
  issued.note(secrets, '130', scope('one'));
  issued.note(secrets, '140', scope('two'));
  assert.equal(await issued.before(secrets, '120', ...now('one')), undefined);
  for (const position of ['100', '110', '120', '130']) {
    assert.equal((await issued.before(secrets, position, ...now('two')))?.digest, 'one', position);
  }
  assert.equal(await issued.before(secrets, '140', ...now('two')), undefined);
  assert.equal((await issued.before(secrets, '140', ...now('one')))?.digest, 'two');
});

test('what was issued to nobody, or to somebody else, is not known', async () => {
  const issued = makeIssuedRights(store);
  issued.note(secrets, '100', scope('one'));
  assert.equal(await issued.before(secrets, '099', ...now('two')), undefined);
  assert.equal(await issued.before(secrets, '101', ...now('two')), undefined);
  const bob = makeUser({ name: 'bob', groups: ['dev'], origin: 'hub' });
  const ops = makeUser({ name: 'alice', groups: ['ops'], origin: 'hub' });
  for (const other of [{ user: bob }, { user: ops }, { cluster: 'm1' }, { clusters: ['m1'] }, { byOwner: true }]) {
    assert.equal(await issued.before({ ...secrets, ...other }, '100', ...now('two')), undefined, JSON.stringify(other));
  }
});

test('a list is compared with what a list would show now, a watch with a watch', async () => {
  const issued = makeIssuedRights(store);
  issued.note({ ...secrets, verb: 'list' }, '100', scope('all'));
  assert.equal(await issued.before(secrets, '100', ...now('some', 'all')), undefined);
  issued.note(secrets, '100', scope('some'));
  assert.equal(await issued.before(secrets, '100', ...now('some', 'all')), undefined);
});

test('a position that was issued under these rights and under others must be listed anew', async () => {
  const issued = makeIssuedRights(store);
  issued.note(secrets, '100', scope('one'));
  issued.note(secrets, '100', scope('two'));
  await assert.rejects(issued.before(secrets, '100', ...now('two')), { code: 'EXPIRED' });
  await assert.rejects(issued.before(secrets, '100', ...now('three')), { code: 'EXPIRED' });
  // A slow watcher tells of rights that others have seen change: both are remembered.
  issued.note(secrets, '200', scope('two'));
  issued.note(secrets, '150', scope('one'));
  assert.equal((await issued.before(secrets, '200', ...now('three')))?.digest, 'two');
});

test('a position of the process before goes on unless roles or bindings have changed since', async () => {
  const issued = makeIssuedRights(store);
  assert.equal(await issued.before(secrets, '060', ...now('one')), undefined);
  await assert.rejects(issued.before(secrets, '059', ...now('one')), { code: 'EXPIRED' });
});

test('where other processes answer, too, a position of theirs goes on unless roles or bindings have changed since', async () => {
  const later = { ...store, resourceVersion: () => '050' };
  const issued = makeIssuedRights(later, false);
  issued.note(secrets, '059', scope('one'));
  assert.equal(await issued.before(secrets, '059', ...now('one')), undefined, 'issued here');
  assert.equal(await issued.before(secrets, '060', ...now('one')), undefined);
  await assert.rejects(issued.before(secrets, '058', ...now('one')), { code: 'EXPIRED' });
});
