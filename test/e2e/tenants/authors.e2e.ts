// Who the author of a TenantBinding or ClusterPermission is, which nobody can forge, and what nobody is granted.
// Landing tier: nobody can forge who the author of a TenantBinding is.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Member } from '../../controlplane/fixture.ts';
import { authorMutation, authorValidation } from '../../../tenants/object/author-policy.ts';
import { eventually, isGone, read, remove } from '../distribute/works-site.ts';
import {
  applyAs,
  bindingPath,
  bobMay,
  clusterSays,
  declareAs,
  everywhere,
  granted,
  permissionPath,
  rbacPath,
  says,
  startTenantsSite,
  tenantBinding,
  type Person,
  type TenantsSite,
} from './tenants-site.ts';

let site: TenantsSite;
let hub: Member;
let m1: Member;

before(async () => {
  site = await startTenantsSite(['m1']);
  ({ hub } = site);
  m1 = site.members[0]!;
});

after(() => site?.stop());

const stamp = 'gateway.portcullis.io/last-modifier';
const forged = { [stamp]: JSON.stringify({ user: 'carol', groups: ['operators', 'system:authenticated'] }) };
const policies = '/apis/admissionregistration.k8s.io/v1';
const spec = { grants: [everywhere('test-edit')], clusters: { names: ['m1'] } };

/** Makes TenantBindings until the hub's policies are in force and old enough to be believed. */
async function inForce(who: Person, prefix: string): Promise<void> {
  let round = 0;
  await eventually('the author is believed', async () => {
    round += 1;
    const name = `${prefix}-${round}`;
    await declareAs(hub, who, tenantBinding(name, spec));
    const found = await eventually('an answer', async () => {
      const { status } = await read(hub, bindingPath(name));
      return status?.conditions?.find(({ type }: { type: string }) => type === 'Applied');
    });
    await remove(hub, bindingPath(name));
    return found.reason !== 'AuthorUnproven';
  });
}

test('whoever writes somebody else as the author is the author all the same, and may grant no more than is theirs', async () => {
  await inForce('carol', 'first');
  await declareAs(hub, 'bob', tenantBinding('forged', spec, forged));
  const found = await read(hub, bindingPath('forged'));
  assert.equal(JSON.parse(found.metadata.annotations[stamp]).user, 'bob');
  const refused = await clusterSays(hub, 'forged', 'm1', 'Error');
  assert.match(refused.message, /bob may not grant this/);
  assert.equal(await read(m1, granted('forged')), undefined);
  const { ok, text } = await applyAs(hub, 'bob', tenantBinding('forged', spec, forged));
  assert.equal(ok, false);
  assert.match(text, /is written by the hub and names the user of the request/);
  await remove(hub, bindingPath('forged'));
  await isGone(hub, bindingPath('forged'));
});

test('who changes what another author granted needs the rights in the cluster, or nothing changes there', async () => {
  await declareAs(hub, 'carol', tenantBinding('shared', spec));
  await clusterSays(hub, 'shared', 'm1', 'Applied');
  const subjects = [
    { kind: 'User', name: 'bob' },
    { kind: 'User', name: 'mallory' },
  ];
  await declareAs(hub, 'bob', tenantBinding('shared', { ...spec, subjects }));
  const refused = await clusterSays(hub, 'shared', 'm1', 'Error');
  assert.match(refused.message, /bob may not grant this/);
  assert.deepEqual(
    (await read(m1, granted('shared'))).subjects.map(({ name }: { name: string }) => name),
    ['bob'],
  );
  // Taking back is done as carol, who granted it.
  await remove(hub, bindingPath('shared'));
  await isGone(hub, bindingPath('shared'));
  assert.equal(await read(m1, granted('shared')), undefined);
});

