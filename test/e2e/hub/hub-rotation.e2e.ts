// Everything that can be replaced under a running gateway is replaced while people ask through the hub and directly:
// the member's credential and authority, the hub's authorities for clients and front proxies, the gateway's own
// certificate and token. 200 says nothing about which credential was used, so audit logs, serial numbers and callers of
// the added authority tell.
// Runs alone: changes come in the middle of a steady load.
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Agent, request as httpsRequest } from 'node:https';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';

import { createAuthority } from '../../pretend/certificates.ts';
import type { KeyPair } from '../../pretend/certificates.ts';
import type { AuditEvent, Member } from '../../controlplane/fixture.ts';
import { writeKubeconfig } from '../../controlplane/kubeconfig.ts';
import { startAggregatorWitness } from '../../hub/aggregator-witness.ts';
import type { AggregatorWitness } from '../../hub/aggregator-witness.ts';
import { clusterSecret, gatewayAccount, secretNamespace, serviceHost } from '../../hub/objects.ts';
import { clusterPath, startHubSite } from '../../hub/site.ts';
import type { HubSite } from '../../hub/site.ts';
import { createAccount, deleteAccount } from '../identity/accounts.ts';
import { replaceFile } from '../kubectl/contexts.ts';
import { startLoad } from '../load.ts';
import type { Load, LoadRecord } from '../load.ts';
import { eventually } from '../../site/polling.ts';
import { accountToken } from '../../controlplane/account-token.ts';

/**
 * Of each of the two ways. 500 in all are wanted, which two cores carry only while they do nothing else:
 * `HUB_ROTATION_RPS=500` asks for them.
 */
const requestsPerSecond = Number(process.env['HUB_ROTATION_RPS'] ?? 100) / 2;
/** A change must be in use by then. */
const settledMs = 1_000;
const ways = ['direct', 'hub'] as const;
type Way = (typeof ways)[number];

let site: HubSite;
let hub: Member;
let member: Member;
let witness: AggregatorWitness;
let loads: ReadonlyMap<Way, Load>;
let mark: number;

before(async () => {
  // `checked` is the same cluster under a name that the load does not use: what is put there may be wrong.
  site = await startHubSite({
    objects: ({ member }) => [clusterSecret(member('m1')), clusterSecret({ ...member('m1'), name: 'checked' })],
  });
  hub = site.hub;
  member = site.plane.member('m1');
  witness = await startAggregatorWitness(hub, site.authority);
  await changeSecret('m1', { token: await createAccount(member, 'first') });
  const { token } = hub.users.carol;
  const start = (way: Way): Promise<Load> => {
    const { url, caPem } = way === 'hub' ? hub : site.gateway;
    const server = { url, caPem, headers: { authorization: `Bearer ${token}` } };
    return startLoad(server, ['m1'], requestsPerSecond, { pathTo: clusterPath, tag: way });
  };
  await delay(settledMs);
  mark = await member.auditMark();
  loads = new Map([
    ['direct', await start('direct')],
    ['hub', await start('hub')],
  ]);
  await delay(2_000);
});

after(async () => {
  await witness?.close();
  await site?.stop();
});

/** Changes keys of a cluster's Secret. */
async function changeSecret(name: string, stringData: Readonly<Record<string, string>>): Promise<void> {
  await patch(`/api/v1/namespaces/${secretNamespace}/secrets/${name}`, { stringData });
}

async function patch(path: string, body: object): Promise<void> {
  const answer = await hub.request('PATCH', path, body, { 'content-type': 'application/merge-patch+json' });
  assert.equal(answer.status, 200, answer.body);
}

const trustPath = '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication';
type TrustKey = 'client-ca-file' | 'requestheader-client-ca-file';

async function trusted(key: TrustKey): Promise<string> {
  return (JSON.parse((await hub.request('GET', trustPath)).body) as { data: Record<TrustKey, string> }).data[key];
}

interface Asked {
  readonly certificate?: KeyPair;
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One GET on the direct listener; resolves with the status. */
/**
 * A crowd of bad logins from one address is put off with 429 (docs/how-to/limits.md): then it asks again, as clients
 * do.
 */
async function askDirectly(path: string, agent: Agent | false, asked: Asked): Promise<number> {
  for (;;) {
    const status = await askOnce(path, agent, asked);
    if (status !== 429) return status;
    await delay(1_000);
  }
}

function askOnce(path: string, agent: Agent | false, { certificate, token, headers }: Asked): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = httpsRequest(
      `${site.gateway.url}${path}`,
      {
        agent,
        ca: site.gateway.caPem,
        ...(certificate === undefined ? {} : { cert: certificate.certPem, key: certificate.keyPem }),
        headers: { ...headers, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) },
      },
      (response) => {
        response.on('error', reject);
        response.on('end', () => resolve(response.statusCode!));
        response.resume();
      },
    );
    request.on('error', reject);
    request.end();
  });
}

