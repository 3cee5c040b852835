// A gateway that is told to end lets short requests finish, ends watches between two events, and cuts the rest so that
// it looks cut; one that is killed starts again with the same CA. Easy to get wrong: a client that reads nothing must
// not learn of the end by reading.
// Landing tier: a gateway that ends drains first.
// Runs alone: it compares how long drains take.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { startControlPlane } from '../../controlplane/fixture.ts';
import type { ControlPlane, Member } from '../../controlplane/fixture.ts';
import { runCommand } from '../../controlplane/processes.ts';
import { http1Client, http2Client } from '../../clients/stream-client.ts';
import type { OpenAnswer, StreamClient } from '../../clients/stream-client.ts';
import { handshake } from '../../clients/websocket-client.ts';
import { startGatewayProcess } from '../../gateway-process.ts';
import type { GatewayProcess } from '../../gateway-process.ts';
import { clusterAt, writeContexts } from '../kubectl/contexts.ts';
import type { TestContext } from '../kubectl/contexts.ts';
import { startFaultyMember } from '../faulty-member.ts';
import type { AnswerFault, FaultyMember } from '../faulty-member.ts';
import { ask } from '../kubectl/kubectl-as.ts';
import { boxPod, talkingPod } from '../kubectl/pods.ts';
import { eventually } from '../../site/polling.ts';

const carol = { token: 'carol-at-the-gateway', name: 'carol', groups: ['operators'] };
const delayMs = 2_000;
const graceMs = 6_000;
const configMaps = '/clusters/m1/proxy/api/v1/namespaces/default/configmaps';
const protobuf = 'application/vnd.kubernetes.protobuf;stream=watch';
let plane: ControlPlane;
let member: Member;
let faulty: FaultyMember;
let contexts: string;
const gateways: GatewayProcess[] = [];
let held = Promise.withResolvers<AnswerFault>();

before(async () => {
  plane = await startControlPlane({ members: ['m1'], kubelet: true });
  member = plane.member('m1');
  faulty = await startFaultyMember(member, (_, target) => {
    if (target.includes('/log?')) return 'endless';
    if (/\/configmaps(?:$|\?)/.test(target)) return 'stuck';
    return target.endsWith('?held=true') ? held.promise : 'none';
  });
  const user = { token: member.gatewayToken };
  contexts = writeContexts(join(plane.dir, 'contexts.kubeconfig'), [
    { name: 'm1', cluster: clusterAt(member.url, member.caPem), user },
    { name: 'faulty', cluster: clusterAt(faulty.url, faulty.caPem), user },
  ] as readonly TestContext[]);
  await member.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'big' } });
  await member.apply(boxPod('one', 'default'), talkingPod('talker', 'default'));
  const ready = await member.kubectl(['wait', '--for=condition=Ready', 'pod/one', 'pod/talker', '--timeout=60s']);
  assert.equal(ready.code, 0, ready.stderr);
  for (let i = 0; i < 50; i++) {
    const object = { metadata: { name: `big-${i}` }, data: { text: 'x'.repeat(700_000) } };
    assert.equal((await member.request('POST', '/api/v1/namespaces/big/configmaps', object)).status, 201);
  }
});

after(async () => {
  for (const gateway of gateways) await gateway.stop('SIGKILL');
  faulty?.stop();
  await plane?.stop();
});

async function startGateway(options: { dataDir?: string; port?: number } = {}): Promise<GatewayProcess> {
  const config = { shutdownDelaySeconds: delayMs / 1000, shutdownGraceSeconds: graceMs / 1000 };
  const gateway = await startGatewayProcess({ kubeconfigs: [contexts], users: [carol], config, ...options });
  gateways.push(gateway);
  return gateway;
}

/** Changes one object all the time, in events of 50 KB, so that a watch is hardly ever at rest. */
function startChanges(): { stop(): Promise<number> } {
  const stopping = new AbortController();
  const run = (async () => {
    let changes = 0;
    for (; !stopping.signal.aborted; changes++) {
      const object = { metadata: { name: 'ticker' }, data: { at: String(changes), text: 'y'.repeat(50_000) } };
      const [method, name] = changes === 0 ? ['POST', ''] : ['PUT', '/ticker'];
      const { status } = await member.request(method!, `/api/v1/namespaces/default/configmaps${name}`, object);
      assert.ok(status < 300, String(status));
    }
    return changes;
  })();
  return {
    stop() {
      stopping.abort();
      return run;
    },
  };
}

interface RunningKubectl {
  readonly output: () => string;
  readonly exit: Promise<{ readonly code: number | null; readonly stderr: string }>;
}

