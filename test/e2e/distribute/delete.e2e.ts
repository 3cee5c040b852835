// How works end: what goes with them, what stays, and what is never touched.
// Landing tier: what a work made is taken back, and nothing else.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Member } from '../../controlplane/fixture.ts';
import {
  appliedWorkPath,
  conditionIn,
  configMap,
  configMapPath,
  eventually,
  hasCondition,
  isGone,
  manifestWork,
  patch,
  put,
  read,
  remove,
  startWorksSite,
  workPath,
  type Json,
  type WorksSite,
} from './works-site.ts';

let site: WorksSite;
let hub: Member;
let m1: Member;
let m2: Member;

before(async () => {
  site = await startWorksSite({ members: ['m1', 'm2'], gateway: { args: ['--works-eviction-grace', '3s'] } });
  ({ hub } = site);
  [m1, m2] = site.members as [Member, Member];
});

after(() => site?.stop());

const applied = (name: string): string => appliedWorkPath(`${site.hubHash}-${name}`);
const ownersOf = async (name: string): Promise<string[]> =>
  ((await read(m1, configMapPath(name))).metadata.ownerReferences ?? []).map((owner: Json) => owner.name);
const isAvailable = (name: string): Promise<Json> => hasCondition(hub, workPath(name), 'Available', 'True');

async function make(name: string, objects: readonly string[], spec: object = {}): Promise<void> {
  await put(
    hub,
    manifestWork(
      name,
      objects.map((each) => configMap(each)),
      spec,
    ),
  );
  await isAvailable(name);
}

const orphan = { deleteOption: { propagationPolicy: 'Orphan' } };

test('a deleted work stays until its objects are gone, and says so', async () => {
  const held = configMap('held', {}, { finalizers: ['example.com/held'] });
  await put(hub, manifestWork('ending', [held, configMap('free')]));
  await isAvailable('ending');
  await remove(hub, workPath('ending'));
  const work = await hasCondition(hub, workPath('ending'), 'Deleting', 'True', 'WorkDeleting');
  assert.equal(conditionIn(work.status, 'Deleting').message, 'ManifestWork is being deleted');
  await isGone(m1, configMapPath('free'));
  assert.ok(await read(m1, configMapPath('held')));
  assert.ok(await read(m1, applied('ending')));
  assert.ok(await read(hub, workPath('ending')));
  await patch(m1, configMapPath('held'), { metadata: { finalizers: null } });
  await isGone(m1, applied('ending'));
  await isGone(hub, workPath('ending'));
});

test('with Orphan the work owns nothing, and its objects survive it', async () => {
  await make('orphaning', ['o1']);
  assert.deepEqual(await ownersOf('o1'), [`${site.hubHash}-orphaning`]);
  await put(hub, manifestWork('orphaning', [configMap('o1')], orphan));
  await eventually('it owns nothing', async () => (await ownersOf('o1')).length === 0);
  await remove(hub, workPath('orphaning'));
  await isGone(hub, workPath('orphaning'));
  assert.ok(await read(m1, configMapPath('o1')));
});

test('an object that is orphaned by a rule stays, and goes once the rule is taken away', async () => {
  const rule = { group: '', resource: 'configmaps', namespace: 'ns1', name: 's1' };
  const spec = {
    deleteOption: { propagationPolicy: 'SelectivelyOrphan', selectivelyOrphans: { orphaningRules: [rule] } },
  };
  await make('selective', ['s1', 's2'], spec);
  assert.deepEqual(await ownersOf('s1'), []);
  await put(hub, manifestWork('selective', [configMap('s2')], spec));
  await eventually('the record has the other alone', async () => {
    const { status } = await read(m1, applied('selective'));
    return status.appliedResources.map(({ name }: Json) => name).join() === 's2';
  });
  assert.ok(await read(m1, configMapPath('s1')));
  await put(hub, manifestWork('selective', [configMap('s1'), configMap('s2')]));
  await eventually('it is owned', async () => (await ownersOf('s1')).length === 1);
  await remove(hub, workPath('selective'));
  await isGone(hub, workPath('selective'));
  for (const name of ['s1', 's2']) await isGone(m1, configMapPath(name));
});

