// A thousand requests at once of many users to two real clusters, by every way and protocol, and callers that differ in
// one part of their identity. What the client is told is one witness, the members' audit logs are the other.
// Landing tier: one cluster cannot hurt another.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { ClientHttp2Session } from 'node:http2';
import { http2Exchange, http2Headers, openHttp2 } from '../../site/http2-client.ts';
import { exchange, openRaw, requestBytes } from '../../site/raw-client.ts';
import type { Endpoint } from '../../site/raw-client.ts';
import { clusterPath, startHubSite } from '../../hub/site.ts';
import type { HubSite } from '../../hub/site.ts';
import { accountNamespace, hubAccountToken, memberName } from '../hub/hub-accounts.ts';
import { eventually } from '../../site/polling.ts';
import { clusterRoleBinding, groupSubject } from '../../site/rbac.ts';
import { accountToken } from '../../controlplane/account-token.ts';

const users = Array.from({ length: 20 }, (_, i) => `user-${i}`);
const clusters = ['m1', 'm2'] as const;
let site: HubSite;
let tokens: readonly string[];
let doors: readonly Endpoint[];

/** Lets ServiceAccounts of one namespace of the hub use every cluster. */
function bindNamespace(namespace: string): object {
  return clusterRoleBinding(
    `accounts-${namespace}`,
    'portcullis-user',
    groupSubject(`system:serviceaccounts:${namespace}`),
  );
}

before(async () => {
  site = await startHubSite({ members: clusters });
  await site.hub.apply(bindNamespace(accountNamespace));
  tokens = await Promise.all(users.map((name) => hubAccountToken(site.hub, name)));
  doors = [
    { port: site.gateway.port, ca: site.authority.certPem },
    { port: Number(new URL(site.hub.url).port), ca: site.hub.caPem },
  ];
  for (const endpoint of doors) {
    for (const cluster of clusters) {
      await eventually('the accounts are let in', async () => {
        const line = `GET ${clusterPath(cluster)}/version`;
        return (await exchange(endpoint, requestBytes(line, [`Authorization: Bearer ${tokens[0]}`]))).status === 200;
      });
    }
  }
});
after(() => site?.stop());

const review = JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' });

/** Request number n: which user asks which cluster who they are. */
function requestOf(n: number): {
  readonly user: number;
  readonly cluster: (typeof clusters)[number];
  readonly path: string;
} {
  const user = (n * 7) % users.length;
  const cluster = clusters[n % clusters.length]!;
  const path = `${clusterPath(cluster)}/apis/authentication.k8s.io/v1/selfsubjectreviews?n=${n}&user=${user}&of=${cluster}`;
  return { user, cluster, path };
}

function assertSaid(n: number, status: number, body: string): void {
  assert.equal(status, 201, `${n}: ${body}`);
  const { userInfo } = (JSON.parse(body) as { status: { userInfo: { username: string } } }).status;
  assert.equal(userInfo.username, memberName(users[requestOf(n).user]!), `request ${n}`);
}

async function overHttp1(endpoint: Endpoint, numbers: readonly number[]): Promise<void> {
  const client = await openRaw(endpoint);
  for (const n of numbers) {
    const { user, path } = requestOf(n);
    const headers = [
      `Authorization: Bearer ${tokens[user]}`,
      'Content-Type: application/json',
      `Content-Length: ${review.length}`,
    ];
    client.send(requestBytes(`POST ${path}`, headers, review));
    const { status, body } = await client.answer({ method: 'POST' });
    assertSaid(n, status, body);
  }
  client.close();
}

async function overHttp2(session: ClientHttp2Session, numbers: readonly number[]): Promise<void> {
  await Promise.all(
    numbers.map(async (n) => {
      const { user, path } = requestOf(n);
      const headers = ['authorization', `Bearer ${tokens[user]}`, 'content-type', 'application/json'];
      const { status, body } = await http2Exchange(session, http2Headers('POST', path, headers), review);
      assertSaid(n, status, body);
    }),
  );
}

test('of 1,000 requests at once of 20 users to 2 real clusters, directly and through the hub, over both protocols, every one is its own user’s (ATT-36)', async () => {
  const marks = await Promise.all(site.members.map((member) => member.auditMark()));
  const numbers = Array.from({ length: 1000 }, (_, n) => n);
  const share = (index: number, of: number): readonly number[] => numbers.filter((n) => n % of === index);
  const sessions = await Promise.all(doors.map((endpoint) => openHttp2(endpoint)));
  // 20 shares of 50: of each endpoint 8 connections of HTTP/1.1, and two bursts over one session of HTTP/2.
  await Promise.all(
    Array.from({ length: 20 }, (_, index) => {
      const which = index % 2;
      return index < 16 ? overHttp1(doors[which]!, share(index, 20)) : overHttp2(sessions[which]!, share(index, 20));
    }),
  );
  for (const session of sessions) session.destroy();
  let seen = 0;
  for (const [index, member] of site.members.entries()) {
    const events = await member.waitForAudit(
      ({ requestURI, stage }) => requestURI.includes('selfsubjectreviews?n=') && stage === 'ResponseComplete',
      { mark: marks[index]!, count: 500, timeoutMs: 30_000 },
    );
    for (const { requestURI, impersonatedUser, user } of events) {
      // The aggregator writes queries anew, in another order.
      const query = new URLSearchParams(requestURI.split('?')[1]);
      assert.equal(query.get('of'), member.name, requestURI);
      assert.equal(user.username, 'portcullis-gateway', requestURI);
      assert.equal(impersonatedUser?.username, memberName(users[Number(query.get('user'))]!), requestURI);
      seen += 1;
    }
  }
  assert.equal(seen, 1000);
});

test('a decision about one ServiceAccount is none about another of that name, nor about another cluster (ATT-24)', async () => {
  const { hub } = site;
  const other = 'other-callers';
  await hub.apply(
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: other } },
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: users[0], namespace: other } },
  );
  const token = await accountToken(hub, other, users[0]!, { expirationSeconds: 3600 });
  const marks = await Promise.all(site.members.map((member) => member.auditMark()));
  for (const endpoint of doors) {
    for (let i = 0; i < 5; i++) {
      for (const [bearer, expected] of [
        [tokens[0]!, 200],
        [token, 403],
      ] as const) {
        const line = `GET ${clusterPath('m1')}/api/v1/namespaces/kube-system/configmaps?turn=${i}`;
        const { status, body } = await exchange(endpoint, requestBytes(line, [`Authorization: Bearer ${bearer}`]));
        // The member itself refuses the one who got through: it has no rights there.
        assert.equal(status, 403, body);
        const refusedBy = body.includes('clusters/proxy') || body.includes('clusters.gateway') ? 403 : 200;
        assert.equal(refusedBy, expected, body);
      }
    }
  }
  await site.members[0]!.waitForAudit(({ requestURI }) => requestURI.includes('turn=4'), { mark: marks[0]!, count: 2 });
  const reached = (await site.members[0]!.audit(marks[0]!)).filter(({ requestURI }) => requestURI.includes('turn='));
  assert.deepEqual(
    new Set(reached.map(({ impersonatedUser }) => impersonatedUser?.username)),
    new Set([memberName(users[0]!)]),
  );
});
