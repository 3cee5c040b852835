// FLT-17 and FLT-18: the wall clock steps, the event loop stands still, a promise is broken, descriptors run out.
// Whatever happens must end in serving again or in a process that is gone and says why, never in one that is half
// there.
// Runs alone: it says within which seconds a fault is seen.
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { readdirSync, writeFileSync } from 'node:fs';
import { Agent, request as httpsRequest } from 'node:https';
import { after, before, test } from 'node:test';

import { http1Client, http2Client } from '../clients/stream-client.ts';
import { execOverWebSocket } from '../clients/websocket-client.ts';
import { createAuthority } from '../pretend/certificates.ts';
import type { Authority, KeyPair } from '../pretend/certificates.ts';
import { runCommand } from '../controlplane/processes.ts';
import { boxPod } from '../e2e/kubectl/pods.ts';
import { eventually } from '../site/polling.ts';
import { figure, printScale, scaled } from './scale.ts';
import { carol, configMapsOf, startFaultSite } from './site.ts';
import type { FaultSite } from './site.ts';
import { startWitnessedGateway } from './witnessed.ts';
import type { WitnessedGateway } from './witnessed.ts';

const hourMs = 3_600_000;
let site: FaultSite;
let authority: Authority;
let clientCaFile = '';

before(async () => {
  printScale('process faults');
  authority = await createAuthority('people');
  site = await startFaultSite({ members: ['m1'], proxied: ['m2'], bare: ['m2'], kubelet: true });
  clientCaFile = join(site.plane.dir, 'people.crt');
  writeFileSync(clientCaFile, authority.certPem);
  const member = site.member('m1');
  await member.apply(boxPod('box', 'default'));
  const ready = await member.kubectl(['wait', '--for=condition=Ready', 'pod/box', '--timeout=60s']);
  assert.equal(ready.code, 0, ready.stderr);
});

after(() => site?.stop());

function startGateway(args: readonly string[] = [], config: object = {}): Promise<WitnessedGateway> {
  return startWitnessedGateway({ kubeconfigs: [site.kubeconfig], users: [carol], args, config: { ...config } });
}

/** Status of a GET with a token, with a certificate, or with both. */
function statusOf(
  gateway: WitnessedGateway,
  path: string,
  pair?: KeyPair,
  agent: Agent | false = false,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const credentials =
      pair === undefined
        ? { headers: { authorization: `Bearer ${carol.token}` } }
        : { cert: pair.certPem, key: pair.keyPem };
    const request = httpsRequest(gateway.url + path, { ca: gateway.caPem, agent, ...credentials }, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode!));
      response.on('error', reject);
    });
    request.on('error', reject);
    request.end();
  });
}

