// Clusters join and leave by an object on the hub: what is made in them, what is checked before, and what is left.
// Landing tier: a cluster that joins gives away no more than is asked for, and leaves clean.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { runCommand } from '../../controlplane/processes.ts';
import type { Member } from '../../controlplane/fixture.ts';
import type { GatewayProcess } from '../../gateway-process.ts';
import { clusterPath } from '../../hub/site.ts';
import {
  eventually,
  isGone,
  manifestWork,
  patch,
  put,
  read,
  remove,
  workPath,
  type Json,
} from '../distribute/works-site.ts';
import {
  bootstrapNamespace,
  declare,
  joinPath,
  managedPath,
  says,
  secretPath,
  startJoinSite,
  type JoinSite,
} from './join-site.ts';

let site: JoinSite;
let hub: Member;
let m1: Member;
let m2: Member;
let gateway: GatewayProcess;

before(async () => {
  site = await startJoinSite(['m1', 'm2']);
  ({ hub } = site);
  [m1, m2] = site.members as [Member, Member];
  gateway = await site.startGateway();
});

after(() => site?.stop());

const rbac = '/apis/rbac.authorization.k8s.io/v1';
const executable = path.join(import.meta.dirname, '../../../bin/portcullis.mjs');
const account = 'system:serviceaccount:portcullis-system:portcullis-gateway';

async function podsThroughGateway(cluster: string): Promise<number | null> {
  const { code } = await hub.kubectl([
    `--kubeconfig=${hub.users.alice.kubeconfig}`,
    `--server=${gateway.url}${clusterPath(cluster)}`,
    `--certificate-authority=${gateway.caFile}`,
    ...['get', 'pods', '-n', 'team-a'],
  ]);
  return code;
}

/** Objects of joins in a member, as `Kind name`. */
async function madeIn(member: Member): Promise<string[]> {
  const collections = [
    '/api/v1/namespaces',
    '/api/v1/serviceaccounts',
    ...['clusterroles', 'clusterrolebindings', 'roles', 'rolebindings'].map((each) => `${rbac}/${each}`),
  ];
  const lists = await Promise.all(
    collections.map((each) => read(member, `${each}?labelSelector=gateway.portcullis.io/cluster`)),
  );
  return lists.flatMap(({ kind, items }) =>
    items.map(({ metadata }: Json) => `${kind.replace(/List$/, '')} ${metadata.name}`),
  );
}

test('a bootstrap credential without the rights changes nothing, and the condition lists what is missing', async () => {
  const mark = await m1.auditMark();
  await declare(hub, 'weak', m1.users.alice.kubeconfig);
  const { status } = await says(hub, 'weak', 'RightsSufficient', 'False', 'RightsMissing');
  const { message } = status.conditions.find(({ type }: Json) => type === 'RightsSufficient');
  assert.match(message, /create clusterroles\.rbac\.authorization\.k8s\.io/);
  assert.match(message, /impersonate users/);
  const writes = (await m1.audit(mark)).filter(
    ({ verb, userAgent, objectRef }) =>
      userAgent === 'portcullis-join' && verb !== 'get' && objectRef?.resource?.startsWith('selfsubject') !== true,
  );
  assert.deepEqual(writes, []);
  await remove(hub, joinPath('weak'));
  await isGone(hub, joinPath('weak'));
});

