// Who may have a work executed as which ServiceAccount: the hub's admission policies that the chart installs, and the
// question that the gateway asks again when it executes the work.
// Landing tier: who may not execute-as an account changes no work that does.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { parseAllDocuments } from 'yaml';
import type { Member } from '../../controlplane/fixture.ts';
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
  read,
  startWorksSite,
  workPath,
  type Json,
  type WorksSite,
} from './works-site.ts';
import { accountSubject, clusterRoleBinding, grantedRole, userSubject } from '../../site/rbac.ts';

const rbac = 'rbac.authorization.k8s.io';
const works = workPath('x').slice(0, -2);
const stamp = 'gateway.portcullis.io/last-modifier';
const policies = '/apis/admissionregistration.k8s.io/v1';
const kinds = ['mutatingadmissionpolic', 'validatingadmissionpolic'].flatMap((kind) => [
  `${kind}ies`,
  `${kind}ybindings`,
]);
const writing = ['get', 'create', 'update', 'patch', 'delete', 'deletecollection'];
/** The executor of works that name none. */
const agent = ['open-cluster-management-agent', 'klusterlet-work-sa'] as const;
let site: WorksSite;
let hub: Member;
let m1: Member;

before(async () => {
  site = await startWorksSite({
    asks: true,
    gateway: {
      args: ['--authorization-webhook-cache-authorized-ttl', '0s', '--works-default-executor', agent.join('/')],
    },
  });
  ({ hub } = site);
  m1 = site.members[0]!;
  await installPolicies();
  await m1.apply(clusterRoleBinding('executor', 'everything', accountSubject('executors', 'sa')));
  for (const name of ['alice', 'bob']) await hub.apply(...role(`write-${name}`, ['manifestworks'], writing, name));
  await allow('alice');
  await allow('bob', 'own');
});

after(() => site?.stop());

async function installPolicies(): Promise<void> {
  for (const file of ['works-execute-as', 'works-last-modifier']) {
    const text = readFileSync(path.join(import.meta.dirname, `../../../charts/portcullis/files/${file}.yaml`), 'utf8');
    // As the chart does with the default executor of this gateway.
    const own = text.replace(
      "'system:serviceaccount::klusterlet-work-sa'",
      `'system:serviceaccount:${agent.join(':')}'`,
    );
    await hub.apply(...parseAllDocuments(own).map((document) => document.toJS() as object));
  }
}

function role(
  name: string,
  resources: readonly string[],
  verbs: readonly string[],
  user: string,
  names?: readonly string[],
) {
  const apiGroups = ['work.open-cluster-management.io'];
  const rules = [{ apiGroups, resources, verbs, ...(names && { resourceNames: names }) }];
  return grantedRole('m1', name, rules, userSubject(user));
}

async function allow(user: string, account = 'sa', namespace = 'executors'): Promise<void> {
  const names = [`system:serviceaccount:${namespace}:${account}`];
  await hub.apply(...role(`as-${account}-${user}`, ['manifestworks'], ['execute-as'], user, names));
}

const revoke = (user: string, account = 'sa'): Promise<unknown> =>
  hub.request('DELETE', `/apis/${rbac}/v1/namespaces/m1/rolebindings/as-${account}-${user}`);

const as = (name: string): Json => ({
  executor: { subject: { type: 'ServiceAccount', serviceAccount: { namespace: 'executors', name } } },
});
const executed = as('sa');
const post = async (user: 'alice' | 'bob', work: object): Promise<{ status: number; body: string }> =>
  await request(user, 'POST', works, work);

/** As a user of the hub, by its own token. */
async function request(
  user: 'alice' | 'bob',
  method: 'POST' | 'PUT' | 'DELETE',
  target: string,
  body?: object,
): Promise<{ status: number; body: string }> {
  const command = { POST: 'create', PUT: 'replace', DELETE: 'delete' }[method];
  const { stdout, stderr, code } = await hub.kubectl(
    ['--kubeconfig', hub.users[user].kubeconfig, command, '--raw', target, ...(body === undefined ? [] : ['-f', '-'])],
    { stdin: JSON.stringify(body ?? '') },
  );
  return { status: code === 0 ? 200 : 403, body: stdout + stderr };
}

/** Replaces a work, again while the executor writes it in between. */
function replace(
  name: string,
  change: (work: Json) => object,
  user: 'alice' | 'bob' = 'bob',
): Promise<{ status: number; body: string }> {
  return eventually(`${name} is answered for`, async () => {
    const answer = await request(user, 'PUT', workPath(name), change(await read(hub, workPath(name))));
    return /the object has been modified/.test(answer.body) ? undefined : answer;
  });
}

