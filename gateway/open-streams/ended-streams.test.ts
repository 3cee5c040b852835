import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClusterStore } from '../../model/store.ts';
import type { GatewayError } from '../../model/errors.ts';
import { makeOpenStreams } from '../../routing/forward/open-streams.ts';
import type { OpenStream } from '../../routing/forward/open-streams.ts';
import { followRegistrations } from './ended-streams.ts';
import { clusterSpec } from '../../api/local.fixture.ts';

function setting() {
  const store = createClusterStore();
  const openStreams = makeOpenStreams();
  const reported: string[] = [];
  const dropped: string[] = [];
  followRegistrations(store, openStreams, { drop: (uid) => void dropped.push(uid) });
  store.apply('test', [clusterSpec('m1'), clusterSpec('m2')]);
  for (const name of ['m1', 'm2']) {
    const stream: OpenStream = {
      kind: 'watch',
      clusterName: name,
      clusterUid: `uid-${name}`,
      blockedSinceMs: 0,
      endAtBoundary: () => true,
      abort: () => assert.fail('it can be told'),
      end(reason: GatewayError, statusJson) {
        openStreams.delete(stream);
        const status = JSON.parse(statusJson) as { kind: string; code: number; message: string };
        assert.deepEqual([status.kind, status.code], ['Status', reason.status]);
        reported.push(`${name} ${reason.code}: ${status.message}`);
      },
    };
    openStreams.add(stream);
  }
  return { store, reported, dropped };
}

test('a cluster that loses its credential ends its own streams and tells why', () => {
  const { store, reported, dropped } = setting();
  const problem = { reason: 'CredentialsNotFound', message: 'Secret credentials/m1 is gone' } as const;
  store.apply('test', [clusterSpec('m1', { credential: undefined, problem: problem as never }), clusterSpec('m2')]);
  assert.deepEqual(reported, [
    'm1 CLUSTER_UNUSABLE: cluster "m1" can no longer be used (CredentialsNotFound: Secret credentials/m1 is gone)',
  ]);
  assert.deepEqual(dropped, []);
});

test('a removed cluster ends its own streams and its connections', () => {
  const { store, reported, dropped } = setting();
  store.apply('test', [clusterSpec('m2')]);
  assert.deepEqual(reported, ['m1 CLUSTER_NOT_FOUND: cluster "m1" was removed']);
  assert.deepEqual(dropped, ['uid-m1']);
});

test('a credential that is replaced by another ends nothing (FLT-09)', () => {
  const { store, reported } = setting();
  const credential = {
    kind: 'token',
    current: () => ({ authorization: 'Bearer another' }),
    invalidate: () => undefined,
  };
  store.apply('test', [clusterSpec('m1', { credential: credential as never }), clusterSpec('m2')]);
  store.apply('test', [clusterSpec('m1', { labels: { env: 'other' } }), clusterSpec('m2')]);
  assert.deepEqual(reported, []);
});
