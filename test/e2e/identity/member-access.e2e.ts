// `portcullis generate member-access` against a real kube-apiserver: with exactly what it prints the gateway serves its
// users, and can do nothing else. Constrained read-only access holds against a cluster-admin's WebSocket exec and
// services/proxy. The API server remembers impersonation for 10 s, so each kind of access has a ServiceAccount of its
// own.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';
import { execOverSpdy } from '../../clients/spdy-client.ts';
import { UpgradeRefused } from '../../clients/upgrade-client.ts';
import type { ConnectOptions } from '../../clients/upgrade-client.ts';
import { execOverWebSocket } from '../../clients/websocket-client.ts';
import { startControlPlane } from '../../controlplane/fixture.ts';
import type { AuditEvent, ControlPlane, Member } from '../../controlplane/fixture.ts';
import { startGatewayProcess } from '../../gateway-process.ts';
import type { GatewayProcess } from '../../gateway-process.ts';
import { ask, kubectlAs } from '../kubectl/kubectl-as.ts';
import type { KubectlResult } from '../kubectl/kubectl-as.ts';
import { boxPod } from '../kubectl/pods.ts';
import { eventually } from '../../site/polling.ts';
import { accountSubject, roleBinding } from '../../site/rbac.ts';
import { accountToken } from '../../controlplane/account-token.ts';

const namespace = 'portcullis';
const kinds = {
  classic: [],
  constrained: ['--constrained'],
  readonly: ['--constrained', '--read-only'],
  usernames: ['--constrained', '--impersonation-mode', 'username'],
} as const;
type Kind = keyof typeof kinds;

const carol = { token: 'carol-token', name: 'carol', uid: 'carol-uid', groups: ['operators'] };
const alice = { token: 'alice-token', name: 'alice', uid: 'alice-uid', groups: ['team-a', 'developers'] };
const builder = {
  token: 'builder-token',
  name: 'system:serviceaccount:team-a:builder',
  groups: ['system:serviceaccounts', 'system:serviceaccounts:team-a'],
};
const users = [carol, alice, builder];
const script = new URL('../../../bin/portcullis.mjs', import.meta.url).pathname;
const pods = '/api/v1/namespaces/team-a/pods';

let plane: ControlPlane;
let member: Member;
let gateway: GatewayProcess;
/** A gateway of `--impersonation-mode=username`. */
let nameGateway: GatewayProcess;
const tokens = new Map<Kind, string>();

/** What the command prints for the ServiceAccount of this kind. */
function generated(kind: Kind): string {
  const args = [
    script,
    'generate',
    'member-access',
    '--gateway-service-account',
    `${namespace}/${kind}`,
    ...kinds[kind],
  ];
  if (kind === 'readonly') args.push('--kubeconfig', member.adminKubeconfig);
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 60_000 });
  assert.equal(status, 0, stderr);
  return stdout;
}

/** Applies it by kubectl, under names of its own: all four live in one cluster. */
async function grant(kind: Kind): Promise<void> {
  const objects = parseAllDocuments(generated(kind)).map((document) => document.toJS() as GrantedObject);
  assert.equal(objects.length, 4);
  const items = objects.map((object) => ({
    ...object,
    metadata: { ...object.metadata, name: `${object.metadata.name}-${kind}` },
    ...(object.roleRef && { roleRef: { ...object.roleRef, name: `${object.roleRef.name}-${kind}` } }),
  }));
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  const applied = await member.kubectl(['apply', '-f', '-'], { stdin: list });
  assert.equal(applied.code, 0, applied.stderr);
}

interface GrantedObject {
  readonly metadata: { readonly name: string };
  readonly roleRef?: { readonly name: string };
}

