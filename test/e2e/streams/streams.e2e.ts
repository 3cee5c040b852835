// Every stream that kubectl has, over the protocol asked for, with one request at the member, whole, and over when its
// client dies. kubectl falls back from WebSocket to SPDY in silence, so that a broken path would pass; the member's
// audit log tells.
// Landing tier: streams are not held back or mixed.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';

import { sumMetric } from '../../controlplane/requests.ts';
import { exchangeTcp } from '../kubectl/matrix-steps.ts';
import { answeringPod, followedPod } from '../kubectl/pods.ts';
import { eventually } from '../../site/polling.ts';
import type { Running } from '../kubectl/sides.ts';
import { makePod, startStreamSite } from './stream-site.ts';
import type { SeenRequest, StreamSite } from './stream-site.ts';
import { startInTerminal } from './terminal.ts';

const size = 10 * 1024 * 1024;
let site: StreamSite;

before(async () => {
  site = await startStreamSite();
});

after(() => site?.stop());

const digest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

function localPort(output: string): number {
  return Number(/127\.0\.0\.1:(\d+)/.exec(output)![1]);
}

async function die({ child }: Running): Promise<void> {
  child.kill('SIGKILL');
  if (child.exitCode === null && child.signalCode === null) await new Promise((resolve) => child.once('exit', resolve));
}

