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

/** What is sent for a Deployment with `ignoreFields` for these pointers, after `live` was applied. */
async function sentFor(manifest: JsonObject, live: JsonObject, jsonPointers: readonly string[]): Promise<JsonObject> {
  const bodies: JsonObject[] = [];
  const patch = async (_: unknown, { type, body }: JsonObject): Promise<JsonObject> => {
    if (type === 'apply') return (bodies.push(body as JsonObject), live);
    const [managers] = body as readonly JsonObject[];
    const metadata = { ...(live['metadata'] as JsonObject), resourceVersion: '8', managedFields: managers!['value'] };
    return { ...live, metadata };
  };
  const ignoreFields = [{ condition: 'OnSpokePresent', jsonPaths: [], jsonPointers, jqPathExpressions: [] }];
  const task = {
    objects: { patch },
    object: { namespace: 'n', name: 'd' },
    manifest,
    strategy: { type: 'ServerSideApply', force: true, fieldManager: 'work-agent', ignoreFields },
    ownership: { owner: owner('a'), wanted: true },
  };
  await applyServerSide(task as unknown as ApplyTask, live);
  const [{ metadata, ...rest }, ...more] = bodies as [JsonObject, ...JsonObject[]];
  assert.deepEqual(more, []);
  return { ...rest, resourceVersion: (metadata as JsonObject)['resourceVersion'] };
}

const deployment = (spec: JsonObject, managedFields: readonly JsonObject[] = []): JsonObject => {
  const metadata = { name: 'd', namespace: 'n' };
  if (managedFields.length === 0) return { spec, metadata };
  return { spec, metadata: { ...metadata, resourceVersion: '7', ownerReferences: [owner('a')], managedFields } };
};

test('an ignored field that the gateway still owns is sent as it is in the object, and another one is left out', async () => {
  const manifest = deployment({ replicas: 3, minReadySeconds: 2 });
  const spec = { replicas: 5, minReadySeconds: 1 };
  const owned = updateOf('work-agent', { 'f:spec': { 'f:replicas': {}, 'f:minReadySeconds': {} } });
  for (const [entry, sent, resourceVersion] of [
    [{ ...owned, operation: 'Apply' }, { minReadySeconds: 2, replicas: 5 }, '7'],
    // The gateway takes the fields of this update over first.
    [owned, { minReadySeconds: 2, replicas: 5 }, '8'],
    [{ ...owned, operation: 'Apply', fieldsV1: {} }, { minReadySeconds: 2 }, undefined],
    [{ ...owned, operation: 'Apply', manager: 'other' }, { minReadySeconds: 2 }, undefined],
  ] as const)
    assert.deepEqual(await sentFor(manifest, deployment(spec, [entry]), ['/spec/replicas']), {
      spec: sent,
      resourceVersion,
    });
});

test('ignored fields and items of lists are put back by the keys of their items, without what others own', async () => {
  const manifest = deployment({
    containers: [
      { name: 'a', image: 'new' },
      { name: 'b', image: 'new', ports: [{ port: 1 }] },
    ],
    labels: { own: 'new' },
  });
  const live = {
    containers: [
      { name: 'sidecar', image: 's' },
      { name: 'b', image: 'b', ports: [{ port: 1, protocol: 'TCP', theirs: 1 }] },
      { name: 'a', image: 'a', extra: 1 },
    ],
    labels: { own: 'live', theirs: 'x' },
  };
  const fieldsV1 = {
    'f:spec': {
      'f:containers': {
        'k:{"name":"a"}': { '.': {}, 'f:name': {}, 'f:image': {} },
        'k:{"name":"b"}': {
          ...{ '.': {}, 'f:name': {}, 'f:image': {} },
          'f:ports': { 'k:{"port":1,"protocol":"TCP"}': { '.': {}, 'f:port': {} } },
        },
      },
      'f:labels': { 'f:own': {} },
    },
  };
  const entry = { ...updateOf('work-agent', fieldsV1), operation: 'Apply' };
  const sent = await sentFor(manifest, deployment(live, [entry]), [
    ...['/spec/containers/1/ports', '/spec/containers/0', '/spec/labels'],
  ]);
  assert.deepEqual(sent['spec'], {
    containers: [
      { name: 'b', image: 'new', ports: [{ port: 1 }] },
      { name: 'a', image: 'a' },
    ],
    labels: { own: 'live' },
  });
});
