import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiObject } from '../../kube/types.ts';
import { readWork } from '../work/work.ts';
import type { ObjectWriter } from '../../kube/objects/object-writer.ts';
import { FakeMember, fakeAppliedWorks } from '../member/fake-member.fixture.ts';
import { appliedWorkFinalizer, workFinalizer } from '../work/manifest-work.ts';
import { endAppliedWork, endWork } from './clean-up.ts';
import { KnownObjects } from './known-objects.ts';
import type { WorkSettings } from './settings.ts';
import type { ReconcileParts } from './reconcile-work.ts';

type Json = Record<string, any>;

const deployer = 'system:serviceaccount:team-a:deployer';
const admin = 'system:serviceaccount:kube-system:admin';
const fallback = { namespace: 'agent', name: 'sa' };
const fallbackName = 'system:serviceaccount:agent:sa';
const mine = '/api/v1/namespaces/ns/configmaps/mine';
const secret = '/api/v1/namespaces/kube-system/secrets/token';
const owner = {
  apiVersion: 'work.open-cluster-management.io/v1',
  kind: 'AppliedManifestWork',
  name: 'hub-w',
  uid: 'r',
};
const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'mine', namespace: 'ns' } };
const resource = { group: '', version: 'v1', resource: 'configmaps', namespace: 'ns', name: 'mine', uid: 'uid-mine' };
const ofSecret = { ...resource, resource: 'secrets', namespace: 'kube-system', name: 'token', uid: 'uid-token' };

const executorOf = (account: { namespace: string; name: string } | undefined): object =>
  account === undefined ? {} : { executor: { subject: { type: 'ServiceAccount', serviceAccount: account } } };
const work = (spec: object = executorOf({ namespace: 'team-a', name: 'deployer' })): ApiObject => ({
  metadata: {
    ...{ name: 'w', namespace: 'm1', uid: 'u', resourceVersion: '1', generation: 1, finalizers: [workFinalizer] },
    deletionTimestamp: '2026-01-01T00:00:00Z',
  } as ApiObject['metadata'],
  spec: { ...spec, workload: { manifests: [configMap] } },
});
const record = (executor: unknown, appliedResources: unknown, further: Json = {}): Json => ({
  metadata: {
    ...{ name: 'hub-w', uid: 'r', resourceVersion: '1', finalizers: [appliedWorkFinalizer] },
    ...(executor === undefined ? {} : { annotations: { 'gateway.portcullis.io/executor': executor } }),
    deletionTimestamp: '2026-01-01T00:00:00Z',
    ...further['metadata'],
  },
  spec: { hubHash: 'hub', agentID: 'us', manifestWorkName: 'w', ...further['spec'] },
  status: { appliedResources, ...further['status'] },
});

/** A cluster whose record and whose work on the hub are these, and what comes of ending the record. */
async function ended(of: ApiObject | undefined, applied: Json, settings: Partial<WorkSettings> = {}) {
  const member = new FakeMember();
  member.put(mine, { metadata: { ownerReferences: [owner] } });
  member.put(secret, { metadata: { ownerReferences: [owner] } });
  const appliedWorks = fakeAppliedWorks(applied);
  const conditions: Json[] = [];
  const logged: Json[] = [];
  const writer = {
    patch: (_type: unknown, object: ApiObject) => Promise.resolve(object),
    patchStatus: (_type: unknown, object: ApiObject, status: Json) => {
      conditions.push(...(status['conditions'] ?? []));
      return Promise.resolve(object);
    },
  } as unknown as ObjectWriter;
  const parts: ReconcileParts = {
    settings: {
      ...{ hubHash: 'hub', agentId: 'us', defaultExecutor: 'deny', holdOnDenied: false, evictionGraceMs: 0, writer },
      ...{ authors: undefined, mayExecuteAs: () => Promise.resolve(true), work: () => of && readWork(of) },
      ...settings,
    } as unknown as WorkSettings,
    session: member.session(),
    appliedWorks,
    known: new KnownObjects(),
    log: { warn: (fields) => void logged.push(fields) },
  };
  const reported = (): string => conditions.map(({ reason, message }) => `${reason} ${message}`).join();
  return { member, appliedWorks, parts, reported, logged, end: (name = 'hub-w') => endAppliedWork(parts, 'm1', name) };
}

