// A gateway with two workers, as a real process: both answer as the right user, what changes reaches both, one that
// dies is replaced while the listener answers, and all end in good order. One client has one worker as long as its
// connection lasts, so each test asks over one of each.
import assert from 'node:assert/strict';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { makeTestAuthority } from '../pretend/certificates.ts';
import { startMember } from '../site/member.ts';
import type { Member } from '../site/member.ts';
import { openRaw, requestBytes } from '../site/raw-client.ts';
import type { RawClient } from '../site/raw-client.ts';
import { kubeconfigText } from '../site/site.ts';
import { waitFor } from '../site/polling.ts';
import type { Context } from '../site/site.ts';
import { startGatewayProcess, tokenLine } from '../gateway-process.ts';
import type { GatewayProcess } from '../gateway-process.ts';
import { tempDir } from '../pretend/temp-dir.ts';

const folder = tempDir('workers');
const kubeconfig = join(folder, 'kubeconfig.yaml');
const auditLog = join(folder, 'audit.log');
const pluginRuns = join(folder, 'runs');
const pluginToken = join(folder, 'plugin-token');
const policy = join(folder, 'policy.yaml');
const users = [
  { token: 'alice-token', name: 'alice' },
  { token: 'bob-token', name: 'bob' },
];
let member: Member;
let contexts: readonly Context[];
let gateway: GatewayProcess;
/** One connection to each worker. */
let clients: readonly RawClient[];

/** Prints the token of a file and notes that it ran. */
const plugin = `#!/bin/sh
echo run >> ${pluginRuns}
printf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%s"}}' "$(cat ${pluginToken})"
`;

before(async () => {
  member = await startMember(await makeTestAuthority());
  const server = `https://127.0.0.1:${member.port}`;
  const { ca } = member;
  const command = join(folder, 'plugin.sh');
  writeFileSync(command, plugin, { mode: 0o755 });
  writeFileSync(pluginToken, 'plugin-1');
  writeFileSync(policy, 'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: Metadata\n');
  const exec = { apiVersion: 'client.authentication.k8s.io/v1', command, interactiveMode: 'Never' };
  contexts = [
    { name: 'm1', server, ca, token: 'credential-1' },
    { name: 'm2', server, ca, token: 'credential-2' },
    { name: 'execs', server, ca, token: '', user: { exec } },
  ];
  writeFileSync(kubeconfig, kubeconfigText(contexts));
  gateway = await startGatewayProcess({
    kubeconfigs: [kubeconfig],
    users,
    args: ['--workers', '2', '--audit-policy-file', policy, '--audit-log-path', auditLog],
    config: { shutdownGraceSeconds: 3 },
  });
  clients = await connect();
});
after(async () => {
  await gateway.stop('SIGKILL');
  member.close();
});

