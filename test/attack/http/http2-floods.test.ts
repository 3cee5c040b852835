// What costs a client little and a server much over HTTP/2: every flood is either bounded in what it makes us hold, or
// ends its connection with ENHANCE_YOUR_CALM, and other clients are served meanwhile.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startListener } from '../../../gateway/listener/tls-server.ts';
import type { Listener } from '../../../gateway/listener/tls-server.ts';
import { makeTestAuthority } from '../../pretend/certificates.ts';
import type { Inbound } from '../../../http/inbound.ts';
import {
  block,
  flag,
  frame,
  get,
  number32,
  openFrames,
  post,
  preface,
  pseudo,
  settings,
  type,
} from '../../site/http2-frames.ts';
import type { FrameClient } from '../../site/http2-frames.ts';
import type { Endpoint } from '../../site/raw-client.ts';

let listener: Listener;
let endpoint: Endpoint;
/** Requests that have not ended. */
const open = new Set<Inbound>();
/** Bytes of body written and not taken, by request, while the answer is endless. */
const refusedWrites: Inbound[] = [];

before(async () => {
  const authority = await makeTestAuthority();
  const serving = await authority.issue(['ip:127.0.0.1']);
  listener = await startListener(
    { host: '127.0.0.1', port: 0 },
    { ...serving, clientCa: undefined },
    ({ inbound, headFault }) => {
      open.add(inbound);
      inbound.onClose(() => open.delete(inbound));
      if (inbound.target === '/silent') return;
      inbound.respond(headFault === undefined ? 200 : 431, ['Content-Type', 'text/plain'], false);
      if (inbound.target !== '/endless') {
        inbound.write(Buffer.from('ok'));
        inbound.end();
        return;
      }
      const chunk = Buffer.alloc(16_384, 'x');
      const pump = (): void => {
        while (!inbound.closed && inbound.write(chunk));
        refusedWrites.push(inbound);
      };
      inbound.onDrain(pump);
      pump();
    },
  );
  endpoint = { port: listener.port, ca: authority.ca };
});
after(() => listener.close());

const at = (path: string): (readonly [string, string])[] => [
  ...pseudo.filter(([name]) => name !== ':path'),
  [':path', path],
];
const ask = (stream: number, path: string): Buffer =>
  frame(type.headers, flag.endHeaders | flag.endStream, stream, block(...at(path)));
const enhanceYourCalm = 11;

async function assertServed(): Promise<void> {
  const other = await openFrames(endpoint, [preface, settings(), get(1)]);
  assert.equal(await other.outcome(1), 'answered');
  other.socket.destroy();
}

/** Every request of a client that is gone has ended for the chain as well. */
async function noneOpen(): Promise<void> {
  while (open.size > 0) await new Promise((resolve) => setImmediate(resolve));
}

async function assertEnded(client: FrameClient): Promise<void> {
  const last = await client.find((f) => f.type === type.goAway);
  assert.equal(last?.payload.readUInt32BE(4), enhanceYourCalm);
  assert.equal(await client.find(() => false), undefined);
  client.socket.destroy();
  await assertServed();
}

const streams = (count: number): number[] => Array.from({ length: count }, (_, i) => 1 + 2 * i);
const ping = frame(type.ping, 0, 0, Buffer.alloc(8));