interface Seen {
  readonly startedMs: number;
  readonly tookMs: number;
  readonly value: unknown;
}

/** Makes a change and asks again and again: whatever is asked once it must be in use gives `expected`. */
async function follows(
  t: TestContext,
  what: string,
  change: () => Promise<unknown>,
  ask: () => Promise<unknown>,
  expected: unknown,
): Promise<void> {
  await change();
  const atMs = performance.now();
  const seen: Seen[] = [];
  let late: readonly Seen[] = [];
  while (late.length < 20) {
    const startedMs = performance.now();
    const value = await ask();
    seen.push({ startedMs, tookMs: performance.now() - startedMs, value });
    late = seen.filter((each) => each.startedMs >= atMs + allowedMs(seen, atMs));
    await delay(50);
  }
  for (const { value, startedMs } of late) assert.deepEqual(value, expected, `${what}, ${startedMs - atMs} ms after`);
  const last = seen.findLast(({ value }) => JSON.stringify(value) !== JSON.stringify(expected));
  t.diagnostic(
    `${what}: ${last === undefined ? 'followed at once' : `not yet followed ${Math.round(last.startedMs - atMs)} ms after`}`,
  );
}

/** Where the machine is so busy that small requests take long, everything else takes longer as well. */
function allowedMs(records: readonly Pick<Seen, 'startedMs' | 'tookMs'>[], atMs: number): number {
  const during = records.filter(({ startedMs }) => startedMs >= atMs && startedMs < atMs + settledMs);
  return settledMs + Math.max(0, ...during.map(({ tookMs }) => tookMs));
}

/** Serial number of the certificate that a new connection is shown. */
function shownSerial(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    // The serial number is all that is wanted, whoever signed it.
    const socket = connectTls({ host: hostname, port: Number(port), rejectUnauthorized: false }, () => {
      resolve(socket.getPeerX509Certificate()!.serialNumber);
      socket.destroy();
    });
    socket.on('error', reject);
  });
}

function serialOf(pair: KeyPair): string {
  return new X509Certificate(pair.certPem).serialNumber;
}

/** Puts a pair in place of the one with this stem, as a renewing agent does: one file after the other. */
async function replacePair(stem: string, { certPem, keyPem }: KeyPair): Promise<void> {
  replaceFile(`${stem}.crt`, certPem);
  await delay(200);
  replaceFile(`${stem}.key`, keyPem);
}

const credentialKey = 'authentication.kubernetes.io/credential-id';
/** Asked by the gateway for one request of a caller, so with the credential of that moment. */
const isReview = ({ objectRef, user }: AuditEvent): boolean =>
  user.username === `system:serviceaccount:${gatewayAccount.namespace}:${gatewayAccount.name}` &&
  ['tokenreviews', 'subjectaccessreviews'].includes(objectRef?.resource ?? '');

test("the gateway's own credential on the hub is replaced: later reviews are asked with the new one", async (t) => {
  const hubMark = await hub.auditMark();
  const { namespace, name } = gatewayAccount;
  const token = await accountToken(hub, namespace, name, { expirationSeconds: 3600 });
  const { jti } = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as { jti: string };
  const next = join(site.plane.dir, 'hub-gateway.next');
  await writeKubeconfig(next, [
    { name: 'hub', server: hub.url, caPem: hub.caPem, user: `${namespace}-${name}`, credential: { token } },
  ]);
  replaceFile(site.hubKubeconfig, readFileSync(next, 'utf8'));
  const replacedAt = Date.now();

  // Answers are remembered for 10 s, so the load has asked again within 20.
  const reviews = await eventually(
    'reviews with the new credential',
    async () => {
      const found = (await hub.audit(hubMark)).filter(isReview);
      return found.filter(({ user }) => user.extra?.[credentialKey]?.[0] === `JTI=${jti}`).length >= 2 && found;
    },
    { timeoutMs: 30_000, everyMs: 2_000 },
  );
  const late = reviews.filter((each) => Date.parse(each.requestReceivedTimestamp) >= replacedAt + settledMs);
  assert.deepEqual([...new Set(late.map(({ user }) => user.extra?.[credentialKey]?.[0]))], [`JTI=${jti}`]);
  t.diagnostic(`${late.length} reviews with the new credential, none with the old one`);
});

