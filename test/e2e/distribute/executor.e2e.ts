// As whom works are written: the ServiceAccount that they name, by impersonation, whose own rights in the cluster
// decide about each write.
// Landing tier: a work is written as its executor and nobody else.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Member } from '../../controlplane/fixture.ts';
import { eventually as within } from '../../site/polling.ts';
import {
  conditionIn,
  configMap,
  configMapPath,
  eventually,
  gatewayAudit,
  hasCondition,
  isGone,
  manifestAt,
  manifestWork,
  put,
  read,
  remove,
  startWorksSite,
  workPath,
  type Json,
  type WorksSite,
} from './works-site.ts';
import { accountSubject, grantedClusterRole, role } from '../../site/rbac.ts';

let site: WorksSite;
let hub: Member;
let m1: Member;

before(async () => {
  site = await startWorksSite();
  ({ hub } = site);
  m1 = site.members[0]!;
});

after(() => site?.stop());

const as = (name: string, namespace = 'executors'): object => ({
  executor: { subject: { type: 'ServiceAccount', serviceAccount: { namespace, name } } },
});
const allBut = (...left: string[]): string[] =>
  ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'].filter((verb) => !left.includes(verb));

async function grant(name: string, ...rules: readonly object[]): Promise<void> {
  await m1.apply(...grantedClusterRole(`executor-${name}`, rules, accountSubject('executors', name)));
}

const configMaps = (verbs: readonly string[], names?: readonly string[]): object => ({
  apiGroups: [''],
  resources: ['configmaps'],
  verbs,
  ...(names && { resourceNames: names }),
});
const appliedAt = (work: Json, index: number): Json => conditionIn(manifestAt(work, index), 'Applied');

test('an executor without rights writes nothing, and the work tells what is missing', async () => {
  await put(hub, manifestWork('none', [configMap('none1'), configMap('none2')], as('nobody')));
  const work = await hasCondition(hub, workPath('none'), 'Applied', 'False', 'AppliedManifestWorkFailed');
  const { message } = appliedAt(work, 0);
  assert.match(
    message,
    /^Failed to apply manifest: not allowed to apply the resource  configmaps, ns1 none1, will try again in 1m0s: /,
  );
  assert.match(message, /system:serviceaccount:executors:nobody/);
  assert.equal(appliedAt(work, 1).status, 'False');
  for (const name of ['none1', 'none2']) assert.equal(await read(m1, configMapPath(name)), undefined);
});

test('rights for one of two objects apply that one', async () => {
  await grant('half', configMaps(['get', 'update', 'patch', 'delete'], ['half1']), configMaps(['create']));
  await m1.apply(configMap('half1'));
  await put(hub, manifestWork('half', [configMap('half1', { a: '1' }), configMap('half2')], as('half')));
  const work = await hasCondition(hub, workPath('half'), 'Applied', 'False');
  assert.deepEqual([appliedAt(work, 0).status, appliedAt(work, 1).status], ['True', 'False']);
  assert.equal((await read(m1, configMapPath('half1'))).data.a, '1');
});

test('who may not delete an object may make it only when it is not deleted with the work', async () => {
  await grant('keeper', configMaps(allBut('delete')));
  const rule = { group: '', resource: 'configmaps', namespace: 'ns1', name: 'kept3' };
  const options: readonly [name: string, deleteOption: object, status: string][] = [
    ['kept1', { propagationPolicy: 'Foreground' }, 'False'],
    ['kept2', { propagationPolicy: 'Orphan' }, 'True'],
    ['kept3', { propagationPolicy: 'SelectivelyOrphan', selectivelyOrphans: { orphaningRules: [rule] } }, 'True'],
  ];
  for (const [name, deleteOption, status] of options) {
    await put(hub, manifestWork(name, [configMap(name)], { deleteOption, ...as('keeper') }));
    await hasCondition(hub, workPath(name), 'Applied', status);
    assert.equal((await read(m1, configMapPath(name))) !== undefined, status === 'True', name);
  }
});

