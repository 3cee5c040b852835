// What clients who never log in cost a gateway: resident memory and CPU for each of their connections, attack by
// attack. `node test/faults/exhaustion.ts [connections]`. Memory the process has once grown by is not given back at
// once, so each attack has a gateway of its own, and a warm-up before the first look.
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect as connectTcp } from 'node:net';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { makeTestAuthority } from '../pretend/certificates.ts';
import { block, flag, frame, openFrames, post, preface, pseudo, settings, type } from '../site/http2-frames.ts';
import { startMember } from '../site/member.ts';
import { exchange, openRaw, requestBytes } from '../site/raw-client.ts';
import type { Endpoint } from '../site/raw-client.ts';
import { kubeconfigText } from '../site/site.ts';
import { startGatewayProcess } from '../gateway-process.ts';
import { tempDir } from '../pretend/temp-dir.ts';

/** Opens one connection and does to it what can be done; resolves when it is done. */
type Attack = (endpoint: Endpoint) => Promise<{ readonly socket: Socket }>;

const holdMs = 2_000;
const pods = '/clusters/m1/proxy/api/v1/pods';
const guess = 'Authorization: Bearer guess';

const http1 =
  (bytes: string): Attack =>
  async (endpoint) => {
    const client = await openRaw(endpoint);
    client.send(bytes);
    return client;
  };
const http2 =
  (...frames: readonly Buffer[]): Attack =>
  async (endpoint) => {
    const client = await openFrames(endpoint, [preface, settings()]);
    client.send(...frames);
    return client;
  };
const many = (count: number, one: Buffer): Buffer => Buffer.concat(Array.from({ length: count }, () => one));
const streams = (count: number, make: (id: number) => Buffer): Buffer =>
  Buffer.concat(Array.from({ length: count }, (_, i) => make(1 + 2 * i)));
const asked = (id: number): Buffer =>
  frame(type.headers, flag.endHeaders | flag.endStream, id, block(...at(pods), ['authorization', 'Bearer guess']));
const at = (path: string): (readonly [string, string])[] => [
  ...pseudo.filter(([name]) => name !== ':path'),
  [':path', path],
];
/** One entry of 3.9 KB put into the table, then blocks of nothing but its index. */
const bomb = [
  frame(
    type.headers,
    5,
    1,
    Buffer.concat([block(...pseudo), Buffer.from([0x40, 1, 0x6a, 0x7f, 0xbd, 0x1d]), Buffer.alloc(3_900, 'v')]),
  ),
  streams(20, (id) => frame(type.headers, 5, id + 2, Buffer.concat([block(...pseudo), Buffer.alloc(16_000, 0xbe)]))),
];

const attacks: Readonly<Record<string, Attack>> = {
  'TCP, nothing sent': async (endpoint) => ({ socket: await tcp(endpoint, Buffer.alloc(0)) }),
  'half a ClientHello': async (endpoint) => ({
    socket: await tcp(endpoint, Buffer.from([22, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3])),
  }),
  'TLS, idle': http1(''),
  'head of 16 KB without end': http1(`GET ${pods} HTTP/1.1\r\nHost: a\r\nX-A: ${'b'.repeat(16_384)}`),
  'body announced, one byte sent': http1(requestBytes(`POST ${pods}`, [guess, 'Content-Length: 1000000'], 'x')),
  '100 requests of a wrong token': http1(requestBytes(`GET ${pods}`, [guess]).repeat(100)),
  'HTTP/2, idle': http2(),
  'HTTP/2, 100 streams of a wrong token': http2(streams(100, asked)),
  'HTTP/2, 100 streams with bodies that do not come': http2(streams(100, (id) => post(id))),
  'HTTP/2, header block without end, 64 KB': http2(
    frame(type.headers, flag.endStream, 1, block(...pseudo)),
    many(4, frame(type.continuation, 0, 1, Buffer.alloc(16_384))),
  ),
  'HTTP/2, 20,000 PING': http2(many(20_000, frame(type.ping, 0, 0, Buffer.alloc(8)))),
  'HTTP/2, 20,000 SETTINGS': http2(many(20_000, settings([4, 65_535]))),
  'HTTP/2, 20 header bombs': http2(...bomb),
};

async function tcp({ port }: Endpoint, bytes: Buffer): Promise<Socket> {
  const socket = connectTcp(port, '127.0.0.1');
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(bytes);
  return socket;
}

/** Kilobytes of resident memory and milliseconds of CPU of a process so far (proc(5); ticks of 10 ms). */
function costOf(pid: number): { readonly rssKb: number; readonly cpuMs: number } {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  const [, rss] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))!;
  return { rssKb: Number(rss), cpuMs: (Number(fields[11]) + Number(fields[12])) * 10 };
}

/** One attack against a gateway of its own. */
async function measure(attack: Attack, connections: number): Promise<string> {
  const folder = tempDir('exhaustion');
  const member = await startMember(await makeTestAuthority());
  const kubeconfig = join(folder, 'kubeconfig');
  const server = `https://127.0.0.1:${member.port}`;
  writeFileSync(kubeconfig, kubeconfigText([{ name: 'm1', server, ca: member.ca, token: 'member-credential' }]));
  const users = [{ token: 'alice-token', name: 'alice' }];
  await using gateway = await startGatewayProcess({ kubeconfigs: [kubeconfig], users });
  const endpoint = { port: gateway.port, ca: gateway.caPem };
  const honest = requestBytes(`GET ${pods}`, ['Authorization: Bearer alice-token']);
  try {
    for (let i = 0; i < 50; i++) await exchange(endpoint, honest);
    await delay(500);
    const before = costOf(gateway.pid);
    const opened: { readonly socket: Socket }[] = [];
    for (let i = 0; i < connections; i++) opened.push(await attack(endpoint));
    await delay(holdMs);
    const after = costOf(gateway.pid);
    const startedMs = performance.now();
    // Behind wrong tokens of the same address a new login is held back; health never is.
    const { status } = await exchange(endpoint, requestBytes('GET /readyz'));
    const answeredMs = performance.now() - startedMs;
    const closed = opened.filter(({ socket }) => socket.destroyed || socket.readableEnded).length;
    for (const { socket } of opened) socket.destroy();
    const each = (value: number): string => (value / connections).toFixed(1).padStart(8);
    const cost = `${each(after.rssKb - before.rssKb)} ${each(after.cpuMs - before.cpuMs)}`;
    return `${cost} ${String(closed).padStart(8)} ${`${status} in ${answeredMs.toFixed(0)} ms`.padStart(14)}`;
  } finally {
    member.close();
  }
}

const connections = Number(process.argv[2] ?? 100);
console.log(
  `${connections} connections each, held ${holdMs} ms; RSS and CPU are of the gateway's process, for each connection`,
);
console.log(
  `${''.padEnd(50)} ${'RSS KB'.padStart(8)} ${'CPU ms'.padStart(8)} ${'closed'.padStart(8)} ${'/readyz'.padStart(14)}`,
);
for (const [name, attack] of Object.entries(attacks))
  console.log(`${name.padEnd(50)} ${await measure(attack, connections)}`);
