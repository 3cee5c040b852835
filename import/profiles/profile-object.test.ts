import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeObjectWriter } from '../../kube/objects/object-writer.ts';
import type { ApiObject } from '../../kube/types.ts';
import type { ClusterRecord } from '../../model/records.ts';
import { FakeClient } from '../../test/pretend/fake-client.ts';
import { clusterProfiles, statusPatch } from './profile-object.ts';

const type = { group: 'multicluster.x-k8s.io', versions: ['v1alpha1'], resource: 'clusterprofiles' };
const publisher = { namespace: 'n', lease: 'n/l', address: 'https://door.example.com', ca: () => undefined };

function recordOf(version: string): ClusterRecord {
  const spec = { name: 'm1', originalName: 'm1', source: 'ocm', labels: {}, problem: undefined };
  return { spec, status: { version, conditions: [] } } as unknown as ClusterRecord;
}

test('a version that is not known for now stays as it was last known, and is not written again and again', async () => {
  const hub = new FakeClient([type]);
  const writer = makeObjectWriter(hub);
  let profile = hub.put('clusterprofiles.multicluster.x-k8s.io', { metadata: { name: 'm1', namespace: 'n' } });
  const publish = async (version: string): Promise<ApiObject> => {
    const patch = statusPatch(publisher, recordOf(version), profile);
    assert.ok(patch !== undefined, `nothing to write for the version "${version}"`);
    profile = await writer.patchStatus(clusterProfiles, profile, patch);
    assert.equal(statusPatch(publisher, recordOf(version), profile), undefined);
    return profile;
  };
  assert.deepEqual(((await publish('v1.36.3')) as Record<string, any>)['status'].version, { kubernetes: 'v1.36.3' });
  assert.equal(statusPatch(publisher, recordOf(''), profile), undefined);
});