test('an executor cannot give rights that it does not have, to a new role or to one that is there', async () => {
  const roles = { apiGroups: ['rbac.authorization.k8s.io'], resources: ['roles'], verbs: allBut() };
  await grant('climber', roles);
  const secretRole = (name: string, verb: string): object =>
    role('ns1', name, [{ apiGroups: [''], resources: ['secrets'], verbs: [verb] }]);
  await m1.apply(secretRole('there', 'get'));
  await put(hub, manifestWork('climb', [secretRole('new', 'list'), secretRole('there', 'list')], as('climber')));
  const work = await hasCondition(hub, workPath('climb'), 'Applied', 'False');
  for (const index of [0, 1]) {
    assert.match(
      appliedAt(work, index).message,
      /not allowed to apply the resource rbac.authorization.k8s.io roles, ns1 (new|there), error: permission escalation, will try again in 1m0s/,
    );
  }
  assert.deepEqual((await read(m1, '/apis/rbac.authorization.k8s.io/v1/namespaces/ns1/roles/there')).rules[0].verbs, [
    'get',
  ]);
});

test('every write to the cluster is the executor’s in its audit log, and has an event with the work’s UID in ours', async () => {
  await grant('writer', configMaps(allBut()));
  const mark = await m1.auditMark();
  const made = await put(hub, manifestWork('audited', [configMap('audited', { a: '1' })], as('writer')));
  await hasCondition(hub, workPath('audited'), 'Available', 'True');
  await put(hub, manifestWork('audited', [configMap('audited', { a: '2' })], as('writer')));
  await eventually('it is changed', async () => (await read(m1, configMapPath('audited'))).data.a === '2');
  await remove(hub, workPath('audited'));
  await isGone(hub, workPath('audited'));
  const writes = (await m1.audit(mark)).filter(
    ({ verb, userAgent }) => userAgent === 'portcullis-works' && ['create', 'update', 'patch', 'delete'].includes(verb),
  );
  // Works of other tests are tried again meanwhile.
  const seen = writes.filter(({ objectRef }) => objectRef?.name === 'audited');
  assert.deepEqual(
    seen.map(({ verb, impersonatedUser }) => `${verb} ${impersonatedUser?.username}`),
    ['create', 'update', 'delete'].map((verb) => `${verb} system:serviceaccount:executors:writer`),
  );
  for (const { impersonatedUser } of seen)
    assert.ok(impersonatedUser?.groups?.includes('system:serviceaccounts:executors'));
  const ours = gatewayAudit(site.gateway).filter(
    ({ annotations }) => annotations?.['gateway.portcullis.io/manifest-work'] === 'm1/audited',
  );
  assert.deepEqual(
    ours.map(({ verb, auditID, impersonatedUser, annotations, responseStatus }) => [
      verb,
      auditID,
      impersonatedUser.username,
      annotations['gateway.portcullis.io/manifest-work-uid'],
      responseStatus.code < 300,
    ]),
    seen.map(({ verb, auditID }) => [verb, auditID, 'system:serviceaccount:executors:writer', made.metadata.uid, true]),
  );
});

test('a work without an executor is written as the configured account', async () => {
  const mark = await m1.auditMark();
  await put(hub, manifestWork('nil', [configMap('nil')]));
  await hasCondition(hub, workPath('nil'), 'Available', 'True');
  const [event] = await m1.waitForAudit(
    ({ verb, objectRef }) => verb === 'create' && objectRef?.resource === 'configmaps',
    { mark },
  );
  assert.equal(
    event?.impersonatedUser?.username,
    'system:serviceaccount:open-cluster-management-agent:klusterlet-work-sa',
  );
});

test('names that are no ServiceAccount are refused, and nothing is written as anybody', async () => {
  const mark = await m1.auditMark();
  const refused: readonly [string, string][] = [
    ['system:masters', 'executors'],
    ['x:y', 'executors'],
    ['', 'executors'],
    ['sa', 'a:b'],
    ['sa\r\nImpersonate-Group: system:masters', 'executors'],
  ];
  for (const [index, [name, namespace]] of refused.entries()) {
    const work = manifestWork(`refused-${index}`, [configMap(`refused-${index}`)], as(name, namespace));
    const answer = await hub.request('POST', workPath('x').slice(0, -2), work);
    if (answer.status === 201) await hasCondition(hub, workPath(`refused-${index}`), 'Applied', 'False');
    else assert.equal(answer.status, 422, answer.body);
  }
  const events = await m1.audit(mark);
  assert.deepEqual(
    events.filter(({ objectRef }) => objectRef?.name?.startsWith('refused-')),
    [],
  );
});

/** Waits for less than the minute after which a refused manifest is tried again anyway. */
async function isSoonApplied(name: string): Promise<void> {
  const isApplied = async (): Promise<boolean> =>
    conditionIn((await read(hub, workPath(name))).status, 'Applied').status === 'True';
  await within(`${name} is applied`, isApplied, { timeoutMs: 30_000, everyMs: 50 });
}