test('who may not execute as the account can neither make such a work nor change what one applies', async () => {
  // Policies take effect a moment after they are made.
  await eventually('the policy is in effect', async () => {
    const refused = await post('bob', manifestWork('by-bob', [configMap('by-bob')], executed));
    return /cannot manipulate the Manifestwork with executor executors\/sa in namespace m1/.test(refused.body);
  });
  await isBelieved('first');
  const made = await post('alice', manifestWork('shared', [configMap('shared', { a: '1' })], executed));
  assert.equal(made.status, 200, made.body);
  await hasCondition(hub, workPath('shared'), 'Available', 'True');
  const refused = await replace('shared', (work) => ({
    ...work,
    spec: { ...work.spec, workload: { manifests: [configMap('shared', { a: 'bob' })] } },
  }));
  assert.match(refused.body, /cannot manipulate the Manifestwork with executor executors\/sa/);
  assert.equal((await read(m1, configMapPath('shared'))).data.a, '1');
  const own = await post('bob', manifestWork('own', [configMap('own')], as('own')));
  assert.equal(own.status, 200, own.body);
});

const refusal = /cannot manipulate the Manifestwork with executor/;
const noAccount = { subject: { type: 'ServiceAccount' } };
const binding = clusterRoleBinding('taken-over', 'cluster-admin', userSubject('bob'));

test('a work whose executor is absent, null, empty or not whole is made by nobody who may not execute as the default (ATT-57)', async () => {
  const rows: readonly (readonly [name: string, spec: object, expected: RegExp])[] = [
    ['absent', {}, refusal],
    ['null', { executor: null }, refusal],
    ['empty', { executor: {} }, /cannot manipulate|Invalid|invalid/],
    ['no-account', { executor: noAccount }, refusal],
    ['null-account', { executor: { subject: { ...noAccount.subject, serviceAccount: null } } }, refusal],
    ['no-name', as(''), /cannot manipulate|Invalid|invalid/],
  ];
  for (const [name, spec, expected] of rows) {
    const answer = await post('bob', manifestWork(`made-${name}`, [binding], spec));
    assert.match(answer.body, expected, name);
    assert.equal(await read(hub, workPath(`made-${name}`)), undefined, name);
  }
});

test('nobody takes a work over from an executor, nor deletes it, nor changes what is done for it, without that right (ATT-57)', async () => {
  const workload = { manifests: [binding] };
  const changes: readonly (readonly [what: string, change: (work: Json) => Json])[] = [
    ['executor removed', (work) => ({ ...work, spec: { workload } })],
    ['executor null', (work) => ({ ...work, spec: { ...work.spec, workload, executor: null } })],
    ['executor not whole', (work) => ({ ...work, spec: { ...work.spec, workload, executor: noAccount } })],
    ['executor of bob', (work) => ({ ...work, spec: { ...work.spec, workload, ...as('own') } })],
    ['allow-prune', (work) => annotated(work, 'gateway.portcullis.io/allow-prune', '1')],
    ['an unknown annotation of ours', (work) => annotated(work, 'gateway.portcullis.io/later', '')],
    ['cleanup-priority', (work) => annotated(work, 'open-cluster-management.io/cleanup-priority', '100')],
    ['set', (work) => labelled(work, 'work.open-cluster-management.io/manifestworkreplicaset', 'a.b')],
    ['an owner', (work) => ({ ...work, metadata: { ...work.metadata, ownerReferences: [gone] } })],
  ];
  for (const [what, change] of changes) {
    const answer = await replace('shared', change);
    assert.match(answer.body, refusal, what);
    // Of the new executor first, then of the former one.
    const isOther = /removed|null|not whole/.test(what);
    assert.equal(/with executor executors\/sa/.test(answer.body), !isOther, answer.body);
  }
  for (const target of [workPath('shared'), `${works}?fieldSelector=metadata.name%3Dshared`])
    assert.match((await request('bob', 'DELETE', target)).body, refusal, target);
  const found = await read(hub, workPath('shared'));
  assert.equal(found.metadata.deletionTimestamp, undefined);
  assert.deepEqual(found.spec.executor, executed.executor);
  assert.equal(await read(m1, `/apis/${rbac}/v1/clusterrolebindings/taken-over`), undefined);
  // What decides nothing is left to the rights on ManifestWorks alone.
  for (const change of [(work: Json) => annotated(work, 'team', 'a'), (work: Json) => labelled(work, 'team', 'a')])
    assert.equal((await replace('shared', change)).status, 200);
});

