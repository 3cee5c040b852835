// The raw stream clients against a real kube-apiserver and kubelet's own streaming server: what fails here is the
// client's fault or the cluster's, not the gateway's. Protocol v5 is answered by kube-apiserver, v4 and SPDY go through
// to the kubelet.
// Landing tier: exec, logs and port-forward byte by byte over WebSocket and SPDY/3.1.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { buffer as readWhole } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { startControlPlane, type ControlPlane, type Member } from '../controlplane/fixture.ts';
import type { ExecCall, ExecSession } from './exec-session.ts';
import { connectForwardOverSpdy, execOverSpdy, openForward, type SpdyConnection } from './spdy-client.ts';
import { connectForwardOverWebSocket, execOverWebSocket, handshake } from './websocket-client.ts';
import { UpgradeRefused, type ConnectOptions } from './upgrade-client.ts';

let plane: ControlPlane;
let member: Member;
let options: ConnectOptions;
const pods = '/api/v1/namespaces/default/pods';

before(async () => {
  plane = await startControlPlane({ members: ['m1'], controllerManager: true, kubelet: true });
  member = plane.member('m1');
  await member.apply({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'box' },
    spec: {
      nodeName: 'kubelet-0',
      terminationGracePeriodSeconds: 1,
      containers: [{ name: 'main', image: 'example.test/box', ports: [{ containerPort: 8080 }] }],
    },
  });
  const ready = await member.kubectl(['wait', '--for=condition=Ready', 'pod/box', '--timeout=30s']);
  assert.equal(ready.code, 0, ready.stderr);
  const url = new URL(member.url);
  options = {
    host: url.hostname,
    port: Number(url.port),
    ca: member.caPem,
    cert: member.adminCertPem,
    key: member.adminKeyPem,
    headers: [],
  };
});

after(() => plane?.stop());

const digest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

type Run = (call: ExecCall) => Promise<ExecSession>;
const transports: readonly (readonly [name: string, canEndInput: boolean, run: Run])[] = [
  ['v5.channel.k8s.io', true, (call) => execOverWebSocket(options, call)],
  ['v4.channel.k8s.io', false, (call) => execOverWebSocket(options, call, ['v4.channel.k8s.io'])],
  ['SPDY v4', true, (call) => execOverSpdy(options, call)],
];

for (const [name, canEndInput, run] of transports) {
  describe(`exec on a real cluster, ${name}`, () => {
    it('gives stdout, stderr and the exit code', async () => {
      const session = await run({ path: `${pods}/box/exec`, command: ['sh', '-c', 'echo out; echo err >&2; exit 7'] });
      const result = await session.result;
      assert.equal(String(result.stdout), 'out\n');
      assert.equal(String(result.stderr), 'err\n');
      assert.equal(result.exitCode, 7, JSON.stringify(result.status));
    });

    it('carries 10 MB each way', async () => {
      const data = randomBytes(10 * 1024 * 1024);
      const command = canEndInput ? ['cat'] : ['head', '-c', String(data.length)];
      const session = await run({ path: `${pods}/box/exec`, command, stdin: true });
      await session.write(data);
      if (canEndInput) session.endInput();
      const result = await session.result;
      assert.equal(digest(result.stdout), digest(data));
      assert.equal(result.exitCode, 0);
    });

    it('has a terminal with size and resize', async () => {
      const session = await run({ path: `${pods}/box/exec`, command: ['sh'], stdin: true, tty: true });
      session.resize(100, 40);
      await session.write('sleep 0.3; stty size\n');
      await session.waitForOutput('40 100');
      await session.write('exit 5\n');
      assert.equal((await session.result).exitCode, 5);
    });
  });
}

const forwards: readonly (readonly [name: string, connect: () => Promise<SpdyConnection>])[] = [
  ['SPDY/3.1+portforward.k8s.io', () => connectForwardOverWebSocket(options, `${pods}/box/portforward`)],
  ['portforward.k8s.io', () => connectForwardOverSpdy(options, `${pods}/box/portforward`)],
];

for (const [name, connect] of forwards) {
  describe(`port-forward on a real cluster, ${name}`, () => {
    it('echoes 10 MB each way, answers pings, tells of a closed port', async () => {
      const { session, protocol } = await connect();
      assert.equal(protocol, name);
      await session.ping();
      const { data, error } = await openForward(session, 8080, '0');
      const bytes = randomBytes(10 * 1024 * 1024);
      const back = readWhole(data);
      data.end(bytes);
      assert.equal(digest(await back), digest(bytes));
      assert.equal(await error, '');
      const closed = await openForward(session, 1, '1');
      assert.match(await closed.error, /error forwarding port 1 to pod/);
      session.close();
    });
  });
}

describe('refusals of a real cluster', () => {
  it('are given with status and body', async () => {
    const attempt = handshake(options, {
      target: `${pods}/none/exec?stdout=1&command=true`,
      protocols: ['v5.channel.k8s.io'],
    });
    await assert.rejects(
      attempt,
      (error) => error instanceof UpgradeRefused && error.answer.status === 404 && /not found/.test(error.body),
    );
    const unknown = handshake(options, {
      target: `${pods}/box/exec?stdout=1&command=true`,
      protocols: ['v6.channel.k8s.io'],
    });
    await assert.rejects(unknown, (error) => error instanceof UpgradeRefused && error.answer.status === 403);
  });
});