test('a cluster joins by an object: least rights, an expiring token, and kubectl works through the gateway', async () => {
  const mark = await m1.auditMark();
  await hub.apply({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'agent', namespace: bootstrapNamespace },
    data: {
      'b.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: agent, namespace: agents}\ndata: {a: b}\n',
      'a.yaml': 'apiVersion: v1\nkind: Namespace\nmetadata: {name: agents}\n',
    },
  });
  await declare(hub, 'one', m1.adminKubeconfig, { bundle: { namespace: bootstrapNamespace, name: 'agent' } });
  const joined = await says(hub, 'one', 'Ready', 'True');
  for (const type of ['Reached', 'RightsSufficient', 'Installed', 'CredentialIssued', 'Verified'])
    assert.equal(joined.status.conditions.find((each: Json) => each.type === type)?.status, 'True', type);
  assert.ok(Date.parse(joined.status.credential.expiresAt) > Date.now());
  await isGone(hub, secretPath('one-bootstrap', bootstrapNamespace));
  assert.equal((await read(m1, '/api/v1/namespaces/agents/configmaps/agent')).data.a, 'b');
  const roles = await read(m1, `${rbac}/clusterroles?labelSelector=gateway.portcullis.io/cluster`);
  assert.doesNotMatch(JSON.stringify(roles.items.map(({ rules }: Json) => rules)), /"\*"/);
  assert.equal(await podsThroughGateway('one'), 0);
  await eventually('the authority of the cluster is reported', async () => {
    const { status } = await read(hub, joinPath('one'));
    return Buffer.from(status.caBundle ?? '', 'base64')
      .toString()
      .includes('BEGIN CERTIFICATE');
  });
  const events = (await m1.audit(mark)).filter(({ userAgent }) => userAgent === 'portcullis-join');
  const byBootstrap = events.filter(({ user }) => user.username === 'admin');
  const byAccount = events.filter(({ user }) => user.username === account);
  assert.ok(byBootstrap.length > 0 && byAccount.length > 0);
  const lastInstall = Math.max(
    ...byBootstrap.map(({ requestReceivedTimestamp }) => Date.parse(requestReceivedTimestamp)),
  );
  const issued = Date.parse(joined.status.credential.issuedAt) + 2_000;
  assert.ok(lastInstall <= issued, 'the bootstrap credential is not used after the token was issued');
});

test('the same cluster does not join under a second name, and the first is named', async () => {
  await declare(hub, 'twin', m1.adminKubeconfig);
  const { status } = await says(hub, 'twin', 'Reached', 'False', 'AlreadyJoined');
  assert.match(JSON.stringify(status), /\\"one\\"/);
  await remove(hub, joinPath('twin'));
  await isGone(hub, joinPath('twin'));
  await says(hub, 'one', 'Ready', 'True');
});

test('a cluster is ready only while the conditions of its readiness gates are True', async () => {
  await patch(hub, joinPath('one'), {
    metadata: { annotations: { 'gateway.portcullis.io/readiness-gates': 'example.com/network' } },
  });
  const waiting = await says(hub, 'one', 'Ready', 'False', 'ReadinessGatesNotReady');
  assert.match(JSON.stringify(waiting.status), /waiting for: example\.com\/network/);
  const gate = async (status: string): Promise<void> => {
    await eventually('the gate is written', async () => {
      const { metadata, status: now } = await read(hub, joinPath('one'));
      const others = now.conditions.filter(({ type }: Json) => type !== 'example.com/network');
      const { resourceVersion } = metadata;
      const time = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
      const condition = { type: 'example.com/network', status, reason: 'Test', message: '', lastTransitionTime: time };
      const body = { metadata: { resourceVersion }, status: { conditions: [...others, condition] } };
      const type = { 'content-type': 'application/merge-patch+json' };
      return (await hub.request('PATCH', `${joinPath('one')}/status`, body, type)).status === 200;
    });
  };
  await gate('False');
  await says(hub, 'one', 'Ready', 'False', 'ReadinessGatesNotReady');
  await gate('True');
  await says(hub, 'one', 'Ready', 'True');
  await patch(hub, joinPath('one'), { metadata: { annotations: { 'gateway.portcullis.io/readiness-gates': null } } });
});

async function cli(...args: readonly string[]): Promise<{ readonly code: number | null; readonly output: string }> {
  const command = [executable, ...args, '--kubeconfig', hub.adminKubeconfig, '--timeout', '60s'];
  const { code, stdout, stderr } = await runCommand(process.execPath, command);
  return { code, output: `${stderr}${stdout}` };
}

