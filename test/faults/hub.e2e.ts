// FLT-06, FLT-08 and FLT-10: a hub that is away, a hub that answers reviews wrongly, and a hub whose front proxy trust
// is invalid JSON. An answer that cannot be used counts as no answer. The caller is not let in, is not told to log in
// again, and nothing of the answer is remembered.
// Runs alone: it measures within how many seconds a fault is seen.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Agent, request as httpsRequest } from 'node:https';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { after, before, test } from 'node:test';

import type { Member } from '../controlplane/fixture.ts';
import { writeKubeconfig } from '../controlplane/kubeconfig.ts';
import { adminInMember, grantOnHub, hubAccountToken, proxyRule } from '../e2e/hub/hub-accounts.ts';
import { eventually } from '../site/polling.ts';
import type { GatewayProcess } from '../gateway-process.ts';
import { gatewayAccount } from '../hub/objects.ts';
import { clusterPath, startHubGateway, startHubSite } from '../hub/site.ts';
import type { HubSite } from '../hub/site.ts';
import { startFaultyHub } from './review-faults.ts';
import type { FaultyHub, ReviewFault } from './review-faults.ts';
import { figure, isReal, longFaultMinutes, printScale, scaled, scaledEnvironment, slackMs } from './scale.ts';
import { accountToken } from '../controlplane/account-token.ts';

const ttlMs = scaled(10_000);
const awayMs = isReal ? longFaultMinutes * 60_000 : ttlMs + 6_000;
const namespace = `${clusterPath('m1')}/api/v1/namespaces/default`;
let site: HubSite;
let hub: Member;
let faulty: FaultyHub;
let gateway: GatewayProcess;
let agent: Agent;

before(async () => {
  printScale('hub faults', `reviews remembered for ${ttlMs / 1000} s, away for ${awayMs / 1000} s`);
  site = await startHubSite({ groups: [] });
  hub = site.hub;
  faulty = await startFaultyHub(hub);
  const { namespace, name } = gatewayAccount;
  const token = await accountToken(hub, namespace, name, { expirationSeconds: 86_400 });
  const kubeconfig = await writeKubeconfig(join(site.plane.dir, 'faulty-hub.kubeconfig'), [
    { name: 'hub', server: faulty.url, caPem: faulty.caPem, user: 'gateway', credential: { token } },
  ]);
  gateway = await startHubGateway(kubeconfig, site.authority, join(site.plane.dir, 'behind-faulty-hub'), {
    env: scaledEnvironment,
  });
  agent = new Agent({ keepAlive: true, maxSockets: 64, ca: gateway.caPem });
});

after(async () => {
  agent?.destroy();
  await gateway?.stop('SIGKILL');
  faulty?.close();
  await site?.stop();
});

interface Asked {
  readonly status: number;
  readonly tookMs: number;
}

function get(path: string, headers: Readonly<Record<string, string>>, options: object = {}): Promise<Asked> {
  const startedMs = performance.now();
  return new Promise((resolve, reject) => {
    const request = httpsRequest(gateway.url + path, { agent, ca: gateway.caPem, headers, ...options }, (response) => {
      response.resume();
      response.on('end', () => resolve({ status: response.statusCode!, tookMs: performance.now() - startedMs }));
      response.on('error', reject);
    });
    request.on('error', reject);
    request.end();
  });
}

function as(token: string, path = namespace): Promise<Asked> {
  return get(path, { authorization: `Bearer ${token}` });
}

/** An account with the right to use m1, and its token. */
async function newCaller(name: string): Promise<string> {
  const token = await hubAccountToken(hub, name);
  await grantOnHub(hub, name, 'all', [proxyRule(['*'], 'm1')]);
  await adminInMember(site.plane.member('m1'), name);
  return token;
}

const faults: readonly ReviewFault[] = [500, 429, 'late', 'not-json', 'another-kind', 'no-status'];
for (const fault of faults) {
  test(`reviews that are answered ${fault}: 503 for everybody, one call for all who ask at once, and nothing is remembered (FLT-08)`, async () => {
    const token = await newCaller(`caller-${fault}`);
    // The hub's own authorizer has to learn of the new grant before it can be asked.
    await delay(500);
    faulty.fault = fault;
    const before = faulty.reviews;
    const answers = await Promise.all(Array.from({ length: 20 }, () => as(token)));
    const asked = faulty.reviews - before;
    faulty.fault = 'none';
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([503]));
    const slowestMs = Math.max(...answers.map(({ tookMs }) => tookMs));
    assert.ok(slowestMs < 5_000 + slackMs, `${slowestMs} ms`);
    assert.ok(asked >= 1 && asked <= 2, `20 callers, ${asked} reviews`);
    const next = await as(token);
    assert.equal(next.status, 200, 'the next question is asked anew');
    figure(
      'FLT-08',
      `${fault}: 20 requests 503 within ${Math.round(slowestMs)} ms, ${asked} reviews; then 200 in ${Math.round(next.tookMs)} ms`,
    );
  });
}

