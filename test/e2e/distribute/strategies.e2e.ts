// How a work's objects are updated: the four strategies, fields that are left to others, and who wins when two want
// the same field.
// Landing tier: each strategy of a work writes as OCM's agent does.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { AuditEvent, Member } from '../../controlplane/fixture.ts';
import {
  conditionIn,
  configFor,
  configMap,
  configMapPath,
  eventually,
  hasCondition,
  isGone,
  manifestAt,
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

before(async () => {
  site = await startWorksSite();
  ({ hub } = site);
  m1 = site.members[0]!;
});

after(() => site?.stop());

const appliedAt = (work: Json, index = 0): Json => conditionIn(manifestAt(work, index), 'Applied');
const isApplied = (name: string, status = 'True'): Promise<Json> =>
  hasCondition(hub, workPath(name), 'Applied', status);
const dataOf = async (name: string): Promise<Json> => (await read(m1, configMapPath(name)))?.data;
const strategy = (type: string, serverSideApply?: object): object => ({
  updateStrategy: { type, ...(serverSideApply && { serverSideApply }) },
});
const with_ = (name: string, config: object): object => ({ manifestConfigs: [configFor(name, config)] });
const deployments = { group: 'apps', resource: 'deployments' };
const deployment = (name: string, replicas?: number): object => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, namespace: 'ns1' },
  spec: {
    ...(replicas === undefined ? {} : { replicas }),
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: { containers: [{ name: 'c', image: 'busybox' }] },
    },
  },
});
const deploymentPath = (name: string): string => `/apis/apps/v1/namespaces/ns1/deployments/${name}`;
const replicasOf = async (name: string): Promise<number> => (await read(m1, deploymentPath(name))).spec.replicas;
const serverSide = (name: string, options: object = {}): object => ({
  manifestConfigs: [configFor(name, strategy('ServerSideApply', options), deployments)],
});

/** Makes a change in the member, and waits until the executor has read the object after it. */
async function seenAfter(name: string, change: () => Promise<unknown>): Promise<void> {
  const mark = await m1.auditMark();
  await change();
  const isRead = ({ verb, objectRef, userAgent }: AuditEvent): boolean =>
    verb === 'get' && objectRef?.name === name && userAgent === 'portcullis-works';
  await m1.waitForAudit(isRead, { mark, timeoutMs: 60_000 });
}

test('CreateOnly makes an object, and changes nothing of it later but its owner', async () => {
  await m1.apply(configMap('found', { a: 'theirs' }));
  for (const name of ['made', 'found']) {
    await put(hub, manifestWork(`only-${name}`, [configMap(name, { a: '1' })], with_(name, strategy('CreateOnly'))));
    await isApplied(`only-${name}`);
    await put(hub, manifestWork(`only-${name}`, [configMap(name, { a: '2' })], with_(name, strategy('CreateOnly'))));
    await isApplied(`only-${name}`);
  }
  assert.deepEqual(await dataOf('made'), { a: '1' });
  assert.deepEqual(await dataOf('found'), { a: 'theirs' });
  assert.equal((await read(m1, configMapPath('found'))).metadata.ownerReferences.length, 1);
});

test('ReadOnly writes nothing and owns nothing, and tells what it sees; a name of "*" is every object', async () => {
  await m1.apply(configMap('seen', { test: 'one' }), configMap('seen2', { test: 'x' }));
  const rules = { feedbackRules: [{ type: 'JSONPaths', jsonPaths: [{ name: 'value', path: '.data.test' }] }] };
  const mark = await m1.auditMark();
  const objects = [configMap('seen'), configMap('seen2')];
  await put(hub, manifestWork('reader', objects, with_('*', { ...strategy('ReadOnly'), ...rules })));
  const valueAt = (work: Json, index: number): Json => manifestAt(work, index).statusFeedback.values;
  const work = await hasCondition(hub, workPath('reader'), 'Available', 'True');
  assert.deepEqual(valueAt(work, 0), [{ name: 'value', fieldValue: { type: 'String', string: 'one' } }]);
  assert.equal(valueAt(work, 1)[0].fieldValue.string, 'x');
  await m1.apply(configMap('seen', { test: 'two' }));
  await eventually(
    'the new value',
    async () => valueAt(await read(hub, workPath('reader')), 0)[0].fieldValue.string === 'two',
  );
  await remove(hub, workPath('reader'));
  await isGone(hub, workPath('reader'));
  assert.equal((await read(m1, configMapPath('seen'))).metadata.ownerReferences, undefined);
  const written = (await m1.audit(mark)).filter(
    ({ userAgent, verb, objectRef }) =>
      userAgent === 'portcullis-works' &&
      objectRef?.resource === 'configmaps' &&
      !['get', 'list', 'watch'].includes(verb),
  );
  assert.deepEqual(written, []);
});

