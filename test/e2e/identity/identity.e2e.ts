// The member sees the caller, the whole caller, and nobody else; its audit log is the witness. Also what kubectl says
// when the member refuses to impersonate.
// Landing tier: requests reach a cluster as the caller, with uid, groups and extra.
// Runs alone: it says within which seconds kubectl ends.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { startControlPlane } from '../../controlplane/fixture.ts';
import type { AuditEvent, ControlPlane, Member } from '../../controlplane/fixture.ts';
import { gatewayUser } from '../../controlplane/fixture.ts';
import { createAuthority } from '../../pretend/certificates.ts';
import { startGatewayProcess } from '../../gateway-process.ts';
import type { GatewayProcess } from '../../gateway-process.ts';
import { ask, kubectlAs } from '../kubectl/kubectl-as.ts';
import type { KubectlResult } from '../kubectl/kubectl-as.ts';

const alice = { token: 'alice-at-the-gateway', name: 'alice', uid: 'alice-uid', groups: ['dev', 'grüße'] };
const bob = { token: 'bob-at-the-gateway', name: 'bob', uid: '', groups: [] };
const root = { token: 'root-at-the-gateway', name: 'root', uid: '', groups: ['admins'] };
const rules = {
  apiVersion: 'gateway.portcullis.io/v1alpha1',
  kind: 'AuthorizationRules',
  rules: [
    {
      subjects: [{ kind: 'Group', name: 'system:authenticated' }],
      verbs: ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'],
      apiGroups: ['*'],
      resources: ['*'],
      nonResourceURLs: ['*'],
    },
    {
      subjects: [{ kind: 'Group', name: 'admins' }],
      verbs: ['impersonate'],
      apiGroups: ['', 'authentication.k8s.io'],
      resources: ['users', 'groups', 'serviceaccounts', 'uids', 'userextras/scopes'],
    },
  ],
};
let plane: ControlPlane;
let member: Member;
let gateway: GatewayProcess;
let clientFiles: { cert: string; key: string };

before(async () => {
  plane = await startControlPlane({ members: ['m1'] });
  member = plane.member('m1');
  const authority = await createAuthority('users');
  const certificate = await authority.issue({
    commonName: 'carla',
    organizations: ['ops', 'night'],
    usage: 'client',
  });
  const file = (name: string, text: string): string => {
    writeFileSync(join(plane.dir, name), text);
    return join(plane.dir, name);
  };
  clientFiles = { cert: file('carla.crt', certificate.certPem), key: file('carla.key', certificate.keyPem) };
  gateway = await startGatewayProcess({
    kubeconfigs: [plane.gatewayKubeconfig],
    users: [alice, bob, root],
    args: [
      '--authorization-rules',
      file('rules.yaml', JSON.stringify(rules)),
      '--client-ca-file',
      file('users-ca.crt', authority.certPem),
    ],
  });
});

after(async () => {
  await gateway?.stop('SIGKILL');
  await plane?.stop();
});

function kubectl(token: string, ...args: string[]): Promise<KubectlResult> {
  return kubectlAs(plane.binaries['kubectl']!, gateway, token, '/clusters/m1/proxy', args);
}

