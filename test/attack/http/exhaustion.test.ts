// Whoever takes connections, logins, slots or memory and gives nothing for them is bounded, and others are served
// meanwhile. The honest user comes from the same address as the attack, as behind a load balancer.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect as connectTcp } from 'node:net';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { makeTestAuthority } from '../../pretend/certificates.ts';
import { startGatewayProcess } from '../../gateway-process.ts';
import { http2Answer, http2Headers, openHttp2, openStream } from '../../site/http2-client.ts';
import { startMember } from '../../site/member.ts';
import { exchange, openRaw, requestBytes, upgradeLines } from '../../site/raw-client.ts';
import type { RawClient } from '../../site/raw-client.ts';
import { kubeconfigText, startSite } from '../../site/site.ts';
import { waitFor } from '../../site/polling.ts';
import type { Site, SiteOptions } from '../../site/site.ts';
import { tempDir } from '../../pretend/temp-dir.ts';

const alice = 'Authorization: Bearer alice-token';
const pods = '/clusters/m1/proxy/api/v1/pods';
const get = requestBytes(`GET ${pods}`, [alice]);

async function siteOf(t: TestContext, config: SiteOptions['config']): Promise<Site> {
  const site = await startSite({ users: [{ token: 'alice-token', name: 'alice' }], config: config ?? {} });
  t.after(() => site.close());
  return site;
}

