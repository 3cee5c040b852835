// Rights in clusters by TenantBindings: where they are granted and taken back, as whom, and what is never touched.
// Landing tier: nobody grants what they could not grant themselves.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { runCommand } from '../../controlplane/processes.ts';
import type { Member } from '../../controlplane/fixture.ts';
import { eventually, isGone, patch, read, remove, type Json } from '../distribute/works-site.ts';
import {
  bindingPath,
  bobMay,
  clusterSays,
  declareAs,
  everywhere,
  granted,
  label,
  rbacPath,
  says,
  startTenantsSite,
  tenantBinding,
  type TenantsSite,
} from './tenants-site.ts';
import { clusterRoleBinding, grantedClusterRole, userSubject } from '../../site/rbac.ts';

let site: TenantsSite;
let hub: Member;
let m1: Member;
let m2: Member;

before(async () => {
  site = await startTenantsSite(['m1', 'm2']);
  ({ hub } = site);
  [m1, m2] = site.members as [Member, Member];
});

after(() => site?.stop());

const rbac = 'rbac.authorization.k8s.io';

test('a role is granted in the clusters that a selector matches, now and later, and taken back where it ends', async () => {
  const byHand = clusterRoleBinding('by-hand', 'test-view', userSubject('bob'));
  await m2.apply(byHand);
  const before = (await read(m2, `${rbacPath}/clusterrolebindings/by-hand`)).metadata;
  await label(hub, 'm1', { env: 'prod' });
  const mark = await m1.auditMark();
  const spec = { grants: [everywhere('test-edit')], clusters: { selector: { matchLabels: { env: 'prod' } } } };
  await declareAs(hub, 'carol', tenantBinding('selected', spec));
  await says(hub, bindingPath('selected'), 'Applied', 'True');
  await says(hub, bindingPath('selected'), 'Complete', 'True');
  const made = await read(m1, granted('selected'));
  assert.deepEqual(made.subjects, [{ apiGroup: rbac, kind: 'User', name: 'bob' }]);
  assert.deepEqual(
    made.metadata.managedFields.map(({ manager }: Json) => manager),
    ['portcullis-tenants'],
  );
  assert.equal(await bobMay(m1, 'list', 'secrets', 'team-a'), true);
  assert.equal(await read(m2, granted('selected')), undefined);
  const writes = (await m1.audit(mark)).filter(
    ({ userAgent, verb }) => userAgent === 'portcullis-tenants' && ['create', 'patch', 'delete'].includes(verb),
  );
  assert.ok(writes.length > 0);
  assert.deepEqual([...new Set(writes.map(({ impersonatedUser }) => impersonatedUser?.username))], ['carol']);

  await label(hub, 'm2', { env: 'prod' });
  const { objects } = await clusterSays(hub, 'selected', 'm2', 'Applied');
  assert.deepEqual(objects, [
    {
      kind: 'ClusterRoleBinding',
      name: 'portcullis:tenant:selected:0',
      uid: (await read(m2, granted('selected'))).metadata.uid,
    },
  ]);
  await label(hub, 'm2', { env: null });
  await clusterSays(hub, 'selected', 'm2', 'Removed');
  assert.equal(await read(m2, granted('selected')), undefined);
  const { uid, resourceVersion } = (await read(m2, `${rbacPath}/clusterrolebindings/by-hand`)).metadata;
  assert.deepEqual([uid, resourceVersion], [before.uid, before.resourceVersion]);
  assert.notEqual(await read(m1, granted('selected')), undefined);
  await remove(m2, `${rbacPath}/clusterrolebindings/by-hand`);
});

test('an author who may not grant the role in one cluster grants it in the other, and the status names what is missing', async () => {
  const verbs = ['get', 'list', 'watch', 'create', 'patch', 'delete'];
  const writes = [{ apiGroups: [rbac], resources: ['clusterrolebindings'], verbs }];
  const alice = userSubject('alice');
  for (const member of [m1, m2]) await member.apply(...grantedClusterRole('grant-writer', writes, alice));
  const binds = [{ apiGroups: [rbac], resources: ['clusterroles'], resourceNames: ['test-edit'], verbs: ['bind'] }];
  await m1.apply(...grantedClusterRole('may-bind', binds, alice));
  const spec = { grants: [everywhere('test-view'), everywhere('test-edit')], clusters: { names: ['m1', 'm2'] } };
  await declareAs(hub, 'alice', tenantBinding('partly', spec));
  await clusterSays(hub, 'partly', 'm1', 'Applied');
  const refused = await clusterSays(hub, 'partly', 'm2', 'Error');
  assert.equal(refused.reason, 'Escalation');
  assert.match(refused.message, /alice may not grant this/);
  assert.match(refused.message, /Resources:\["secrets"\]/);
  assert.match(refused.message, /bind/);
  // The first grant would have been permitted, but a refused TenantBinding makes nothing.
  const lists = await read(m2, `${rbacPath}/clusterrolebindings?labelSelector=gateway.portcullis.io/grant`);
  assert.deepEqual(
    lists.items.map(({ metadata }: Json) => metadata.name),
    [],
  );
  assert.deepEqual(refused.objects, []);
  const applied = await says(hub, bindingPath('partly'), 'Applied', 'False', 'Error');
  assert.match(applied.message, /^m2: alice may not grant this/);
  await remove(hub, bindingPath('partly'));
  await isGone(hub, bindingPath('partly'));
  assert.equal(await read(m1, granted('partly')), undefined);
});

