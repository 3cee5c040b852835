// Memory that is taken without a login: heads that never end, heads that were refused, bodies nobody asked for. Memory
// is that of a whole process, so the gateway runs in one of its own; and who is honest comes from the same address as
// the attack.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { makeTestAuthority } from '../../pretend/certificates.ts';
import { startGatewayProcess } from '../../gateway-process.ts';
import type { GatewayProcess } from '../../gateway-process.ts';
import { http2Exchange, http2Headers, openHttp2 } from '../../site/http2-client.ts';
import { startMember } from '../../site/member.ts';
import { exchange, openRaw, requestBytes } from '../../site/raw-client.ts';
import { kubeconfigText } from '../../site/site.ts';
import { waitFor } from '../../site/polling.ts';
import { openStrangers } from './strangers.ts';
import type { StrangerWay } from './strangers.ts';
import { tempDir } from '../../pretend/temp-dir.ts';

const attackers = 200;
/** Those whose heads are as long as a stranger's may be: together five times what heads may hold. */
const holders = 500;
const mebibyte = 1024 * 1024;
/** 20 MiB of heads, 200 connections and what waits for the collector. The heads alone would be 90 MiB. */
const mostGrowthMiB = 150;
const alice = 'Authorization: Bearer alice-token';

interface Site {
  readonly gateway: GatewayProcess;
  readonly endpoint: { readonly port: number; readonly ca: string };
  readonly rssMiB: () => number;
}