function descriptorsOf(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

test('the clock steps an hour ahead and two back: certificates follow it, watches, an exec and every wait do not (FLT-17)', async () => {
  // No probe after the first: it would close the breaker whatever its clock says.
  await using gateway = await startGateway(['--client-ca-file', clientCaFile], { probeIntervalSeconds: 3600 });
  const server = { url: gateway.url, caPem: gateway.caPem, headers: { authorization: `Bearer ${carol.token}` } };
  const client = await http2Client(server);
  const raw = { ...site.raw, port: gateway.port, ca: gateway.caPem };
  const pair = await authority.issue({
    commonName: 'dora',
    usage: 'client',
    notAfter: new Date(Date.now() + hourMs / 2),
  });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const own = '/apis/gateway.portcullis.io/v1alpha1/clusters';
  const byCertificate = async (): Promise<readonly number[]> => [
    await statusOf(gateway, own, pair),
    await statusOf(gateway, own, pair, agent),
  ];
  await eventually('m2 is available', async () => (await statusOf(gateway, configMapsOf('m2'))) === 200);
  assert.deepEqual(await byCertificate(), [200, 200]);
  const watch = await client.get(`${configMapsOf('m1')}?watch=true`);
  const path = '/clusters/m1/proxy/api/v1/namespaces/default/pods/box/exec';
  const shell = await execOverWebSocket(raw, { path, command: ['cat'], stdin: true });
  let isOpen = true;
  void Promise.race([watch.ended, shell.result]).then(() => (isOpen = false));

  await gateway.tell({ kind: 'step-clock', byMs: hourMs });
  assert.deepEqual(await byCertificate(), [401, 401], 'the certificate has ended, on a kept connection too');
  assert.equal(await statusOf(gateway, configMapsOf('m1')), 200);

  // The breaker opens now, an hour ahead of where the clock goes next.
  site.proxy('m2').set('cut');
  await eventually('the breaker is open', async () => {
    const { status } = { status: await statusOf(gateway, configMapsOf('m2')) };
    const text = await (await fetch(`${gateway.opsUrl}/metrics`)).text();
    return status >= 500 && /portcullis_breaker_open\{cluster="m2"\} 1/.test(text);
  });
  await gateway.tell({ kind: 'step-clock', byMs: -2 * hourMs });
  site.proxy('m2').set('open');
  const reopenedMs = performance.now();
  await eventually(
    'the breaker lets requests pass',
    async () => (await statusOf(gateway, configMapsOf('m2'))) === 200,
    {
      timeoutMs: scaled(30_000) + 10_000,
    },
  );
  const waitedMs = Math.round(performance.now() - reopenedMs);
  assert.equal((await byCertificate())[0], 200, 'before its end again');
  await shell.write('still here\n');
  await shell.waitForOutput('still here');
  const name = 'after-the-step';
  const made = await site.member('m1').request('POST', '/api/v1/namespaces/team-a/configmaps', { metadata: { name } });
  assert.equal(made.status, 201, made.body);
  await watch.until((body) => body.includes(name));
  assert.equal(isOpen, true);
  figure(
    'FLT-17',
    `certificate refused and accepted with the clock; a breaker opened before a step of -2 h closed ${waitedMs} ms after the member was back`,
  );
  shell.close();
  agent.destroy();
  client.close();
});

test('an event loop that stands still for 2 s fails its probe meanwhile and goes on without losing anybody (FLT-18)', async () => {
  await using gateway = await startGateway();
  const server = { url: gateway.url, caPem: gateway.caPem, headers: { authorization: `Bearer ${carol.token}` } };
  const clients = [http1Client(server), await http2Client(server)];
  await eventually('m1 is available', async () => (await statusOf(gateway, configMapsOf('m1'))) === 200);
  const watches = await Promise.all(clients.map((client) => client.get(`${configMapsOf('m1')}?watch=true`)));
  const blocked = gateway.tell({ kind: 'block', forMs: 2_000 });
  const probe = await fetch(`${gateway.opsUrl}/livez`, { signal: AbortSignal.timeout(1_000) }).then(
    ({ status }) => status,
    (error: Error) => error.name,
  );
  const asked = Array.from({ length: 20 }, () => statusOf(gateway, configMapsOf('m1')));
  await blocked;
  assert.deepEqual(new Set(await Promise.all(asked)), new Set([200]));
  assert.equal(probe, 'TimeoutError', 'a kubelet with a timeout of a second sees the block');
  assert.equal((await fetch(`${gateway.opsUrl}/livez`)).status, 200);
  const name = 'after-the-block';
  const made = await site.member('m1').request('POST', '/api/v1/namespaces/team-a/configmaps', { metadata: { name } });
  assert.equal(made.status, 201, made.body);
  for (const watch of watches) await watch.until((body) => body.includes(name));
  for (const client of clients) client.close();
});

test('a promise nobody caught ends the process with its reason, never a gateway that is half there (FLT-18)', async () => {
  await using gateway = await startGateway();
  const exited = new Promise<number | null>((resolve) => gateway.child.once('exit', resolve));
  void gateway.tell({ kind: 'reject' }).catch(() => undefined);
  assert.notEqual(await exited, 0);
  assert.match(gateway.log(), /a promise that a test broke/);
});

test('without descriptors new connections wait or fail, those that stand are served, and it all works again (FLT-18)', async () => {
  await using gateway = await startGateway();
  await eventually('m1 is available', async () => (await statusOf(gateway, configMapsOf('m1'))) === 200);
  const server = { url: gateway.url, caPem: gateway.caPem, headers: { authorization: `Bearer ${carol.token}` } };
  const standing = await http2Client(server);
  const watch = await standing.get(`${configMapsOf('m1')}?watch=true`);
  const descriptors = descriptorsOf(gateway.pid);
  const limit = descriptors + 20;
  const limited = await runCommand('prlimit', [`--pid=${gateway.pid}`, `--nofile=${limit}:20000`]);
  assert.equal(limited.code, 0, limited.stderr);
  const flood: Socket[] = Array.from({ length: 100 }, () => {
    const socket = connect(gateway.port, '127.0.0.1');
    return socket.on('error', () => undefined);
  });
  await eventually('none is left', () => descriptorsOf(gateway.pid) >= limit - 1);
  const meanwhile: (number | string)[] = [];
  for (let i = 0; i < 10; i++) {
    const answer = await standing.get(`${configMapsOf('m1')}?limit=1`);
    await answer.ended;
    meanwhile.push(answer.status);
  }
  const name = 'without-descriptors';
  const made = await site.member('m1').request('POST', '/api/v1/namespaces/team-a/configmaps', { metadata: { name } });
  assert.equal(made.status, 201, made.body);
  await watch.until((body) => body.includes(name));
  for (const socket of flood) socket.destroy();
  const freedMs = performance.now();
  await eventually('new connections are served', async () => (await statusOf(gateway, configMapsOf('m1'))) === 200);
  const backMs = Math.round(performance.now() - freedMs);
  // Counted from outside: the witness itself would need descriptors.
  await eventually('no more is held than before', () => descriptorsOf(gateway.pid) <= descriptors + 5, {
    timeoutMs: 30_000,
    everyMs: 500,
  });
  assert.equal(gateway.child.exitCode, null);
  figure(
    'FLT-18',
    `${limit} descriptors and 100 connections more: requests on a standing connection answered ${[...new Set(meanwhile)].join(', ')}; served again ${backMs} ms after they went`,
  );
  assert.ok(
    meanwhile.every((status) => status === 200 || status === 503),
    meanwhile.join(),
  );
  standing.close();
});