test('the objects of a deleted work are deleted as its executor, and then the record goes', async () => {
  const { member, appliedWorks, end } = await ended(work(), record(deployer, [resource]));
  await end();
  assert.deepEqual(member.requests, [`${deployer} GET ${mine}`, `${deployer} DELETE ${mine}`]);
  await end();
  assert.deepEqual(appliedWorks.gone, ['finalizer hub-w']);
});

test('an executor that the member records counts only if the work on the hub has it; else nothing is asked of anybody (ATT-61)', async () => {
  const other = work(executorOf({ namespace: 'kube-system', name: 'admin' }));
  const refused = { mayExecuteAs: () => Promise.resolve(false), authors: undefined };
  const stamped = (given: ApiObject): ApiObject => ({
    ...given,
    metadata: {
      ...given.metadata,
      annotations: { 'gateway.portcullis.io/last-modifier': '{"user":"eve","groups":[]}' },
    },
  });
  const cases: readonly (readonly [string, ApiObject | undefined, Json, Partial<WorkSettings>?])[] = [
    ['gone, no executor', undefined, record(undefined, [ofSecret])],
    ['gone, empty', undefined, record('', [ofSecret])],
    ['gone, null', undefined, record(null, [ofSecret])],
    ['gone, the gateway', undefined, record('gateway', [ofSecret])],
    ['gone, the gateway by default', undefined, record('gateway', [ofSecret]), { defaultExecutor: 'gateway' }],
    ['gone, an account', undefined, record(admin, [ofSecret])],
    ['gone, not the default', undefined, record(admin, [ofSecret]), { defaultExecutor: fallback }],
    ['gone, unknown text', undefined, record('x', [ofSecret]), { defaultExecutor: fallback }],
    ['removed from the work', stamped(work({})), record(deployer, [ofSecret])],
    ['changed by who may not', stamped(other), record(deployer, [ofSecret]), refused],
    ['the gateway, changed by who may not', stamped(work()), record('gateway', [ofSecret]), refused],
    ['absent, changed by who may not', stamped(work()), record(undefined, [ofSecret]), refused],
  ];
  for (const [what, of, applied, settings] of cases) {
    const { member, appliedWorks, reported, logged, end } = await ended(of, applied, settings);
    await end();
    assert.deepEqual(member.requests, [], what);
    assert.deepEqual(appliedWorks.gone, [], what);
    if (of === undefined) assert.match(logged[0]?.['fault'], /not on the hub/, what);
    else assert.match(reported(), /DeletionFailed what was applied for the work is not deleted/, what);
  }
});

test('a record that is named as no record of the work would be is the record of no work', async () => {
  const renamed = record(deployer, [resource], { metadata: { name: 'hub-other' } });
  const { member, logged, end } = await ended(work(), renamed);
  await end('hub-other');
  assert.deepEqual(member.requests, []);
  assert.match(logged[0]?.['fault'], /not on the hub/);
});

test('the record of a work that is gone goes with its objects as the default account, and at once if it has none', async () => {
  const settings = { defaultExecutor: fallback };
  const { member, end } = await ended(undefined, record(fallbackName, [resource]), settings);
  await end();
  assert.deepEqual(member.requests, [`${fallbackName} GET ${mine}`, `${fallbackName} DELETE ${mine}`]);
  for (const empty of [undefined, null, []]) {
    const { appliedWorks, end: endEmpty } = await ended(undefined, record(undefined, empty));
    await endEmpty();
    assert.deepEqual(appliedWorks.gone, ['finalizer hub-w']);
  }
});