async function start(t: TestContext): Promise<Site> {
  const folder = tempDir('heads');
  const member = await startMember(await makeTestAuthority(), () => undefined);
  const kubeconfig = join(folder, 'kubeconfig.yaml');
  const server = `https://127.0.0.1:${member.port}`;
  writeFileSync(kubeconfig, kubeconfigText([{ name: 'm1', server, ca: member.ca, token: 'member-credential' }]));
  const gateway = await startGatewayProcess({
    kubeconfigs: [kubeconfig],
    users: [{ token: 'alice-token', name: 'alice' }],
    args: ['--max-memory', '256Mi'],
  });
  t.after(async () => {
    await gateway.stop('SIGKILL');
    member.close();
  });
  const rssMiB = (): number => {
    const status = readFileSync(`/proc/${gateway.pid}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+)/.exec(status)![1]) / 1024;
  };
  return { gateway, endpoint: { port: gateway.port, ca: gateway.caPem }, rssMiB };
}

async function metricOf({ gateway }: Site, name: string): Promise<number> {
  const text = await (await fetch(`${gateway.opsUrl}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
}

/** Alice asks on new connections, over both protocols. */
async function served({ endpoint }: Site): Promise<number[]> {
  const statuses: number[] = [];
  for (let i = 0; i < 5; i++) {
    statuses.push((await exchange(endpoint, requestBytes('GET /version', [alice]))).status);
    const session = await openHttp2(endpoint);
    const list = http2Headers('GET', '/version', ['authorization', 'Bearer alice-token']);
    statuses.push((await http2Exchange(session, list)).status);
    session.destroy();
  }
  return statuses;
}

const tens = Array.from({ length: 10 }, () => 200);

for (const way of ['HTTP/1.1 unfinished head', 'HTTP/1.1 unfinished upgrade', 'HTTP/2 unfinished block'] as const) {
  test(`${holders} strangers with all they may send of "${way}" are closed, memory stays bounded, and a user is served on new connections (ATT-41)`, async (t) => {
    const site = await start(t);
    await served(site);
    const before = site.rssMiB();
    const strangers = await openStrangers(site.endpoint, way, holders);
    t.after(() => strangers.stop());
    assert.deepEqual(await served(site), tens);
    await waitFor(() => strangers.ended() > holders * 0.8);
    assert.deepEqual(await served(site), tens);
    if (way !== 'HTTP/2 unfinished block') assert.deepEqual([...strangers.statuses().keys()], ['429']);
    const grown = site.rssMiB() - before;
    assert.ok(grown < mostGrowthMiB, `grew by ${Math.round(grown)} MiB`);
    assert.ok((await metricOf(site, 'portcullis_clients_crowded_out_total')) >= strangers.ended());
    assert.ok((await metricOf(site, 'portcullis_client_held_bytes')) <= 20 * mebibyte);
    assert.equal(await metricOf(site, 'portcullis_memory_shedding'), 0);
  });
}

const refusedWays: readonly StrangerWay[] = [
  'HTTP/1.1 refused head',
  'HTTP/1.1 body of a refused request',
  'HTTP/1.1 slow body',
  'HTTP/2 slow bodies',
  'TLS unfinished hello',
];

test(`what ${attackers} strangers sent and were refused for is not kept while their connections are open, nor are unfinished handshakes in others' way (ATT-41)`, async (t) => {
  const site = await start(t);
  await served(site);
  // Logins of an address that failed too often are held back, save on connections that have logged in.
  const known = await openRaw(site.endpoint);
  known.send(requestBytes('GET /version', [alice]));
  assert.equal((await known.answer()).status, 200);
  for (const way of refusedWays) {
    const before = site.rssMiB();
    const strangers = await openStrangers(site.endpoint, way, attackers);
    t.after(() => strangers.stop());
    for (let i = 0; i < 5; i++) {
      known.send(requestBytes('GET /version', [alice]));
      assert.equal((await known.answer()).status, 200, way);
    }
    const grown = site.rssMiB() - before;
    assert.ok(grown < mostGrowthMiB, `${way}: grew by ${Math.round(grown)} MiB`);
    strangers.stop();
  }
  known.close();
});

test('a user whose head is larger than that of any stranger, and comes in pieces, is served while strangers hold all there is room for (ATT-41)', async (t) => {
  const site = await start(t);
  const strangers = await openStrangers(site.endpoint, 'HTTP/1.1 small unfinished head', 230);
  t.after(() => strangers.stop());
  await waitFor(() => strangers.ended() > 0);
  assert.deepEqual(await served(site), tens);
  const groups = Array.from({ length: 1200 }, (_, i) => `X-Remote-Group: ${'g'.repeat(80)}-${i}`);
  const bytes = requestBytes('GET /version', [alice, ...groups]);
  const client = await openRaw(site.endpoint);
  client.send(bytes.slice(0, 100_000));
  const closedBefore = await metricOf(site, 'portcullis_clients_crowded_out_total');
  const others = await openStrangers(site.endpoint, 'HTTP/1.1 small unfinished head', 70);
  t.after(() => others.stop());
  await waitFor(async () => (await metricOf(site, 'portcullis_clients_crowded_out_total')) > closedBefore);
  client.send(bytes.slice(100_000));
  assert.equal((await client.answer()).status, 200);
  client.close();
});

test('a head of more than a stranger may send is 431 over both protocols, and arrives on a connection that has logged in (ATT-41, ATT-49)', async (t) => {
  const { endpoint } = await start(t);
  const many = Array.from({ length: 2_100 }, (_, i) => `X-${i}: y`);
  for (const lines of [[`X: ${'a'.repeat(200 * 1024)}`], many]) {
    const long = requestBytes('GET /version', [alice, ...lines]);
    assert.equal((await exchange(endpoint, long)).status, 431);
    const known = await openRaw(endpoint);
    known.send(requestBytes('GET /version', [alice]));
    assert.equal((await known.answer()).status, 200);
    known.send(long);
    assert.equal((await known.answer()).status, 200);
    known.close();

    const fields = lines
      .flatMap((line) => line.split(': '))
      .map((text, i) => (i % 2 === 0 ? text.toLowerCase() : text));
    const list = (more: readonly string[]) =>
      http2Headers('GET', '/version', ['authorization', 'Bearer alice-token', ...more]);
    const stranger = await openHttp2(endpoint);
    assert.equal((await http2Exchange(stranger, list(fields))).status, 431);
    stranger.destroy();
    const session = await openHttp2(endpoint);
    assert.equal((await http2Exchange(session, list([]))).status, 200);
    assert.equal((await http2Exchange(session, list(fields))).status, 200);
    session.destroy();
  }
});
