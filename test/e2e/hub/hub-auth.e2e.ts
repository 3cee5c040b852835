// Rights on a real hub, and whom a member sees: rights are the hub's RBAC, callers come by its tokens, its certificates
// and its aggregator. The callers are administrators of the members, so that every refusal is the gateway's or the
// hub's.
// Landing tier: the users and RBAC of a hub.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { clusterPath, startHubSite } from '../../hub/site.ts';
import type { HubSite } from '../../hub/site.ts';
import type { Member } from '../../controlplane/fixture.ts';
import type { GatewayProcess } from '../../gateway-process.ts';
import { accountNamespace, adminInMember, grantOnHub, hubAccountToken, memberName, proxyRule } from './hub-accounts.ts';
import { hubSide } from './hub-sides.ts';
import { ask } from '../kubectl/kubectl-as.ts';
import { boxPod } from '../kubectl/pods.ts';
import { eventually } from '../../site/polling.ts';
import { makeSide } from '../kubectl/sides.ts';
import type { Outcome, RunOptions, Side } from '../kubectl/sides.ts';
import { accountSubject, grantedRole } from '../../site/rbac.ts';

let site: HubSite;
let hub: Member;
let m1: Member;
/** With sub-path authorization. */
let strict: GatewayProcess;
const sides: Side[] = [];

before(async () => {
  site = await startHubSite({ members: ['m1', 'm2'], kubelet: true });
  hub = site.hub;
  m1 = site.plane.member('m1');
  strict = await site.startGateway({ args: ['--subpath-authorization'] });
  for (const member of site.members) {
    for (const name of ['reader', 'exec', 'team']) await adminInMember(member, name);
    await member.apply(boxPod('web', 'team-a'));
  }
  for (const path of ['team-a/pods/web']) {
    await eventually('the pod runs', async () => {
      const answer = await m1.request('GET', `/api/v1/namespaces/${path}`);
      return answer.body.includes('"phase":"Running"');
    });
  }
});
after(async () => {
  for (const side of sides) side.end();
  await site?.stop();
});

/** kubectl with a token at an endpoint; `direct` is the gateway's own listener. */
function kubectl(token: string, cluster: string, endpoint: 'hub' | 'direct' | 'strict'): Side {
  const parent = join(site.plane.dir, `account-side-${sides.length}`);
  mkdirSync(parent);
  const gateway = endpoint === 'strict' ? strict : site.gateway;
  const way = endpoint === 'hub' ? { url: hub.url, caFile: hub.caFile } : gateway;
  const side = makeSide(
    'gateway',
    site.plane.binaries['kubectl']!,
    m1,
    { name: 'account', uid: '', groups: [], token },
    parent,
    { url: way.url, caFile: way.caFile, path: clusterPath(cluster) },
  );
  sides.push(side);
  return side;
}

async function succeeds(side: Side, args: readonly string[], options: RunOptions = {}): Promise<Outcome> {
  const outcome = await side.run(args, { timeoutMs: 60_000, ...options });
  assert.equal(outcome.code, 0, `${args.join(' ')}: ${outcome.stderr}\n${site.gateway.log().slice(-1500)}`);
  return outcome;
}

async function refused(side: Side, args: readonly string[], options: RunOptions = {}): Promise<void> {
  const outcome = await side.run(args, { timeoutMs: 60_000, ...options });
  assert.notEqual(outcome.code, 0, `${args.join(' ')} was let through: ${outcome.stdout}`);
  assert.match(outcome.stderr, /forbidden|403/i, args.join(' '));
}

const spdyExec = { env: { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: 'false' } };
const spdyForward = { env: { KUBECTL_PORT_FORWARD_WEBSOCKETS: 'false' } };
const pod = ['-n', 'team-a', 'web'] as const;

