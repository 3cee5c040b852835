// `portcullis check` against a real kube-apiserver: the credential that `generate member-access` prints is judged
// clean, cluster-admin is not, and the exit codes are what CI goes by. A check that finds nothing proves little, so the
// same files are made weak one by one.
// Landing tier: portcullis check says what is weak.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { authority, makeCertificate } from '../../../auth/x509/certificates.fixture.ts';
import { startControlPlane } from '../../controlplane/fixture.ts';
import type { ControlPlane, Member } from '../../controlplane/fixture.ts';
import { accountSubject, grantedClusterRole } from '../../site/rbac.ts';
import { accountToken } from '../../controlplane/account-token.ts';
import { tempDir } from '../../pretend/temp-dir.ts';

const namespace = 'portcullis';
const account = 'gateway';
const yearMs = 365 * 24 * 60 * 60 * 1000;
const script = new URL('../../../bin/portcullis.mjs', import.meta.url).pathname;

let plane: ControlPlane;
let member: Member;
const folder = tempDir('check');

interface Report {
  readonly weaknesses: readonly {
    readonly name: string;
    readonly where: string;
    readonly what: string;
    readonly fix: string;
  }[];
  readonly unread: readonly { readonly where: string; readonly what: string }[];
}

function portcullis(...args: readonly string[]): {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
} {
  return spawnSync(process.execPath, [script, ...args], { encoding: 'utf8', timeout: 60_000 });
}

/** Runs the check with everything else in order. */
function check(kubeconfig: string, ...args: readonly string[]): ReturnType<typeof portcullis> {
  return portcullis('check', '--config', join(folder, 'portcullis.yaml'), '--kubeconfig', kubeconfig, ...args);
}

function found(kubeconfig: string, ...args: readonly string[]): Report & { readonly status: number | null } {
  const { status, stdout, stderr } = check(kubeconfig, '-o', 'json', ...args);
  assert.equal(stderr, '');
  return { status, ...(JSON.parse(stdout) as Report) };
}

function file(name: string, text: string, mode = 0o600): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

function kubeconfig(name: string, user: object, cluster: object = {}): string {
  const document = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { server: member.url, 'certificate-authority': member.caFile, ...cluster } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'm1', context: { cluster: 'c', user: 'u' } }],
  };
  return file(name, JSON.stringify(document));
}

const tokenOf = (serviceAccount: string): Promise<string> => accountToken(member, namespace, serviceAccount);

before(async () => {
  plane = await startControlPlane({ members: ['m1'] });
  member = plane.member('m1');
  await member.apply(
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    ...[account, 'powerless'].map((name) => ({
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name, namespace },
    })),
  );
  const printed = portcullis('generate', 'member-access', '--gateway-service-account', `${namespace}/${account}`);
  assert.equal(printed.status, 0, printed.stderr);
  const applied = await member.kubectl(['apply', '-f', '-'], { stdin: printed.stdout });
  assert.equal(applied.code, 0, applied.stderr);
  const ca = await makeCertificate({
    subject: [{ CN: ['users'] }],
    validFromMs: Date.now() - 1000,
    validToMs: Date.now() + yearMs,
    extensions: authority(),
  });
  file('users-ca.crt', ca.pem, 0o644);
  file('policy.yaml', 'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{ level: Metadata }]\n', 0o644);
  file(
    'rules.yaml',
    'apiVersion: gateway.portcullis.io/v1alpha1\nkind: AuthorizationRules\nrules:\n' +
      '- { subjects: [{ kind: Group, name: dev }], clusters: [m1], verbs: [get], apiGroups: [""], resources: [pods] }\n',
    0o644,
  );
  const configuration = {
    dataDir: 'data',
    clientCaFile: 'users-ca.crt',
    authorizationRules: 'rules.yaml',
    auditPolicyFile: 'policy.yaml',
    auditLogPath: 'audit.log',
  };
  file('portcullis.yaml', JSON.stringify(configuration), 0o644);
});

after(async () => {
  await plane?.stop();
});

test('the credential printed by generate member-access is judged clean: exit 0', async () => {
  const { status, stdout, stderr } = check(
    kubeconfig('clean.yaml', { tokenFile: file('token', await tokenOf(account)) }),
  );
  assert.deepEqual([status, stdout, stderr], [0, '', 'Nothing weak was found\n']);
});

test('a cluster-admin as the credential is found, named with its rights and what to do: exit 1', () => {
  const admin = {
    'client-certificate-data': Buffer.from(member.adminCertPem).toString('base64'),
    'client-key-data': Buffer.from(member.adminKeyPem).toString('base64'),
  };
  const { status, weaknesses, unread } = found(kubeconfig('admin.yaml', admin));
  assert.deepEqual([status, unread, weaknesses.map(({ name }) => name)], [1, [], ['OverprivilegedCredential']]);
  assert.match(weaknesses[0]!.where, /cluster "m1" .*admin\.yaml/);
  assert.match(weaknesses[0]!.what, /\* \*\.\*/);
  assert.match(weaknesses[0]!.fix, /portcullis generate member-access/);
  const table = check(kubeconfig('admin.yaml', admin));
  assert.equal(table.status, 1);
  assert.match(table.stdout, /^SEVERITY +NAME +WHERE\nhigh +OverprivilegedCredential +cluster "m1"/);
  assert.equal(table.stderr, '1 weak point\n');
  assert.equal(found(kubeconfig('admin.yaml', admin), '--accept', 'OverprivilegedCredential').status, 0);
  assert.equal(found(kubeconfig('admin.yaml', admin), '--offline').status, 0, 'offline, no member is asked');
});