const gone = { apiVersion: 'v1', kind: 'ConfigMap', name: 'gone', uid: 'a6c1ed1c-5b5f-4b9c-9d21-6b1a3e1f0000' };

function annotated(work: Json, name: string, value: string): Json {
  return { ...work, metadata: { ...work.metadata, annotations: { ...work.metadata.annotations, [name]: value } } };
}

function labelled(work: Json, name: string, value: string): Json {
  return { ...work, metadata: { ...work.metadata, labels: { ...work.metadata.labels, [name]: value } } };
}

test('a work without an executor is executed as the default by the right for that account, and not when it is lost', async () => {
  const [namespace, account] = agent;
  await allow('alice', account, namespace);
  await eventually('alice may', async () => {
    const name = `default-${Math.random().toString(36).slice(2)}`;
    return (await post('alice', manifestWork(name, [configMap('default')]))).status === 200;
  });
  await post('alice', manifestWork('by-default', [configMap('by-default', { a: '1' })]));
  await hasCondition(hub, workPath('by-default'), 'Available', 'True');
  // Whoever may act as both gives the work from one to the other, and deletes it.
  const moved = await replace('by-default', (work) => ({ ...work, spec: { ...work.spec, ...executed } }), 'alice');
  assert.equal(moved.status, 200, moved.body);
  await post('alice', manifestWork('by-default-2', [configMap('by-default-2', { a: '1' })]));
  await hasCondition(hub, workPath('by-default-2'), 'Available', 'True');
  await revoke('alice', account);
  await isRefused('by-default-2', /user alice cannot manipulate the Manifestwork with executor open-cluster-/);
  assert.equal((await request('alice', 'DELETE', workPath('by-default'))).status, 200);
  await isGone(hub, workPath('by-default'));
  assert.match((await request('alice', 'DELETE', workPath('by-default-2'))).body, refusal);
});

/** Makes works as alice until one is executed: policies are believed a moment after they were made. */
async function isBelieved(prefix: string): Promise<void> {
  await eventually('who makes a work is proven', async () => {
    const name = `${prefix}-${Math.random().toString(36).slice(2)}`;
    // While one policy is in force and the other is not yet, works are refused.
    if ((await post('alice', manifestWork(name, [configMap(name)], executed))).status !== 200) return false;
    const reported = await eventually('an answer', async () =>
      conditionIn((await read(hub, workPath(name)))?.status, 'Applied'),
    );
    return reported.status === 'True';
  });
}

/** Touches a work until the hub's answer about its last modifier has reached it. */
async function isRefused(name: string, message: RegExp): Promise<Json> {
  let round = 0;
  await eventually(`${name} is refused`, async () => {
    round += 1;
    await patch(hub, workPath(name), { metadata: { labels: { round: String(round) } } });
    return conditionIn((await read(hub, workPath(name))).status, 'Applied')?.status === 'False';
  });
  const refused = await read(hub, workPath(name));
  assert.match(conditionIn(manifestAt(refused, 0), 'Applied').message, message);
  return refused;
}

test('the gateway deletes a work that is complete, although the policy asks about deleting', async () => {
  const rule = { condition: 'Complete', type: 'CEL', celExpressions: ['has(object.data.a)'] };
  const made = await post(
    'alice',
    manifestWork('ends', [configMap('ends', { a: '1' })], {
      ...executed,
      deleteOption: { propagationPolicy: 'Foreground', ttlSecondsAfterFinished: 0 },
      manifestConfigs: [configFor('ends', { conditionRules: [rule] })],
    }),
  );
  assert.equal(made.status, 200, made.body);
  await isGone(hub, workPath('ends'));
  assert.equal(await read(m1, configMapPath('ends')), undefined);
});

test('the hub writes down who changed a work last, and nobody can write somebody else', async () => {
  const nameIn = async (name: string): Promise<string> =>
    JSON.parse((await read(hub, workPath(name))).metadata.annotations[stamp]).user;
  await eventually('it is written down', async () => {
    const name = `stamp-${Math.random().toString(36).slice(2)}`;
    await post('alice', manifestWork(name, [configMap('stamp')], executed));
    return (await read(hub, workPath(name)))?.metadata.annotations?.[stamp] !== undefined;
  });
  const forged = { annotations: { [stamp]: JSON.stringify({ user: 'admin', groups: ['system:masters'] }) } };
  const made = await post('bob', manifestWork('forged', [configMap('forged')], as('own'), forged));
  assert.equal(made.status, 200, made.body);
  assert.equal(await nameIn('forged'), 'bob');
  const refused = await replace('forged', (work) => ({ ...work, metadata: { ...work.metadata, ...forged } }));
  assert.match(refused.body, /is written by the hub/);
});