before(async () => {
  plane = await startControlPlane({ members: ['m1'], kubelet: true });
  member = plane.member('m1');
  await member.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  for (const kind of Object.keys(kinds) as Kind[]) {
    await member.apply({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: kind, namespace } });
    await grant(kind);
    tokens.set(kind, await accountToken(member, namespace, kind));
  }
  await member.apply(boxPod('box', 'team-a'), {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'box', namespace: 'team-a' },
    spec: { selector: { app: 'box' }, ports: [{ port: 80, targetPort: 8080 }] },
  });
  await member.apply(
    roleBinding('team-a', 'builder-view', 'ClusterRole/test-view', accountSubject('team-a', 'builder')),
  );
  await eventually('the pod runs', async () => {
    const { body } = await member.request('GET', `${pods}/box`);
    return (JSON.parse(body) as { status?: { phase?: string } }).status?.phase === 'Running';
  });
  const names = [...tokens.keys()];
  const kubeconfig = join(plane.dir, 'access.kubeconfig');
  const admin = 'broad';
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'm1', cluster: { server: member.url, 'certificate-authority': member.caFile } }],
      users: [
        ...names.map((name) => ({ name, user: { token: tokens.get(name) } })),
        {
          name: admin,
          user: {
            'client-certificate-data': Buffer.from(member.adminCertPem).toString('base64'),
            'client-key-data': Buffer.from(member.adminKeyPem).toString('base64'),
          },
        },
      ],
      contexts: [...names, admin].map((name) => ({ name, context: { cluster: 'm1', user: name } })),
    }),
    { mode: 0o600 },
  );
  const options = { kubeconfigs: [kubeconfig], users, config: { probeIntervalSeconds: 1 } };
  gateway = await startGatewayProcess(options);
  nameGateway = await startGatewayProcess({ ...options, args: ['--impersonation-mode', 'username'] });
});

after(async () => {
  await gateway?.stop('SIGKILL');
  await nameGateway?.stop('SIGKILL');
  await plane?.stop();
});

function kubectl(kind: string, token: string, ...args: string[]): Promise<KubectlResult> {
  const through = kind === 'usernames' ? nameGateway : gateway;
  return kubectlAs(plane.binaries['kubectl']!, through, token, `/clusters/${kind}/proxy`, args, { timeoutMs: 30_000 });
}

function endpoint(token: string): ConnectOptions {
  return { host: '127.0.0.1', port: gateway.port, ca: gateway.caPem, headers: [['Authorization', `Bearer ${token}`]] };
}

/** Status of an upgrade that was refused; 101 when it was not. */
async function statusOf(
  opening: Promise<{ close(): void }>,
): Promise<{ readonly status: number; readonly body: string }> {
  try {
    (await opening).close();
    return { status: 101, body: '' };
  } catch (error) {
    if (!(error instanceof UpgradeRefused)) throw error;
    return { status: error.answer.status, body: error.body };
  }
}

/** The constraint of 1.36's audit events: the verb by which the API server let the gateway be somebody. */
function constraintOf(event: AuditEvent): string | undefined {
  return (event as { authenticationMetadata?: { impersonationConstraint?: string } }).authenticationMetadata
    ?.impersonationConstraint;
}

