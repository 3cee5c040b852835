import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterSpec } from '../../model/records.ts';
import { createClusterStore } from '../../model/store.ts';
import type { ClusterState, SyncFault } from '../../sync/member/sync-types.ts';
import { conditionsOf } from '../../api/clusters/cluster-object.ts';
import { forbiddenLine, showIndexed } from './index-status.ts';

const forbidden: SyncFault = {
  reason: 'Forbidden',
  message: 'forbidden to portcullis:index; an administrator of it runs: x',
};

function specOf(name: string): ClusterSpec {
  const tls = { ca: undefined, serverName: undefined, insecure: false };
  const spec = { name, originalName: `ctx-${name}`, uid: `uid-${name}`, source: 'kubeconfig', labels: {}, tls };
  return spec as Partial<ClusterSpec> as ClusterSpec;
}

function followed(...states: readonly (readonly [name: string, fault: SyncFault | undefined])[]) {
  const listeners = new Set<() => void>();
  let now = states;
  return {
    state: (): readonly ClusterState[] =>
      now.map(([name, fault]) => ({
        cluster: name,
        uid: `uid-${name}`,
        incarnation: undefined,
        fault,
        types: [],
        refused: [],
      })),
    onChange(listener: () => void) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    settled: () => Promise.resolve(),
    become(...next: typeof states) {
      now = next;
      for (const listener of listeners) listener();
    },
  };
}

test('each cluster shows how it stands in the index: one event a change, none without a change, nothing for one that is not indexed', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  const store = createClusterStore();
  store.apply('s', [specOf('m1'), specOf('m2')]);
  const index = followed(['m1', forbidden]);
  let events = 0;
  store.subscribe(() => (events += 1));
  const end = showIndexed(index, store, undefined);
  t.mock.timers.tick(10_000);
  assert.equal(events, 1);
  assert.equal(store.get('m1')?.status.indexed?.summary, 'Forbidden');
  assert.equal(store.get('m2')?.status.indexed, undefined);
  const [condition] = conditionsOf(store.get('m1')!);
  assert.deepEqual([condition?.type, condition?.status, condition?.reason], ['Indexed', 'False', 'Forbidden']);
  index.become(['m1', forbidden]);
  t.mock.timers.tick(10_000);
  assert.equal(events, 1);
  index.become();
  t.mock.timers.tick(10_000);
  assert.equal(store.get('m1')?.status.indexed, undefined);
  end();
});

test('the line of a start names the clusters that forbid it, with the whole command where there is one', async () => {
  const store = createClusterStore();
  store.apply('s', [specOf('m1'), specOf('m2')]);
  assert.equal(await forbiddenLine(followed(['m1', undefined]), store, ['pods']), undefined);
  assert.match(
    (await forbiddenLine(followed(['m1', forbidden], ['m2', undefined]), store, ['pods', '*.apps']))!,
    /cannot follow 1 of 2 clusters \(m1\).*--index --index-resources 'pods,\*\.apps' --apply --context ctx-m1$/,
  );
  const both = await forbiddenLine(followed(['m1', forbidden], ['m2', forbidden]), store, undefined);
  assert.match(both!, /2 of 2 clusters \(m1, m2\).*--index --apply --context CONTEXT$/);
});