for (const endpoint of ['direct', 'hub'] as const) {
  test(`who is granted only get on one cluster gets, and does nothing else there or elsewhere (${endpoint}) (ATT-28)`, async () => {
    const token = await hubAccountToken(hub, 'reader');
    await grantOnHub(hub, 'reader', 'get', [proxyRule(['get'], 'm1')]);
    const reader = kubectl(token, 'm1', endpoint);
    await eventually('the right is seen', async () => (await reader.run(['get', 'pod', ...pod])).code === 0);
    const mark = await m1.auditMark();
    await refused(reader, ['get', 'pods', '-n', 'team-a']);
    await refused(reader, ['get', 'pod', ...pod, '--watch-only', '--request-timeout=20s']);
    await refused(reader, ['exec', ...pod, '--', 'echo', 'in']);
    await refused(reader, ['exec', ...pod, '--', 'echo', 'in'], spdyExec);
    await refused(reader, ['attach', ...pod]);
    await refused(reader, ['port-forward', '-n', 'team-a', 'pod/web', ':8080']);
    await refused(reader, ['port-forward', '-n', 'team-a', 'pod/web', ':8080'], spdyForward);
    await refused(reader, ['delete', 'pod', ...pod]);
    await refused(reader, ['delete', 'pods', '-n', 'team-a', '--all']);
    await refused(reader, ['label', 'pod', ...pod, 'a=b']);
    await refused(reader, ['create', 'configmap', 'x', '-n', 'team-a']);
    await refused(reader, ['get', 'pod', ...pod, '--as', 'carol']);
    await refused(kubectl(token, 'm2', endpoint), ['get', 'pod', ...pod]);
    const reached = (await m1.audit(mark)).filter(
      ({ user, userAgent }) => user.username === 'portcullis-gateway' && userAgent !== 'portcullis-probe',
    );
    const beyond = reached.filter(
      ({ verb, requestURI }) => verb !== 'get' || /exec|attach|portforward|watch/.test(requestURI),
    );
    assert.deepEqual(beyond, []);
    const strangers = reached.filter((event) => event.impersonatedUser?.username !== memberName('reader'));
    assert.deepEqual(strangers, []);
  });

  test(`with create the same commands get through, over WebSocket and SPDY (${endpoint})`, async () => {
    const token = await hubAccountToken(hub, 'exec');
    await grantOnHub(hub, 'exec', 'run', [proxyRule(['get', 'create'], 'm1')]);
    const side = kubectl(token, 'm1', endpoint);
    await eventually('the right is seen', async () => (await side.run(['get', 'pod', ...pod])).code === 0);
    for (const options of [{}, spdyExec]) {
      const { stdout } = await succeeds(side, ['exec', ...pod, '--', 'echo', 'in'], options);
      assert.equal(stdout, 'in\n');
    }
  });
}

test('in sub-path mode the hub restricts to the pods of one namespace', async () => {
  const token = await hubAccountToken(hub, 'team');
  await grantOnHub(hub, 'team', 'pods', [
    proxyRule(['*'], 'm1'),
    { nonResourceURLs: ['/clusters/m1/proxy/api*', '/clusters/m1/proxy/openapi*'], verbs: ['get'] },
  ]);
  await hub.apply(
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team-a' } },
    ...grantedRole(
      'team-a',
      'team-pods',
      [{ apiGroups: ['core.m1.clusters.gateway.portcullis.io'], resources: ['pods'], verbs: ['get', 'list'] }],
      accountSubject(accountNamespace, 'team'),
    ),
  );
  const side = kubectl(token, 'm1', 'strict');
  await eventually('the right is seen', async () => (await side.run(['get', 'pods', '-n', 'team-a'])).code === 0);
  await succeeds(side, ['get', 'pod', ...pod]);
  await refused(side, ['get', 'pods', '-n', 'kube-system']);
  await refused(side, ['get', 'pods', '-A']);
  await refused(side, ['get', 'configmaps', '-n', 'team-a']);
  await refused(side, ['logs', ...pod]);
  await refused(side, ['exec', ...pod, '--', 'echo', 'in']);
  await refused(side, ['delete', 'pod', ...pod]);
  await refused(side, ['get', '--raw', `${clusterPath('m1')}/version`]);
  // The same account at a gateway without that mode: its member RBAC decides.
  await succeeds(kubectl(token, 'm1', 'direct'), ['get', 'configmaps', '-n', 'team-a']);
});