test('a right that is granted later is noticed by itself, long before the next attempt of a minute', async () => {
  await put(hub, manifestWork('later', [configMap('later', { a: '1' })], as('later')));
  await hasCondition(hub, workPath('later'), 'Applied', 'False');
  // The first question has been answered when the rights come, so that only the change of the answer is left to see.
  const asked = async (): Promise<boolean> =>
    (await m1.audit()).filter(
      ({ objectRef, impersonatedUser }) =>
        objectRef?.resource === 'selfsubjectrulesreviews' &&
        impersonatedUser?.username === 'system:serviceaccount:executors:later',
    ).length >= 2;
  await eventually('the rules of the executor are asked for', asked);
  await grant('later', configMaps(allBut()));
  await isSoonApplied('later');
  assert.equal((await read(m1, configMapPath('later'))).data.a, '1');
});

test('a right to a kind outside of namespaces that is granted later is noticed, too', async () => {
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'granted' } };
  await put(hub, manifestWork('scope', [namespace], as('scope')));
  await hasCondition(hub, workPath('scope'), 'Applied', 'False');
  await grant('scope', { apiGroups: [''], resources: ['namespaces'], verbs: allBut() });
  await isSoonApplied('scope');
});

test('a right that is revoked is gone for the next change, and the object stays as it was', async () => {
  await grant('revoked', configMaps(allBut()));
  await put(hub, manifestWork('revoked', [configMap('revoked', { a: '1' })], as('revoked')));
  await hasCondition(hub, workPath('revoked'), 'Available', 'True');
  await grant('revoked', configMaps(['get', 'list', 'watch']));
  // The cluster itself takes a moment to know.
  const isRefused = async (): Promise<boolean> => {
    const { body } = await m1.request('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: {
        user: 'system:serviceaccount:executors:revoked',
        resourceAttributes: { verb: 'update', resource: 'configmaps', namespace: 'ns1', name: 'revoked' },
      },
    });
    return JSON.parse(body).status.allowed === false;
  };
  await eventually('the cluster knows', isRefused);
  await put(hub, manifestWork('revoked', [configMap('revoked', { a: '2' })], as('revoked')));
  const work = await hasCondition(hub, workPath('revoked'), 'Applied', 'False');
  assert.match(appliedAt(work, 0).message, /not allowed to apply the resource {2}configmaps, ns1 revoked/);
  assert.equal((await read(m1, configMapPath('revoked'))).data.a, '1');
  await grant('revoked', configMaps(allBut()));
  await hasCondition(hub, workPath('revoked'), 'Applied', 'True');
  assert.equal((await read(m1, configMapPath('revoked'))).data.a, '2');
});

test('of all writes to the cluster only those to records of works are the gateway’s own', async () => {
  // Reviews store nothing. The gateway asks for its own rights, too.
  const reviews = ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'];
  const writes = (await m1.audit()).filter(
    ({ verb, user, objectRef, responseStatus }) =>
      user.username === 'portcullis-gateway' &&
      !reviews.includes(objectRef?.resource ?? '') &&
      !['get', 'list', 'watch'].includes(verb) &&
      (responseStatus?.code ?? 0) < 300,
  );
  const own = writes.filter(({ impersonatedUser }) => impersonatedUser === undefined);
  assert.deepEqual(new Set(own.map(({ objectRef }) => objectRef?.resource)), new Set(['appliedmanifestworks']));
  const others = writes.filter(({ impersonatedUser }) => impersonatedUser !== undefined);
  assert.ok(others.length > 0);
  for (const { impersonatedUser } of others) {
    assert.match(impersonatedUser?.username ?? '', /^system:serviceaccount:[a-z-]+:[a-z-]+$/);
    assert.ok(!impersonatedUser?.groups?.includes('system:masters'));
  }
});

test('with deny a work without an executor is refused', async () => {
  await site.gateway.stop('SIGTERM');
  const gateway = await site.startGateway({ args: ['--works-default-executor', 'deny'] });
  await put(hub, manifestWork('denied', [configMap('denied')]));
  const work = await hasCondition(hub, workPath('denied'), 'Applied', 'False');
  assert.match(appliedAt(work, 0).message, /names no executor/);
  assert.equal(await read(m1, configMapPath('denied')), undefined);
  await gateway.stop('SIGTERM');
});
