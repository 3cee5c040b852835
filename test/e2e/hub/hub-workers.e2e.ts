// Two workers behind a real hub: callers who come through its aggregator, with its certificates and with its tokens are
// themselves at the member whichever worker they meet; each worker watches the hub as a replica does. Who is asked by
// which worker is seen in the gateway's metrics only.
// Runs alone: two workers of one gateway take both cores.
import assert from 'node:assert/strict';
import { Agent, request as httpsRequest } from 'node:https';
import { after, before, test } from 'node:test';

import type { Member } from '../../controlplane/fixture.ts';
import { clusterSecret, gatewayAccount } from '../../hub/objects.ts';
import { clusterPath, startHubSite } from '../../hub/site.ts';
import type { HubSite } from '../../hub/site.ts';
import { createAccount, createClientCertificate, deleteAccount } from '../identity/accounts.ts';
import { eventually } from '../../site/polling.ts';

let site: HubSite;
let hub: Member;
let member: Member;
/** Each has a connection of its own. */
const agents = [0, 1].map(() => new Agent({ keepAlive: true, maxSockets: 1 }));

before(async () => {
  site = await startHubSite({
    gateway: { args: ['--workers', '2', '--authentication-token-webhook-cache-ttl', '2s'] },
  });
  hub = site.hub;
  member = site.plane.member('m1');
});
after(async () => {
  for (const agent of agents) agent.destroy();
  await site?.stop();
});

interface Asked {
  readonly token?: string;
  readonly certificate?: { readonly certPem: string; readonly keyPem: string };
}

const review = JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' });

/** Who the member says the caller is; the status where it says nothing. */
function whoAmI(url: string, ca: string, agent: Agent, { token, certificate }: Asked): Promise<string | number> {
  const path = `${clusterPath('m1')}/apis/authentication.k8s.io/v1/selfsubjectreviews`;
  return new Promise((resolve, reject) => {
    const request = httpsRequest(
      `${url}${path}`,
      {
        method: 'POST',
        agent,
        ca,
        ...(certificate === undefined ? {} : { cert: certificate.certPem, key: certificate.keyPem }),
        headers: {
          'content-type': 'application/json',
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        },
      },
      (response) => {
        let body = '';
        response.setEncoding('utf8').on('data', (text: string) => (body += text));
        response.on('error', reject);
        response.on('end', () => {
          if (response.statusCode !== 201) resolve(response.statusCode!);
          else resolve((JSON.parse(body) as { status: { userInfo: { username: string } } }).status.userInfo.username);
        });
      },
    );
    request.on('error', reject);
    request.end(review);
  });
}

const direct = (agent: Agent, asked: Asked): Promise<string | number> =>
  whoAmI(site.gateway.url, site.gateway.caPem, agent, asked);
/** One answer over each connection. */
const askBoth = async (asked: Asked): Promise<readonly (string | number)[]> => {
  const answers: (string | number)[] = [];
  for (const agent of agents) answers.push(await direct(agent, asked));
  return answers;
};

test('with a token of the hub, a certificate of the hub, through the hub: each is himself at both workers', async () => {
  const { alice, carol } = hub.users;
  assert.deepEqual(await askBoth({ token: carol.token }), ['carol', 'carol']);
  assert.deepEqual(await askBoth({ token: alice.token }), ['alice', 'alice']);
  const metrics = await (await fetch(`${site.gateway.opsUrl}/metrics`)).text();
  const connections = [...metrics.matchAll(/^portcullis_worker_connections\{worker="(\d)"\} (\d+)$/gm)];
  assert.deepEqual(
    connections.map(([, worker, open]) => [worker, Number(open) > 0]),
    [
      ['0', true],
      ['1', true],
    ],
  );
  const certificate = await createClientCertificate(hub, 'alice');
  const fresh = [0, 1, 2, 3].map(() => new Agent({ keepAlive: true, maxSockets: 1 }));
  const byCertificate = await Promise.all(fresh.map((agent) => direct(agent, { certificate })));
  for (const agent of fresh) agent.destroy();
  assert.deepEqual(byCertificate, Array(4).fill('alice'));
  const throughHub = fresh.map((agent, index) =>
    whoAmI(hub.url, hub.caPem, agent, { token: index % 2 === 0 ? alice.token : carol.token }),
  );
  assert.deepEqual(await Promise.all(throughHub), ['alice', 'carol', 'alice', 'carol']);
  for (const agent of fresh) agent.destroy();
});

test('a member’s credential is rotated on the hub: both use the new one', async () => {
  const token = await createAccount(member, 'rotated');
  const secret = clusterSecret(member) as { metadata: { name: string; namespace: string } };
  const { name, namespace } = secret.metadata;
  const patch = { stringData: { token } };
  const headers = { 'content-type': 'application/merge-patch+json' };
  const answer = await hub.request('PATCH', `/api/v1/namespaces/${namespace}/secrets/${name}`, patch, headers);
  assert.equal(answer.status, 200, answer.body);
  const asRotated = async (): Promise<number> => {
    const mark = await member.auditMark();
    await askBoth({ token: hub.users.carol.token });
    const events = await member.audit(mark);
    return events.filter(
      ({ user, impersonatedUser }) =>
        user.username?.endsWith(':rotated') === true && impersonatedUser?.username === 'carol',
    ).length;
  };
  await eventually('both use the new credential', async () => (await asRotated()) === 2);
});

test('a token that the hub no longer knows is refused by both once the review is forgotten', async () => {
  const token = await createAccount(hub, 'leaving');
  const before = await askBoth({ token });
  assert.ok(!before.includes(401), String(before));
  await deleteAccount(hub, 'leaving');
  const refused = async (): Promise<boolean> => (await askBoth({ token })).every((status) => status === 401);
  await eventually('both refuse it', refused, { everyMs: 200 });
});

test('each worker watches each thing of the hub once', async () => {
  const account = `system:serviceaccount:${gatewayAccount.namespace}:${gatewayAccount.name}`;
  const events = await hub.audit();
  const watches = events.filter(
    ({ user, verb, stage }) => user.username === account && verb === 'watch' && stage === 'ResponseStarted',
  );
  const ended = events.filter(
    ({ user, verb, stage }) => user.username === account && verb === 'watch' && stage === 'ResponseComplete',
  );
  const open = new Set(watches.map(({ auditID }) => auditID));
  for (const { auditID } of ended) open.delete(auditID);
  const resources = watches
    .filter(({ auditID }) => open.has(auditID))
    .map(({ requestURI }) => {
      const { pathname, searchParams } = new URL(requestURI, hub.url);
      return `${pathname} ${searchParams.get('labelSelector')} ${searchParams.get('fieldSelector')}`;
    });
  assert.ok(resources.length > 3, String(resources));
  assert.deepEqual(resources.toSorted(), [...new Set(resources)].flatMap((one) => [one, one]).toSorted());
});

test('no worker outlives the first process', async () => {
  const pids = [...site.gateway.log().matchAll(/"workerPid":(\d+),"msg":"a worker serves"/g)].map(([, pid]) =>
    Number(pid),
  );
  assert.equal(pids.length, 2);
  await site.gateway.stop('SIGKILL');
  const lives = (pid: number): boolean => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };
  await eventually('both are gone', () => Promise.resolve(!pids.some(lives)));
});