test('an object of two works stays with the other one, and a foreign owner does not keep it', async () => {
  await make('one', ['shared', 'foreign']);
  await make('two', ['shared']);
  const { uid } = (await read(m1, configMapPath('shared'))).metadata;
  assert.equal((await ownersOf('shared')).length, 2);
  const { metadata } = await read(m1, configMapPath('foreign'));
  const namespace = await read(m1, '/api/v1/namespaces/ns1');
  const other = { apiVersion: 'v1', kind: 'Namespace', name: 'ns1', uid: namespace.metadata.uid };
  await patch(m1, configMapPath('foreign'), { metadata: { ownerReferences: [...metadata.ownerReferences, other] } });
  await remove(hub, workPath('one'));
  await isGone(hub, workPath('one'));
  await isGone(m1, configMapPath('foreign'));
  const shared = await read(m1, configMapPath('shared'));
  assert.equal(shared.metadata.uid, uid);
  assert.deepEqual(await ownersOf('shared'), [`${site.hubHash}-two`]);
});

test('an object that somebody made anew, and which the work does not own, is not deleted with it', async () => {
  await make('anew', ['mine', 'other']);
  const annotations = { 'gateway.portcullis.io/execute-works': 'false' };
  const cluster = '/apis/cluster.open-cluster-management.io/v1/managedclusters/m1';
  await patch(hub, cluster, { metadata: { annotations } });
  await eventually('nothing is executed there any more', async () => {
    await put(hub, manifestWork('probe', [configMap('probe')]));
    const before = (await read(hub, workPath('probe'))).metadata.finalizers;
    await remove(hub, workPath('probe'));
    return before === undefined;
  });
  await remove(m1, configMapPath('other'));
  await m1.apply(configMap('other', { by: 'somebody' }));
  await put(hub, manifestWork('anew', [configMap('mine')]));
  await patch(hub, cluster, { metadata: { annotations: { 'gateway.portcullis.io/execute-works': 'true' } } });
  await eventually('the record has the other alone', async () => {
    const { status } = await read(m1, applied('anew'));
    return status.appliedResources.map(({ name }: Json) => name).join() === 'mine';
  });
  assert.equal((await read(m1, configMapPath('other'))).data.by, 'somebody');
});

test('a record that somebody deletes in the cluster takes its objects along, and then the work is applied again', async () => {
  await make('again', ['a1']);
  const { uid } = (await read(m1, applied('again'))).metadata;
  const before = (await read(m1, configMapPath('a1'))).metadata.uid;
  await remove(m1, applied('again'));
  await eventually('it is recorded anew', async () => {
    const found = await read(m1, applied('again'));
    // An object is recorded without a UID before it is created.
    return found !== undefined && found.metadata.uid !== uid && (found.status?.appliedResources?.[0]?.uid ?? '') !== '';
  });
  assert.notEqual((await read(m1, configMapPath('a1'))).metadata.uid, before);
});

const record = (name: string, agentID: string): object => ({
  apiVersion: 'work.open-cluster-management.io/v1',
  kind: 'AppliedManifestWork',
  metadata: { name, finalizers: ['cluster.open-cluster-management.io/applied-manifest-work-cleanup'] },
  spec: { hubHash: name.slice(0, name.indexOf('-')), agentID, manifestWorkName: name.slice(name.indexOf('-') + 1) },
});

test('a record without a work is marked, and goes after a while; those of others are left alone', async () => {
  const ours = `portcullis-${site.hubHash.slice(0, 16)}`;
  await m1.apply(record(`${site.hubHash}-missing`, ours), record('0123-foreign', 'another-agent'));
  await eventually('it is marked', async () => {
    const found = await read(m1, applied('missing'));
    return found?.status?.evictionStartTime !== undefined;
  });
  await isGone(m1, applied('missing'));
  const foreign = await read(m1, appliedWorkPath('0123-foreign'));
  assert.equal(foreign.status?.evictionStartTime, undefined);
});