test('what a record that is not deleted yet names stays when nobody on the hub says as whom it is deleted', async () => {
  const status = { evictionStartTime: '2020-01-01T00:00:00Z' };
  const alive = (executor: string, further: Json = {}): Json => {
    const made = record(executor, [ofSecret], { status: { ...status, ...further } });
    delete made['metadata'].deletionTimestamp;
    return made;
  };
  const { member, appliedWorks, logged, end } = await ended(undefined, alive('gateway'));
  await end();
  assert.deepEqual([member.requests, appliedWorks.gone], [[], []]);
  assert.match(logged[0]?.['fault'], /not on the hub/);
  const settings = { defaultExecutor: fallback };
  const own = await ended(undefined, alive(fallbackName), settings);
  await own.end();
  assert.deepEqual(own.appliedWorks.gone, ['removed hub-w']);
  const unread = await ended(undefined, alive(fallbackName, { evictionStartTime: 'x' }), settings);
  await unread.end();
  assert.deepEqual(unread.appliedWorks.gone, []);
});

test('entries of a record that name no object lead to no request, and the work says so (ATT-61)', async () => {
  const odd: readonly Json[] = [
    { ...resource, version: 'v1/namespaces/kube-system/secrets/token?' },
    { ...resource, version: '..' },
    { ...resource, version: '' },
    { ...resource, version: null },
    { ...resource, group: '../api' },
    { ...resource, resource: '' },
    { ...resource, name: '' },
    { ...resource, name: '..' },
    { ...resource, name: '../../kube-system/secrets/token' },
    { ...resource, namespace: '' },
    { ...resource, namespace: '../kube-system' },
    {},
  ];
  for (const each of odd) {
    const { member, appliedWorks, reported, end } = await ended(work(), record(deployer, [each]));
    await end();
    const words = JSON.stringify(each);
    const allowed = (path: string): boolean => /^\S+ GET \/api\/v1\/(namespaces\/ns\/)?configmaps\/mine$/.test(path);
    assert.deepEqual(
      member.requests.filter((path) => !allowed(path)),
      [],
      words,
    );
    const isUnserved = each['resource'] === '';
    if (!isUnserved) assert.deepEqual(appliedWorks.gone, [], words);
    if (!isUnserved) assert.match(reported(), /DeletionFailed/, words);
  }
});

test('the own credential deletes for an executor without rights only what the work on the hub names', async () => {
  const applied = record(deployer, [resource, ofSecret]);
  const { member, reported, end } = await ended(work(), applied);
  member.denied.add(deployer);
  await end();
  assert.deepEqual(member.requests, [
    `${deployer} GET ${mine}`,
    `gateway GET ${mine}`,
    `gateway DELETE ${mine}`,
    `${deployer} GET ${secret}`,
  ]);
  assert.match(reported(), /DeletionFailed .*secrets kube-system\/token/);
  const gone = await ended(undefined, record(fallbackName, [resource]), { defaultExecutor: fallback });
  gone.member.denied.add(fallbackName);
  await gone.end();
  assert.deepEqual(gone.member.requests, [`${fallbackName} GET ${mine}`]);
});

test('a work that is deleted waits with a condition when its executor is not the recorded one and may not be', async () => {
  const alive = record('gateway', [resource]);
  delete alive['metadata'].deletionTimestamp;
  const given = work({
    ...executorOf({ namespace: 'team-a', name: 'deployer' }),
    deleteOption: { propagationPolicy: 'Orphan' },
  });
  const annotations = { 'gateway.portcullis.io/last-modifier': '{"user":"eve","groups":[]}' };
  const stamped = { ...given, metadata: { ...given.metadata, annotations } };
  const { member, appliedWorks, parts, reported } = await ended(stamped, alive, {
    mayExecuteAs: () => Promise.resolve(false),
  });
  await endWork(parts, readWork(stamped));
  assert.deepEqual([member.requests, appliedWorks.gone], [[], []]);
  assert.match(reported(), /DeletionFailed .*user eve cannot/);
});