test('another role of a grant is bound anew, since a binding cannot change its role', async () => {
  const spec = (role: string): object => ({ grants: [everywhere(role)], clusters: { names: ['m1'] } });
  await declareAs(hub, 'carol', tenantBinding('anew', spec('test-view')));
  await clusterSays(hub, 'anew', 'm1', 'Applied');
  const first = await read(m1, granted('anew'));
  await declareAs(hub, 'carol', tenantBinding('anew', spec('test-edit')));
  const second = await eventually('another role is bound', async () => {
    const now = await read(m1, granted('anew'));
    return now?.roleRef.name === 'test-edit' ? now : undefined;
  });
  assert.notEqual(second.metadata.uid, first.metadata.uid);
  await says(hub, bindingPath('anew'), 'Applied', 'True');
  await eventually('the status has the new UID', async () => {
    const [object] = (await clusterSays(hub, 'anew', 'm1', 'Applied')).objects;
    return object.uid === second.metadata.uid;
  });
  // What somebody adds by hand is put right.
  await patch(m1, granted('anew'), { subjects: [{ apiGroup: rbac, kind: 'User', name: 'mallory' }] });
  await eventually(
    'the subjects are put right',
    async () => (await read(m1, granted('anew'))).subjects[0].name === 'bob',
  );
});

