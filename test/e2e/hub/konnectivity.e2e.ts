// Members that are reached through a real konnectivity tunnel (apiserver-network-proxy in HTTP-CONNECT mode): kubectl
// through the gateway for requests, watches, logs and upgrades, and the transport itself over mutual TLS and over a
// Unix socket. Without an agent the proxy server answers 500 on a connection it then closes, which must reach the
// caller as a fault of the tunnel that names its reason.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';

import { makeTransport } from '../../../routing/pools/transport.ts';
import type { Transport, UpstreamRequest } from '../../../routing/call/transport-types.ts';
import { startControlPlane } from '../../controlplane/fixture.ts';
import type { ControlPlane, Member } from '../../controlplane/fixture.ts';
import { startGatewayProcess } from '../../gateway-process.ts';
import type { GatewayProcess } from '../../gateway-process.ts';
import { writeContexts } from '../kubectl/contexts.ts';
import { startTunnel } from './konnectivity-site.ts';
import type { FrontEnd, Tunnel } from './konnectivity-site.ts';
import { boxPod, followedPod } from '../kubectl/pods.ts';
import { eventually } from '../../site/polling.ts';
import { makeSide } from '../kubectl/sides.ts';
import type { Side } from '../kubectl/sides.ts';
import { carol } from '../streams/stream-site.ts';

let plane: ControlPlane;
let member: Member;

before(async () => {
  plane = await startControlPlane({ members: ['m1'], controllerManager: true, kubelet: true });
  member = plane.member('m1');
  await member.apply(boxPod('box', 'default'), followedPod('follow', 'default'));
  const args = ['wait', '--for=condition=Ready', 'pod/box', 'pod/follow', '--timeout=60s'];
  const ready = await member.kubectl(args);
  assert.equal(ready.code, 0, ready.stderr);
});

after(() => plane?.stop());

describe('kubectl through the gateway through konnectivity', () => {
  let tunnel: Tunnel;
  let gateway: GatewayProcess;
  let side: Side;

  before(async () => {
    tunnel = await startTunnel(plane.dir, 'tls');
    // A kubeconfig can say no authority for its proxy: the cluster's own bundle has to have it, as for kubectl itself.
    const authorities = Buffer.from(member.caPem + tunnel.authority.certPem).toString('base64');
    const kubeconfig = writeContexts(join(plane.dir, 'tunnelled.kubeconfig'), [
      {
        name: 'm1',
        cluster: {
          server: member.url,
          'certificate-authority-data': authorities,
          'proxy-url': `https://127.0.0.1:${tunnel.address.port}`,
        },
        user: { token: member.gatewayToken },
      },
    ]);
    gateway = await startGatewayProcess({ kubeconfigs: [kubeconfig], users: [carol] });
    const parent = join(plane.dir, 'konnectivity');
    mkdirSync(parent);
    side = makeSide('gateway', plane.binaries['kubectl']!, member, carol, parent, gateway);
  });

  after(async () => {
    side?.end();
    await gateway?.stop('SIGKILL');
    await tunnel?.stop();
  });

  it('get: on connections that are kept', async () => {
    const first = await side.run(['get', 'pod', 'box', '-o', 'name']);
    assert.deepEqual([first.code, first.stdout], [0, 'pod/box\n'], first.stderr);
    const before = tunnel.asked();
    assert.ok(before > 0, 'it went through the tunnel');
    for (let i = 0; i < 5; i++) assert.equal((await side.run(['get', 'pod', 'box', '-o', 'name'])).code, 0);
    assert.equal(tunnel.asked(), before);
  });

  for (const [protocol, webSockets] of [
    ['WebSocket', 'true'],
    ['SPDY', 'false'],
  ] as const) {
    it(`exec over ${protocol}: standard input to its end, both outputs and the exit code`, async () => {
      const env = { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: webSockets };
      const script = 'cat; echo err >&2; exit 6';
      const stdin = Buffer.alloc(1_000_000, 'x\n');
      const result = await side.run(['exec', '-i', 'box', '--', 'sh', '-c', script], { env, stdin });
      assert.equal(result.code, 6, result.stderr);
      assert.equal(result.stdout, stdin.toString());
      assert.match(result.stderr, /^err\n/);
    });
  }

  it('logs -f: to the end of the container', async () => {
    const following = side.start(['logs', '-f', 'follow']);
    await following.until(/first/);
    assert.equal((await side.run(['exec', 'follow', '--', 'touch', '/tmp/go'])).code, 0);
    const { code, stdout } = await following.finish();
    assert.deepEqual([code, stdout], [0, 'first\nsecond\n']);
  });

  it('watch: events as they come, and its end when the tunnel goes', async () => {
    const name = (value: string): object => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'watched', namespace: 'default' },
      data: { value },
    });
    const watching = side.start(['get', 'configmap', '-w', '-o', 'jsonpath={.metadata.name}={.data.value}{"\\n"}']);
    await member.apply(name('one'));
    await watching.until(/watched=one/);
    await member.apply(name('two'));
    await watching.until(/watched=two/);
    await tunnel.stopAgent();
    await watching.finish();
    await tunnel.startAgent();
  });

  it('says what the tunnel says when no agent is connected, and works again when one is', async () => {
    await tunnel.stopAgent();
    const { code, stderr } = await eventually('kubectl is refused', async () => {
      const outcome = await side.run(['get', 'pod', 'box']);
      return outcome.code !== 0 && outcome;
    });
    assert.notEqual(code, 0);
    assert.match(stderr, /m1.*proxy https:\/\/127\.0\.0\.1:\d+/s);
    assert.match(stderr, /no tunnels available/);
    await tunnel.startAgent();
    await eventually('kubectl works again', async () => (await side.run(['get', 'pod', 'box'])).code === 0, {
      timeoutMs: 60_000,
    });
  });
});

