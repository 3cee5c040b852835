import assert from 'node:assert/strict';
import { chmodSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { makeCertificate } from '../../auth/x509/certificates.fixture.ts';
import type { ConfigInput } from '../../config/written.ts';
import { checkConfiguration } from './check.ts';
import type { CheckResult } from './weakness.ts';
import { tempDir } from '../../test/pretend/temp-dir.ts';
import { kubeconfigOf } from '../../test/pretend/kubeconfig.ts';

const dayMs = 24 * 60 * 60 * 1000;
const nowMs = Date.now();
const longToken = 'f3b1c8d0a96e47525f1bb0c17e7d3a44';

const folder = tempDir('check');
const pems: Record<string, string> = {};

before(async () => {
  for (const [name, days] of [
    ['good', 400],
    ['soon', 20],
    ['over', -1],
  ] as const) {
    const made = await makeCertificate({
      subject: [{ CN: [name] }],
      validFromMs: nowMs - 100 * dayMs,
      validToMs: nowMs + days * dayMs,
    });
    pems[name] = made.pem;
  }
});

/** Writes a file that only its owner can read, unless a mode is given. */
function file(name: string, text: string, mode = 0o600): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

function kubeconfig(name: string, cluster: object, user: object, mode = 0o600): string {
  const document = kubeconfigOf({ server: 'https://192.0.2.1:6443', ...cluster }, user, 'one');
  return file(name, JSON.stringify(document), mode);
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const policy = 'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{ level: Metadata }]\n';
const fewRules = `apiVersion: gateway.portcullis.io/v1alpha1
kind: AuthorizationRules
rules:
- { subjects: [{ kind: Group, name: dev }], clusters: [one], verbs: [get], apiGroups: [""], resources: [pods] }
`;

/** A configuration without a weak point; tests change one thing. */
function strong() {
  return {
    dataDir: join(folder, 'data'),
    kubeconfig: [
      kubeconfig(
        'k.yaml',
        { 'certificate-authority-data': base64(pems['good']!) },
        { tokenFile: file('token', longToken) },
      ),
    ],
    clientCaFile: file('ca.pem', pems['good']!, 0o644),
    authorizationRules: file('rules.yaml', fewRules, 0o644),
    auditPolicyFile: file('policy.yaml', policy, 0o644),
    auditLogPath: join(folder, 'audit.log'),
  } satisfies ConfigInput;
}

function look(flags: ConfigInput): Promise<CheckResult> {
  return checkConfiguration(flags, { offline: true, nowMs, version: '0' });
}

async function names(flags: ConfigInput): Promise<readonly string[]> {
  const { weaknesses, unread } = await look(flags);
  assert.deepEqual(unread, []);
  for (const { where, what, fix } of weaknesses) assert.ok(where !== '' && what !== '' && fix !== '');
  return weaknesses.map(({ name }) => name).toSorted();
}

test('a configuration with nothing weak has no finding', async () => {
  assert.deepEqual(await look(strong()), { weaknesses: [], unread: [] });
});

test('every weak setting is a finding of its own', async () => {
  const settings: readonly (readonly [ConfigInput, readonly string[]])[] = [
    [{ authorizationRules: undefined as never }, ['NoAuthorizationRules']],
    [{ auditPolicyFile: undefined as never, auditLogPath: undefined as never }, ['NoAudit']],
    [{ anonymousAuth: true }, ['AnonymousAuth']],
    [{ forwardSystemMasters: true }, ['ForwardSystemMasters']],
    [{ forwardReserved: 'system:masters' }, ['ForwardSystemMasters']],
    [{ forwardReserved: 'kubeadm:cluster-admins' }, ['ForwardReserved']],
    [{ serviceAccountIdentity: 'as-is' }, ['ServiceAccountsAsIs']],
    [{ allowPrivilegedIdentity: true, privilegedUser: 'root' }, ['PrivilegedIdentity']],
    [{ opsListen: '0.0.0.0:8090' }, ['OpenMetrics']],
    [{ listen: '0.0.0.0:8443' }, []],
    [{ listen: '0.0.0.0:8443', maxConnections: '0' }, ['UnlimitedListener']],
    [{ maxConnections: '0' }, []],
    [{ endExpiredStreams: false }, ['StreamsOutliveCredentials']],
  ];
  for (const [changed, expected] of settings)
    assert.deepEqual(await names({ ...strong(), ...changed }), expected, JSON.stringify(changed));
});

test('what users may be is read from their files', async () => {
  const tokens = file('t.csv', `abc,alice,1\n${longToken},bob,2,"system:masters"\n`);
  assert.deepEqual(await names({ ...strong(), tokenAuthFile: tokens }), [
    'GuessableToken',
    'StaticTokens',
    'SuperuserToken',
  ]);
  const rules = (rule: string): string =>
    file('r.yaml', `apiVersion: gateway.portcullis.io/v1alpha1\nkind: AuthorizationRules\nrules: [${rule}]\n`);
  const everything = 'verbs: ["*"], apiGroups: ["*"], resources: ["*"]';
  const judged: readonly (readonly [string, readonly string[]])[] = [
    [`{ subjects: [{ kind: Group, name: system:authenticated }], ${everything} }`, ['EverybodyEverywhere']],
    [`{ subjects: [{ kind: Group, name: dev }], ${everything} }`, []],
    [
      '{ subjects: [{ kind: User, name: a }], verbs: [list], apiGroups: [""], resources: [secrets], clusters: [x] }',
      ['ClusterWideSecrets'],
    ],
    [
      '{ subjects: [{ kind: User, name: a }], verbs: [list], apiGroups: [""], resources: [secrets], namespaces: [x] }',
      [],
    ],
    [
      '{ subjects: [{ kind: User, name: a }], verbs: [impersonate], apiGroups: [""], resources: [users] }',
      ['ImpersonateAnybody'],
    ],
  ];
  for (const [rule, expected] of judged)
    assert.deepEqual(await names({ ...strong(), authorizationRules: rules(rule) }), expected, rule);
  const provider = `apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
jwt:
- issuer: { url: "https://issuer.example.com", audiences: [portcullis] }
  claimMappings: { username: { claim: sub, prefix: "" }, groups: { claim: groups, prefix: "oidc:" } }
anonymous: { enabled: true, conditions: [{ path: /livez }] }
`;
  const { weaknesses } = await look({ ...strong(), authenticationConfig: file('authn.yaml', provider) });
  assert.deepEqual(
    weaknesses.map(({ name, severity }) => [name, severity]),
    [
      ['AnonymousAuth', 'low'],
      ['UnprefixedIdentity', 'low'],
    ],
  );
});

test('how a cluster is reached and who the gateway is there', async () => {
  const trusted = { 'certificate-authority-data': base64(pems['good']!) };
  const user = { tokenFile: join(folder, 'token') };
  const jwt = (claims: object): string => `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.x`;
  const clusters: readonly (readonly [object, object, readonly string[]])[] = [
    [{ 'insecure-skip-tls-verify': true }, user, ['InsecureTLS']],
    [{ server: 'http://192.0.2.1' }, user, ['PlainHTTP']],
    [{ ...trusted, 'proxy-url': 'http://u:p@192.0.2.9:3128' }, user, ['ClearTextProxy']],
    [{ ...trusted, 'proxy-url': 'http://127.0.0.1:3128' }, user, []],
    [{ 'certificate-authority-data': base64(pems['over']! + pems['good']!) }, user, ['CertificateExpired']],
    [{ 'certificate-authority-data': base64(pems['soon']!) }, user, ['CertificateExpiresSoon']],
    [trusted, { token: 'opaque' }, ['StaticMemberToken']],
    [trusted, { token: jwt({ exp: nowMs / 1000 + 60 }) }, ['StaticMemberToken']],
    [trusted, { username: 'a', password: 'b' }, ['BasicCredential']],
    [
      trusted,
      { exec: { apiVersion: 'client.authentication.k8s.io/v1', command: '/never/run', interactiveMode: 'Never' } },
      ['ExecPlugin'],
    ],
    [trusted, { tokenFile: file('old', jwt({ exp: nowMs / 1000 - 60 })) }, ['TokenExpired']],
  ];
  const flags = strong();
  for (const [cluster, who, expected] of clusters) {
    const given = { ...flags, kubeconfig: [kubeconfig('other.yaml', cluster, who)] };
    assert.deepEqual(await names(given), expected, JSON.stringify([cluster, who]));
  }
});

test('files that others may read or change, and certificates of the gateway itself', async () => {
  const flags = strong();
  chmodSync(join(folder, 'token'), 0o644);
  assert.deepEqual(await names(flags), ['WorldReadableSecret']);
  chmodSync(join(folder, 'token'), 0o600);
  chmodSync(flags.kubeconfig[0]!, 0o604);
  chmodSync(flags.authorizationRules, 0o666);
  assert.deepEqual(await names(flags), ['WorldReadableSecret', 'WorldWritableFile']);
  chmodSync(flags.kubeconfig[0]!, 0o600);
  chmodSync(flags.authorizationRules, 0o644);
  writeFileSync(flags.clientCaFile, pems['soon']!);
  assert.deepEqual(await names(flags), ['CertificateExpiresSoon']);
});

test('what cannot be read is reported with file and line, and hides no other finding', async () => {
  const flags = strong();
  const broken = { ...flags, tokenAuthFile: file('bad.csv', `${longToken},alice,1\n${longToken}\n`, 0o644) };
  const { weaknesses, unread } = await look(broken);
  assert.deepEqual(
    weaknesses.map(({ name }) => name),
    ['WorldReadableSecret', 'StaticTokens'],
  );
  assert.equal(unread.length, 1);
  assert.match(unread[0]!.what, /bad\.csv:2: at least 3 columns are needed/);
  assert.doesNotMatch(JSON.stringify([weaknesses, unread]), new RegExp(longToken));
  const faults = [
    [
      { authorizationRules: file('bad-rules.yaml', 'kind: AuthorizationRules\nrules: [{}]\n') },
      /bad-rules\.yaml:\d+:\d+: /,
    ],
    [{ kubeconfig: [file('bad-k.yaml', 'a: [\n')] }, /bad-k\.yaml:\d+:\d+: /],
    [{ clientCaFile: file('no.pem', 'no certificate') }, /holds no certificate authority/],
    [{ config: file('c.yaml', 'listen: 127.0.0.1:1\nlistne: x\n') }, /c\.yaml:\d+:\d+: .*listne/],
    [{ listen: 'x' }, /--listen: "x" is not HOST:PORT/],
    [{ auditPolicyFile: join(folder, 'nope') }, /ENOENT/],
  ] as const;
  for (const [changed, expected] of faults) {
    const found = await look({ ...flags, ...changed });
    assert.ok(
      found.unread.some(({ what }) => expected.test(what)),
      JSON.stringify([changed, found.unread]),
    );
  }
});

test('the page about it names every point, and no other', () => {
  const root = join(import.meta.dirname, '../..');
  const code = globSync('gateway/check/*.ts', { cwd: root })
    .filter((path) => !path.endsWith('.test.ts'))
    .flatMap((path) =>
      [...readFileSync(join(root, path), 'utf8').matchAll(/\bname: '([A-Z]\w+)'/g)].map(([, name]) => name!),
    );
  const page = readFileSync(join(root, 'docs/how-to/check-a-configuration.md'), 'utf8');
  const reported = [...page.matchAll(/^\| (`[A-Z][^|]*)\|/gm)].flatMap(([, cell]) => cell!.match(/\w+/g)!);
  assert.deepEqual(reported.toSorted(), [...new Set(code)].toSorted());
});

test("a hub's settings are checked without a hub", async () => {
  const hub = kubeconfig(
    'hub.yaml',
    { 'certificate-authority-data': base64(pems['good']!) },
    { tokenFile: join(folder, 'token') },
  );
  const behind: ConfigInput = { ...strong(), hubKubeconfig: hub, authorizationRules: undefined as never };
  const settings: readonly (readonly [ConfigInput, readonly string[]])[] = [
    [{}, []],
    [{ allowExec: ['aws eks get-token --cluster-name *'] }, ['HubExecPlugins']],
    [{ authorizeVerb: 'http' }, ['HttpVerbs']],
    [{ executeWorks: true }, []],
    [{ executeWorks: true, worksAcceptUnstamped: true }, ['UnstampedWorks']],
    [{ allowMemberAddresses: '127.0.0.0/8' }, ['LocalMemberAddresses']],
    [
      { hubKubeconfig: kubeconfig('hub2.yaml', { 'insecure-skip-tls-verify': true }, { token: 'x' }) },
      ['InsecureTLS', 'StaticMemberToken'],
    ],
  ];
  for (const [changed, expected] of settings)
    assert.deepEqual(await names({ ...behind, ...changed }), expected, JSON.stringify(changed));
});