function startKubectl(
  gateway: GatewayProcess,
  path: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): RunningKubectl {
  const home = mkdtempSync(join(plane.dir, 'home-'));
  const server = ['--server', gateway.url + path, '--certificate-authority', gateway.caFile, '--token', carol.token];
  const child = spawn(plane.binaries['kubectl']!, [...server, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'] ?? '', HOME: home, KUBECONFIG: '/dev/null', ...env },
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const exit = (async () => {
    const [code] = (await once(child, 'exit')) as [number | null];
    return { code, stderr };
  })();
  return { output: () => stdout, exit };
}

/** Whole JSON lines, each an event. */
function assertJsonEvents(body: Buffer): void {
  const lines = body.toString().split('\n');
  assert.equal(lines.pop(), '', 'ends between two events');
  for (const line of lines) assert.match((JSON.parse(line) as { type: string }).type, /^(?:ADDED|MODIFIED)$/);
}

/** Whole frames, each with its length in front. */
function assertProtobufEvents(body: Buffer): void {
  let at = 0;
  while (at < body.length) at += 4 + body.readUInt32BE(at);
  assert.equal(at, body.length, 'ends between two events');
}

test('SIGTERM: unready first, short requests finish, watches end cleanly, the rest is cut, exit code 0', async () => {
  const gateway = await startGateway();
  const server = {
    url: gateway.url,
    caPem: gateway.caPem,
    headers: { authorization: `Bearer ${carol.token}` },
  };
  const changes = startChanges();
  const clients: StreamClient[] = [http1Client(server), await http2Client(server)];
  const each = async (path: string, headers?: Record<string, string>): Promise<OpenAnswer[]> =>
    await Promise.all(clients.map((client) => client.get(path, headers)));

  const watches = await each(`${configMaps}?watch=true`);
  const framed = await each(`${configMaps}?watch=true`, { accept: protobuf });
  const own = await each('/apis/gateway.portcullis.io/v1alpha1/clusters?watch=true');
  const logs = await each('/clusters/faulty/proxy/api/v1/namespaces/default/pods/one/log?follow=true');
  const lists = await each('/clusters/m1/proxy/api/v1/namespaces/big/configmaps');
  for (const answer of lists) answer.pause();
  const shorts = clients.map((client) => client.get('/clusters/faulty/proxy/version?held=true'));
  const { upgraded } = await handshake(
    {
      host: '127.0.0.1',
      port: gateway.port,
      ca: gateway.caPem,
      headers: [
        ['Authorization', `Bearer ${carol.token}`],
        // kube-apiserver's WebSocket server refuses a handshake without one.
        ['Origin', gateway.url],
      ],
    },
    { target: `${configMaps}?watch=true`, protocols: [] },
  );
  const kubectlWatch = startKubectl(gateway, '/clusters/m1/proxy', ['get', 'configmaps', '-w', '-o', 'json']);
  const kubectlOwn = startKubectl(gateway, '', ['get', 'clusters.gateway.portcullis.io', '-w']);
  const kubectlLogs = startKubectl(gateway, '/clusters/m1/proxy', ['logs', '-f', 'talker', '-c', 'left']);
  const sleep = ['exec', 'one', '--', 'sh', '-c', 'echo up; sleep 600'];
  const kubectlExecs = ['true', 'false'].map((webSockets) =>
    startKubectl(gateway, '/clusters/m1/proxy', sleep, { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: webSockets }),
  );
  const kubectlList = startKubectl(gateway, '/clusters/faulty/proxy', ['get', 'configmaps']);
  await Promise.all([...watches, ...framed].map((answer) => answer.until((body) => body.length > 500_000)));
  await Promise.all([...own, ...logs].map((answer) => answer.until((body) => body.length > 0)));
  await eventually('kubectl watches', () => kubectlWatch.output().includes('ticker'));
  await eventually('kubectl reads its log', () => kubectlLogs.output().includes('left end'));
  await eventually('kubectl executes', () => kubectlExecs.every(({ output }) => output().includes('up')));
  await eventually('kubectl watches clusters', () => /^m1 /m.test(kubectlOwn.output()));
  await eventually('kubectl waits for the rest of its list', () => faulty.stuck() > 0);

  const startedMs = performance.now();
  const exit = gateway.stop('SIGTERM');
  await eventually('readyz fails', async () => (await ask(gateway, '', 'GET', '/readyz')).status === 500);
  const during = await ask(gateway, carol.token, 'GET', `${configMaps}?limit=1`);
  assert.equal(during.status, 200, 'unready, and still answering');
  assert.equal((await ask(gateway, '', 'GET', '/livez')).status, 200);
  assert.ok(performance.now() - startedMs < delayMs, 'all that within the delay, or this test proves nothing');
  await eventually('nothing new is taken', () => refuses(gateway));
  held.resolve('none');
  for (const short of await Promise.all(shorts)) {
    assert.equal(short.status, 200);
    assert.equal(await short.ended, 'complete');
    assert.match(short.body().toString(), /gitVersion/);
  }
  for (const answer of [...watches, ...framed, ...own]) assert.equal(await answer.ended, 'complete');
  const watched = await kubectlWatch.exit;
  assert.equal(watched.code, 0, watched.stderr);
  assert.equal((await kubectlOwn.exit).code, 0);
  const cleanMs = performance.now() - startedMs;
  for (const answer of watches) assertJsonEvents(answer.body());
  for (const answer of framed) assertProtobufEvents(answer.body());
  JSON.parse(`[${kubectlWatch.output().trimEnd().replaceAll('\n}\n{', '\n},\n{')}]`);

  assert.equal(await exit, 0);
  const tookMs = performance.now() - startedMs;
  assert.ok(cleanMs < tookMs && cleanMs < delayMs + 3_000, `watches ended after ${cleanMs} ms of ${tookMs}`);
  assert.ok(tookMs < delayMs + graceMs + 1_500, `took ${tookMs} ms`);
  for (const answer of [...lists, ...logs]) answer.resume();
  for (const answer of [...lists, ...logs]) assert.equal(await answer.ended, 'cut');
  assert.equal(logs[1]!.resetCode(), 2, 'RST_STREAM with INTERNAL_ERROR');
  assert.equal((await kubectlList.exit).code, 1, kubectlList.output());
  assert.equal((await kubectlLogs.exit).code, 1);
  // Over SPDY kubectl takes a lost connection for the end of the command, also where its API server dies (measured); it
  // must only end.
  const [overWebSocket] = await Promise.all(kubectlExecs.map(({ exit }) => exit));
  assert.equal(overWebSocket!.code, 1, overWebSocket!.stderr);
  if (!upgraded.socket.destroyed) await once(upgraded.socket.resume(), 'close');
  for (const client of clients) client.close();
  assert.ok((await changes.stop()) > 10);
});

/** Whether a new connection or a new request on it is refused. */
async function refuses(gateway: GatewayProcess): Promise<boolean> {
  const answer = await ask(gateway, carol.token, 'GET', `${configMaps}?limit=1`).catch(() => undefined);
  return answer === undefined || answer.status === 503;
}

test('with nothing but watches and idle connections it ends long before the grace does', async () => {
  held = Promise.withResolvers();
  const gateway = await startGateway();
  const headers = { authorization: `Bearer ${carol.token}` };
  const server = { url: gateway.url, caPem: gateway.caPem, headers };
  const idle = await http2Client(server);
  const watcher = await http2Client(server);
  assert.equal(await (await idle.get(`${configMaps}?limit=1`)).ended, 'complete');
  const watch = await watcher.get(`${configMaps}?watch=true`);
  const startedMs = performance.now();
  assert.equal(await gateway.stop('SIGTERM'), 0);
  assert.ok(performance.now() - startedMs < delayMs + 2_500, `took ${performance.now() - startedMs} ms`);
  assert.equal(await watch.ended, 'complete');
  idle.close();
  watcher.close();
});

test('after SIGKILL a gateway with the same data folder has the same CA, and old kubeconfigs work', async () => {
  const dataDir = mkdtempSync(join(plane.dir, 'data-'));
  const first = await startGateway({ dataDir });
  const kubeconfig = join(dataDir, 'user.kubeconfig');
  const portcullis = join(import.meta.dirname, '../../../bin/portcullis.mjs');
  const trust = ['--server', first.url, '--certificate-authority', first.caFile, '--token', carol.token];
  const written = await runCommand(process.execPath, [
    portcullis,
    'kubeconfig',
    ...trust,
    '--all',
    '--output',
    kubeconfig,
  ]);
  assert.equal(written.code, 0, written.stderr);
  const get = ['--context', 'portcullis-m1', 'get', 'configmaps', '-o', 'name'];
  const list = (): ReturnType<typeof runCommand> =>
    runCommand(plane.binaries['kubectl']!, ['--kubeconfig', kubeconfig, '--cache-dir', join(dataDir, 'cache'), ...get]);
  const before = await list();
  assert.equal(before.code, 0, before.stderr);
  assert.equal(await first.stop('SIGKILL'), 'SIGKILL');
  assert.equal((await list()).code, 1, 'nothing is there');
  const second = await startGateway({ dataDir, port: first.port });
  assert.equal(second.caPem, first.caPem);
  assert.deepEqual(await list(), before);
  await second.stop('SIGKILL');
});