/** What came back of one request. */
interface Answer {
  readonly status: number;
  readonly body: string;
  readonly error: string;
}

for (const frontEnd of ['mtls', 'unix'] as const satisfies readonly FrontEnd[]) {
  describe(`konnectivity over ${frontEnd}`, () => {
    let tunnel: Tunnel;
    let transport: Transport;

    before(async () => {
      tunnel = await startTunnel(plane.dir, frontEnd);
      transport = transportThrough(tunnel.address);
    });

    after(async () => {
      transport?.close('abort');
      await tunnel?.stop();
    });

    function transportThrough(proxy: Tunnel['address'], host = '127.0.0.1', port = Number(new URL(member.url).port)) {
      return makeTransport({
        clusterName: 'm1',
        endpoint: { scheme: 'https', host, port, basePath: '' },
        tls: { ca: member.caPem, serverName: undefined, insecure: false },
        proxy,
        clientCertificate: undefined,
      });
    }

    function request(target: string, longRunning = false): UpstreamRequest {
      const headers = ['Host', new URL(member.url).host, 'Authorization', `Bearer ${member.gatewayToken}`];
      headers.push('Impersonate-User', 'carol', 'Impersonate-Group', 'stream-admins');
      return { method: 'GET', target, headers, body: 'none', longRunning };
    }

    function ask(through: Transport, target: string): Promise<Answer> {
      let status = 0;
      let body = '';
      return new Promise((resolve) => {
        through.send(request(target), {
          onHeaders: (received) => (status = received),
          onData: (chunk) => (body += chunk.toString()),
          onEnd: () => resolve({ status, body, error: '' }),
          onError: (error) => resolve({ status, body, error: `${error.code}: ${error.message}` }),
        });
      });
    }

    it('carries requests on one kept connection, and a watch on an HTTP/2 session of its own', async () => {
      for (let i = 0; i < 5; i++) assert.equal((await ask(transport, '/version')).status, 200);
      assert.equal(tunnel.asked(), 1);
      const events = Promise.withResolvers<string>();
      const call = transport.send(request('/api/v1/pods?watch=true&resourceVersion=0', true), {
        onHeaders: (status) => assert.equal(status, 200),
        onData: (chunk) => events.resolve(chunk.toString()),
        onEnd: () => events.reject(new Error('the watch ended')),
        onError: (error) => events.reject(error),
      });
      assert.match(await events.promise, /"type":"ADDED"/);
      assert.equal(transport.stats().http2Sessions, 1);
      assert.equal(tunnel.asked(), 2);
      call.abort();
    });

    it('carries a long answer whole', async () => {
      const large = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'large', namespace: 'default' } };
      await member.apply({ ...large, data: { text: 'x'.repeat(900_000) } });
      const { status, body } = await ask(transport, '/api/v1/namespaces/default/configmaps/large');
      assert.equal(status, 200);
      assert.equal((JSON.parse(body) as { data: { text: string } }).data.text.length, 900_000);
    });

    it('carries upgrades', async () => {
      const target = '/api/v1/namespaces/default/pods/box/exec?command=echo&command=hello&stdout=true';
      const upgrade = request(target);
      const headers = [
        ...upgrade.headers,
        'Sec-WebSocket-Version',
        '13',
        'Sec-WebSocket-Key',
        'MDEyMzQ1Njc4OWFiY2RlZg==',
      ];
      headers.push('Sec-WebSocket-Protocol', 'v5.channel.k8s.io');
      const refused = (): never => assert.fail('the upgrade was refused');
      const handler = { onHeaders: refused, onData: refused, onEnd: refused, onError: refused };
      const { signal } = new AbortController();
      const answer = await transport.upgrade({ ...upgrade, headers }, 'websocket', handler, signal);
      assert.ok(answer.kind === 'switched');
      let received = answer.head.toString('latin1');
      answer.socket.on('data', (chunk: Buffer) => (received += chunk.toString('latin1'))).resume();
      await eventually('the output of the command', () => received.includes('hello'));
      answer.socket.destroy();
    });

    it('says what the agent says of a member that is not there', async () => {
      const closed = transportThrough(tunnel.address, '127.0.0.1', 1);
      const { error } = await ask(closed, '/version');
      closed.close('abort');
      assert.match(error, /^MEMBER_PROXY: proxy \S+ gave no connection to https:\/\/127\.0\.0\.1:1: /);
      assert.match(error, /answered CONNECT with 502: .*connection refused/);
    });

    if (frontEnd === 'mtls') {
      it('is let in by its certificate alone', async () => {
        const { ca, serverName } = tunnel.address.tls!;
        const without = transportThrough({ ...tunnel.address, tls: { ca: ca!, serverName: serverName! } });
        const { error } = await ask(without, '/version');
        without.close('abort');
        assert.match(error, /^MEMBER_PROXY: proxy https:\/\/\S+ refused the gateway's client certificate/);
      });
    }
  });
}