for (const kind of Object.keys(kinds) as Kind[]) {
  describe(`with ${kind} access`, () => {
    test('get, list and watch are answered as the caller, and the audit log names them', async () => {
      const mark = await member.auditMark();
      const list = await kubectl(kind, carol.token, 'get', 'pods', '-n', 'team-a', '-o', 'name');
      assert.equal(list.stdout, 'pod/box\n', list.stderr);
      const get = await kubectl(kind, carol.token, 'get', 'pod', 'box', '-n', 'team-a', '-o', 'name');
      assert.equal(get.code, 0, get.stderr);
      const through = kind === 'usernames' ? nameGateway : gateway;
      const watch = await ask(
        through,
        carol.token,
        'GET',
        `/clusters/${kind}/proxy${pods}?watch=true&timeoutSeconds=1`,
      );
      assert.equal(watch.status, 200, watch.body.toString());
      assert.match(watch.body.toString(), /"ADDED"/);
      const events = await member.waitForAudit(
        ({ user, verb }) => user.username === `system:serviceaccount:${namespace}:${kind}` && verb === 'watch',
        { mark },
      );
      const groups = kind === 'usernames' ? ['system:authenticated'] : ['operators', 'system:authenticated'];
      assert.equal(events[0]?.impersonatedUser?.username, 'carol');
      assert.deepEqual(events[0]?.impersonatedUser?.groups, groups);
      assert.equal(events[0]?.impersonatedUser?.uid, kind === 'usernames' ? undefined : 'carol-uid');
      assert.equal(constraintOf(events[0]!), kind === 'classic' ? undefined : 'impersonate:user-info');
    });

    test("a caller's own RBAC still decides", async () => {
      const own = await kubectl(kind, alice.token, 'get', 'pods', '-n', 'team-a', '-o', 'name');
      assert.equal(own.code, 0, own.stderr);
      const denied = await kubectl(kind, alice.token, 'get', 'secrets', '-n', 'kube-system');
      assert.match(denied.stderr, /secrets is forbidden: User "alice" cannot list resource "secrets"/);
    });

    test('a ServiceAccount goes out by name and is that ServiceAccount', async () => {
      const mark = await member.auditMark();
      const list = await kubectl(kind, builder.token, 'get', 'pods', '-n', 'team-a', '-o', 'name');
      assert.equal(list.code, 0, list.stderr);
      const [event] = await member.waitForAudit(
        ({ verb, objectRef }) => verb === 'list' && objectRef?.resource === 'pods',
        { mark },
      );
      assert.equal(event?.impersonatedUser?.username, builder.name);
      assert.deepEqual(event?.impersonatedUser?.groups?.toSorted(), ['system:authenticated', ...builder.groups]);
      assert.equal(constraintOf(event!), kind === 'classic' ? undefined : 'impersonate:serviceaccount');
    });

    test('callers may ask who they are and what they may do', async () => {
      const who = await kubectl(kind, carol.token, 'auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}');
      assert.equal(who.stdout, 'carol', who.stderr);
      const may = await kubectl(kind, carol.token, 'auth', 'can-i', 'list', 'pods');
      assert.equal(may.stdout, 'yes\n', may.stderr);
    });

    test("the credential itself can do nothing, and the cluster's conditions say that it is enough and no more", async () => {
      const bearer = ['--server', member.url, '--certificate-authority', member.caFile, '--token', tokens.get(kind)!];
      for (const args of [
        ['get', 'pods', '-A'],
        ['get', 'secrets', '-A'],
        ['create', 'namespace', 'stolen'],
      ]) {
        const own = await member.kubectl([...args, '--kubeconfig=/dev/null', ...bearer]);
        assert.match(own.stderr, new RegExp(`User "system:serviceaccount:${namespace}:${kind}" cannot`));
      }
      const conditions = await conditionsOf(kind, 'ImpersonationAllowed');
      const reasons = { classic: 'Granted', usernames: 'ConstrainedToUsernames' };
      const expected = (reasons as Partial<Record<Kind, string>>)[kind] ?? 'Constrained';
      assert.deepEqual(
        conditions.filter(({ type }) => type !== 'ImpersonationAllowed').map(({ type, status }) => [type, status]),
        [
          ['Available', 'True'],
          ['Ready', 'True'],
        ],
      );
      assert.equal(conditions.find(({ type }) => type === 'ImpersonationAllowed')?.reason, expected);
    });
  });
}

interface ShownCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

/** Conditions of a cluster as kubectl shows them, once the one asked for is there. */
async function conditionsOf(cluster: string, until: string): Promise<readonly ShownCondition[]> {
  return eventually(`${cluster} has ${until}`, async () => {
    const args = ['get', 'clusters.gateway.portcullis.io', cluster, '-o', 'yaml'];
    const { stdout } = await kubectlAs(plane.binaries['kubectl']!, gateway, carol.token, '', args);
    const { status } = parse(stdout) as { status: { conditions: readonly ShownCondition[] } };
    return status.conditions.some(({ type }) => type === until) ? status.conditions : undefined;
  });
}

const execCall = { path: `${pods}/box/exec`, command: ['echo', 'inside'] };
const execThrough = (kind: Kind) => ({ ...execCall, path: `/clusters/${kind}/proxy${execCall.path}` });