test('a work is not executed any more when who changed it last has lost the right', async () => {
  await allow('bob');
  await eventually('bob may', async () => {
    const name = `lost-${Math.random().toString(36).slice(2)}`;
    return (await post('bob', manifestWork(name, [configMap('lost')], executed))).status === 200;
  });
  await post('bob', manifestWork('lost', [configMap('lost-right', { a: '1' })], executed));
  await hasCondition(hub, workPath('lost'), 'Available', 'True');
  await revoke('bob');
  await isRefused('lost', /user bob cannot manipulate the Manifestwork with executor executors\/sa in namespace m1/);
  await patch(m1, configMapPath('lost-right'), { data: { a: 'changed' } });
  await hasCondition(hub, workPath('shared'), 'Applied', 'True');
  assert.equal((await read(m1, configMapPath('lost-right'))).data.a, 'changed');
});

test('without the policies of the hub nothing is executed, and a stamp that was written meanwhile never counts', async () => {
  const text = JSON.stringify({ user: 'alice', groups: ['system:authenticated'] });
  const forged = { annotations: { [stamp]: text } };
  for (const kind of kinds)
    for (const name of ['portcullis-last-modifier', 'portcullis-execute-as'])
      await hub.request('DELETE', `${policies}/${kind}/${name}`);
  const reason = async (name: string): Promise<string | undefined> =>
    conditionIn((await read(hub, workPath(name)))?.status, 'gateway.portcullis.io/Executed')?.reason;
  const isUnproven = (name: string): Promise<true> =>
    eventually(`${name} is not executed`, async () => (await reason(name)) === 'ModifierUnproven' || undefined);
  await isUnproven('shared');
  await eventually('a stamp can be forged', async () => {
    const { body } = await post('bob', manifestWork('by-hand', [binding], executed, forged));
    const found = await read(hub, workPath('by-hand'));
    if (found?.metadata.annotations?.[stamp] === text) return true;
    if (found !== undefined) await hub.request('DELETE', workPath('by-hand'));
    return refusal.test(body) ? undefined : false;
  });
  const unstamped = await post('bob', manifestWork('unstamped', [configMap('unstamped')], executed));
  assert.equal(unstamped.status, 200, unstamped.body);
  for (const name of ['by-hand', 'unstamped']) await isUnproven(name);
  const { status } = await read(hub, workPath('by-hand'));
  const { message } = conditionIn(status, 'gateway.portcullis.io/Executed');
  assert.match(message, /no ValidatingAdmissionPolicy portcullis-last-modifier with a binding: install both/);
  await installPolicies();
  await isBelieved('second');
  // What was proven before the policies went away is executed again.
  await eventually('shared is executed', async () => (await reason('shared')) === undefined);
  await isUnproven('by-hand');
  assert.match(
    conditionIn((await read(hub, workPath('by-hand'))).status, 'gateway.portcullis.io/Executed').message,
    /is older than the admission policy portcullis-last-modifier/,
  );
  assert.equal(await read(m1, `/apis/${rbac}/v1/clusterrolebindings/taken-over`), undefined);
  assert.equal(await read(m1, configMapPath('unstamped')), undefined);
  const changed = await replace(
    'unstamped',
    (work) => ({ ...work, spec: { ...work.spec, workload: { manifests: [configMap('unstamped', { a: '2' })] } } }),
    'alice',
  );
  assert.equal(changed.status, 200, changed.body);
  await hasCondition(hub, workPath('unstamped'), 'Available', 'True');
});

test('where the operator accepts it, works without a proven modifier are executed', async () => {
  for (const kind of kinds)
    for (const name of ['portcullis-last-modifier', 'portcullis-execute-as'])
      await hub.request('DELETE', `${policies}/${kind}/${name}`);
  await site.gateway.stop('SIGTERM');
  await site.startGateway({ args: ['--works-accept-unstamped'] });
  await eventually('a work has no stamp', async () => {
    const name = `accepted-${Math.random().toString(36).slice(2)}`;
    if ((await post('bob', manifestWork(name, [configMap(name)], executed))).status !== 200) return undefined;
    const { metadata } = await read(hub, workPath(name));
    if (metadata.annotations?.[stamp] !== undefined) return undefined;
    await hasCondition(hub, workPath(name), 'Available', 'True');
    return true;
  });
});
