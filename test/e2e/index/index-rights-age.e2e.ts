// Rows of a member that is down stay, decided by the RBAC it had, until that RBAC is older than --index-rights-max-age;
// a restarted gateway goes on with the same age. A member confirms its RBAC about once a minute (bookmarks), so an age
// below that hides members that are well.
// Runs alone: what it waits for goes by ages of some seconds.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { indexRules } from '../../../lib/rights/index-rules.ts';
import { startControlPlane } from '../../controlplane/fixture.ts';
import type { ControlPlane } from '../../controlplane/fixture.ts';
import { startGatewayProcess } from '../../gateway-process.ts';
import type { GatewayProcess } from '../../gateway-process.ts';
import { ask } from '../kubectl/kubectl-as.ts';
import { eventually } from '../../site/polling.ts';
import { grantedClusterRole, userSubject } from '../../site/rbac.ts';
import { tempDir } from '../../pretend/temp-dir.ts';

const path = '/apis/search.portcullis.io/v1alpha1/indexes/default/proxy/api/v1/namespaces/team-a/configmaps';
const alice = { name: 'alice', groups: [], token: 'alice-at-the-gateway' };
const maxAgeSeconds = 100;
let plane: ControlPlane;
let gateway: GatewayProcess;
const dataDir = tempDir('age');

before(async () => {
  plane = await startControlPlane({ members: ['m1', 'm2'], audit: false });
  for (const member of plane.members) {
    await member.apply(
      ...grantedClusterRole('portcullis-index', indexRules(['configmaps']), userSubject('portcullis:index')),
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `of-${member.name}`, namespace: 'team-a' } },
    );
  }
  gateway = await start();
});

after(async () => {
  await gateway?.stop('SIGKILL');
  await plane?.stop();
});

function start(): Promise<GatewayProcess> {
  return startGatewayProcess({
    kubeconfigs: [plane.gatewayKubeconfig],
    users: [alice],
    dataDir,
    args: ['--index-resources', 'configmaps', '--index-rights-max-age', `${maxAgeSeconds}s`],
  });
}

interface Seen {
  readonly rows: readonly string[];
  readonly warning: string;
}

async function seen(): Promise<Seen> {
  const { status, body, headers } = await ask(gateway, alice.token, 'GET', path);
  assert.equal(status, 200, body.toString('utf8'));
  const { items } = JSON.parse(body.toString('utf8')) as { readonly items: readonly { metadata: { name: string } }[] };
  const ours = items.map(({ metadata }) => metadata.name).filter((name) => name.startsWith('of-'));
  return { rows: ours.toSorted(), warning: String(headers['warning'] ?? '') };
}

test('rows of a member that is down stay until its RBAC is too old, over a restart of the gateway; then it is named, and the others stay', async () => {
  await eventually('both members are indexed', async () => (await seen()).rows.length === 2);
  const member = plane.member('m1');
  await member.kill();
  const killedAt = performance.now();
  const stale = await eventually('the dead member is told of', async () => {
    const answer = await seen();
    return answer.warning.includes('m1') && answer;
  });
  assert.deepEqual(stale.rows, ['of-m1', 'of-m2']);

  await gateway.stop();
  gateway = await start();
  const again = await eventually('the restarted gateway answers', async () => {
    const answer = await seen();
    return answer.rows.length === 2 && answer;
  });
  assert.deepEqual(again.rows, ['of-m1', 'of-m2'], 'nobody could have been asked about the first again');
  assert.match(again.warning, /m1/);

  const without: string[] = [];
  const hidden = await eventually(
    'rows of the dead member are hidden',
    async () => {
      const answer = await seen();
      if (!answer.rows.includes('of-m2')) without.push(answer.warning);
      return !answer.rows.includes('of-m1') && answer;
    },
    { timeoutMs: (maxAgeSeconds + 60) * 1000 - (performance.now() - killedAt), everyMs: 250 },
  );
  assert.deepEqual(without, [], 'the other member is not touched');
  assert.match(hidden.warning, /m1.*last confirmed .* ago.*--index-rights-max-age/);

  await member.restart();
  await eventually('rows are back', async () => (await seen()).rows.length === 2, { timeoutMs: 60_000 });
});
