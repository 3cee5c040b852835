// Every cluster at once through the aggregator of a real hub: the star as people grant it with RBAC, and kubectl on the
// hub's own address. kube-apiserver reads the path again on its way (`*` comes as %2A), and its RBAC knows the star as
// a name like any other.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { after, before, test } from 'node:test';

import type { CommandResult, Member } from '../../controlplane/fixture.ts';
import { runCommand } from '../../controlplane/processes.ts';
import { clusterPath, startHubSite } from '../../hub/site.ts';
import type { HubSite } from '../../hub/site.ts';
import { adminInMember, grantOnHub, hubAccountToken, proxyRule } from './hub-accounts.ts';
import { eventually } from '../../site/polling.ts';

const clusters = ['m1', 'm2'] as const;
let site: HubSite;
let hub: Member;

before(async () => {
  site = await startHubSite({ members: clusters });
  hub = site.hub;
  for (const name of clusters) {
    const metadata = { name: `of-${name}`, namespace: 'default', labels: { app: 'fan' } };
    await site.plane.member(name).apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata });
  }
});
after(() => site?.stop());

const args = (token: string, ...rest: readonly string[]): string[] => [
  '--server',
  hub.url + clusterPath('*'),
  '--certificate-authority',
  hub.caFile,
  '--token',
  token,
  ...rest,
];
const env = { KUBECONFIG: '/dev/null' };

function kubectl(token: string, ...rest: readonly string[]): Promise<CommandResult> {
  return runCommand(site.plane.binaries['kubectl']!, args(token, ...rest), { env: { ...env, HOME: site.plane.dir } });
}

const maps = ['get', 'configmaps', '-n', 'default', '-l', 'app=fan'] as const;

test('kubectl lists and watches every cluster through the hub, discovery included', async () => {
  const { token } = hub.users.carol;
  const { code, stdout, stderr } = await kubectl(token, ...maps, '--no-headers');
  assert.deepEqual([code, stderr], [0, '']);
  const named = stdout
    .trim()
    .split('\n')
    .map((line) => line.split(/ +/).slice(0, 2).join(' '));
  assert.deepEqual(named, ['m1 of-m1', 'm2 of-m2']);
  const child = spawn(site.plane.binaries['kubectl']!, args(token, ...maps, '-w', '--no-headers'), {
    env: { ...env, HOME: site.plane.dir },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    let out = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
    await eventually('the list was printed', () => /^m2 +of-m2 /m.test(out));
    const metadata = { name: 'later', namespace: 'default', labels: { app: 'fan' } };
    await site.plane.member('m1').apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata });
    await eventually('the change was printed', () => /^m1 +later /m.test(out));
  } finally {
    child.kill('SIGKILL');
  }
});

test('on the hub a right to the star opens no cluster, and clusters without the star permit no request for all', async () => {
  const token = await hubAccountToken(hub, 'fan');
  for (const name of clusters) await adminInMember(site.plane.member(name), 'fan');
  const raw = ['get', '--raw', `${clusterPath('*')}/api/v1/namespaces/default/configmaps?labelSelector=app%3Dfan`];
  const list = async (): Promise<CommandResult> => await kubectlOnHub(token, ...raw);
  const clustersOf = ({ stdout }: CommandResult): string[] =>
    (JSON.parse(stdout) as { items: { metadata: { annotations: Record<string, string> } }[] }).items.map(
      ({ metadata }) => metadata.annotations['shadow.clusterpedia.io/cluster-name']!,
    );
  // The hub asks about the HTTP method, the gateway about what happens behind it: both verbs are needed.
  await grantOnHub(hub, 'fan', 'proxy', [proxyRule(['get', 'list'], '*')]);
  const none = await eventually('the star is granted', async () => {
    const answer = await list();
    return answer.code === 0 && answer;
  });
  assert.deepEqual(clustersOf(none), []);
  assert.doesNotMatch(none.stdout + none.stderr, /\bm[12]\b/);
  await grantOnHub(hub, 'fan', 'proxy', [proxyRule(['get', 'list'], '*', 'm2')]);
  await eventually('m2 is granted', async () => {
    const answer = await list();
    assert.equal(answer.code, 0, answer.stderr);
    const found = clustersOf(answer);
    assert.ok(!found.includes('m1'));
    return found.includes('m2');
  });
  await grantOnHub(hub, 'fan', 'proxy', [proxyRule(['get', 'list'], 'm1', 'm2')]);
  await eventually('the star is taken away', async () => (await list()).code !== 0);
});

function kubectlOnHub(token: string, ...rest: readonly string[]): Promise<CommandResult> {
  const access = ['--server', hub.url, '--certificate-authority', hub.caFile, '--token', token];
  return runCommand(site.plane.binaries['kubectl']!, [...access, ...rest], { env: { ...env, HOME: site.plane.dir } });
}