interface UserInfo {
  readonly username: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

async function whoami(token: string, ...args: string[]): Promise<UserInfo> {
  const { code, stdout, stderr } = await kubectl(token, 'auth', 'whoami', '-o', 'json', ...args);
  assert.equal(code, 0, stderr);
  return (JSON.parse(stdout) as { status: { userInfo: UserInfo } }).status.userInfo;
}

test('the member knows exactly the user, uid and groups of a token user', async () => {
  assert.deepEqual(await whoami(alice.token), {
    username: 'alice',
    uid: 'alice-uid',
    groups: ['dev', 'grüße', 'system:authenticated'],
  });
  assert.deepEqual(await whoami(bob.token), { username: 'bob', groups: ['system:authenticated'] });
});

test('the member knows exactly the user, groups and extra of a client certificate', async () => {
  const result = await kubectlAs(plane.binaries['kubectl']!, gateway, '', '/clusters/m1/proxy', [
    ...['--client-certificate', clientFiles.cert, '--client-key', clientFiles.key],
    ...['auth', 'whoami', '-o', 'json'],
  ]);
  assert.equal(result.code, 0, result.stderr);
  const { userInfo } = (JSON.parse(result.stdout) as { status: { userInfo: UserInfo } }).status;
  assert.equal(userInfo.username, 'carla');
  assert.deepEqual(userInfo.groups?.toSorted(), ['night', 'ops', 'system:authenticated']);
  assert.match(userInfo.extra?.['authentication.kubernetes.io/credential-id']?.[0] ?? '', /^X509SHA256=[0-9a-f]{64}$/);
});

test("a user without rights gets the member's own 403 that names them", async () => {
  const { code, stderr } = await kubectl(bob.token, 'get', 'secrets', '-A');
  assert.equal(code, 1);
  assert.equal(
    stderr.trim(),
    'Error from server (Forbidden): secrets is forbidden: User "bob" cannot list resource "secrets" in API group "" at the cluster scope',
  );
});

test('--as without the grant is 403 at the gateway, and the member hears nothing of it', async () => {
  const mark = await member.auditMark();
  const { code, stderr } = await kubectl(alice.token, 'get', 'pods', '--as', 'bob');
  assert.equal(code, 1);
  assert.match(stderr, /users "bob" is forbidden: User "alice" cannot impersonate resource "users"/);
  await kubectl(alice.token, 'get', '--raw', '/api/v1/namespaces/marker');
  const events = await member.waitForAudit((event) => event.requestURI === '/api/v1/namespaces/marker', { mark });
  assert.equal(events.length, 1);
  assert.deepEqual(
    (await member.audit(mark)).filter((event) => event.impersonatedUser?.username === 'bob'),
    [],
  );
});

test('--as with the grant shows the member the impersonated user only', async () => {
  const mark = await member.auditMark();
  const seen = await whoami(
    root.token,
    '--as',
    'bob',
    '--as-group',
    'ops',
    '--as-uid',
    'u-9',
    '--as-user-extra',
    'scopes=read',
  );
  assert.deepEqual(seen, {
    username: 'bob',
    uid: 'u-9',
    groups: ['ops', 'system:authenticated'],
    extra: { scopes: ['read'] },
  });
  const [event] = await member.waitForAudit(({ requestURI }) => requestURI.includes('selfsubjectreviews'), { mark });
  assert.ok(!JSON.stringify(event).includes('"root"'), 'the original caller stays in the gateway');
  const account = await whoami(root.token, '--as', 'system:serviceaccount:team-a:builder');
  assert.deepEqual(account.groups, ['system:serviceaccounts', 'system:serviceaccounts:team-a', 'system:authenticated']);
  const extra = await kubectl(root.token, 'auth', 'whoami', '--as', 'bob', '--as-user-extra', 'other=x');
  assert.match(extra.stderr, /cannot impersonate resource "userextras\/other"/);
});

test('nobody may act as the probe, granted or not', async () => {
  const answer = await ask(gateway, root.token, 'GET', '/clusters/m1/proxy/api/v1/namespaces', undefined, {
    'impersonate-user': 'portcullis:probe',
  });
  assert.equal(answer.status, 403);
  assert.match(answer.body.toString(), /"kind":"Status"/);
});

/**
 * The probe asks for its own rights as itself; the member's refusals to impersonate name the gateway. Nothing else may.
 */
function mayBeTheGateway(event: AuditEvent): boolean {
  return (
    event.objectRef?.resource === 'selfsubjectaccessreviews' ||
    event.objectRef?.resource === 'selfsubjectrulesreviews' ||
    event.objectRef?.resource === 'selfsubjectreviews' ||
    event.responseStatus?.code === 403
  );
}

test("in the member's audit log everything with the gateway's credential carries the caller", async () => {
  await kubectl(alice.token, 'get', 'pods', '-A');
  await kubectl(bob.token, 'get', 'pods');
  const events = (await member.audit()).filter((event) => event.user.username === gatewayUser);
  assert.ok(events.length > 10, `only ${events.length} events`);
  const bare = events.filter((event) => event.impersonatedUser === undefined && !mayBeTheGateway(event));
  assert.deepEqual(bare, []);
  const names = new Set(events.flatMap((event) => event.impersonatedUser?.username ?? []));
  assert.deepEqual([...names].toSorted(), [
    'alice',
    'bob',
    'carla',
    'portcullis:probe',
    'system:serviceaccount:team-a:builder',
  ]);
});

test('where the member refuses impersonation, its 403 comes with a Warning that names the rule', async () => {
  await member.request('DELETE', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/portcullis-gateway');
  const bindings = JSON.parse(
    (await member.request('GET', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings')).body,
  ) as {
    items: { metadata: { name: string }; subjects?: { name: string }[] }[];
  };
  for (const { metadata, subjects } of bindings.items) {
    if (subjects?.some(({ name }) => name === gatewayUser))
      await member.request('DELETE', `/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/${metadata.name}`);
  }
  let last: KubectlResult | undefined;
  // The authorizer of kube-apiserver follows its bindings with a watch of its own; ask until it has seen the change.
  for (let i = 0; i < 50; i++) {
    last = await kubectl(alice.token, 'get', 'pods');
    if (last.code !== 0 && last.stderr.includes('cannot impersonate')) break;
  }
  assert.match(last!.stderr, /User "portcullis-gateway" cannot impersonate resource "users"/);
  assert.match(
    last!.stderr,
    /Warning: cluster m1: the gateway's credential may not impersonate: grant it verb "impersonate" on resource "users"/,
  );
  assert.ok(last!.elapsedMs < 10_000);
});