for (const [protocol, webSockets, verb] of [
  ['WebSocket', 'true', 'get'],
  ['SPDY', 'false', 'create'],
] as const) {
  const env = { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: webSockets, KUBECTL_PORT_FORWARD_WEBSOCKETS: webSockets };
  const one: readonly SeenRequest[] = [{ verb, code: 101, user: 'carol' }];

  describe(`kubectl over ${protocol}`, () => {
    it('exec: standard input to its end, both outputs and the exit code, in one request', async () => {
      const mark = await site.member.auditMark();
      const script = 'cat; echo err >&2; exit 6';
      const result = await site.through.run(['exec', '-i', 'box', '--', 'sh', '-c', script], { env, stdin: 'in\nput' });
      assert.deepEqual([result.code, result.stdout], [6, 'in\nput']);
      assert.equal(result.stderr, 'err\ncommand terminated with exit code 6\n');
      assert.deepEqual(await site.seen(mark, 'exec'), one);
    });

    it('exec: a terminal with its size, a change of it and the exit code, in one request', async () => {
      const mark = await site.member.auditMark();
      const until = (wanted: string): string =>
        `until [ "$(stty size)" = "${wanted}" ]; do sleep 0.05; done; stty size`;
      const script = `echo ready; ${until('33 101')}; ${until('50 132')}; exit 9`;
      const args = ['exec', '-it', 'box', '--', 'sh', '-c', script];
      const terminal = startInTerminal(site.through, site.plane.binaries['kubectl']!, args, { env });
      await terminal.until(/33 101/);
      terminal.resize(50, 132);
      const { code, stdout } = await terminal.finish();
      assert.equal(code, 9, stdout);
      assert.match(stdout, /50 132/);
      assert.deepEqual(await site.seen(mark, 'exec'), one);
    });

    it('attach: both directions until the container ends, in one request', async () => {
      const name = `answer-${verb}`;
      await makePod(site.member, answeringPod(name, 'default'));
      const mark = await site.member.auditMark();
      const attached = site.through.start(['attach', '-i', '-q', name], { env, stdin: 'hello\n' });
      await attached.until(/got hello/);
      attached.child.stdin!.write('bye\n');
      const { code, stdout } = await attached.finish();
      // kubectl attach does not tell the container's exit code.
      assert.deepEqual([code, stdout], [0, 'got hello\ngot bye\n']);
      assert.deepEqual(await site.seen(mark, 'attach'), one);
    });

    it('port-forward: several connections and 10 MB each way, in one request', async () => {
      const mark = await site.member.auditMark();
      const forward = site.through.start(['port-forward', '--address=127.0.0.1', 'pod/box', ':8080'], { env });
      const port = localPort(await forward.until(/Forwarding from/));
      const data = randomBytes(size);
      // A leading zero byte keeps the pod's server from taking it for HTTP.
      data[0] = 0;
      assert.equal(digest(await exchangeTcp(port, data)), digest(data), 'TCP echo');
      const answer = await fetch(`http://127.0.0.1:${port}/echo`, { method: 'POST', body: data });
      assert.equal(digest(await answer.bytes()), digest(data), 'HTTP echo');
      const few = await Promise.all([1, 2, 3, 4].map((index) => exchangeTcp(port, `connection ${index}`)));
      assert.deepEqual(few.map(String), ['connection 1', 'connection 2', 'connection 3', 'connection 4']);
      await forward.stop();
      assert.deepEqual(await site.seen(mark, 'portforward'), one);
    });

    it('cp: 10 MB each way, in as many requests as directly', async () => {
      const data = randomBytes(size);
      const counts: (readonly SeenRequest[])[] = [];
      for (const side of [site.direct, site.through]) {
        side.file('big.bin', data);
        for (const args of [
          ['big.bin', 'box:/tmp/big.bin'],
          ['box:/tmp/big.bin', 'back.bin'],
        ]) {
          const mark = await site.member.auditMark();
          const { code, stderr } = await side.run(['cp', ...args], { env });
          assert.equal(code, 0, stderr);
          counts.push(await site.seen(mark, 'exec'));
        }
        assert.equal(digest(readFileSync(join(side.dir, 'back.bin'))), digest(data), side.name);
      }
      const [sentDirectly, fetchedDirectly, sent, fetched] = counts;
      assert.deepEqual(sent, sentDirectly);
      assert.deepEqual(fetched, fetchedDirectly);
      assert.deepEqual(fetched, one);
      assert.ok(
        sent!.every((request) => request.verb === verb),
        'each of the protocol asked for',
      );
    });

    it('logs -f: follows to the end of the container, in one request', async () => {
      const name = `follow-${verb}`;
      await makePod(site.member, followedPod(name, 'default'));
      const mark = await site.member.auditMark();
      const following = site.through.start(['logs', '-f', name], { env });
      await following.until(/first/);
      await site.through.run(['exec', name, '--', 'touch', '/tmp/go'], { env });
      const { code, stdout } = await following.finish();
      assert.deepEqual([code, stdout], [0, 'first\nsecond\n']);
      assert.deepEqual(await site.seen(mark, 'log'), [{ verb: 'get', code: 200, user: 'carol' }]);
    });

    it('a kubectl that dies ends its stream at the member and at the gateway', async () => {
      await makePod(site.member, answeringPod(`left-${verb}`, 'default'));
      for (const [subresource, args, sign] of [
        ['exec', ['exec', 'box', '--', 'sh', '-c', 'echo ready; exec sleep 1000'], /ready/],
        ['exec', ['exec', '-i', 'box', '--', 'sh', '-c', 'echo ready; exec cat'], /ready/],
        ['attach', ['attach', '-i', '-q', `left-${verb}`], /got hello/],
        ['portforward', ['port-forward', '--address=127.0.0.1', 'pod/box', ':8080'], /Forwarding/],
        ['log', ['logs', '-f', `left-${verb}`], /got hello/],
      ] as const) {
        const what = args.join(' ');
        const running = site.through.start(args, { env, stdin: 'hello\n' });
        await running.until(sign);
        await eventually(`${what}: open at the member`, async () => (await site.open(subresource)) === 1);
        await eventually(`${what}: open at the gateway`, async () => (await openAtGateway()) === 1);
        await die(running);
        await eventually(`${what}: over at the member`, async () => (await site.open(subresource)) === 0);
        await eventually(`${what}: over at the gateway`, async () => (await openAtGateway()) === 0);
      }
    });

    it('a kubectl that dies while it holds output back ends its stream', async () => {
      const count = `/tmp/count-${verb}`;
      const script = `echo ready; while head -c 1000000 /dev/zero; do echo >> ${count}; done`;
      const running = site.through.start(['exec', 'box', '--', 'sh', '-c', script], { env });
      running.child.stdout!.once('data', () => running.child.stdout!.pause());
      await running.until(/ready/);
      // Stuck when every buffer on the way is full; the kernel resets a connection that dies with bytes unread.
      const written = ['exec', 'box', '--', 'sh', '-c', `wc -l < ${count}`];
      let last = 0;
      await eventually('output held back', async () => {
        const before = last;
        last = Number((await site.member.kubectl(written)).stdout);
        return last > 0 && last === before;
      });
      await eventually('open at the member', async () => (await site.open('exec')) === 1);
      await die(running);
      await eventually('over at the member', async () => (await site.open('exec')) === 0);
      await eventually('over at the gateway', async () => (await openAtGateway()) === 0);
    });
  });
}

/** Streams and watches that the gateway has open. */
async function openAtGateway(): Promise<number> {
  const text = await (await fetch(`${site.gateway.opsUrl}/metrics`)).text();
  assert.match(text, /portcullis_longrunning_requests/);
  return sumMetric(text, 'portcullis_longrunning_requests');
}