test('one right too many is found, too, and one that lacks the right to impersonate', async () => {
  const rules = [{ apiGroups: [''], resources: ['secrets'], verbs: ['list'] }];
  await member.apply(...grantedClusterRole('secrets-too', rules, accountSubject(namespace, 'powerless')));
  const given = kubeconfig('powerless.yaml', { tokenFile: file('powerless', await tokenOf('powerless')) });
  const { status, weaknesses } = found(given);
  assert.equal(status, 1);
  assert.deepEqual(
    weaknesses.map(({ name }) => name),
    ['OverprivilegedCredential', 'CannotImpersonate'],
  );
  assert.match(weaknesses[0]!.what, /list secrets/);
});

test('what is weak on the way to a member is found beside what the member says', async () => {
  const token = await tokenOf(account);
  const insecure = { 'certificate-authority': undefined, 'insecure-skip-tls-verify': true };
  const given = kubeconfig('insecure.yaml', { token }, insecure);
  chmodSync(given, 0o644);
  const { status, weaknesses } = found(given);
  assert.equal(status, 1);
  assert.deepEqual(
    weaknesses.map(({ name }) => name),
    ['WorldReadableSecret', 'InsecureTLS', 'StaticMemberToken'],
  );
  assert.ok(!JSON.stringify(weaknesses).includes(token), 'the token is not shown');
});

test('what cannot be read is exit 2, with file and line; so is a member that gives no answer', async () => {
  const good = kubeconfig('clean.yaml', { tokenFile: file('token', await tokenOf(account)) });
  const broken = check(file('broken.yaml', 'apiVersion: v1\nclusters: [\n'));
  assert.equal(broken.status, 2);
  assert.match(broken.stdout, /could not read .*broken\.yaml:\d+:\d+: /);
  const silent = found(
    kubeconfig('silent.yaml', { tokenFile: join(folder, 'token') }, { server: 'https://127.0.0.1:1' }),
  );
  assert.equal(silent.status, 2);
  assert.match(silent.unread[0]!.where, /cluster "m1"/);
  const refused = found(kubeconfig('refused.yaml', { tokenFile: file('wrong', 'wrong-token-of-nobody') }));
  assert.equal(refused.status, 2);
  assert.match(refused.unread[0]!.what, /refuses the gateway's credential \(401\)/);
  const flag = check(good, '--listen', 'nowhere');
  assert.equal(flag.status, 2);
  assert.match(flag.stdout, /--listen: "nowhere" is not HOST:PORT/);
  assert.equal(check(good, '--no-such-flag').status, 2);
});

test("a hub is asked what the gateway's account may do there, its clusters are read, and nothing is written", async () => {
  const hub = kubeconfig('hub.yaml', {
    'client-certificate-data': Buffer.from(member.adminCertPem).toString('base64'),
    'client-key-data': Buffer.from(member.adminKeyPem).toString('base64'),
  });
  writeFileSync(hub, JSON.stringify({ ...(JSON.parse(readFileSync(hub, 'utf8')) as object), 'current-context': 'm1' }));
  await member.apply({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'remote', namespace, labels: { 'argocd.argoproj.io/secret-type': 'cluster' } },
    stringData: {
      name: 'remote',
      server: 'https://192.0.2.1:6443',
      config: JSON.stringify({ bearerToken: 'token-of-remote', tlsClientConfig: { insecure: true } }),
    },
  });
  const serving = ['--serving-secret', `${namespace}/made-by-serve`, '--serving-names', 'gateway.example.com'];
  const clean = kubeconfig('clean.yaml', { tokenFile: file('token', await tokenOf(account)) });
  const sources = ['--sources', 'kubeconfig,argocd', '--secret-namespaces', namespace];
  const args = ['--hub-kubeconfig', hub, ...sources, ...serving];
  const { status, weaknesses, unread } = found(clean, ...args);
  const names = weaknesses.map((one) => `${one.name} ${/cluster "\w+"|^hub/.exec(one.where)?.[0] ?? one.where}`);
  assert.deepEqual(names.toSorted(), [
    'InsecureTLS cluster "remote"',
    'OverprivilegedHubAccount hub',
    'StaticMemberToken cluster "remote"',
  ]);
  // 192.0.2.1 is nobody's (RFC 5737), so that cluster could not be asked.
  assert.equal(status, 2);
  assert.deepEqual(
    unread.map(({ where }) => /cluster "remote"/.test(where)),
    [true],
  );
  const secret = await member.request('GET', `/api/v1/namespaces/${namespace}/secrets/made-by-serve`);
  assert.equal(secret.status, 404, 'serve would have made it');
  assert.equal(existsSync(join(folder, 'data')), false, 'serve would have made its data directory');
});
