// Identity exchange behind a real hub: the annotation of a cluster-gateway Secret before the gateway's file, and closed
// when it cannot be read. The member's audit log says whom it saw.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { identityExchangeAnnotation } from '../../../auth/outgoing/identity-rules.ts';
import type { AuditUser, Member } from '../../controlplane/fixture.ts';
import { clusterSecret, secretNamespace } from '../../hub/objects.ts';
import { clusterPath, startHubSite } from '../../hub/site.ts';
import type { HubSite } from '../../hub/site.ts';
import { ask, kubectlAs } from '../kubectl/kubectl-as.ts';
import { eventually } from '../../site/polling.ts';
import { accountSubject, clusterRoleBinding } from '../../site/rbac.ts';
import { accountToken } from '../../controlplane/account-token.ts';
import { tempDir } from '../../pretend/temp-dir.ts';

const exchange = (...rules: readonly object[]): string =>
  JSON.stringify({
    apiVersion: 'cluster.core.oam.dev/v1alpha1',
    kind: 'ClusterGatewayProxyConfiguration',
    spec: {
      clientIdentityExchanger: {
        rules: rules.map((rule) => ({ type: 'StaticMappingIdentityExchanger', ...rule })),
      },
    },
  });
const globalRules = exchange(
  { source: { user: 'carol' }, target: { user: 'global-carol' } },
  { source: { user: 'alice' }, target: { user: 'global-alice' } },
);
const annotated = exchange({ source: { user: 'alice' }, target: { user: 'local-alice', groups: ['local'] } });

const folder = tempDir('exchange');
let site: HubSite;
let member: Member;

before(async () => {
  const file = join(folder, 'exchange.yaml');
  writeFileSync(file, globalRules);
  site = await startHubSite({
    objects: (plane) => [clusterSecret(plane.member('m1'))],
    gateway: { args: ['--identity-exchange', file], config: { probeIntervalSeconds: 1 } },
  });
  member = site.plane.member('m1');
});

after(async () => {
  await site?.stop();
});

/** Sets or takes away the annotation, as whoever keeps the Secret would. */
async function annotate(rules: string | undefined): Promise<void> {
  const body = { metadata: { annotations: { [identityExchangeAnnotation]: rules ?? null } } };
  const answer = await site.hub.request('PATCH', `/api/v1/namespaces/${secretNamespace}/secrets/m1`, body, {
    'content-type': 'application/merge-patch+json',
  });
  assert.equal(answer.status, 200, answer.body);
}

/** Whom the member was told to see for one request with a hub token, through the gateway's own listener. */
async function seenAs(token: string): Promise<AuditUser | undefined> {
  const mark = await member.auditMark();
  const name = `seen-${Math.random().toString(36).slice(2)}`;
  const answer = await ask(site.gateway, token, 'GET', `${clusterPath('m1')}/api/v1/namespaces/${name}`);
  assert.ok(answer.status === 404 || answer.status === 403, answer.body.toString());
  const [event] = await member.waitForAudit(({ objectRef }) => objectRef?.name === name, { mark });
  return event?.impersonatedUser;
}

test("without an annotation the gateway's file decides (CG-06)", async () => {
  const { alice, carol } = site.hub.users;
  assert.equal((await seenAs(alice.token))?.username, 'global-alice');
  assert.deepEqual(await seenAs(carol.token), { username: 'global-carol', groups: ['system:authenticated'] });
});

test("the cluster's annotation comes first, for whom it names (CG-05)", async () => {
  const { alice, carol } = site.hub.users;
  await annotate(annotated);
  const seen = await eventually('the annotation is in force', async () => {
    const now = await seenAs(alice.token);
    return now?.username === 'local-alice' ? now : undefined;
  });
  assert.deepEqual(seen, { username: 'local-alice', groups: ['local', 'system:authenticated'] });
  assert.equal((await seenAs(carol.token))?.username, 'global-carol');
});

test('the same through the hub: kubectl with the hub kubeconfig is the mapped user (CG-05)', async () => {
  const args = ['auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}'];
  const { stdout, stderr, code } = await site.hub.kubectl([
    ...['--kubeconfig', site.hub.users.alice.kubeconfig, '--server', `${site.hub.url}${clusterPath('m1')}`, ...args],
  ]);
  assert.equal(code, 0, stderr);
  assert.equal(stdout, 'local-alice');
});

test('whom no rule names is who they are on the hub; a ServiceAccount of the hub is not one of the member', async () => {
  await site.hub.apply({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'robot', namespace: 'default' } });
  await site.hub.apply(clusterRoleBinding('robot-user', 'portcullis-user', accountSubject('default', 'robot')));
  const token = await accountToken(site.hub, 'default', 'robot');
  const seen = await eventually('the binding is known', () => seenAs(token).catch(() => undefined));
  assert.equal(seen.username, 'cluster:hub:system:serviceaccount:default:robot');
  assert.deepEqual(seen.groups?.toSorted(), [
    'cluster:hub:system:serviceaccounts',
    'cluster:hub:system:serviceaccounts:default',
    'system:authenticated',
  ]);
});

test('an annotation that cannot be read closes the cluster, tells why, and the file never takes its place', async () => {
  const { alice, carol } = site.hub.users;
  for (const broken of [
    annotated.replace('"user":"local-alice",', ''),
    annotated.replace('StaticMapping', 'Privileged').replace(/,"target":\{[^}]*\}/, ''),
    '{',
  ]) {
    const mark = await member.auditMark();
    await annotate(broken);
    const refused = await eventually('the cluster is closed', async () => {
      const answer = await ask(site.gateway, carol.token, 'GET', `${clusterPath('m1')}/api/v1/namespaces/closed`);
      return answer.status === 503 ? answer.body.toString() : undefined;
    });
    assert.match(refused, /no request is sent to cluster \\"m1\\" because its identity rules are not valid/);
    const other = await ask(site.gateway, alice.token, 'GET', `${clusterPath('m1')}/api/v1/namespaces/never-seen`);
    assert.equal(other.status, 503);
    const args = ['get', 'clusters.gateway.portcullis.io', 'm1', '-o', 'jsonpath={.status.conditions}'];
    const reported = await eventually('the condition is there', async () => {
      const { stdout } = await kubectlAs(site.plane.binaries['kubectl']!, site.gateway, alice.token, '', args);
      return stdout.includes('InvalidIdentityExchange') ? stdout : undefined;
    });
    assert.match(reported, /annotation cluster\.core\.oam\.dev\/cluster-gateway-proxy-configuration/);
    const passed = (await member.audit(mark)).filter(({ objectRef }) => objectRef?.name === 'never-seen');
    assert.deepEqual(passed, []);
  }
  await annotate(undefined);
  await eventually('the cluster is open again', async () => (await seenAs(alice.token))?.username === 'global-alice');
});
