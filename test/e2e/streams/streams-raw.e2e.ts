// Raw clients: each stream protocol by name, `logs -f` and watches over HTTP/1.1, HTTP/2 and WebSocket, refusals, and
// clients that break off. kubectl picks a protocol by itself, so only a client that offers exactly one proves that one.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { buffer as readWhole } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';

import type { ExecCall, ExecSession } from '../../clients/exec-session.ts';
import { connectForwardOverSpdy, connectSpdy, execOverSpdy, openForward } from '../../clients/spdy-client.ts';
import type { SpdyConnection } from '../../clients/spdy-client.ts';
import { http1Client, http2Client } from '../../clients/stream-client.ts';
import type { StreamClient } from '../../clients/stream-client.ts';
import { UpgradeRefused } from '../../clients/upgrade-client.ts';
import {
  connectForwardOverWebSocket,
  connectWebSocket,
  execOverWebSocket,
  handshake,
} from '../../clients/websocket-client.ts';
import { answeringPod, followedPod } from '../kubectl/pods.ts';
import { eventually } from '../../site/polling.ts';
import { makePod, startStreamSite } from './stream-site.ts';
import type { StreamSite } from './stream-site.ts';

const size = 10 * 1024 * 1024;
const namespace = '/api/v1/namespaces/default';
let site: StreamSite;
let pods: string;

before(async () => {
  site = await startStreamSite();
  pods = `${site.proxyPath}${namespace}/pods`;
});

after(() => site?.stop());

const digest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

type Run = (call: ExecCall) => Promise<ExecSession>;
const execs: readonly (readonly [name: string, verb: string, canEndInput: boolean, run: Run])[] = [
  ['v5.channel.k8s.io', 'get', true, (call) => execOverWebSocket(site.raw, call)],
  ['v4.channel.k8s.io', 'get', false, (call) => execOverWebSocket(site.raw, call, ['v4.channel.k8s.io'])],
  ['SPDY/3.1', 'create', true, (call) => execOverSpdy(site.raw, call)],
];

for (const [name, verb, canEndInput, run] of execs) {
  describe(`a raw client over ${name}`, () => {
    it('exec gives both outputs and the exit code, in one request', async () => {
      const mark = await site.member.auditMark();
      const command = ['sh', '-c', 'echo out; echo err >&2; exit 7'];
      const session = await run({ path: `${pods}/box/exec`, command });
      assert.equal(session.protocol, name === 'SPDY/3.1' ? 'v4.channel.k8s.io' : name);
      const result = await session.result;
      assert.deepEqual([String(result.stdout), String(result.stderr), result.exitCode], ['out\n', 'err\n', 7]);
      assert.deepEqual(await site.seen(mark, 'exec'), [{ verb, code: 101, user: 'carol' }]);
    });

    it('exec carries 10 MB each way', async () => {
      const data = randomBytes(size);
      const command = canEndInput ? ['cat'] : ['head', '-c', String(size)];
      const session = await run({ path: `${pods}/box/exec`, command, stdin: true });
      await session.write(data);
      if (canEndInput) session.endInput();
      const result = await session.result;
      assert.equal(digest(result.stdout), digest(data));
      assert.equal(result.exitCode, 0);
    });

    it('exec has a terminal with size and resize', async () => {
      const session = await run({ path: `${pods}/box/exec`, command: ['sh'], stdin: true, tty: true });
      for (const [columns, rows] of [
        [100, 40],
        [80, 20],
      ] as const) {
        session.resize(columns, rows);
        await session.write(
          `until [ "$(stty size)" = "${rows} ${columns}" ]; do sleep 0.05; done; echo now $(stty size)\n`,
        );
        await session.waitForOutput(`now ${rows} ${columns}`);
      }
      await session.write('exit 5\n');
      assert.equal((await session.result).exitCode, 5);
    });

    it('attach carries both directions, in one request', async () => {
      const pod = `answer-${name.replaceAll(/\W/g, '').toLowerCase()}`;
      await makePod(site.member, answeringPod(pod, 'default'));
      const mark = await site.member.auditMark();
      const session = await run({ path: `${pods}/${pod}/attach`, stdin: true });
      await session.write('hello\n');
      await session.waitForOutput('got hello');
      await session.write('bye\n');
      assert.match(String((await session.result).stdout), /got bye/);
      assert.deepEqual(await site.seen(mark, 'attach'), [{ verb, code: 101, user: 'carol' }]);
    });

    it('a client that breaks off ends the stream at the member', async () => {
      const session = await run({ path: `${pods}/box/exec`, command: ['sh', '-c', 'echo ready; exec sleep 1000'] });
      await session.waitForOutput('ready');
      await eventually('open at the member', async () => (await site.open('exec')) === 1);
      session.close();
      await eventually('over at the member', async () => (await site.open('exec')) === 0);
    });

    it('a pod that is not there is the member’s own 404', async () => {
      await assert.rejects(
        run({ path: `${pods}/none/exec`, command: ['true'] }),
        (error) =>
          error instanceof UpgradeRefused &&
          error.answer.status === 404 &&
          /pods \\"none\\" not found/.test(error.body),
      );
    });
  });
}