let credentialAtMs = 0;

test('the credential of a member is replaced in its Secret, and the old one revoked (ATT-37)', async () => {
  const second = await createAccount(member, 'second');
  await changeSecret('m1', { token: second });
  credentialAtMs = performance.now();
  await delay(2 * settledMs);
  await deleteAccount(member, 'first');
});

test("a member's authority and serving certificate are replaced, over a bundle of both, and back", async (t) => {
  const authority = await createAuthority('m1-ca-2');
  const stem = join(member.dir, 'server');
  const old = { certPem: readFileSync(`${stem}.crt`, 'utf8'), keyPem: readFileSync(`${stem}.key`, 'utf8') };
  const fresh = await authority.issue({ commonName: 'kube-apiserver', ipAddresses: ['127.0.0.1'], usage: 'server' });
  const both = member.caPem + authority.certPem;
  const path = `${clusterPath('checked')}/api/v1/namespaces/default`;
  const { token } = hub.users.carol;
  const reached = async (): Promise<boolean> => (await askDirectly(path, false, { token })) === 200;
  const trust = (caPem: string, isReached: boolean, what: string): Promise<void> =>
    follows(t, what, () => changeSecret('checked', { 'ca.crt': caPem }), reached, isReached);

  await trust(authority.certPem, false, 'only an authority that did not sign');
  await trust(both, true, 'a bundle');
  for (const [pair, caPem] of [
    [fresh, authority.certPem],
    [old, member.caPem],
  ] as const) {
    await changeSecret('m1', { 'ca.crt': both });
    await delay(settledMs);
    await replacePair(stem, pair);
    await eventually(
      'the member shows the other certificate',
      async () => (await shownSerial(member.url)) === serialOf(pair),
      {
        timeoutMs: 90_000,
      },
    );
    await changeSecret('m1', { 'ca.crt': caPem });
    await delay(2 * settledMs);
  }
  await trust(member.caPem, true, 'its own authority');
});

test('an authority for client certificates is added on the hub and removed: the direct listener follows (ATT-06)', async (t) => {
  const authority = await createAuthority('client-ca-2');
  const certificate = await authority.issue({ commonName: 'carol', usage: 'client' });
  const path = `${clusterPath('m1')}/api/v1/namespaces/default`;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ask = (): Promise<readonly number[]> =>
    Promise.all([askDirectly(path, agent, { certificate }), askDirectly(path, false, { certificate })]);
  assert.deepEqual(await ask(), [401, 401]);
  const before = await trusted('client-ca-file');
  const trust = (pem: string): Promise<void> => patch(trustPath, { data: { 'client-ca-file': pem } });
  await follows(t, 'added', () => trust(`${before}\n${authority.certPem}`), ask, [200, 200]);
  await follows(t, 'removed', () => trust(before), ask, [401, 401]);
  agent.destroy();
});

