import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ManifestResult, Seen } from '../work/work-status.ts';
import type { AppliedResource } from './applied-works.ts';
import type { KeepInventoryParts } from './keep-inventory.ts';
import { inOrder, isClean, isOlderThan, isTooMuch, keepInventory, textOfSpec, untracked } from './keep-inventory.ts';

const entry = (name: string, more: Partial<AppliedResource> = {}): AppliedResource => ({
  group: '',
  version: 'v1',
  resource: 'configmaps',
  namespace: 'a',
  name,
  uid: name,
  ...more,
});
const many = (count: number): readonly AppliedResource[] =>
  Array.from({ length: count }, (_, index) => entry(`c${index}`));

test('an object in a new version is the same one, and one of another namespace is not', () => {
  const recorded = [entry('a', { version: 'v1beta1' }), entry('b', { namespace: 'x', uid: 'another' })];
  assert.deepEqual(untracked(recorded, [entry('a'), entry('b')]), [recorded[1]]);
});

test('a few objects are pruned freely, and more than half of many are not', () => {
  assert.equal(isTooMuch(many(3), many(3)), false);
  assert.equal(isTooMuch(many(4), many(8)), false);
  assert.equal(isTooMuch(many(4), many(7)), true);
});

test('only a reconcile in which everything was applied and read is clean', () => {
  const result = (seen: Seen, applied: ManifestResult['applied'] = 'done'): ManifestResult => ({
    meta: { ordinal: 0, kind: 'ConfigMap', ...entry('a') },
    applied,
    seen,
  });
  assert.equal(isClean([result({ state: 'absent' })]), true);
  for (const seen of [{ state: 'unserved' }, { state: 'unreadable', message: '' }] as const)
    assert.equal(isClean([result({ state: 'absent' }), result(seen)]), false);
  assert.equal(isClean([result({ state: 'absent' }, { reason: 'r', message: 'm' })]), false);
});

test('a work is older than what was applied when its generation went back, or is the same of another content', () => {
  const spec = { uid: 'u', generation: 5, hash: 'h' };
  assert.equal(isOlderThan(spec, textOfSpec(spec)), false);
  assert.equal(isOlderThan(spec, textOfSpec({ ...spec, generation: 4 })), false);
  assert.equal(isOlderThan(spec, textOfSpec({ ...spec, generation: 6 })), true);
  assert.equal(isOlderThan(spec, textOfSpec({ ...spec, hash: 'x' })), true);
  assert.equal(isOlderThan(spec, textOfSpec({ ...spec, uid: 'another work', generation: 9 })), false);
  assert.equal(isOlderThan(spec, ''), false);
});

test('a record is in the order of group, version, resource, namespace and name', () => {
  const sorted = [
    entry('b'),
    entry('a', { namespace: 'b' }),
    entry('a', { resource: 'secrets' }),
    entry('a', { group: 'apps' }),
  ];
  assert.deepEqual(inOrder(sorted.toReversed()), sorted);
});

test('an object that the work has in another API group now is not pruned, nor does it lose its owner', async () => {
  const owner = {
    apiVersion: 'work.open-cluster-management.io/v1',
    kind: 'AppliedManifestWork',
    name: 'a',
    uid: 'own',
  };
  const other = { ...owner, name: 'b', uid: 'other' };
  const now = entry('rb', { group: 'rbac.authorization.k8s.io', resource: 'rolebindings', uid: 'u1' });
  const seen = { state: 'present', uid: 'u1' };
  // An entry that was announced and whose UID was not recorded yet has none.
  for (const uid of ['u1', ''])
    for (const ownerReferences of [[owner], [owner, other]]) {
      const writes: unknown[] = [];
      const parts = {
        kinds: {
          findResource: async (group: string, version: string, resource: string) => ({ group, version, resource }),
        },
        objects: {
          get: async () => ({ metadata: { uid: 'u1', ownerReferences } }),
          remove: async (object: unknown) => void writes.push(object),
          patch: async (object: unknown) => void writes.push(object),
        },
        owner,
        appliedWorks: {
          writeStatus: async (_: unknown, status: unknown) => (recorded.push(status), {}),
          annotate: async () => {},
        },
        appliedWork: { resources: [{ ...now, group: 'authorization.openshift.io', uid }], appliedSpec: '' },
        work: { uid: 'w', generation: 2, object: { spec: {} }, conditions: [{ type: 'Applied', status: 'True' }] },
      };
      const recorded: unknown[] = [];
      const results = [{ meta: { ordinal: 0, kind: 'RoleBinding', ...now }, applied: 'done', seen }];
      await keepInventory(parts as unknown as KeepInventoryParts, results as unknown as readonly ManifestResult[]);
      assert.deepEqual(writes, []);
      assert.deepEqual(recorded, [{ appliedResources: [now] }]);
    }
});