test('a ServiceAccount of the hub is somebody else in a member, through the hub and directly (ATT-19)', async () => {
  const token = await hubAccountToken(hub, 'who');
  await grantOnHub(hub, 'who', 'all', [proxyRule(['*'], 'm1')]);
  for (const endpoint of ['direct', 'hub'] as const) {
    const side = kubectl(token, 'm1', endpoint);
    const { stdout } = await eventually('the right is seen', async () => {
      const outcome = await side.run(['auth', 'whoami', '-o', 'json']);
      return outcome.code === 0 ? outcome : undefined;
    });
    const { userInfo } = (JSON.parse(stdout) as { status: { userInfo: { username: string; groups: string[] } } })
      .status;
    assert.equal(userInfo.username, memberName('who'), endpoint);
    assert.deepEqual(
      userInfo.groups.toSorted(),
      [
        'cluster:hub:system:serviceaccounts',
        `cluster:hub:system:serviceaccounts:${accountNamespace}`,
        'system:authenticated',
      ],
      endpoint,
    );
  }
});

test('system:masters of the hub is not forwarded, through the hub and directly with its certificate (ATT-19)', async () => {
  const admin = { 'client-certificate-data': hub.adminCertPem, 'client-key-data': hub.adminKeyPem };
  const credential = Object.fromEntries(
    Object.entries(admin).map(([key, pem]) => [key, Buffer.from(pem).toString('base64')]),
  );
  for (const { url, caFile } of [hub, site.gateway]) {
    const side = hubSide(site, 'carol', { url, caFile, path: clusterPath('m1'), credential });
    sides.push(side);
    const { stdout } = await succeeds(side, ['auth', 'whoami', '-o', 'json']);
    const { userInfo } = (JSON.parse(stdout) as { status: { userInfo: { username: string; groups: string[] } } })
      .status;
    assert.deepEqual([userInfo.username, userInfo.groups], ['admin', ['system:authenticated']], url);
    await refused(side, ['get', 'secrets', '-A']);
  }
});

test('headers a caller adds are not believed, neither through the hub nor directly (ATT-04)', async () => {
  const { token } = hub.users.alice;
  const forged = { 'X-Remote-User': 'carol', 'X-Remote-Group': 'system:masters', 'X-Remote-Extra-A': 'b' };
  const path = `${clusterPath('m1')}/api/v1/namespaces/team-a/pods`;
  const mark = await m1.auditMark();
  const direct = await ask(site.gateway, token, 'GET', `${path}?limit=11`, undefined, forged);
  const through = { ...site.gateway, url: hub.url, caPem: hub.caPem };
  const viaHub = await ask(through, token, 'GET', `${path}?limit=12`, undefined, forged);
  assert.deepEqual([direct.status, viaHub.status], [200, 200]);
  for (const limit of [11, 12]) {
    const [event] = await m1.waitForAudit(({ requestURI }) => requestURI.includes(`limit=${limit}`), { mark });
    assert.equal(event?.impersonatedUser?.username, 'alice');
    assert.ok(!event.impersonatedUser?.groups?.includes('system:masters'));
  }
});

test('a token must be meant for the gateway where it says so (ATT-22)', async () => {
  const gateway = await site.startGateway({ args: ['--api-audiences', 'portcullis,other'] });
  const path = `${clusterPath('m1')}/version`;
  await grantOnHub(hub, 'audience', 'all', [proxyRule(['*'], 'm1')]);
  const ofHub = await hubAccountToken(hub, 'audience');
  const ofGateway = await hubAccountToken(hub, 'audience', ['portcullis']);
  const ofBoth = await hubAccountToken(hub, 'audience', ['else', 'other']);
  const ofNobody = await hubAccountToken(hub, 'audience', ['else']);
  const statuses = async (endpoint: GatewayProcess): Promise<number[]> => {
    const answers = [ofGateway, ofBoth, ofHub, ofNobody].map((token) => ask(endpoint, token, 'GET', path));
    return (await Promise.all(answers)).map(({ status }) => status);
  };
  assert.deepEqual(await statuses(gateway), [200, 200, 401, 401]);
  assert.deepEqual(await statuses(site.gateway), [401, 401, 200, 401]);
});