async function metric(name: string): Promise<ReadonlyMap<string, number>> {
  const text = await (await fetch(`${gateway.opsUrl}/metrics`)).text();
  const lines = text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  return new Map(lines.map((line) => [line.slice(name.length, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]));
}

/** Opens a connection to each worker and proves that it is so. */
async function connect(): Promise<readonly RawClient[]> {
  const endpoint = { port: gateway.port, ca: gateway.caPem };
  const opened = [await openRaw(endpoint), await openRaw(endpoint)];
  assert.deepEqual([...(await metric('portcullis_worker_connections'))].toSorted(), [
    ['{worker="0"}', 1],
    ['{worker="1"}', 1],
  ]);
  return opened;
}

interface Echo {
  readonly status: number;
  readonly user: readonly string[];
  readonly credential: string | undefined;
}

async function ask(client: RawClient, cluster: string, token: string): Promise<Echo> {
  const seen = member.requests.length;
  client.send(requestBytes(`GET /clusters/${cluster}/proxy/api/v1/pods`, [`Authorization: Bearer ${token}`]));
  const { status, body } = await client.answer();
  if (status !== 200) return { status, user: [], credential: undefined };
  const request = member.requests.slice(seen).at(-1)!;
  const { user } = JSON.parse(body) as { user: readonly string[] };
  assert.deepEqual(user, request.values('impersonate-user'));
  return { status, user, credential: request.values('authorization')[0] };
}

/** What both workers say, one after the other. */
async function askBoth(cluster: string, token = 'alice-token'): Promise<readonly Echo[]> {
  const answers: Echo[] = [];
  for (const client of clients) answers.push(await ask(client, cluster, token));
  return answers;
}

function replace(file: string, text: string): void {
  writeFileSync(`${file}.new`, text, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

const as = (name: string, credential: string): Echo => ({
  status: 200,
  user: [name],
  credential: `Bearer ${credential}`,
});

test('both workers answer, each caller as himself', async () => {
  assert.deepEqual(await askBoth('m1'), [as('alice', 'credential-1'), as('alice', 'credential-1')]);
  assert.deepEqual(await askBoth('m1', 'bob-token'), [as('bob', 'credential-1'), as('bob', 'credential-1')]);
  assert.deepEqual(
    (await askBoth('m1', 'nobody-token')).map(({ status }) => status),
    [401, 401],
  );
});

test('a rotated credential is used by both, a removed cluster is 404 in both', async () => {
  const [first, , execs] = contexts;
  replace(kubeconfig, kubeconfigText([{ ...first!, token: 'credential-3' }, execs!]));
  await waitFor(async () => (await askBoth('m2')).every(({ status }) => status === 404));
  assert.deepEqual(await askBoth('m1'), [as('alice', 'credential-3'), as('alice', 'credential-3')]);
});

test('a credential plugin runs once for both', async () => {
  assert.deepEqual(await askBoth('execs'), [as('alice', 'plugin-1'), as('alice', 'plugin-1')]);
  assert.equal(readFileSync(pluginRuns, 'utf8'), 'run\n');
});

test('a token that is taken away is refused by both, a new one is taken by both', async () => {
  replace(gateway.tokenFile, `${tokenLine(users[0]!)}\n${tokenLine({ token: 'carol-token', name: 'carol' })}\n`);
  await waitFor(async () => (await askBoth('m1', 'bob-token')).every(({ status }) => status === 401));
  assert.deepEqual(await askBoth('m1', 'carol-token'), [as('carol', 'credential-3'), as('carol', 'credential-3')]);
});

test('one page of metrics counts the requests of both', async () => {
  const name = 'portcullis_request_total';
  const labels = '{cluster="m1",verb="list",code="200"}';
  const buckets = 'portcullis_request_duration_seconds_bucket';
  const all = '{cluster="m1",verb="list",le="+Inf"}';
  const before = (await metric(name)).get(labels)!;
  const timed = (await metric(buckets)).get(all)!;
  await askBoth('m1');
  assert.equal((await metric(name)).get(labels), before + 2);
  assert.equal((await metric(buckets)).get(all), timed + 2);
  assert.equal((await metric('portcullis_workers_ready')).get(''), 2);
});

test('a list of clusters from one worker is listed again for a watch at the other', async () => {
  const path = '/apis/gateway.portcullis.io/v1alpha1/clusters';
  const [one, other] = clients;
  one!.send(requestBytes(`GET ${path}`, ['Authorization: Bearer alice-token']));
  const { metadata } = JSON.parse((await one!.answer()).body) as { metadata: { resourceVersion: string } };
  const query = `watch=true&resourceVersion=${metadata.resourceVersion}&timeoutSeconds=1`;
  other!.send(requestBytes(`GET ${path}?${query}`, ['Authorization: Bearer alice-token']));
  const { status, body } = await other!.answer();
  assert.ok(status === 410 || (status === 200 && body.includes('"code":410')), `${status} ${body}`);
});

test('a worker that is killed is replaced, and nothing but its own connections is lost', async () => {
  const counted = (await metric('portcullis_request_total')).get('{cluster="m1",verb="list",code="200"}')!;
  const pids = [...gateway.log().matchAll(/"worker":(\d+),"workerPid":(\d+),"msg":"a worker serves"/g)];
  const victim = Number(pids.find(([, slot]) => slot === '0')![2]);
  const closed = Promise.all(clients.map((client) => Promise.race([client.closed.then(() => 'cut'), 'open'])));
  assert.deepEqual(await closed, ['open', 'open']);
  process.kill(victim, 'SIGKILL');
  const cut = await Promise.race(clients.map((client, index) => client.closed.then(() => index)));
  const survivor = clients[1 - cut]!;
  assert.deepEqual(await ask(survivor, 'm1', 'alice-token'), as('alice', 'credential-3'));
  // The listener answers all the while.
  const endpoint = { port: gateway.port, ca: gateway.caPem };
  const fresh = await openRaw(endpoint);
  assert.deepEqual(await ask(fresh, 'm1', 'alice-token'), as('alice', 'credential-3'));
  await waitFor(async () => (await metric('portcullis_workers_ready')).get('') === 2);
  assert.equal((await metric('portcullis_worker_restarts_total')).get(''), 1);
  const now = (await metric('portcullis_request_total')).get('{cluster="m1",verb="list",code="200"}')!;
  assert.equal(now, counted + 2, 'what the dead one had counted stays counted');
  fresh.close();
  survivor.close();
  await waitFor(async () => [...(await metric('portcullis_worker_connections')).values()].every((n) => n === 0));
  clients = await connect();
  assert.deepEqual(await askBoth('m1'), [as('alice', 'credential-3'), as('alice', 'credential-3')]);
  assert.deepEqual(await askBoth('execs'), [as('alice', 'plugin-1'), as('alice', 'plugin-1')]);
});

test('SIGTERM ends watches of both workers between two events, records what is under way, and exits 0', async () => {
  member.answer = ({ socket }) =>
    void socket.write('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n');
  const seen = member.requests.length;
  for (const client of clients)
    client.send(requestBytes('GET /clusters/m1/proxy/api/v1/pods?watch=true', ['Authorization: Bearer alice-token']));
  await member.request(seen + 1);
  for (const client of clients) assert.equal((await client.answer({ headOnly: true })).status, 200);
  const exit = gateway.stop('SIGTERM');
  await Promise.all(clients.map((client) => client.closed));
  assert.equal(await exit, 0);
  const lines = readFileSync(auditLog, 'utf8').trimEnd().split('\n');
  const events = lines.map(
    (line) =>
      JSON.parse(line) as { auditID: string; stage: string; verb: string; annotations?: Record<string, string> },
  );
  const watches = events.filter(({ verb, stage }) => verb === 'watch' && stage === 'ResponseComplete');
  assert.equal(watches.filter(({ annotations }) => annotations?.['gateway.portcullis.io/cluster'] === 'm1').length, 2);
  const stages = Map.groupBy(events, ({ auditID }) => auditID);
  const order = ['RequestReceived', 'ResponseStarted', 'ResponseComplete'];
  for (const [, own] of stages) {
    const places = own.map(({ stage }) => order.indexOf(stage));
    assert.deepEqual(places, places.toSorted(), 'the events of a request are in order');
  }
});