describe('protocols that are offered', () => {
  it('several SPDY protocols in lines of their own: the member chooses', async () => {
    const protocols = ['v4.channel.k8s.io', 'v3.channel.k8s.io', 'v2.channel.k8s.io', 'channel.k8s.io'];
    const target = `${pods}/box/exec?stdout=true&command=true`;
    const { session, protocol, closed } = await connectSpdy(site.raw, { target, protocols });
    assert.equal(protocol, 'v4.channel.k8s.io');
    session.destroy();
    await closed;
  });

  it('several WebSocket protocols: the member chooses; an unknown one is refused by the member', async () => {
    const target = `${pods}/box/exec?stdout=true&command=true`;
    const { upgraded, protocol } = await handshake(site.raw, {
      target,
      protocols: ['v6.channel.k8s.io', 'v5.channel.k8s.io', 'v4.channel.k8s.io'],
    });
    assert.equal(protocol, 'v5.channel.k8s.io');
    upgraded.socket.destroy();
    await assert.rejects(
      handshake(site.raw, { target, protocols: ['v6.channel.k8s.io'] }),
      (error) => error instanceof UpgradeRefused && error.answer.status === 403,
    );
  });
});

type Forward = () => Promise<SpdyConnection>;
const forwards: readonly (readonly [name: string, verb: string, connect: Forward])[] = [
  ['SPDY/3.1+portforward.k8s.io', 'get', () => connectForwardOverWebSocket(site.raw, `${pods}/box/portforward`)],
  ['portforward.k8s.io', 'create', () => connectForwardOverSpdy(site.raw, `${pods}/box/portforward`)],
];

for (const [name, verb, connect] of forwards) {
  describe(`a raw port-forward over ${name}`, () => {
    it('echoes 10 MB each way, answers pings and tells of a closed port, in one request', async () => {
      const mark = await site.member.auditMark();
      const { session, protocol, closed } = await connect();
      assert.equal(protocol, name);
      await session.ping();
      const { data, error } = await openForward(session, 8080, '0');
      const bytes = randomBytes(size);
      bytes[0] = 0; // or the pod's server might take it for HTTP
      const back = readWhole(data);
      data.end(bytes);
      assert.equal(digest(await back), digest(bytes));
      assert.equal(await error, '');
      const refused = await openForward(session, 1, '1');
      assert.match(await refused.error, /error forwarding port 1 to pod/);
      session.close();
      await closed;
      assert.deepEqual(await site.seen(mark, 'portforward'), [{ verb, code: 101, user: 'carol' }]);
    });

    it('a client that breaks off ends the stream at the member', async () => {
      const { session } = await connect();
      await openForward(session, 8080, '0');
      await eventually('open at the member', async () => (await site.open('portforward')) === 1);
      session.destroy();
      await eventually('over at the member', async () => (await site.open('portforward')) === 0);
    });
  });
}

const clients: readonly (readonly [protocol: string, connect: () => StreamClient | Promise<StreamClient>])[] = [
  ['HTTP/1.1', () => http1Client(site.server)],
  ['HTTP/2', () => http2Client(site.server)],
];

/** Watches by clients of a namespace: the cluster's own components watch everywhere. */
function openWatches(): Promise<number> {
  const labels = { verb: 'WATCH', resource: 'limitranges', scope: 'namespace' };
  return site.member.metric('apiserver_longrunning_requests', labels);
}

async function makeLimitRange(name: string): Promise<void> {
  const answer = await site.member.request('POST', `${namespace}/limitranges`, {
    metadata: { name },
    spec: { limits: [] },
  });
  assert.equal(answer.status, 201, answer.body);
}

