// `--identity-exchange` against a real kube-apiserver, whose audit log says whom it saw: rules of a file, changed while
// the gateway runs, and a process that refuses what is not safe.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { gatewayUser, startControlPlane } from '../../controlplane/fixture.ts';
import type { ControlPlane, Member } from '../../controlplane/fixture.ts';
import { startGatewayProcess } from '../../gateway-process.ts';
import type { GatewayProcess } from '../../gateway-process.ts';
import { ask, kubectlAs } from '../kubectl/kubectl-as.ts';
import { eventually } from '../../site/polling.ts';
import { clusterRoleBinding } from '../../site/rbac.ts';

const user = (name: string, groups: readonly string[] = [], uid = '') => ({
  token: `${name}-token`,
  name,
  groups,
  uid,
});
const ann = user('ann', ['dev'], 'ann-uid');
const contractor = user('contractor-7', ['dev']);
const operator = user('opal', ['sudoer', 'dev']);
const plain = user('paul', ['dev']);
const users = [ann, contractor, operator, plain];

const mapped = (target: object, source: object, name: string): object => ({
  name,
  type: 'StaticMappingIdentityExchanger',
  source,
  target,
});
const rules = (...list: readonly object[]): string =>
  JSON.stringify({
    apiVersion: 'cluster.core.oam.dev/v1alpha1',
    kind: 'ClusterGatewayProxyConfiguration',
    spec: { clientIdentityExchanger: { rules: list } },
  });
const first = rules(
  { name: 'super-user', type: 'PrivilegedIdentityExchanger', source: { group: 'sudoer' } },
  mapped({ user: 'member-ann', groups: ['member-devs'], uid: 'member-uid' }, { user: 'ann', cluster: 'm1' }, 'ann'),
  mapped({ user: 'contractors' }, { userPattern: '^contractor-\\d+$', clusterPattern: '^m\\d$' }, 'contractors'),
);

let plane: ControlPlane;
let member: Member;
let gateway: GatewayProcess;
let file: string;

/** As an editor or a Secret volume replaces a file. */
function replace(text: string): void {
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
}

before(async () => {
  plane = await startControlPlane({ members: ['m1', 'm2'] });
  member = plane.member('m1');
  const group = 'rbac.authorization.k8s.io';
  await member.apply(
    clusterRoleBinding(
      'watchers',
      'test-view',
      ...['member-ann', 'paul'].map((name) => ({ apiGroup: group, kind: 'User', name })),
    ),
  );
  file = join(plane.dir, 'exchange.yaml');
  replace(first);
  gateway = await startGatewayProcess({
    kubeconfigs: [plane.gatewayKubeconfig],
    users,
    args: ['--identity-exchange', file, '--allow-privileged-identity', '--privileged-user', 'hub-admin'],
  });
});

after(async () => {
  await gateway?.stop('SIGKILL');
  await plane?.stop();
});

interface Seen {
  readonly username?: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: object;
}

/** Whom the member's audit log says a request was impersonated as. */
async function seenAs(token: string, cluster = 'm1', headers: Readonly<Record<string, string>> = {}): Promise<Seen> {
  const at = plane.member(cluster);
  const mark = await at.auditMark();
  const name = `probe-${Math.random().toString(36).slice(2)}`;
  await ask(gateway, token, 'GET', `/clusters/${cluster}/proxy/api/v1/namespaces/${name}`, undefined, headers);
  const [event] = await at.waitForAudit(({ objectRef }) => objectRef?.name === name, { mark });
  assert.equal(event?.user.username, gatewayUser);
  assert.ok(event.impersonatedUser, 'nobody was impersonated');
  return event.impersonatedUser;
}

const everybody = 'system:authenticated';

test('a static rule is all the member sees: nothing of the caller is left (CG-14)', async () => {
  assert.deepEqual(await seenAs(ann.token), {
    username: 'member-ann',
    uid: 'member-uid',
    groups: ['member-devs', everybody],
  });
  const who = await kubectlAs(plane.binaries['kubectl']!, gateway, ann.token, '/clusters/m1/proxy', [
    ...['auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}'],
  ]);
  assert.equal(who.stdout, 'member-ann', who.stderr);
});

test('a rule by pattern holds for who matches it, in clusters that match (CG-12)', async () => {
  assert.deepEqual(await seenAs(contractor.token), { username: 'contractors', groups: [everybody] });
  assert.equal((await seenAs(contractor.token, 'm2')).username, 'contractors');
});

test('a rule for one cluster leaves the others alone (CG-11)', async () => {
  assert.deepEqual(await seenAs(ann.token, 'm2'), { username: 'ann', uid: 'ann-uid', groups: ['dev', everybody] });
});