test("the hub's front-proxy authority and certificate are replaced (ATT-06)", async (t) => {
  const authority = await createAuthority('front-proxy-ca-2');
  const fresh = await authority.issue({ commonName: 'front-proxy-client', usage: 'client' });
  const stranger = await authority.issue({ commonName: 'somebody', usage: 'client' });
  const oldCa = readFileSync(join(hub.dir, 'front-proxy-ca.crt'), 'utf8');
  const stem = join(hub.dir, 'front-proxy-client');
  const old = { certPem: readFileSync(`${stem}.crt`, 'utf8'), keyPem: readFileSync(`${stem}.key`, 'utf8') };
  const path = `${clusterPath('m1')}/api/v1/namespaces/default`;
  const headers = { 'x-remote-user': 'carol' };
  const agents = new Map([old, fresh].map((each) => [each, new Agent({ keepAlive: true, maxSockets: 1 })]));
  const ask = async (): Promise<object> => {
    const as = (certificate: KeyPair, agent: Agent | false): Promise<number> =>
      askDirectly(path, agent, { certificate, headers });
    const both = async (each: KeyPair): Promise<readonly number[]> =>
      await Promise.all([as(each, agents.get(each)!), as(each, false)]);
    return { old: await both(old), fresh: await both(fresh), stranger: await as(stranger, false) };
  };
  assert.deepEqual(await ask(), { old: [200, 200], fresh: [401, 401], stranger: 401 });
  assert.equal(await witness.shownSerial(), serialOf(old));

  // As its operator does it: the hub publishes what its file says, joined to what was published before.
  replaceFile(join(hub.dir, 'front-proxy-ca.crt'), oldCa + authority.certPem);
  const published = (): Promise<unknown> =>
    eventually(
      'the hub publishes both',
      async () => (await trusted('requestheader-client-ca-file')).split('BEGIN CERTIFICATE').length === 3,
      { timeoutMs: 90_000 },
    );
  await follows(t, 'front proxy added', published, ask, { old: [200, 200], fresh: [200, 200], stranger: 401 });
  await replacePair(stem, fresh);
  await eventually(
    'the aggregator shows its new certificate',
    async () => (await witness.shownSerial()) === serialOf(fresh),
    {
      timeoutMs: 90_000,
    },
  );
  await delay(settledMs);
  replaceFile(join(hub.dir, 'front-proxy-ca.crt'), authority.certPem);
  const removed = (): Promise<unknown> =>
    eventually(
      'the old one stays away',
      async () => {
        // Until the hub has read its file again, it puts back what is taken out.
        await patch(trustPath, { data: { 'requestheader-client-ca-file': authority.certPem } });
        await delay(500);
        return (await trusted('requestheader-client-ca-file')).trim() === authority.certPem.trim();
      },
      { timeoutMs: 90_000 },
    );
  await follows(t, 'front proxy removed', removed, ask, { old: [401, 401], fresh: [200, 200], stranger: 401 });
  for (const agent of agents.values()) agent.destroy();
});

test("the gateway's serving certificate is replaced: new connections are shown the new one", async (t) => {
  const pair = await site.authority.issue({
    commonName: serviceHost,
    dnsNames: [serviceHost, 'localhost'],
    ipAddresses: ['127.0.0.1'],
    usage: 'server',
  });
  const shown = (): Promise<string> => shownSerial(site.gateway.url);
  assert.notEqual(await shown(), serialOf(pair));
  await follows(t, 'serving', () => replacePair(join(site.gateway.dataDir, 'serving'), pair), shown, serialOf(pair));
});

test('of the requests through the hub and directly not one failed meanwhile', async (t) => {
  const seen = new Map<string, string | undefined>();
  const records = new Map<Way, readonly LoadRecord[]>();
  await Promise.all(ways.map(async (way) => records.set(way, await loads.get(way)!.stop())));
  const last = ways.map((way) => `${way}=${records.get(way)!.at(-1)!.number}`);
  for (const query of last) await member.waitForAudit(({ requestURI }) => requestURI.endsWith(query), { mark });
  for (const { requestURI, user, impersonatedUser } of await member.audit(mark)) {
    const request = /[?](\w+=\d+)$/.exec(requestURI)?.[1];
    if (request === undefined) continue;
    assert.equal(impersonatedUser?.username, 'carol', requestURI);
    seen.set(request, user.username);
  }
  for (const way of ways) {
    const mine = records.get(way)!;
    assert.deepEqual(mine.filter(({ outcome }) => outcome !== 200).slice(0, 5), [], way);
    const seconds = (mine.at(-1)!.startedMs - mine[0]!.startedMs) / 1000;
    assert.ok(mine.length > requestsPerSecond * seconds * 0.95, `${way}: ${mine.length} requests in ${seconds} s`);
    const took = mine.map(({ tookMs }) => tookMs).toSorted((a, b) => a - b);
    const [p50, p99] = [0.5, 0.99].map((share) => Math.round(took[Math.floor(took.length * share)]!));
    t.diagnostic(
      `${way}: ${mine.length} requests in ${seconds.toFixed(1)} s, none failed; p50 ${p50} ms, p99 ${p99} ms`,
    );

    const credentialOf = ({ number }: LoadRecord): string | undefined => seen.get(`${way}=${number}`);
    const early = mine.filter(({ startedMs, tookMs }) => startedMs + tookMs < credentialAtMs);
    const late = mine.filter(({ startedMs }) => startedMs >= credentialAtMs + allowedMs(mine, credentialAtMs));
    assert.ok(early.length > 100 && late.length > 100, `${way}: ${early.length} before, ${late.length} after`);
    assert.deepEqual([...new Set(early.map(credentialOf))], ['system:serviceaccount:default:first']);
    assert.deepEqual([...new Set(late.map(credentialOf))], ['system:serviceaccount:default:second']);
  }
});