async function metric(opsUrl: string, name: string): Promise<number> {
  const text = await (await fetch(`${opsUrl}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
}

async function answered(client: RawClient): Promise<number> {
  client.send(get);
  return (await client.answer()).status;
}

test('a flood of connections is closed before the handshake, who is connected is served, and room that gets free is given out (ATT-39)', async (t) => {
  const site = await siteOf(t, { maxConnections: 40, maxAddressConnections: 30 });
  const honest = await openRaw(site);
  assert.equal(await answered(honest), 200);
  const flood: Socket[] = [];
  let closed = 0;
  for (let i = 0; i < 200; i++) {
    const socket = connectTcp(site.port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.on('close', () => (closed += 1));
    flood.push(socket);
  }
  // One of the thirty is the honest one.
  await waitFor(() => closed === 171);
  await waitFor(async () => (await metric(site.gateway.opsUrl, 'portcullis_client_connections_dropped_total')) === 171);
  assert.equal(await answered(honest), 200);
  await assert.rejects(openRaw(site));
  for (const socket of flood) socket.resetAndDestroy();
  await waitFor(async () => (await metric(site.gateway.opsUrl, 'portcullis_client_connections')) === 1);
  assert.equal((await exchange(site, get)).status, 200);
  honest.close();
});

test('connections that never finish a head, or a handshake, hold nobody up (ATT-39)', async (t) => {
  const site = await siteOf(t, {});
  const stalled = await Promise.all(Array.from({ length: 100 }, () => openRaw(site)));
  for (const client of stalled) client.send('GET /clusters/m1/proxy/api HTTP/1.1\r\nHost: x\r\nX-A: b');
  const silent = Array.from({ length: 100 }, () => connectTcp(site.port, '127.0.0.1').on('error', () => undefined));
  await Promise.all(silent.map((socket) => once(socket, 'connect')));
  for (let i = 0; i < 20; i++) {
    for (const client of stalled) client.send('c');
    assert.equal((await exchange(site, get)).status, 200);
  }
  assert.equal(site.upstream(), 20);
  for (const client of stalled) client.close();
  for (const socket of silent) socket.destroy();
});

test('whoever tries tokens is held back after a hundred, and connections that have logged in from the same address are served (ATT-39)', async (t) => {
  const site = await siteOf(t, {});
  const honest = await openRaw(site);
  assert.equal(await answered(honest), 200);
  const statuses: number[] = [];
  for (let i = 0; i < 10; i++) {
    const attacker = await openRaw(site);
    for (let k = 0; k < 30; k++) {
      attacker.send(requestBytes(`GET ${pods}`, [`Authorization: Bearer guess-${i}-${k}`]));
      const answer = await attacker.answer();
      if (answer.status === 429) assert.deepEqual(answer.values('retry-after'), ['1']);
      statuses.push(answer.status);
    }
    attacker.close();
  }
  const tried = statuses.filter((status) => status === 401).length;
  assert.ok(tried >= 100 && statuses.every((status) => status === 401 || status === 429));
  assert.ok(tried < 300, 'some were held back');
  assert.equal(await answered(honest), 200);
  assert.equal((await exchange(site, requestBytes('GET /readyz'))).status, 200);
  honest.close();
});

test('one good login is no leave to try tokens: its connection is held back over both protocols, its neighbours are served (ATT-46)', async (t) => {
  const site = await siteOf(t, {});
  const guess = async (): Promise<readonly number[]> => {
    const attacker = await openRaw(site);
    assert.equal(await answered(attacker), 200);
    const statuses: number[] = [];
    for (let i = 0; i < 300; i++) {
      attacker.send(requestBytes(`GET ${pods}`, [`Authorization: Bearer guess-${i}`]));
      statuses.push((await attacker.answer()).status);
    }
    attacker.close();
    return statuses;
  };
  const guessOverHttp2 = async (): Promise<readonly number[]> => {
    const session = await openHttp2(site);
    t.after(() => session.destroy());
    const ask = async (token: string): Promise<number> => {
      const list = http2Headers('GET', pods, ['authorization', `Bearer ${token}`]);
      return (await http2Answer(openStream(session, list))).status;
    };
    assert.equal(await ask('alice-token'), 200);
    const statuses: number[] = [];
    for (let i = 0; i < 300; i++) statuses.push(await ask(`guess-${i}`));
    return statuses;
  };
  const [honest, other] = [await openRaw(site), await openRaw(site)];
  assert.deepEqual([await answered(honest), await answered(other)], [200, 200]);
  // The second begins when the address has rested a little: until then not even a good token is tried on a connection
  // that is new.
  for (const attack of [guess, guessOverHttp2]) {
    await waitFor(async () => (await exchange(site, get)).status === 200);
    const statuses = await attack();
    const tried = statuses.filter((status) => status === 401).length;
    assert.ok(statuses.every((status) => status === 401 || status === 429));
    assert.ok(tried >= 100 && tried < 250, `${tried} were tried`);
    assert.deepEqual([await answered(honest), await answered(other)], [200, 200]);
  }
});

const endless = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n';
const piece = `10000\r\n${'x'.repeat(65_536)}\r\n`;

/** Lets the member answer with a body that goes on as long as it is taken. */
function flowing(site: Site): { readonly sent: () => number } {
  let sent = 0;
  site.members[0]!.answer = ({ socket }) => {
    socket.write(endless);
    const more = (): void => {
      while (!socket.destroyed && socket.write(piece, 'latin1')) sent += 65_536;
    };
    socket.on('drain', more);
    more();
  };
  return { sent: () => sent };
}

test('a head that is long in odd ways, from nobody, is answered over both protocols, and others are served (ATT-39)', async (t) => {
  const site = await siteOf(t, {});
  const honest = await openRaw(site);
  assert.equal(await answered(honest), 200);
  // A regular expression that trims the end of a text would look at these for half an hour.
  const blanks = ' '.repeat(900_000);
  const shortNames = '%61&'.repeat(9_900);
  const subprotocols = `a${','.repeat(90_000)}b`;
  // Over HTTP/2 nothing is upgraded, so subprotocols are not looked at.
  for (const [path, name, value, code, overHttp2] of [
    [pods, 'authorization', `Bearer a${blanks}b`, 431, 431],
    [pods, 'authorization', `Bearer ${'a'.repeat(64 * 1024)}`, 401, 401],
    [pods, 'authorization', `${blanks}Bearer${blanks.slice(0, 100_000)}b`, 431, undefined],
    [pods, 'sec-websocket-protocol', `a${blanks}b`, 431, 431],
    [pods, 'sec-websocket-protocol', subprotocols, 400, 401],
    [pods, 'connection', `upgrade${','.repeat(900_000)}`, 431, undefined],
    [pods, 'upgrade', 'a'.repeat(900_000), 431, undefined],
    [`${pods}?${shortNames}`, 'authorization', 'Bearer unknown', 401, 401],
    [`${pods}?${shortNames}${shortNames}`, 'authorization', 'Bearer unknown', 400, 400],
    [`/clusters/m1/proxy/${'%41/'.repeat(16_000)}`, 'authorization', 'Bearer unknown', 400, 400],
  ] as const) {
    for (const more of [[], upgradeLines('websocket')]) {
      const client = await openRaw(site);
      client.send(requestBytes(`GET ${path}`, [`${name}: ${value}`, ...more]));
      const { status, body } = await client.answer();
      assert.ok(status === code || (more.length > 0 && status === 400), `${name} ${status}`);
      assert.equal((JSON.parse(body) as { code: number }).code, status);
      client.close();
    }
    if (overHttp2 === undefined) continue;
    // A header block of more than a stranger may send ends its connection behind the answer.
    const session = await openHttp2(site);
    const stream = openStream(session, http2Headers('GET', path, [name, value]));
    assert.equal((await http2Answer(stream)).status, overHttp2, name);
    session.destroy();
    assert.equal(await answered(honest), 200);
  }
  honest.close();
  assert.equal(
    site.upstream(),
    site.members[0]!.requests.filter(({ values }) => values('impersonate-user')[0] === 'alice').length,
  );
});

test('a client that takes nothing of a list or a watch is ended after its time over both protocols, one of a log is not (FLT-13)', async (t) => {
  const site = await siteOf(t, { slowClientTimeout: '1s' });
  flowing(site);
  const open = async (path: string): Promise<RawClient> => {
    const client = await openRaw(site);
    client.send(requestBytes(`GET ${path}`, [alice]));
    await client.answer({ headOnly: true });
    client.socket.pause();
    return client;
  };
  const log = await open('/clusters/m1/proxy/api/v1/namespaces/default/pods/web/log?follow=1');
  const list = await open(pods);
  const watch = await open(`${pods}?watch=1`);
  const session = await openHttp2(site);
  const stream = openStream(session, http2Headers('GET', pods, ['authorization', 'Bearer alice-token']));
  await once(stream, 'response');
  stream.pause();
  await waitFor(async () => (await metric(site.gateway.opsUrl, 'portcullis_slow_clients_ended_total')) === 3);
  await waitFor(() => site.log().match(/read nothing of its answer for 1 s/g)?.length === 3);
  stream.resume();
  const { complete } = await http2Answer(stream);
  assert.ok(!complete, 'what is cut looks cut');
  list.socket.resume();
  await list.closed;
  log.socket.resume();
  const before = log.rest().length;
  await waitFor(() => log.rest().length > before + 1_000_000);
  for (const client of [log, watch]) client.close();
  session.destroy();
});

test('memory that unread bodies take ends in 429, not in the end of the process, and is served again when it is free (FLT-13)', async (t) => {
  const folder = tempDir('memory');
  const member = await startMember(await makeTestAuthority(), () => undefined);
  t.after(() => member.close());
  const kubeconfig = join(folder, 'kubeconfig.yaml');
  const server = `https://127.0.0.1:${member.port}`;
  writeFileSync(kubeconfig, kubeconfigText([{ name: 'm1', server, ca: member.ca, token: 'member-credential' }]));
  await using gateway = await startGatewayProcess({
    kubeconfigs: [kubeconfig],
    users: [
      { token: 'alice-token', name: 'alice' },
      { token: 'mallory-token', name: 'mallory' },
    ],
    args: ['--max-memory', '192Mi', '--max-cluster-requests-inflight', '1'],
  });
  const endpoint = { port: gateway.port, ca: gateway.caPem };
  const version = requestBytes('GET /version', [alice]);
  assert.equal((await exchange(endpoint, version)).status, 200);
  const ready = async (): Promise<string> => (await fetch(`${gateway.opsUrl}/readyz?verbose`)).text();
  const body = Buffer.alloc(262_144, 'x');
  const sessions = [];
  // Every one waits behind the first, which the member never answers; each connection may have 4 MiB unread.
  for (let i = 0; i < 60 && !(await ready()).includes('new requests are refused'); i++) {
    const session = await openHttp2(endpoint);
    sessions.push(session);
    for (let k = 0; k < 16; k++) {
      openStream(session, http2Headers('POST', pods, ['authorization', 'Bearer mallory-token']), false).write(body);
    }
    await new Promise((resolve) => session.ping(resolve));
  }
  await waitFor(async () => (await ready()).includes('new requests are refused'));
  const refused = await exchange(endpoint, version);
  assert.equal(refused.status, 429);
  assert.match(refused.body, /short of memory/);
  assert.equal((await exchange(endpoint, requestBytes('GET /livez'))).status, 200);
  for (const session of sessions) session.destroy();
  await waitFor(async () => (await exchange(endpoint, version)).status === 200);
  assert.doesNotMatch(await ready(), /new requests are refused/);
  assert.match(gateway.log(), /short of memory: new requests are refused/);
});

test('what the index asks a cluster for takes slots of the cluster as a request to it does (ATT-34)', async (t) => {
  const site = await siteOf(t, { maxUserClusterRequestsInflight: 2 });
  const member = site.members[0]!;
  member.answer = () => undefined;
  const path = '/apis/clusterpedia.io/v1beta1/resources/clusters/m1/apis/metrics.k8s.io/v1beta1/nodes';
  const held: RawClient[] = [];
  t.after(() => held.forEach((client) => client.close()));
  for (let count = 0; count < 2; count += 1) {
    const client = await openRaw(site);
    held.push(client);
    client.send(requestBytes(`GET ${path}`, [alice]));
  }
  await waitFor(() => member.requests.length === 2);
  const third = await openRaw(site);
  held.push(third);
  third.send(requestBytes(`GET ${path}`, [alice]));
  assert.equal((await third.answer()).status, 429);
  assert.equal(member.requests.length, 2);
});