test('ServerSideApply applies as the agent, without force; a field of somebody else is a conflict that names them', async () => {
  const mark = await m1.auditMark();
  await put(hub, manifestWork('ssa', [deployment('ssa', 1)], serverSide('ssa')));
  await isApplied('ssa');
  const [event] = await m1.waitForAudit(({ verb, objectRef }) => verb === 'patch' && objectRef?.name === 'ssa', {
    mark,
  });
  assert.match(event?.requestURI ?? '', /fieldManager=work-agent&force=false/);
  const { body } = await m1.request(
    'PATCH',
    `${deploymentPath('ssa')}?fieldManager=somebody&force=true`,
    { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'ssa' }, spec: { replicas: 3 } },
    { 'content-type': 'application/apply-patch+yaml' },
  );
  assert.equal(JSON.parse(body).spec.replicas, 3, body);
  const work = await isApplied('ssa', 'False');
  assert.equal(appliedAt(work).reason, 'AppliedManifestFailed');
  assert.match(appliedAt(work).message, /conflict with "somebody".*\.spec\.replicas/);
  assert.equal(await replicasOf('ssa'), 3);
  const later = await m1.auditMark();
  for (const n of ['1', '2', '3'])
    await seenAfter('ssa', () => patch(m1, deploymentPath('ssa'), { metadata: { labels: { n } } }));
  const attempts = (await m1.audit(later)).filter(
    ({ verb, objectRef, userAgent }) =>
      verb === 'patch' && objectRef?.name === 'ssa' && userAgent === 'portcullis-works',
  );
  assert.deepEqual(attempts, [], 'the same conflict is not tried again and again');
  await put(hub, manifestWork('ssa', [deployment('ssa')], serverSide('ssa')));
  await isApplied('ssa');
  assert.equal(await replicasOf('ssa'), 3);
});

test('of two works with managers of their own the one with force gets the field', async () => {
  await put(hub, manifestWork('manager1', [deployment('two', 1)], serverSide('two')));
  await isApplied('manager1');
  const forced = { force: true, fieldManager: 'work-agent-another' };
  await put(hub, manifestWork('manager2', [deployment('two', 2)], serverSide('two', forced)));
  await isApplied('manager2');
  assert.equal(await replicasOf('two'), 2);
  const work = await isApplied('manager1', 'False');
  assert.match(appliedAt(work).message, /conflict with "work-agent-another"/);
  const other = manifestWork('manager3', [deployment('two')], serverSide('two', { fieldManager: 'other' }));
  assert.equal((await hub.request('POST', workPath('x').slice(0, -2), other)).status, 422);
});

test('fields that are ignored once the object is there keep what others make of them', async () => {
  const ignoring = (name: string, rule: object): object =>
    serverSide(name, { force: true, ignoreFields: [{ condition: 'OnSpokePresent', ...rule }] });
  await put(
    hub,
    manifestWork('present', [deployment('present', 1)], ignoring('present', { jsonPaths: ['.spec.replicas'] })),
  );
  await isApplied('present');
  assert.equal(await replicasOf('present'), 1);
  await seenAfter('present', () => patch(m1, deploymentPath('present'), { spec: { replicas: 4 } }));
  await put(
    hub,
    manifestWork('present', [deployment('present', 2)], ignoring('present', { jsonPaths: ['.spec.replicas'] })),
  );
  await isApplied('present');
  assert.equal(await replicasOf('present'), 4);

  const two = (n: string): object => configMap('pointer', { c: n }, { annotations: { 'example.com/x': n } });
  const jsonPointers = ['/metadata/annotations/example.com~1x', '/data/missing/deeper'];
  const rule = { condition: 'OnSpokePresent', jsonPointers };
  const key = strategy('ServerSideApply', { force: true, ignoreFields: [rule] });
  await put(hub, manifestWork('pointer', [two('1')], with_('pointer', key)));
  await isApplied('pointer');
  await put(hub, manifestWork('pointer', [two('2')], with_('pointer', key)));
  await eventually('the other field is changed', async () => (await dataOf('pointer')).c === '2');
  const { annotations } = (await read(m1, configMapPath('pointer'))).metadata;
  assert.notEqual(annotations['example.com/x'], '2');
});

