import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeUser } from '../../model/user.ts';
import type { PlanQuestion } from '../request/plan-question.ts';
import type { RowScope } from '../../query/scope/scope.ts';
import type { LogEntry } from '../../store/store.ts';
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
/** Scopes of now: a watch's, and a list's; and what the log says of both at the position, if anything. */
const now = (watch: string, list = watch, then?: { readonly list: string; readonly watch: string }) => {
  const scopeThen = (verb: 'list' | 'watch') => Promise.resolve(then && scope(then[verb]));
  return [scope(watch), () => Promise.resolve(scope(list)), scopeThen] as const;
};

const binding = { type: 'rolebindings.rbac.authorization.k8s.io', resourceVersion: '060' } as LogEntry;
const store = {
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

test('a position that was issued under the rights of now and under others goes on from the others', async () => {
  const issued = makeIssuedRights(store);
  issued.note(secrets, '100', scope('one'));
  issued.note(secrets, '100', scope('two'));
  assert.equal((await issued.before(secrets, '100', ...now('two')))?.digest, 'one');
});

test('a position that was issued under two other rights must be listed anew', async () => {
  const issued = makeIssuedRights(store);
  issued.note(secrets, '100', scope('one'));
  issued.note(secrets, '100', scope('two'));
  await assert.rejects(issued.before(secrets, '100', ...now('three')), { code: 'EXPIRED' });
  // A slow watcher tells of rights that others have seen change: both are remembered.
  issued.note(secrets, '200', scope('two'));
  issued.note(secrets, '150', scope('one'));
  assert.equal((await issued.before(secrets, '200', ...now('three')))?.digest, 'two');
});

test('a position of another process goes on with the rights that roles and bindings gave then', async () => {
  const issued = makeIssuedRights(store);
  assert.equal(await issued.before(secrets, '060', ...now('one')), undefined);
  const then = (list: string, watch = list) => now('one', 'one', { list, watch });
  assert.equal(await issued.before(secrets, '059', ...then('one')), undefined);
  assert.equal((await issued.before(secrets, '059', ...then('old')))?.digest, 'old');
  assert.equal((await issued.before(secrets, '059', ...then('old', 'one')))?.digest, 'old');
  // Nobody can say, or it depends on whether a list or a watch has led there.
  await assert.rejects(issued.before(secrets, '059', ...now('one')), { code: 'EXPIRED' });
  await assert.rejects(issued.before(secrets, '059', ...then('old', 'older')), { code: 'EXPIRED' });
});
