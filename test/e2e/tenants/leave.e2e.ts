// A cluster that leaves by its ClusterJoin loses what TenantBindings made in it, before the gateway loses its access.
// Landing tier: a cluster that leaves loses what was granted first.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Member } from '../../controlplane/fixture.ts';
import { isGone, read, remove } from '../distribute/works-site.ts';
import { declare, joinPath, says as joinSays, startJoinSite, type JoinSite } from '../join/join-site.ts';
import {
  believed,
  bindingPath,
  clusterSays,
  declareAs,
  everywhere,
  granted,
  prepareHub,
  tenantArgs,
  tenantBinding,
} from './tenants-site.ts';

let site: JoinSite;
let hub: Member;
let m1: Member;

before(async () => {
  site = await startJoinSite(['m1']);
  ({ hub } = site);
  m1 = site.members[0]!;
  await prepareHub(hub);
  await site.startGateway({ args: tenantArgs });
  await believed(hub);
});

after(() => site?.stop());

test('a cluster that leaves keeps nothing of a TenantBinding, which stays for the other clusters', async () => {
  await declare(hub, 'one', m1.adminKubeconfig);
  await joinSays(hub, 'one', 'Ready', 'True');
  await declareAs(hub, 'carol', tenantBinding('staff', { grants: [everywhere('test-edit')], clusters: { all: true } }));
  await clusterSays(hub, 'staff', 'one', 'Applied');
  assert.notEqual(await read(m1, granted('staff')), undefined);
  await remove(hub, joinPath('one'));
  await isGone(hub, joinPath('one'));
  assert.equal(await read(m1, granted('staff')), undefined);
  await isGone(m1, '/api/v1/namespaces/portcullis-system/serviceaccounts/portcullis-gateway');
  assert.notEqual(await read(hub, bindingPath('staff')), undefined);
  await remove(hub, bindingPath('staff'));
  await isGone(hub, bindingPath('staff'));
});
