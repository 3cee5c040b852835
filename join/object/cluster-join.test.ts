import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { kubernetesExtraKeys } from '../../lib/rights/impersonation-rules.ts';
import type { ApiObject } from '../../kube/types.ts';
import { gatesOf, installHash, joinSpecOf } from './cluster-join.ts';

function joinOf(spec: object, metadata: object = {}): ApiObject {
  const named = { name: 'edge', uid: 'u1', resourceVersion: '1', ...metadata };
  return { metadata: named, spec: { bootstrapKubeconfigSecret: { namespace: 'ns', name: 's' }, ...spec } };
}

test('a ClusterJoin that says nothing more has safe defaults', () => {
  const spec = joinSpecOf(joinOf({}));
  assert.deepEqual(spec.bootstrap, { namespace: 'ns', name: 's', key: 'kubeconfig' });
  assert.equal(spec.tokenSeconds, 86_400);
  assert.equal(spec.forceAfterMs, undefined);
  for (const flag of ['index', 'executeWorks', 'allowAlias', 'adopt', 'managedCluster'] as const)
    assert.equal(spec[flag], false, flag);
  assert.equal(spec.impersonate.extras.includes('*'), false);
});

test('a token lives at least as long as an API server grants, and an unreachable cluster is given up only when asked', () => {
  assert.equal(joinSpecOf(joinOf({ tokenTTL: '1m' })).tokenSeconds, 600);
  assert.equal(joinSpecOf(joinOf({ deregisterPolicy: 'ForceAfter:1m30s' })).forceAfterMs, 90_000);
  assert.equal(joinSpecOf(joinOf({ deregisterPolicy: 'Wait' })).forceAfterMs, undefined);
});

test('only a spec that asks for other objects in the cluster needs the bootstrap credential again', () => {
  const hash = (spec: object): string => installHash(joinSpecOf(joinOf(spec)));
  assert.equal(hash({ tokenTTL: '1h', deregisterPolicy: 'ForceAfter:1m' }), hash({}));
  const others = [{ index: true }, { executeWorks: true }, { impersonate: { users: [] } }, { bundle: { name: 'b' } }];
  assert.equal(new Set([{}, ...others].map(hash)).size, others.length + 1);
  // The hash that version 0.1.0 stored: the rights that it gave are too wide.
  const first = ['portcullis-system', [], null, kubernetesExtraKeys, false, false, null];
  const stored = createHash('sha256').update(JSON.stringify(first)).digest('hex');
  assert.notEqual(hash({ impersonate: { users: [] } }), stored);
  for (const absent of [{}, { impersonate: {} }, { impersonate: { extras: [...kubernetesExtraKeys] } }])
    assert.equal(hash(absent), hash({}));
});

test('readiness gates are read from the annotation, with blanks and empty entries left out', () => {
  const annotations = { 'gateway.portcullis.io/readiness-gates': ' a/one, b/two,,' };
  assert.deepEqual(gatesOf(joinOf({}, { annotations })), ['a/one', 'b/two']);
  assert.deepEqual(gatesOf(undefined), []);
});