test('fields that are ignored until the work changes may be changed by others until then', async () => {
  const option = { force: true, ignoreFields: [{ condition: 'OnSpokeChange', jsonPaths: ['.spec.replicas'] }] };
  await put(hub, manifestWork('change', [deployment('change', 1)], serverSide('change', option)));
  await isApplied('change');
  await seenAfter('change', () => patch(m1, deploymentPath('change'), { spec: { replicas: 5 } }));
  assert.equal(await replicasOf('change'), 5);
  const orphan = { deleteOption: { propagationPolicy: 'Orphan' } };
  await put(hub, manifestWork('change', [deployment('change', 1)], { ...serverSide('change', option), ...orphan }));
  await eventually('it is not owned any more, although nothing is applied', async () => {
    const { metadata } = await read(m1, deploymentPath('change'));
    return (metadata.ownerReferences ?? []).length === 0;
  });
  assert.equal(await replicasOf('change'), 5);
  await put(hub, manifestWork('change', [deployment('change', 2)], serverSide('change', option)));
  await eventually('the work counts again', async () => (await replicasOf('change')) === 2);
});

test('an expression of jq is refused, with what can be used in its place', async () => {
  const option = {
    ignoreFields: [{ condition: 'OnSpokePresent', jqPathExpressions: ['.spec.template.spec.containers[]'] }],
  };
  await put(hub, manifestWork('jq', [deployment('jq')], serverSide('jq', option)));
  const work = await isApplied('jq', 'False');
  assert.equal(appliedAt(work).reason, 'AppliedManifestSSAIgnoreFieldError');
  assert.match(appliedAt(work).message, /^Failed to process ignoreFields: JQ expression error in '.*': .*jsonPointers/);
  assert.equal(await read(m1, deploymentPath('jq')), undefined);
});

test('an object that was updated before is applied by the server from then on, and loses what its manifest loses', async () => {
  await put(hub, manifestWork('migrate', [configMap('migrate', { a: '1', b: '1' })]));
  await isApplied('migrate');
  const config = with_('migrate', strategy('ServerSideApply'));
  await put(hub, manifestWork('migrate', [configMap('migrate', { a: '1', b: '1' })], config));
  await isApplied('migrate');
  await put(hub, manifestWork('migrate', [configMap('migrate', { a: '1' })], config));
  await eventually('the field is gone', async () => JSON.stringify(await dataOf('migrate')) === '{"a":"1"}');
  const { managedFields } = (await read(m1, configMapPath('migrate'))).metadata;
  assert.ok(managedFields.some(({ manager, operation }: Json) => manager === 'work-agent' && operation === 'Apply'));
});

test('somebody who changes an object again and again is not fought without a pause', async () => {
  await put(hub, manifestWork('fight', [configMap('fight', { a: 'ours' })]));
  await isApplied('fight');
  for (const theirs of ['1', '2', '3']) {
    await patch(m1, configMapPath('fight'), { data: { a: theirs } });
    await eventually('it is put right', async () => (await dataOf('fight')).a === 'ours');
  }
  for (const theirs of ['4', '5']) {
    await seenAfter('fight', () => patch(m1, configMapPath('fight'), { data: { a: theirs } }));
    assert.equal((await dataOf('fight')).a, theirs);
  }
  assert.equal(conditionIn((await read(hub, workPath('fight'))).status, 'Applied').status, 'True');
});

test('a Deployment whose manifest does not say how many replicas is left to its autoscaler', async () => {
  await put(hub, manifestWork('scaled', [deployment('scaled')]));
  await isApplied('scaled');
  const scale = `${deploymentPath('scaled')}/scale`;
  await seenAfter('scaled', () => patch(m1, scale, { spec: { replicas: 6 } }));
  assert.equal(await replicasOf('scaled'), 6);
  await patch(m1, deploymentPath('scaled'), {
    spec: { template: { spec: { containers: [{ name: 'c', image: 'other' }] } } },
  });
  await eventually('the image is put right', async () => {
    const { spec } = await read(m1, deploymentPath('scaled'));
    return spec.template.spec.containers[0].image === 'busybox';
  });
  assert.equal(await replicasOf('scaled'), 6);
});