for (const [name, sent] of Object.entries({
  'streams opened and reset at once (CVE-2023-44487)': () =>
    streams(2_000).map((id) => Buffer.concat([ask(id, '/silent'), frame(type.reset, 0, id, number32(8))])),
  'streams that make us reset them (CVE-2025-8671)': () =>
    streams(2_000).map((id) => Buffer.concat([ask(id, '/silent'), frame(type.windowUpdate, 0, id, number32(0))])),
  'malformed requests': () => streams(2_000).map((id) => frame(type.headers, 5, id, block([':method', 'GET']))),
  'requests beyond the limit': () => streams(2_000).map((id) => ask(id, '/silent')),
  'PING (CVE-2019-9512)': () => Array.from({ length: 20_000 }, () => ping),
  'SETTINGS (CVE-2019-9515)': () => Array.from({ length: 20_000 }, () => settings([4, 65_535])),
  'PRIORITY (CVE-2019-9513)': () => Array.from({ length: 20_000 }, () => frame(type.priority, 0, 1, [0, 0, 0, 3, 1])),
  'empty DATA (CVE-2019-9518)': () => [post(1), ...Array.from({ length: 20_000 }, () => frame(type.data, 0, 1))],
  'padding alone': () => [post(1), ...Array.from({ length: 20_000 }, () => frame(type.data, flag.padded, 1, [0]))],
  WINDOW_UPDATE: () => Array.from({ length: 20_000 }, () => frame(type.windowUpdate, 0, 0, number32(1))),
  'unknown frames': () => Array.from({ length: 20_000 }, () => frame(0x42, 0, 0)),
  'empty CONTINUATION (CVE-2024-27316)': () => [
    frame(type.headers, flag.endStream, 1, block(...pseudo)),
    ...Array.from({ length: 2_000 }, () => frame(type.continuation, 0, 1)),
  ],
  'CONTINUATION without end': () => [
    frame(type.headers, flag.endStream, 1, block(...pseudo)),
    ...Array.from({ length: 100 }, () => frame(type.continuation, 0, 1, Buffer.alloc(16_384, 0))),
  ],
})) {
  test(`a flood of ${name} ends the connection, and others are served (ATT-34)`, async () => {
    const client = await openFrames(endpoint);
    client.send(...sent());
    await assertEnded(client);
    await noneOpen();
  });
}

test('honest clients that ask and reset, slowly and in between answers, keep their connection (ATT-34)', async () => {
  const client = await openFrames(endpoint);
  for (let round = 0; round < 10; round++) {
    const ids = streams(100).map((id) => id + round * 400);
    client.send(...ids.flatMap((id) => [ask(id, '/silent'), frame(type.reset, 0, id, number32(8))]).slice(0, 80));
    for (let i = 0; i < 50; i++) client.send(get(ids[99]! + 2 + 2 * i));
    assert.equal(await client.outcome(ids[99]! + 100), 'answered');
  }
  client.socket.destroy();
});

test('a header bomb of indices is 431, costs no memory, and the connection goes on (ATT-34)', async () => {
  const client = await openFrames(endpoint);
  const value = 'v'.repeat(3_900);
  const added = Buffer.concat([block(...pseudo), Buffer.from([0x40, 1, 0x6a, 0x7f, 0xbd, 0x1d]), Buffer.from(value)]);
  client.send(frame(type.headers, 5, 1, added));
  assert.equal(await client.outcome(1), 'answered');
  const before = process.memoryUsage().rss;
  const bomb = Buffer.concat([block(...pseudo), Buffer.alloc(16_000, 0xbe)]);
  for (let i = 0; i < 50; i++) client.send(frame(type.headers, 5, 3 + 2 * i, bomb));
  assert.equal(await client.outcome(101), 'answered');
  // 50 blocks of 16,000 entries of 4 KB would be 3 GB.
  assert.ok(process.memoryUsage().rss - before < 200 * 1024 * 1024);
  client.socket.destroy();
});

test('a client that reads nothing makes us hold no more than a little for each stream, whatever it asks for (ATT-34)', async () => {
  const client = await openFrames(endpoint, [preface, settings([4, 0x7fff_ffff])]);
  await client.find((f) => f.type === type.settings);
  client.socket.pause();
  const before = process.memoryUsage().rss;
  client.send(frame(type.windowUpdate, 0, 0, number32(0x7ff0_0000)), ...streams(100).map((id) => ask(id, '/endless')));
  while (new Set(refusedWrites).size < 100) await new Promise((resolve) => setImmediate(resolve));
  // Requests it does not wait for are not even read.
  for (let i = 0; i < 20_000; i++) client.socket.write(ping);
  await assertServed();
  assert.ok(process.memoryUsage().rss - before < 100 * 1024 * 1024);
  client.socket.destroy();
  await noneOpen();
});

test('answers of a client that takes one byte at a time are bounded, and others are served (ATT-34)', async () => {
  const client = await openFrames(endpoint, [preface, settings([4, 1])]);
  client.send(...streams(100).map((id) => ask(id, '/endless')));
  const first = refusedWrites.length;
  for (const id of streams(100)) client.send(frame(type.windowUpdate, 0, id, number32(1)));
  await client.find((f) => f.type === type.data && f.stream === 199);
  // Each stream was told to wait behind its first piece, and not told to go on for a byte.
  assert.ok(refusedWrites.length - first <= 100);
  await assertServed();
  client.socket.destroy();
});
