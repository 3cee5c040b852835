import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiObject } from '../../kube/types.ts';
import type { ClusterFacts, SyncedType } from './cluster-facts.ts';
import { statusOf } from './cluster-status.ts';

const metadata = { name: 'c', uid: 'u', resourceVersion: '1', generation: 3 };
const spec = {
  apiserver: 'https://written',
  syncResources: [
    { group: 'apps', resources: ['*'] },
    { group: '', resources: ['Pod', 'nodes'] },
  ],
};
const type: SyncedType = {
  group: '',
  version: 'v1',
  resource: 'pods',
  kind: 'Pod',
  namespaced: true,
  status: 'Syncing',
  reason: '',
  message: '',
  initialListPhase: false,
};
const facts: ClusterFacts = {
  problem: undefined,
  apiserver: 'https://found',
  version: 'v1.36.0',
  health: { isHealthy: true, message: '' },
  sync: {
    isRunning: true,
    fault: '',
    types: [{ ...type, resource: 'nodes', kind: 'Node', namespaced: false }, type],
    refused: [],
  },
};

// oxlint-disable-next-line typescript/no-explicit-any -- a status, whose shape the tests state
type Json = any;

function made(more: Partial<ClusterFacts> = {}, object: Json = {}): Json {
  return statusOf({ metadata, spec, ...object } as ApiObject, { ...facts, ...more }, undefined, '');
}

function reasons({ conditions }: Json): readonly string[] {
  return conditions.map(({ type, status, reason }: Json) => `${type} ${status} ${reason}`);
}

test('a cluster that is followed and answers is ready', () => {
  const status = made();
  assert.deepEqual(reasons(status), [
    'Validated True Validated',
    'SynchroRunning True Running',
    'ClusterHealthy True Healthy',
    'Ready True Ready',
  ]);
  const [, running, healthy] = status.conditions;
  assert.deepEqual(
    [running.message, healthy.message],
    ['cluster synchro is running', 'cluster health responded with ok'],
  );
  assert.deepEqual([status.apiserver, status.version, status.shardingName], ['https://found', 'v1.36.0', '']);
});

test('types stand in the order in which they are configured, whatever they are called there', () => {
  const [core] = made().syncResources;
  assert.deepEqual(
    core.resources.map(({ name }: Json) => name),
    ['pods', 'nodes'],
  );
  const [{ lastTransitionTime, ...condition }] = core.resources[0].syncConditions;
  assert.match(lastTransitionTime, /^\d{4}-.*Z$/);
  assert.deepEqual(condition, { version: 'v1', syncVersion: 'v1', storageVersion: 'v1', status: 'Syncing' });
});

test('the first condition that is not true is why a cluster is not ready', () => {
  const cases: readonly [Partial<ClusterFacts>, readonly string[]][] = [
    [
      { problem: 'no' },
      ['Validated False InvalidConfig', 'SynchroRunning False InvalidConfig', 'ClusterHealthy Unknown MonitorStop'],
    ],
    [
      { sync: undefined },
      ['Validated True Validated', 'SynchroRunning False WaitInit', 'ClusterHealthy Unknown MonitorStop'],
    ],
    [
      { sync: undefined, sameAs: 'other' },
      ['Validated True Validated', 'SynchroRunning False SameCluster', 'ClusterHealthy Unknown MonitorStop'],
    ],
    [
      { sync: { ...facts.sync!, isRunning: false, fault: 'no' } },
      ['Validated True Validated', 'SynchroRunning False InitialFailed', 'ClusterHealthy Unknown MonitorStop'],
    ],
    [
      { health: { isHealthy: false, message: 'no' } },
      ['Validated True Validated', 'SynchroRunning True Running', 'ClusterHealthy False NotReachable'],
    ],
  ];
  for (const [more, expected] of cases) {
    const status = made(more);
    assert.deepEqual(reasons(status).slice(0, 3), expected);
    const [type, is, reason] = expected.find((each) => !each.includes(' True '))!.split(' ');
    const ready = status.conditions[3];
    assert.deepEqual([ready.reason, ready.message], ['NotReady', `${type} condition is ${is}, reason is ${reason}`]);
  }
});

test('what did not change keeps its time, and what is not known now its value', () => {
  const old = '2020-01-01T00:00:00Z';
  const before = made();
  const dated = JSON.parse(
    JSON.stringify(before).replaceAll(/"lastTransitionTime":"[^"]+"/g, `"lastTransitionTime":"${old}"`),
  );
  assert.deepEqual(
    made({ version: '', apiserver: '' }, { spec: { syncResources: spec.syncResources }, status: dated }),
    dated,
  );
  const after = made({ health: { isHealthy: false, message: 'no' } }, { status: dated });
  assert.deepEqual(
    after.conditions.map(({ lastTransitionTime }: Json) => lastTransitionTime === old),
    [true, true, false, false],
  );
});