test('a privileged rule goes out as the configured user, never as the bare credential (CG-08)', async () => {
  assert.deepEqual(await seenAs(operator.token), { username: 'hub-admin', groups: [everybody] });
});

test('whom no rule matches is who they are (CG-16)', async () => {
  assert.deepEqual(await seenAs(plain.token), { username: 'paul', groups: ['dev', everybody] });
});

test('the query parameter and headers of the caller change nothing', async () => {
  const at = await member.auditMark();
  await ask(gateway, ann.token, 'GET', '/clusters/m1/proxy/api/v1/namespaces/with-query?impersonate=true');
  const [event] = await member.waitForAudit(({ objectRef }) => objectRef?.name === 'with-query', { mark: at });
  assert.equal(event?.impersonatedUser?.username, 'member-ann');
  assert.equal(
    (await seenAs(ann.token, 'm1', { 'x-remote-user': 'root', 'x-remote-group': 'sudoer' })).username,
    'member-ann',
  );
  const forged = await ask(gateway, ann.token, 'GET', '/clusters/m1/proxy/api/v1/pods', undefined, {
    'impersonate-user': 'opal',
    'impersonate-group': 'sudoer',
  });
  assert.equal(forged.status, 403, forged.body.toString());
});

test('an open watch ends when its rule changes, and that of whom no rule names goes on', async () => {
  const watch = (token: string, seconds: number) =>
    ask(gateway, token, 'GET', `/clusters/m1/proxy/api/v1/watch/namespaces?timeoutSeconds=${seconds}`).then(
      ({ status, body }) => (body.toString().includes('"type":"ERROR"') ? `told: ${status}` : String(status)),
      () => 'cut',
    );
  const mark = await member.auditMark();
  const [ofAnn, ofPaul] = [watch(ann.token, 600), watch(plain.token, 4)];
  await member.waitForAudit(({ verb, stage }) => verb === 'watch' && stage === 'ResponseStarted', { mark, count: 2 });
  replace(first.replace('"member-ann"', '"somebody-else"'));
  assert.equal(await ofAnn, 'told: 200');
  assert.equal(await ofPaul, '200');
});

test('an edited file is in force without a restart; a bad edit keeps the last good one and is told', async () => {
  replace(rules(mapped({ user: 'member-ann-2' }, { user: 'ann' }, 'ann')));
  await eventually('the new rule', async () => (await seenAs(ann.token)).username === 'member-ann-2');
  assert.equal((await seenAs(ann.token, 'm2')).username, 'member-ann-2');
  assert.equal((await seenAs(operator.token)).username, 'opal');
  replace(rules(mapped({ user: '' }, { user: 'ann' }, 'ann')));
  const reported = await eventually('the fault is told', async () => {
    const ready = (await ask(gateway, ann.token, 'GET', '/readyz?verbose')).body.toString();
    return ready.includes('must not be empty') ? ready : undefined;
  });
  assert.match(reported, /exchange\.yaml:1:\d+: spec\.clientIdentityExchanger\.rules\[0\]\.target\.user/);
  assert.equal((await seenAs(ann.token)).username, 'member-ann-2');
});

test('a process does not start with rules that are not safe, and says where', () => {
  const serve = (text: string, ...args: readonly string[]) => {
    const bad = join(plane.dir, 'bad.yaml');
    writeFileSync(bad, text);
    const script = new URL('../../../bin/portcullis.mjs', import.meta.url).pathname;
    return spawnSync(
      process.execPath,
      [
        ...[script, 'serve', '--kubeconfig', plane.gatewayKubeconfig, '--token-auth-file', gateway.tokenFile],
        ...['--listen', '127.0.0.1:0', '--ops-listen', '127.0.0.1:0', '--data-dir', join(plane.dir, 'bad-data')],
        ...['--cluster-gateway-proxy-config', bad, ...args],
      ],
      { encoding: 'utf8', timeout: 30_000 },
    );
  };
  const cases: readonly (readonly [text: string, reason: RegExp])[] = [
    [first, /bad\.yaml:1:\d+: .*rules\[0\]\.type: needs --allow-privileged-identity and --privileged-user/],
    [rules(mapped({ groups: ['a'] }, { user: 'a' }, 'x')), /rules\[0\]\.target\.user: is missing/],
    [rules({ type: 'ExternalIdentityExchanger', source: { user: 'a' }, url: 'https://x.test' }), /\.type: External/],
    [rules(mapped({ user: 'x' }, { userPattern: '*' }, 'x')), /userPattern: is not a regular expression of Go/],
  ];
  for (const [text, reason] of cases) {
    const { status, stderr } = serve(text);
    assert.equal(status, 2, stderr);
    assert.match(stderr, reason);
  }
});
