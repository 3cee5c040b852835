import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readPediaClusterBody, UnreadableBody } from './pedia-cluster-body.ts';

test('empty and unknown fields are left out, and a list of syncResources stays', () => {
  const printed = `
kind: PediaCluster
metadata: { name: x, labels: { a: b }, ownerReferences: [] }
spec:
  apiserver: ""
  tokenData:
  caData: "YQ=="
  shardingName: s
  syncAllCustomResources: false
  unknown: 1
  syncResources:
    - { group: "", resources: [pods], versions: [] }
    - { group: apps, resources: ["*"], versions: [v1], eventsInvolvedResources: [deployments] }`;
  assert.deepEqual(readPediaClusterBody(printed), {
    labels: { a: 'b' },
    annotations: {},
    spec: {
      caData: 'YQ==',
      shardingName: 's',
      syncResources: [
        { group: '', resources: ['pods'] },
        { group: 'apps', resources: ['*'], versions: ['v1'], eventsInvolvedResources: ['deployments'] },
      ],
    },
  });
  assert.deepEqual(readPediaClusterBody('spec: { syncResources: [] }').spec, { syncResources: [] });
  assert.deepEqual(readPediaClusterBody('{"spec": {"apiserver": "https://a"}}').spec, { apiserver: 'https://a' });
});

test('a fault names its place and quotes nothing of what was printed', () => {
  const faults: readonly [string, RegExp][] = [
    ['spec:\n  tokenData: SECRET!', /line 2, column 3: spec\.tokenData is not valid base64/],
    ['spec:\n  apiserver: { SECRET: 1 }', /line 2, column 3: spec\.apiserver /],
    ['kind: SECRET', /kind must be PediaCluster/],
    ['apiVersion: SECRET/v1', /apiVersion must be cluster\.clusterpedia\.io\/v1alpha2/],
    ['spec: [SECRET', /line 1/],
    ['SECRET', /the file|template/],
    ['', /./],
  ];
  for (const [printed, words] of faults) {
    assert.throws(
      () => readPediaClusterBody(printed),
      (error: unknown) =>
        error instanceof UnreadableBody && words.test(error.message) && !error.message.includes('SECRET'),
      printed,
    );
  }
});
