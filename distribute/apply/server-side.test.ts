import assert from 'node:assert/strict';
import { test } from 'node:test';

import { listAt, type JsonObject } from '../../lib/objects/json-object.ts';
import { applyServerSide } from './server-side.ts';
import type { ApplyTask } from './desired.ts';

const owner = (name: string) => ({
  apiVersion: 'work.open-cluster-management.io/v1',
  kind: 'AppliedManifestWork',
  name,
  uid: `uid-${name}`,
});
const ownerFields = { 'f:ownerReferences': { '.': {}, 'k:{"uid":"uid-a"}': {}, 'k:{"uid":"uid-b"}': {} } };
const finalizerFields = { 'f:finalizers': { '.': {}, 'v:"example.com/hold"': {} } };

function updateOf(manager: string, fieldsV1: JsonObject): JsonObject {
  return {
    manager,
    operation: 'Update',
    apiVersion: 'v1',
    time: '2026-01-01T00:00:00Z',
    fieldsType: 'FieldsV1',
    fieldsV1,
  };
}

/** Applies a ConfigMap that two works own, whose fields were set by these updates. @returns the entries afterwards */
async function entriesAfter(...managedFields: readonly JsonObject[]): Promise<readonly unknown[]> {
  const live = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name: 'c',
      namespace: 'n',
      resourceVersion: '7',
      ownerReferences: [owner('a'), owner('b')],
      managedFields,
    },
    data: { k: 'v' },
  };
  const patches: JsonObject[] = [];
  await applyServerSide(
    {
      objects: {
        patch: async (_: unknown, patch: JsonObject) => {
          patches.push(patch);
          return live;
        },
      },
      object: { namespace: 'n', name: 'c' },
      manifest: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c', namespace: 'n' }, data: { k: 'v' } },
      strategy: { type: 'ServerSideApply', force: false, fieldManager: 'work-agent', ignoreFields: [] },
      ownership: { owner: owner('a'), wanted: true },
    } as unknown as ApplyTask,
    live,
  );
  const [first] = patches;
  assert.equal(first?.['type'], 'json');
  return listAt({ body: (first['body'] as JsonObject[])[0] }, 'body', 'value');
}

test('the first server-side apply takes over fields of earlier updates, but owner references stay with who set them', async () => {
  const entries = await entriesAfter(
    updateOf('work-agent', { 'f:data': { 'f:k': {} }, 'f:metadata': { 'f:labels': { 'f:l': {} }, ...ownerFields } }),
    updateOf('kubectl-client-side-apply', { 'f:data': { 'f:old': {} }, 'f:metadata': finalizerFields }),
    updateOf('somebody', { 'f:data': { 'f:theirs': {} } }),
  );
  assert.deepEqual(
    entries.map((entry) => {
      const { manager, operation, fieldsV1 } = entry as JsonObject;
      return [manager, operation, fieldsV1];
    }),
    [
      ['somebody', 'Update', { 'f:data': { 'f:theirs': {} } }],
      ['work-agent', 'Update', { 'f:metadata': ownerFields }],
      ['kubectl-client-side-apply', 'Update', { 'f:metadata': finalizerFields }],
      ['work-agent', 'Apply', { 'f:data': { 'f:k': {}, 'f:old': {} }, 'f:metadata': { 'f:labels': { 'f:l': {} } } }],
    ],
  );
});

test('an update that has set nothing below metadata is taken over whole', async () => {
  assert.deepEqual(await entriesAfter(updateOf('before-first-apply', { 'f:data': { 'f:k': {} } })), [
    { ...updateOf('work-agent', { 'f:data': { 'f:k': {} } }), operation: 'Apply' },
  ]);
});