test('where access is not read-only, a cluster-admin does exec by WebSocket and reach pods/proxy', async () => {
  for (const kind of ['classic', 'constrained'] as const) {
    const session = await execOverWebSocket(endpoint(carol.token), execThrough(kind));
    assert.equal((await session.result).stdout.toString(), 'inside\n');
    const proxied = await ask(gateway, carol.token, 'GET', `/clusters/${kind}/proxy${pods}/box:8080/proxy/headers`);
    assert.equal(proxied.status, 200, proxied.body.toString());
  }
});

test("constrained read-only access: a cluster-admin's exec, attach, port-forward and proxies get 403", async () => {
  const web = await statusOf(execOverWebSocket(endpoint(carol.token), execThrough('readonly')));
  assert.equal(web.status, 403, web.body);
  assert.match(web.body, /cannot impersonate-on:user-info:get resource \\"pods\/exec\\"/);
  assert.equal((await statusOf(execOverSpdy(endpoint(carol.token), execThrough('readonly')))).status, 403);
  for (const path of [
    `${pods}/box/attach?stdout=true`,
    `${pods}/box/portforward?ports=8080`,
    `${pods}/box:8080/proxy/headers`,
    '/api/v1/namespaces/team-a/services/box:80/proxy/',
    '/api/v1/nodes/kubelet-0/proxy/pods',
  ]) {
    const answer = await ask(gateway, carol.token, 'GET', `/clusters/readonly/proxy${path}`);
    assert.equal(answer.status, 403, `${path}: ${answer.body.toString()}`);
    assert.match(answer.body.toString(), /impersonate/);
  }
});

test('constrained read-only access: real kubectl reads what there is, and changes nothing', async () => {
  const logs = await kubectl('readonly', carol.token, 'logs', 'box', '-n', 'team-a');
  assert.equal(logs.code, 0, logs.stderr);
  const everything = await kubectl('readonly', carol.token, 'get', 'all,nodes,clusterroles,crd', '-A', '-o', 'name');
  assert.equal(everything.code, 0, everything.stderr);
  const explained = await kubectl('readonly', carol.token, 'explain', 'deployments');
  assert.equal(explained.code, 0, explained.stderr);
  const made = (await member.request('GET', '/api/v1/namespaces/team-a/configmaps')).body;
  for (const args of [
    ['create', 'configmap', 'x', '-n', 'team-a'],
    ['label', 'pod', 'box', '-n', 'team-a', 'a=b'],
    ['delete', 'pod', 'box', '-n', 'team-a', '--wait=false'],
    ['exec', 'box', '-n', 'team-a', '--', 'true'],
    ['create', 'token', 'default', '-n', 'team-a'],
    ['auth', 'can-i', 'list', 'pods', '--as', 'alice', '--as-group', 'system:masters'],
  ]) {
    const denied = await kubectl('readonly', carol.token, ...args);
    assert.notEqual(denied.code, 0, args.join(' '));
    assert.match(denied.stderr, /forbidden|Forbidden/, args.join(' '));
  }
  const after = (await member.request('GET', '/api/v1/namespaces/team-a/configmaps')).body;
  const names = (text: string) =>
    (JSON.parse(text) as { items: { metadata: { name: string } }[] }).items.map((o) => o.metadata.name);
  assert.deepEqual(names(after), names(made));
  assert.equal((await member.request('GET', `${pods}/box`)).status, 200);
});

test('a credential that may do more is told as Overprivileged, and the cluster stays available', async () => {
  const conditions = await conditionsOf('broad', 'Overprivileged');
  const broad = conditions.find(({ type }) => type === 'Overprivileged');
  assert.deepEqual([broad?.status, broad?.reason], ['True', 'BroaderThanNeeded']);
  assert.match(broad?.message ?? '', /\* \*\.\*.*portcullis generate member-access/);
  assert.equal(conditions.find(({ type }) => type === 'Available')?.status, 'True');
  const list = await kubectl('broad', carol.token, 'get', 'pods', '-n', 'team-a', '-o', 'name');
  assert.equal(list.code, 0, list.stderr);
});
