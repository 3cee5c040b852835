import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiObject } from '../../kube/types.ts';
import type { ClusterRecord } from '../../model/records.ts';
import { leavingLabel, selectClusters } from './selection.ts';
import type { ClusterChoice } from '../object/grant.ts';

const record = (name: string, labels: object = {}, spec: object = {}): ClusterRecord =>
  ({ spec: { name, labels, ...spec } }) as unknown as ClusterRecord;
const leaving = { clusterGateway: { metadata: { labels: { [leavingLabel]: 'true' } } } };
const records = [
  record('a', { env: 'prod' }),
  record('b', { env: 'test' }),
  record('again', { env: 'prod' }, { sameAs: { name: 'a' } }),
  record('leaves', { env: 'prod' }, leaving),
];
const nothing: ClusterChoice = { all: false, names: [], selector: undefined, placements: [] };
const chosen = (choice: Partial<ClusterChoice>, decisions: readonly ApiObject[] = []): readonly string[] => [
  ...selectClusters({ ...nothing, ...choice }, records, decisions).names,
];

test('names, labels and everything choose clusters, but never one that leaves, and one that is registered twice once', () => {
  const selector = { matchLabels: [['env', 'prod']], matchExpressions: [] } as const;
  assert.deepEqual(chosen({ selector }), ['a']);
  assert.deepEqual(chosen({ all: true }), ['a', 'b']);
  assert.deepEqual(chosen({ names: ['b', 'unknown', 'leaves'] }), ['b', 'unknown']);
  assert.deepEqual(chosen({}), []);
});

test('a placement chooses what its decisions say, and one without decisions is told apart from one that chose none', () => {
  const decision = (name: string, clusters: readonly string[]): ApiObject => ({
    metadata: {
      ...{ name: `${name}-decision-1`, namespace: 'team', uid: '', resourceVersion: '' },
      labels: { 'cluster.open-cluster-management.io/placement': name },
    },
    status: { decisions: clusters.map((clusterName) => ({ clusterName })) },
  });
  const decisions = [decision('east', ['b']), decision('empty', [])];
  const placements = [
    { namespace: 'team', name: 'east' },
    { namespace: 'team', name: 'empty' },
  ];
  assert.deepEqual(chosen({ placements }, decisions), ['b']);
  const of = (namespace: string, name: string): readonly string[] =>
    selectClusters({ ...nothing, placements: [{ namespace, name }] }, records, decisions).undecided;
  assert.deepEqual(of('team', 'empty'), []);
  assert.deepEqual(of('team', 'missing'), ['team/missing']);
  assert.deepEqual(of('other', 'east'), ['other/east']);
});