for (const [protocol, connect] of clients) {
  describe(`answers that go on, over ${protocol}`, () => {
    it('logs -f: bytes as they come, and the end of the container is the end', async () => {
      const name = `follow-${protocol.replaceAll(/\W/g, '').toLowerCase()}`;
      await makePod(site.member, followedPod(name, 'default'));
      const client = await connect();
      try {
        assert.equal(client.protocol, protocol);
        const mark = await site.member.auditMark();
        const answer = await client.get(`${pods}/${name}/log?follow=true`);
        assert.equal(answer.status, 200);
        await answer.until((body) => body.toString() === 'first\n');
        assert.equal((await site.member.kubectl(['exec', name, '--', 'touch', '/tmp/go'])).code, 0);
        assert.equal(await answer.ended, 'complete');
        assert.equal(answer.body().toString(), 'first\nsecond\n');
        assert.deepEqual(await site.seen(mark, 'log'), [{ verb: 'get', code: 200, user: 'carol' }]);
      } finally {
        client.close();
      }
    });

    it('watch: events as they come; one that is given up is over at the member', async () => {
      const client = await connect();
      try {
        const before = await openWatches();
        const answer = await client.get(`${site.proxyPath}${namespace}/limitranges?watch=true`);
        assert.equal(answer.status, 200);
        for (const turn of ['one', 'two']) {
          const name = `${turn}-${protocol.replaceAll(/\W/g, '').toLowerCase()}`;
          await makeLimitRange(name);
          await answer.until((body) => body.includes(`"name":"${name}"`));
        }
        await eventually('open at the member', async () => (await openWatches()) === before + 1);
        answer.close();
        await eventually('over at the member', async () => (await openWatches()) === before);
      } finally {
        client.close();
      }
    });

    it('a client whose connection dies leaves no watch and no log behind', async () => {
      const name = `left-${protocol.replaceAll(/\W/g, '').toLowerCase()}`;
      await makePod(site.member, followedPod(name, 'default'));
      const client = await connect();
      const before = await openWatches();
      await client.get(`${site.proxyPath}${namespace}/limitranges?watch=true`);
      await client.get(`${pods}/${name}/log?follow=true`);
      await eventually('watch open at the member', async () => (await openWatches()) === before + 1);
      await eventually('log open at the member', async () => (await site.open('log')) === 1);
      client.close();
      await eventually('watch over at the member', async () => (await openWatches()) === before);
      await eventually('log over at the member', async () => (await site.open('log')) === 0);
    });
  });
}

describe('a watch and a log over WebSocket', () => {
  it('a watch sends an event in each message, and ends with its client', async () => {
    const before = await openWatches();
    const messages: string[] = [];
    const target = `${site.proxyPath}${namespace}/limitranges?watch=true`;
    const events = { onMessage: (message: Buffer) => void messages.push(message.toString()), onClose: () => undefined };
    // kube-apiserver's watches refuse a WebSocket without an origin.
    const raw = { ...site.raw, headers: [...site.raw.headers, ['Origin', 'https://portcullis.test'] as const] };
    const { connection } = await connectWebSocket(raw, { target, protocols: [] }, events);
    await makeLimitRange('over-websocket');
    const found = await eventually('the event', () => messages.find((message) => message.includes('over-websocket')));
    assert.equal((JSON.parse(found) as { type: string }).type, 'ADDED');
    connection.terminate();
    await eventually('over at the member', async () => (await openWatches()) === before);
  });

  it('a log is followed to its end', async () => {
    await makePod(site.member, followedPod('follow-websocket', 'default'));
    const chunks: Buffer[] = [];
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    const { protocol } = await connectWebSocket(
      site.raw,
      { target: `${pods}/follow-websocket/log?follow=true`, protocols: ['binary.k8s.io'] },
      { onMessage: (message) => void chunks.push(message), onClose: () => resolve() },
    );
    assert.equal(protocol, 'binary.k8s.io');
    await eventually('the first line', () => Buffer.concat(chunks).toString() === 'first\n');
    assert.equal((await site.member.kubectl(['exec', 'follow-websocket', '--', 'touch', '/tmp/go'])).code, 0);
    await closed;
    assert.equal(Buffer.concat(chunks).toString(), 'first\nsecond\n');
  });
});
