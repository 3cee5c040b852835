import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiObject } from '../../kube/types.ts';
import type { ClusterRecord } from '../../model/records.ts';
import { makeClaims } from './claims.ts';
import { JoinStatus } from './join-status.ts';
import { readinessOf } from './ready.ts';

const lastTransitionTime = '2026-01-01T00:00:00Z';
const condition = (type: string, status: string): object => ({
  type,
  status,
  reason: 'R',
  message: 'm',
  lastTransitionTime,
});
const times = { issuedAt: lastTransitionTime, expiresAt: lastTransitionTime, rotateAt: lastTransitionTime };

function joinOf(status: object, gates = ''): ApiObject {
  const annotations = { 'gateway.portcullis.io/readiness-gates': gates };
  return { metadata: { name: 'edge', uid: 'u', resourceVersion: '1', annotations }, status };
}

function recordOf(available: string): ClusterRecord {
  return { status: { conditions: [condition('Available', available)] } } as unknown as ClusterRecord;
}

function reasonOf(join: ApiObject, record: ClusterRecord | undefined, managed?: ApiObject): string {
  return readinessOf(join, new JoinStatus(join), record, managed).reason;
}

test('a cluster is ready when it has joined, is registered and answers, and says what is missing otherwise', () => {
  const joined = { credential: times, conditions: [condition('Reached', 'True'), condition('Verified', 'True')] };
  assert.equal(reasonOf(joinOf({}), undefined), 'NotJoined');
  assert.equal(reasonOf(joinOf(joined), undefined), 'NotRegistered');
  assert.equal(reasonOf(joinOf(joined), recordOf('False')), 'NotAvailable');
  assert.equal(reasonOf(joinOf(joined), recordOf('True')), 'Ready');
  const lost = { ...joined, conditions: [condition('Reached', 'False')] };
  assert.equal(reasonOf(joinOf(lost), recordOf('True')), 'R');
});

test('gates of ClusterJoin and ManagedCluster count, wherever their conditions are; absent and False are not ready', () => {
  const joined = { credential: times, conditions: [condition('a/one', 'True')] };
  const managed = (conditions: readonly object[]): ApiObject => ({ ...joinOf({ conditions }, 'b/two') });
  assert.equal(reasonOf(joinOf(joined, 'a/one'), recordOf('True')), 'Ready');
  assert.equal(reasonOf(joinOf(joined, 'a/one'), recordOf('True'), managed([])), 'ReadinessGatesNotReady');
  const no = managed([condition('b/two', 'False')]);
  assert.equal(reasonOf(joinOf(joined, 'a/one'), recordOf('True'), no), 'ReadinessGatesNotReady');
  const yes = managed([condition('b/two', 'True')]);
  assert.equal(reasonOf(joinOf(joined, 'a/one'), recordOf('True'), yes), 'Ready');
});

test('one cluster joins once: a claim is kept before the status tells of it, and given up with its ClusterJoin', () => {
  const known = joinOf({ clusterUID: 'x' });
  const claims = makeClaims(() => new Map([['first', known]]));
  const named = (name: string): ApiObject => ({ metadata: { ...known.metadata, name } });
  assert.equal(claims.claim(named('second'), 'x'), 'first');
  assert.equal(claims.claim(named('second'), 'y'), undefined);
  assert.equal(claims.claim(named('second'), 'y'), undefined);
  assert.equal(claims.claim(named('third'), 'y'), 'second');
  claims.release('second');
  assert.equal(claims.claim(named('third'), 'y'), undefined);
});