test('nothing is granted to system:masters, nor to any name that begins with system: or portcullis:', async () => {
  const subjects = [
    { kind: 'Group', name: 'system:masters' },
    { kind: 'Group', name: 'system:authenticated' },
    { kind: 'User', name: 'system:admin' },
    { kind: 'User', name: 'portcullis:index' },
  ];
  for (const subject of subjects) {
    const { ok, text } = await applyAs(hub, 'carol', tenantBinding('reserved', { ...spec, subjects: [subject] }));
    assert.equal(ok, false);
    assert.match(text, /are reserved, and nothing is granted to them/);
  }
  const own = {
    ...spec,
    subjects: [{ kind: 'ServiceAccount', namespace: 'portcullis-system', name: 'portcullis-gateway' }],
  };
  await declareAs(hub, 'carol', tenantBinding('own', own));
  await says(hub, bindingPath('own'), 'Applied', 'False', 'Refused');
  assert.equal(await read(m1, granted('own')), undefined);
  await remove(hub, bindingPath('own'));
});

test('a ClusterPermission of OCM is executed as it is: roles, bindings, and their end', async () => {
  await hub.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'm1' } });
  const rules = [{ apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list'] }];
  const permission = (name: string, more: object): object => ({
    apiVersion: 'rbac.open-cluster-management.io/v1alpha1',
    kind: 'ClusterPermission',
    metadata: { name, namespace: 'm1' },
    spec: more,
  });
  const bob = { apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'bob' };
  const whole = {
    clusterRole: { rules: [{ apiGroups: [''], resources: ['nodes'], verbs: ['list'] }] },
    clusterRoleBinding: { subject: bob },
    roles: [{ namespace: 'team-a', rules }],
    roleBindings: [{ namespace: 'team-a', roleRef: { kind: 'Role' }, subjects: [bob] }],
  };
  await declareAs(hub, 'carol', permission('whole', whole));
  const path = permissionPath('m1', 'whole');
  await says(hub, path, 'AppliedRBACManifestWork', 'True');
  assert.equal(await bobMay(m1, 'list', 'nodes'), true);
  assert.equal(await bobMay(m1, 'list', 'secrets', 'team-a'), true);
  assert.equal(await bobMay(m1, 'list', 'secrets', 'default'), false);
  await declareAs(hub, 'bob', permission('bobs', whole));
  await says(hub, permissionPath('m1', 'bobs'), 'AppliedRBACManifestWork', 'False', 'Error');
  assert.equal(await read(m1, `${rbacPath}/clusterroles/bobs`), undefined);
  const { clusterRole, clusterRoleBinding } = whole;
  await declareAs(hub, 'carol', permission('whole', { clusterRole, clusterRoleBinding }));
  await isGone(m1, `${rbacPath}/namespaces/team-a/rolebindings/whole`);
  for (const name of ['whole', 'bobs']) {
    await remove(hub, permissionPath('m1', name));
    await isGone(hub, permissionPath('m1', name));
  }
  assert.equal(await read(m1, `${rbacPath}/clusterrolebindings/whole`), undefined);
});

test('without the policies of the hub nobody is the author, and what was written meanwhile is never believed', async () => {
  await declareAs(hub, 'carol', tenantBinding('kept', spec));
  await clusterSays(hub, 'kept', 'm1', 'Applied');
  const kinds = ['mutatingadmissionpolicies', 'mutatingadmissionpolicybindings'];
  kinds.push('validatingadmissionpolicies', 'validatingadmissionpolicybindings');
  for (const kind of kinds) await remove(hub, `${policies}/${kind}/portcullis-tenant-author`);
  await says(hub, bindingPath('kept'), 'Applied', 'False', 'AuthorUnproven');
  await eventually('the annotation can be forged', async () => {
    await applyAs(hub, 'bob', tenantBinding('unproven', spec, forged));
    const found = await read(hub, bindingPath('unproven'));
    if (JSON.parse(found?.metadata.annotations[stamp] ?? '{}').user === 'carol') return true;
    if (found !== undefined) await remove(hub, bindingPath('unproven'));
    return false;
  });
  await says(hub, bindingPath('unproven'), 'Applied', 'False', 'AuthorUnproven');
  await hub.apply(...authorMutation, ...authorValidation);
  await inForce('carol', 'second');
  const { message } = await says(hub, bindingPath('unproven'), 'Applied', 'False', 'AuthorUnproven');
  assert.match(message, /is older than the admission policy/);
  assert.equal(await read(m1, granted('unproven')), undefined);
  // What was believed before the policies went away is believed again, and was never taken back.
  await says(hub, bindingPath('kept'), 'Applied', 'True');
  assert.notEqual(await read(m1, granted('kept')), undefined);
});