test('while the hub is unreachable decisions hold for their time, then 503, never 401 and never a yes for who had a no (FLT-06)', async () => {
  const allowed = await newCaller('known');
  const denied = await hubAccountToken(hub, 'without-rights');
  await eventually('the right is seen', async () => (await as(allowed)).status === 200);
  assert.equal((await as(denied)).status, 403);
  assert.equal((await as('nobody-knows-this')).status, 401);
  faulty.setReachable(false);
  const awaySinceMs = performance.now();
  const seen = { allowed: new Set<number>(), denied: new Set<number>(), unknown: new Set<number>() };
  let lastYesMs = 0;
  let discovery = new Set<number>();
  while (performance.now() - awaySinceMs < awayMs) {
    const [one, two, three] = await Promise.all([as(allowed), as(denied), as('nobody-knows-this')]);
    seen.allowed.add(one.status);
    seen.denied.add(two.status);
    seen.unknown.add(three.status);
    if (one.status === 200) lastYesMs = performance.now() - awaySinceMs;
    discovery = discovery.add((await get('/readyz', {})).status);
    await delay(50);
  }
  assert.deepEqual([...seen.allowed], [200, 503]);
  assert.deepEqual([...seen.denied], [403, 503]);
  assert.ok(!seen.unknown.has(200) && seen.unknown.has(503), [...seen.unknown].join());
  assert.deepEqual([...discovery], [200], 'the gateway stays ready: another replica would know no more');
  assert.ok(lastYesMs <= ttlMs + slackMs, `allowed for ${lastYesMs} ms`);
  faulty.setReachable(true);
  const backMs = performance.now();
  await eventually('it works again', async () => (await as(allowed)).status === 200, { timeoutMs: 30_000 });
  figure(
    'FLT-06',
    `away for ${awayMs} ms: allowed until ${Math.round(lastYesMs)} ms, then 503; refused ${[...seen.denied].join(', ')}; unknown token ${[...seen.unknown].join(', ')}; 200 again ${Math.round(performance.now() - backMs)} ms after`,
  );
  assert.equal((await as(denied)).status, 403);
});

test('trust that is written as invalid JSON keeps the last good, is told, and is forgotten when it is mended (FLT-10)', async () => {
  const stem = join(hub.dir, 'front-proxy-client');
  const options = {
    agent: false,
    cert: readFileSync(`${stem}.crt`, 'utf8'),
    key: readFileSync(`${stem}.key`, 'utf8'),
  };
  const proxied = (): Promise<Asked> => get(namespace, { 'x-remote-user': 'carol' }, options);
  const path = '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication';
  const write = async (value: string): Promise<void> => {
    const answer = await hub.request(
      'PATCH',
      path,
      { data: { 'requestheader-allowed-names': value } },
      {
        'content-type': 'application/merge-patch+json',
      },
    );
    assert.equal(answer.status, 200, answer.body);
  };
  const { data } = JSON.parse((await hub.request('GET', path)).body) as { data: Readonly<Record<string, string>> };
  assert.equal((await proxied()).status, 200);
  const statuses = new Set<number>();
  for (const bad of ['this is no JSON', '["front-proxy-client"', '{"allowed": "everybody"}']) {
    const reported = gateway
      .log()
      .split('the ConfigMap extension-apiserver-authentication of the hub cannot be used').length;
    await write(bad);
    await eventually(`${bad} is told`, async () => {
      statuses.add((await proxied()).status);
      return (
        gateway.log().split('the ConfigMap extension-apiserver-authentication of the hub cannot be used').length >
        reported
      );
    });
    statuses.add((await proxied()).status);
    await write(data['requestheader-allowed-names']!);
    await eventually('it is mended', async () => {
      statuses.add((await proxied()).status);
      return gateway
        .log()
        .trimEnd()
        .split('\n')
        .findLast((line) => line.includes('extension-apiserver-authentication'))
        ?.includes('can be used again');
    });
  }
  assert.deepEqual([...statuses], [200]);
  figure('FLT-10', 'three malformed writes of the front proxy trust: 0 requests refused, each told in the log');
});