test('portcullis unjoin and join let a cluster leave and come back, and tell why one cannot', async () => {
  const left = await cli('unjoin', 'one');
  assert.equal(left.code, 0, left.output);
  assert.match(left.output, /one has left/);
  await eventually('nothing is left in the cluster', async () => (await madeIn(m1)).length === 0);
  const twice = await cli('unjoin', 'one');
  assert.equal(twice.code, 2);
  const bootstrap = ['--namespace', bootstrapNamespace, '--bootstrap-kubeconfig'];
  const refused = await cli('join', 'one', ...bootstrap, m1.users.alice.kubeconfig);
  assert.equal(refused.code, 1);
  assert.match(refused.output, /one cannot join: the bootstrap credential may not .*create clusterroles/);
  const again = await cli('join', 'one', ...bootstrap, m1.adminKubeconfig);
  assert.equal(again.code, 2);
  assert.match(again.output, /there is a ClusterJoin "one" already/);
  assert.equal((await cli('unjoin', 'one')).code, 0);
  const joined = await cli('join', 'one', ...bootstrap, m1.adminKubeconfig);
  assert.equal(joined.code, 0, joined.output);
  assert.match(joined.output, /Verified True[^]*one has joined/);
  assert.equal(await podsThroughGateway('one'), 0);
});

test('a ManagedCluster that is deleted waits for foreign finalizers; then nothing is left, and it can join again', async () => {
  await declare(hub, 'two', m2.adminKubeconfig, { managedCluster: true });
  await says(hub, 'two', 'Ready', 'True');
  const managed = await eventually('there is a ManagedCluster', () => read(hub, managedPath('two')));
  assert.equal(managed.spec.managedClusterClientConfigs[0].url, m2.url);
  const foreign = 'example.com/backup';
  await patch(hub, managedPath('two'), {
    metadata: { finalizers: [...managed.metadata.finalizers, foreign] },
  });
  const before = await madeIn(m2);
  assert.ok(before.includes('ClusterRoleBinding portcullis:leave'));
  await remove(hub, managedPath('two'));
  await says(hub, 'two', 'Left', 'False', 'ForeignFinalizers');
  assert.deepEqual(await madeIn(m2), before);
  const mark = await m2.auditMark();
  await patch(hub, managedPath('two'), { metadata: { finalizers: managed.metadata.finalizers } });
  await isGone(hub, managedPath('two'));
  await isGone(hub, joinPath('two'));
  await isGone(hub, secretPath('two'));
  await eventually('nothing is left in the cluster', async () => (await madeIn(m2)).length === 0);
  const deleted = (await m2.audit(mark))
    .filter(({ verb, userAgent }) => verb === 'delete' && userAgent === 'portcullis-join')
    .map(({ objectRef }) => `${objectRef?.resource} ${objectRef?.name}`);
  assert.deepEqual(deleted.slice(-2), ['clusterrolebindings portcullis:leave', 'namespaces portcullis-system']);
  await declare(hub, 'two', m2.adminKubeconfig, { managedCluster: true, deregisterPolicy: 'ForceAfter:5s' });
  await says(hub, 'two', 'Ready', 'True');
});

test('works of a cluster that leaves are deleted level by level before the gateway gives up its access', async () => {
  await hub.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'two' } });
  const work = async (name: string, priority?: string): Promise<void> => {
    const annotations = priority === undefined ? {} : { 'open-cluster-management.io/cleanup-priority': priority };
    await put(hub, manifestWork(name, [], {}, { namespace: 'two', annotations, finalizers: ['example.com/held'] }));
  };
  await work('late', '100');
  await work('middle', '10');
  await work('early');
  await patch(hub, joinPath('two'), { spec: { deregisterPolicy: 'Wait' } });
  await remove(hub, joinPath('two'));
  const isDeleting = async (name: string): Promise<boolean> =>
    (await read(hub, workPath(name, 'two')))?.metadata.deletionTimestamp !== undefined;
  for (const [name, later] of [
    ['early', ['middle', 'late']],
    ['middle', ['late']],
    ['late', []],
  ] as const) {
    await eventually(`${name} is being deleted`, () => isDeleting(name));
    for (const each of later) assert.equal(await isDeleting(each), false, `${each} waits for ${name}`);
    assert.ok((await madeIn(m2)).length > 0);
    await patch(hub, workPath(name, 'two'), { metadata: { finalizers: [] } });
  }
  await isGone(hub, joinPath('two'));
  await eventually('nothing is left in the cluster', async () => (await madeIn(m2)).length === 0);
});