test('namespaces are selected in the cluster itself, those that come later included, but never that of the gateway', async () => {
  const namespace = (name: string, labels: object): object => ({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name, labels },
  });
  await m1.apply(
    namespace('shop', { tenant: 'shop' }),
    namespace('gateway-own', { tenant: 'shop', 'gateway.portcullis.io/cluster': 'm1' }),
  );
  const rules = [{ apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list'] }];
  const namespaceSelector = { matchLabels: { tenant: 'shop' } };
  const subjects = [{ kind: 'User', name: 'erin' }];
  const spec = { subjects, grants: [{ rules, scope: 'Namespaces', namespaceSelector }], clusters: { names: ['m1'] } };
  await declareAs(hub, 'carol', tenantBinding('shops', spec));
  await clusterSays(hub, 'shops', 'm1', 'Applied');
  assert.equal(await bobMay(m1, 'list', 'secrets', 'shop', 'erin'), true);
  assert.equal(await bobMay(m1, 'list', 'secrets', 'kube-system', 'erin'), false);
  await m1.apply(namespace('shop-later', { tenant: 'shop' }));
  await eventually('the later one is granted', async () => bobMay(m1, 'list', 'secrets', 'shop-later', 'erin'));
  await patch(m1, '/api/v1/namespaces/shop', { metadata: { labels: { tenant: null } } });
  await isGone(m1, granted('shops', 'shop'));
  assert.notEqual(await read(m1, granted('shops', 'shop-later')), undefined);
  assert.equal(await read(m1, granted('shops', 'gateway-own')), undefined);
  await remove(hub, bindingPath('shops'));
  await isGone(hub, bindingPath('shops'));
  await isGone(m1, granted('shops', 'shop-later'));
  await isGone(m1, `${rbacPath}/clusterroles/portcullis:tenant:shops:0`);
});

test('a namespace that is named is waited for, or made, and one that was made stays', async () => {
  const grant = (namespaces: readonly string[], createNamespaces: boolean): object => ({
    clusterRole: 'test-edit',
    scope: 'Namespaces',
    namespaces,
    createNamespaces,
  });
  const clusters = { names: ['m1'] };
  await declareAs(hub, 'carol', tenantBinding('waiting', { grants: [grant(['not-yet'], false)], clusters }));
  const { message } = await clusterSays(hub, 'waiting', 'm1', 'Applied');
  assert.equal(message, 'waiting for namespaces: not-yet');
  await declareAs(hub, 'carol', tenantBinding('making', { grants: [grant(['not-yet'], true)], clusters }));
  await eventually(
    'both are granted',
    async () =>
      (await read(m1, granted('waiting', 'not-yet'))) !== undefined &&
      (await read(m1, granted('making', 'not-yet'))) !== undefined,
  );
  for (const name of ['waiting', 'making']) {
    await remove(hub, bindingPath(name));
    await isGone(hub, bindingPath(name));
    assert.equal(await read(m1, granted(name, 'not-yet')), undefined);
  }
  assert.equal((await read(m1, '/api/v1/namespaces/not-yet')).status.phase, 'Active');
});

test('every right ends when the TenantBinding expires', async () => {
  const expiresAt = new Date(Date.now() + 8_000).toISOString();
  const spec = { grants: [everywhere('test-edit')], clusters: { names: ['m2'] }, expiresAt };
  await declareAs(hub, 'carol', tenantBinding('visit', spec));
  await clusterSays(hub, 'visit', 'm2', 'Applied');
  assert.equal(await bobMay(m2, 'delete', 'secrets', 'default'), true);
  await clusterSays(hub, 'visit', 'm2', 'Removed');
  assert.ok(Date.now() >= Date.parse(expiresAt));
  await says(hub, bindingPath('visit'), 'Applied', 'False', 'Expired');
  await says(hub, bindingPath('visit'), 'Complete', 'True', 'Expired');
  await eventually('bob lost it', async () => !(await bobMay(m2, 'delete', 'secrets', 'default')));
});

test('deleting the TenantBinding removes what it made, by UID: an object that somebody made anew stays', async () => {
  const spec = { grants: [everywhere('test-view')], clusters: { names: ['m1', 'm2'] } };
  await declareAs(hub, 'carol', tenantBinding('gone', spec));
  for (const name of ['m1', 'm2']) await clusterSays(hub, 'gone', name, 'Applied');
  // While the gateway stands still, so that it does not put the object right before it learns of the deletion.
  process.kill(site.gateway.pid, 'SIGSTOP');
  try {
    await remove(m2, granted('gone'));
    await m2.apply(clusterRoleBinding('portcullis:tenant:gone:0', 'test-view', userSubject('dave')));
    await remove(hub, bindingPath('gone'));
  } finally {
    process.kill(site.gateway.pid, 'SIGCONT');
  }
  await isGone(hub, bindingPath('gone'));
  assert.equal(await read(m1, granted('gone')), undefined);
  assert.equal((await read(m2, granted('gone'))).subjects[0].name, 'dave');
});

test('an object of the same name that somebody else made is left alone, and the status says so', async () => {
  await m1.apply(clusterRoleBinding('portcullis:tenant:taken:0', 'test-view', userSubject('dave')));
  await declareAs(
    hub,
    'carol',
    tenantBinding('taken', { grants: [everywhere('test-edit')], clusters: { names: ['m1'] } }),
  );
  const { message } = await clusterSays(hub, 'taken', 'm1', 'Error');
  assert.match(message, /ClusterRoleBinding portcullis:tenant:taken:0 is in the cluster already/);
  await remove(hub, bindingPath('taken'));
  await isGone(hub, bindingPath('taken'));
  assert.equal((await read(m1, granted('taken'))).subjects[0].name, 'dave');
});

test('a cluster that does not answer is pending and holds nobody up, and gets its rights when it is back', async () => {
  await m2.kill();
  await declareAs(hub, 'carol', tenantBinding('later', { grants: [everywhere('test-edit')], clusters: { all: true } }));
  await clusterSays(hub, 'later', 'm1', 'Applied');
  const pending = await clusterSays(hub, 'later', 'm2', 'Pending');
  assert.ok(Date.parse(pending.since) <= Date.now());
  await says(hub, bindingPath('later'), 'Applied', 'False', 'Pending');
  await m2.restart();
  await clusterSays(hub, 'later', 'm2', 'Applied');
  assert.notEqual(await read(m2, granted('later')), undefined);
  await says(hub, bindingPath('later'), 'Complete', 'True');
});

test('the commands of the page about tenants do what it says, word for word', async () => {
  const page = readFileSync(path.join(import.meta.dirname, '../../../docs/how-to/tenants.md'), 'utf8');
  const blocks = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block]) => block!);
  assert.equal(blocks.length, 2);
  const env = {
    KUBECONFIG: hub.users.carol.kubeconfig,
    PATH: `${path.dirname(site.plane.binaries['kubectl']!)}:${process.env['PATH']}`,
  };
  const [grant, end] = blocks as [string, string];
  const first = await runCommand('bash', ['-e', '-c', grant], { env });
  assert.equal(first.code, 0, first.stderr);
  assert.match(first.stdout, /tenantbinding\.tenancy\.portcullis\.io\/payments condition met/);
  assert.match(first.stdout, /^NAME +APPLIED +COMPLETE +CLUSTERS$/m);
  assert.match(first.stdout, /^payments +True +True +1\/1$/m);
  assert.equal((await read(m1, granted('payments'))).subjects[0].name, 'payments');
  const inNamespace = `${rbacPath}/namespaces/payments/rolebindings/portcullis:tenant:payments:1`;
  assert.equal((await read(m1, inNamespace)).roleRef.name, 'edit');
  const last = await runCommand('bash', ['-e', '-c', end], { env });
  assert.equal(last.code, 0, last.stderr);
  assert.equal(await read(m1, inNamespace), undefined);
});
