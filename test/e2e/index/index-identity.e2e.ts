// An index over members that know nothing of Portcullis, with an administrator's kubeconfig: what the first try of a
// fleet looks like. The credential may read everything, and still nobody may see a row that their own rights in the
// member do not show.
// Landing tier: what the index reads with shows nobody a row.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, before, test } from 'node:test';
import { startControlPlane } from '../../controlplane/fixture.ts';
import type { ControlPlane } from '../../controlplane/fixture.ts';
import { startGatewayProcess } from '../../gateway-process.ts';
import type { GatewayProcess } from '../../gateway-process.ts';
import { ask, kubectlAs } from '../kubectl/kubectl-as.ts';
import { eventually } from '../../site/polling.ts';

const index = '/apis/search.portcullis.io/v1alpha1/indexes/default';
const listPath = `${index}/proxy/api/v1/namespaces/team-a/configmaps`;
const alice = { name: 'alice', groups: [], token: 'alice-at-the-gateway' };
const bob = { name: 'bob', groups: [], token: 'bob-at-the-gateway' };
const script = new URL('../../../bin/portcullis.mjs', import.meta.url).pathname;
const generate = ['generate', 'member-access', '--index', '--index-resources', 'configmaps', '--apply'];
const command = /portcullis generate member-access --index --apply --context CONTEXT/;
let plane: ControlPlane;

before(async () => {
  plane = await startControlPlane({ members: ['m1', 'm2'] });
  for (const { apply, name } of plane.members) {
    await apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `of-${name}`, namespace: 'team-a' } });
  }
});

after(async () => {
  await plane?.stop();
});

async function serve(identity: string): Promise<{ readonly gateway: GatewayProcess; readonly printed: () => string }> {
  const gateway = await startGatewayProcess({
    kubeconfigs: plane.members.map(({ adminKubeconfig }) => adminKubeconfig),
    users: [alice, bob],
    args: ['--index-resources', 'configmaps', '--index-identity', identity],
  });
  let printed = '';
  gateway.child.stdout!.on('data', (text: string) => (printed += text));
  return { gateway, printed: () => printed };
}

async function rows(gateway: GatewayProcess, token: string): Promise<readonly string[]> {
  const { status, body } = await ask(gateway, token, 'GET', listPath);
  if (status !== 200) return [];
  const { items } = JSON.parse(body.toString('utf8')) as { readonly items: readonly { metadata: { name: string } }[] };
  return items.map(({ metadata }) => metadata.name).filter((name) => name.startsWith('of-'));
}

/** Cells of the column INDEX by cluster, as kubectl prints them. */
async function column(gateway: GatewayProcess): Promise<Readonly<Record<string, string>>> {
  const { stdout } = await kubectlAs(plane.binaries['kubectl']!, gateway, alice.token, '', ['get', 'clusters']);
  const [head = '', ...lines] = stdout.trimEnd().split('\n');
  const at = head.indexOf('INDEX');
  assert.ok(at > 0, stdout);
  return Object.fromEntries(lines.map((line) => [line.split(' ')[0]!, line.slice(at).split(/ {2,}/)[0]!.trim()]));
}

async function condition(gateway: GatewayProcess, cluster: string): Promise<Record<string, string>> {
  const { body } = await ask(gateway, alice.token, 'GET', `/apis/gateway.portcullis.io/v1alpha1/clusters/${cluster}`);
  const { status } = JSON.parse(body.toString('utf8')) as { status: { conditions: Record<string, string>[] } };
  return status.conditions.find(({ type }) => type === 'Indexed') ?? {};
}

test('auto: rows appear, read as the credential itself and decided by the rights of who asks', async () => {
  const { gateway } = await serve('auto');
  try {
    await eventually('rows of both', async () => (await rows(gateway, alice.token)).length === 2, {
      timeoutMs: 60_000,
    });
    assert.deepEqual([...(await rows(gateway, alice.token))].sort(), ['of-m1', 'of-m2']);
    assert.deepEqual(await rows(gateway, bob.token), [], 'who has no rights in the members');
    await eventually('synced', async () => Object.values(await column(gateway)).every((cell) => cell === 'Synced'));
    const { status, message } = await condition(gateway, 'm1');
    assert.equal(status, 'True');
    assert.match(message!, /read as the gateway's own credential/);
    const reads = (await plane.member('m1').audit()).filter(
      ({ verb, userAgent, responseStatus }) =>
        userAgent === 'portcullis-index' && ['list', 'watch'].includes(verb) && responseStatus?.code === 200,
    );
    assert.ok(reads.length > 0);
    assert.ok(reads.every(({ user, impersonatedUser }) => user.username === 'admin' && impersonatedUser === undefined));
  } finally {
    await gateway.stop();
  }
});

test('impersonate: nothing is read; the 404, its Warning, the column, freshness and the start of serve say why and what mends it', async () => {
  const { gateway, printed } = await serve('impersonate');
  try {
    const reported = await eventually('told', async () => {
      const cells = await column(gateway);
      return cells['m1'] === 'Forbidden' && cells['m2'] === 'Forbidden';
    });
    assert.ok(reported);
    const { status, body, headers } = await ask(gateway, alice.token, 'GET', listPath);
    assert.equal(status, 404);
    for (const text of [body.toString('utf8'), String(headers['warning'])]) {
      assert.match(text, /m1[^]*forbidden to portcullis:index[^]*m2/);
      assert.match(text, command);
    }
    const found = await condition(gateway, 'm1');
    assert.deepEqual([found['status'], found['reason']], ['False', 'Forbidden']);
    const freshness = JSON.parse(
      (await ask(gateway, alice.token, 'GET', `${index}/freshness`)).body.toString('utf8'),
    ) as {
      clusters: readonly { cluster: string; fault: { reason: string } }[];
    };
    assert.deepEqual(
      freshness.clusters.map(({ cluster, fault }) => [cluster, fault.reason]),
      [
        ['m1', 'Forbidden'],
        ['m2', 'Forbidden'],
      ],
    );
    await eventually('the start of serve says it', () => /cannot follow 2 of 2 clusters \(m1, m2\)/.test(printed()));
    const get = ['get', 'configmaps', '-A'];
    const kubectl = await kubectlAs(plane.binaries['kubectl']!, gateway, alice.token, `${index}/proxy`, get);
    assert.match(kubectl.stderr, /Warning: cluster m1: .*forbidden to portcullis:index/);

    for (const { adminKubeconfig, name } of plane.members) {
      const args = [script, ...generate, '--kubeconfig', adminKubeconfig, '--context', name];
      const { status: code, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
      assert.equal(code, 0, stderr);
      assert.match(stdout, /ClusterRole portcullis-index applied[^]*ClusterRoleBinding portcullis-index applied/);
    }
    await eventually('rows of both', async () => (await rows(gateway, alice.token)).length === 2, {
      timeoutMs: 60_000,
    });
    await eventually('synced', async () => Object.values(await column(gateway)).every((cell) => cell === 'Synced'));
    assert.deepEqual(await rows(gateway, bob.token), []);
  } finally {
    await gateway.stop();
  }
});

test('who may not change RBAC in the member is told that it takes an administrator', () => {
  const { kubeconfig } = plane.member('m1').users.alice;
  const args = [script, ...generate, '--kubeconfig', kubeconfig, '--context', 'm1'];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  assert.equal(status, 1);
  assert.match(stderr, /does not let this context apply ClusterRole portcullis-index \(403\)[^]*administrator/);
});
