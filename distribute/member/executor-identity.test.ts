import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../model/errors.ts';
import type { ApiObject } from '../../kube/types.ts';
import type { ClusterSpec } from '../../model/records.ts';
import { makeUser } from '../../model/user.ts';
import { readWork, type Work } from '../work/work.ts';
import { executorFor, ExecutorRefused, executorOf, identityOf } from './executor-identity.ts';

const work = (executor?: unknown): Work['executor'] =>
  readWork({
    metadata: { name: 'w', uid: 'u', resourceVersion: '1' },
    spec: executor === undefined ? {} : { executor },
  } as ApiObject).executor;
const named = (namespace: string, name: string): object => ({
  subject: { type: 'ServiceAccount', serviceAccount: { namespace, name } },
});
const fallback = { namespace: 'agent', name: 'sa' };
const cluster = {} as ClusterSpec;

test('the executor is the ServiceAccount of the work, or the configured one where the work names none', () => {
  assert.equal(executorOf(work(named('a', 'b')), fallback).key, 'system:serviceaccount:a:b');
  assert.equal(executorOf(work(), fallback).key, 'system:serviceaccount:agent:sa');
  assert.equal(executorOf(work(), 'gateway').account, 'gateway');
  assert.throws(() => executorOf(work(), 'deny'), ExecutorRefused);
});

test('whatever is not surely a ServiceAccount is refused', () => {
  const bad: readonly unknown[] = [
    {},
    { subject: { type: 'User', name: 'admin' } },
    { subject: { type: 'ServiceAccount' } },
    named('', 'b'),
    named('a', ''),
    named('a', 'b:c'),
    named('a:b', 'c'),
    named('kube-system', 'x\r\nImpersonate-Group: system:masters'),
    named('a', 'system:masters'),
    named('A', 'b'),
  ];
  for (const executor of bad)
    assert.throws(() => executorOf(work(executor), fallback), ExecutorRefused, JSON.stringify(executor));
});

test('the member sees the ServiceAccount by its name alone, and its own credential only where that is configured', () => {
  const user = identityOf(executorFor({ namespace: 'a', name: 'b' }, true), (each) => each)(cluster);
  assert.ok(user !== 'self');
  assert.deepEqual([user.name, user.groups], ['system:serviceaccount:a:b', []]);
  assert.equal(identityOf(executorFor('gateway', false), (each) => each)(cluster), 'self');
});

test('a rule that makes somebody else of the executor is refused, and so is nobody', () => {
  const executor = executorFor({ namespace: 'a', name: 'b' }, true);
  const rules = [
    () => makeUser({ name: 'admin' }),
    () => makeUser({ name: executor.key, groups: ['system:masters'] }),
    () => makeUser({ name: executor.key, extra: [['scopes', ['all']]] }),
  ];
  for (const rule of rules)
    assert.throws(
      () => identityOf(executor, rule)(cluster),
      (error) => error instanceof GatewayError && error.code === 'IDENTITY_REFUSED',
    );
});