test('a work of another agent in the same cluster is noticed, told and not touched', async () => {
  await make('before-agent', ['before-agent']);
  await m1.apply(record(`${site.hubHash}-agents`, site.hubHash));
  const reported = await hasCondition(
    hub,
    workPath('before-agent'),
    'gateway.portcullis.io/Executed',
    'False',
    'OtherAgent',
  );
  assert.equal(conditionIn(reported.status, 'Applied').status, 'True');
  await put(hub, manifestWork('not-ours', [configMap('not-ours')]));
  await hasCondition(hub, workPath('not-ours'), 'gateway.portcullis.io/Executed', 'False', 'OtherAgent');
  assert.equal((await read(hub, workPath('not-ours'))).metadata.finalizers, undefined);
  assert.equal(await read(m1, configMapPath('not-ours')), undefined);
  await patch(m1, applied('agents'), { metadata: { finalizers: null } });
  await remove(m1, applied('agents'));
  const done = await isAvailable('not-ours');
  assert.equal(conditionIn(done.status, 'gateway.portcullis.io/Executed'), undefined);
});

test('works of a hub that lost their status prune nothing before they were applied once', async () => {
  await make('restored', ['r1', 'r2']);
  const before = await read(hub, workPath('restored'));
  await site.gateway.stop('SIGKILL');
  const lost = await hub.request('PUT', `${workPath('restored')}/status`, { ...before, status: {} });
  assert.equal(lost.status, 200, lost.body);
  await put(hub, manifestWork('restored', [configMap('r1')]));
  const mark = await m1.auditMark();
  await site.startGateway({ args: ['--works-eviction-grace', '3s'] });
  await isAvailable('restored');
  await isGone(m1, configMapPath('r2'));
  const events = (await m1.audit(mark)).filter(({ objectRef }) => ['r1', 'r2'].includes(objectRef?.name ?? ''));
  const deletion = events.findIndex(({ verb }) => verb === 'delete');
  assert.ok(deletion > 0, 'the other object was looked at before anything was deleted');
});

test('a work that is older than what was applied, as of a restored hub, prunes nothing until somebody says so', async () => {
  await make('backup', ['k1', 'k2']);
  const { metadata } = await read(hub, workPath('backup'));
  const later = { 'gateway.portcullis.io/applied-spec': `${metadata.uid}/99/0` };
  await eventually(
    'it is recorded',
    async () => (await read(m1, applied('backup'))).status?.appliedResources?.length === 2,
  );
  await patch(m1, applied('backup'), { metadata: { annotations: later } });
  await put(hub, manifestWork('backup', [configMap('k1')]));
  const held = await hasCondition(hub, workPath('backup'), 'gateway.portcullis.io/PruneHeld', 'True', 'WorkIsOlder');
  assert.ok(await read(m1, configMapPath('k2')));
  const annotations = { 'gateway.portcullis.io/allow-prune': String(held.metadata.generation) };
  await patch(hub, workPath('backup'), { metadata: { annotations } });
  await isGone(m1, configMapPath('k2'));
});

test('while a cluster does not answer its works wait, others are executed, and it ends when it is back', async () => {
  const inM2 = (name: string): object => manifestWork(name, [configMap(name)], {}, { namespace: 'm2' });
  await put(hub, inM2('w2'));
  await hasCondition(hub, workPath('w2', 'm2'), 'Available', 'True');
  await m2.kill();
  await remove(hub, workPath('w2', 'm2'));
  await hasCondition(hub, workPath('w2', 'm2'), 'gateway.portcullis.io/Reached', 'False');
  await make('beside', ['beside']);
  await remove(hub, workPath('beside'));
  await isGone(hub, workPath('beside'));
  const waiting = await read(hub, workPath('w2', 'm2'));
  assert.equal(conditionIn(waiting.status, 'Available').status, 'True', 'what was known of it still is');
  await m2.restart();
  await isGone(hub, workPath('w2', 'm2'));
  assert.equal(await read(m2, configMapPath('w2')), undefined);
});