test('a Cluster of Cluster API with the label joins by its own kubeconfig, which stays, and leaves with the label', async () => {
  const cluster = '/apis/cluster.x-k8s.io/v1beta2/namespaces/joining/clusters';
  const kubeconfig = readFileSync(m2.adminKubeconfig, 'utf8');
  await hub.apply(
    {
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'cluster.x-k8s.io/secret',
      metadata: { name: 'capi-kubeconfig', namespace: bootstrapNamespace },
      stringData: { value: kubeconfig },
    },
    ...['capi', 'other'].map((name) => ({
      apiVersion: 'cluster.x-k8s.io/v1beta2',
      kind: 'Cluster',
      metadata: {
        name,
        namespace: bootstrapNamespace,
        labels: name === 'capi' ? { 'gateway.portcullis.io/join': 'true' } : {},
      },
      spec: {},
    })),
  );
  await says(hub, 'capi', 'Ready', 'True');
  assert.notEqual(await read(hub, secretPath('capi-kubeconfig', bootstrapNamespace)), undefined);
  assert.equal(await read(hub, joinPath('other')), undefined);
  await patch(hub, `${cluster}/capi`, { metadata: { labels: { 'gateway.portcullis.io/join': null } } });
  await isGone(hub, joinPath('capi'));
  await eventually('nothing is left in the cluster', async () => (await madeIn(m2)).length === 0);
  assert.notEqual(await read(hub, secretPath('capi-kubeconfig', bootstrapNamespace)), undefined);
  assert.notEqual(await read(hub, joinPath('one')), undefined);
});

test('a dead cluster is given up after a time, what stays in it is listed, and others are untouched', async () => {
  await declare(hub, 'two', m2.adminKubeconfig, { deregisterPolicy: 'ForceAfter:3s' });
  const { status } = await says(hub, 'two', 'Ready', 'True');
  await m2.kill();
  await remove(hub, joinPath('two'));
  await isGone(hub, joinPath('two'));
  await isGone(hub, secretPath('two'));
  const { items } = await read(hub, '/api/v1/namespaces/default/events?fieldSelector=reason=LeftBehind');
  const [event] = items;
  assert.equal(event.involvedObject.name, 'two');
  for (const { name } of status.installed) assert.ok(event.message.includes(name), name);
  assert.equal(await podsThroughGateway('one'), 0);
  await m2.restart();
});

test('tokens are replaced before they end, and no request notices', async () => {
  await gateway.stop();
  gateway = await site.startGateway({ env: { PORTCULLIS_TEST_TIME_SCALE: '0.02' } });
  await declare(hub, 'two', m2.adminKubeconfig, { adopt: true, tokenTTL: '10m' });
  await says(hub, 'two', 'Ready', 'True');
  const expiries = new Set<string>();
  const tokens = new Set<string>();
  const codes = new Set<number | null>();
  await eventually('the token is replaced three times', async () => {
    codes.add(await podsThroughGateway('two'));
    expiries.add((await read(hub, joinPath('two'))).status.credential.expiresAt);
    tokens.add((await read(hub, secretPath('two'))).data.token);
    return tokens.size >= 4 && expiries.size >= 4;
  });
  assert.deepEqual([...codes], [0], 'every request is answered');
});
