// Clients that make a gateway hold memory without ever logging in, each on a connection of its own. A thousand of them
// in one process must not be bounded by that process, so every one writes the same few buffers, and fifty at a time.
import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import type { Socket } from 'node:net';
import { connect } from 'node:tls';
import { trusting } from '../../site/raw-client.ts';
import type { Endpoint } from '../../site/raw-client.ts';
import { frame } from '../../site/http2-frames.ts';

/** What a stranger does. */
export type StrangerWay = keyof typeof ways;

/** Connections of one attack. */
export interface Strangers {
  readonly opened: () => number;
  /** Closed or told to go, by the gateway. */
  readonly ended: () => number;
  /** First bytes of answers over HTTP/1.1, by status. */
  readonly statuses: () => ReadonlyMap<string, number>;
  stop(): void;
}

const almostMebibyte = Buffer.alloc(1_040_000, 'a');
/** Just below the most that a head may hold before a login. */
const almostMost = Buffer.alloc(190_000, 'a');
const get = 'GET /clusters/m1/proxy/api HTTP/1.1\r\nHost: x\r\n';
const post = 'POST /clusters/m1/proxy/api/v1/pods HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer guess\r\n';
const preface = Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(4, 0, 0, Buffer.alloc(0))]);
const fullFrame = Buffer.alloc(16_384);
/** POST, https, a path of the static table, and a length of no end. */
const postBlock = Buffer.concat([Buffer.from([0x83, 0x87, 0x84, 0x41, 1]), Buffer.from('x')]);
const helloPiece = Buffer.concat([Buffer.from([22, 3, 1, 0x40, 0]), Buffer.alloc(16_384)]);

/** What each way writes once it is connected. */
const ways = {
  'HTTP/1.1 unfinished head': { alpn: 'http/1.1', bytes: () => [Buffer.from(`${get}X: `), almostMost] },
  'HTTP/1.1 small unfinished head': {
    alpn: 'http/1.1',
    bytes: () => [Buffer.from(`${get}X: `), almostMebibyte.subarray(0, 60_000)],
  },
  'HTTP/1.1 refused head': {
    alpn: 'http/1.1',
    bytes: () => [Buffer.from(`${get}Authorization: Bearer guess\r\nX: `), almostMebibyte, Buffer.from('\r\n\r\n')],
  },
  'HTTP/1.1 body of a refused request': {
    alpn: 'http/1.1',
    bytes: () => [Buffer.from(`${post}Content-Length: 100000000\r\n\r\n`), almostMebibyte],
  },
  'HTTP/1.1 slow body': {
    alpn: 'http/1.1',
    bytes: () => [Buffer.from(`${post}Transfer-Encoding: chunked\r\n\r\n10\r\na`)],
  },
  'HTTP/1.1 unfinished upgrade': {
    alpn: 'http/1.1',
    bytes: () => [Buffer.from(`${get}Connection: Upgrade\r\nUpgrade: websocket\r\nX: `), almostMost],
  },
  'HTTP/2 unfinished block': {
    alpn: 'h2',
    bytes: () => [preface, frame(1, 1, 1, fullFrame), ...Array.from({ length: 10 }, () => frame(9, 0, 1, fullFrame))],
  },
  'HTTP/2 slow bodies': {
    alpn: 'h2',
    bytes: () => [
      preface,
      ...Array.from({ length: 50 }, (_, i) => [
        frame(1, 4, i * 2 + 1, postBlock),
        frame(0, 0, i * 2 + 1, Buffer.alloc(100)),
      ]).flat(),
    ],
  },
  'TLS unfinished hello': {
    alpn: undefined,
    bytes: () => [
      Buffer.from([22, 3, 1, 0x40, 0, 1, 0x01, 0xff, 0x00]),
      Buffer.alloc(16_380),
      ...Array.from({ length: 6 }, () => helloPiece),
    ],
  },
} as const satisfies Record<string, { readonly alpn: string | undefined; readonly bytes: () => readonly Buffer[] }>;

/** Opens `count` of them, fifty at a time; each has sent what it will. @param localAddress whom they come from */
export async function openStrangers(
  endpoint: Endpoint,
  way: StrangerWay,
  count: number,
  localAddress = '127.0.0.1',
): Promise<Strangers> {
  const { alpn, bytes } = ways[way];
  const pieces = bytes();
  const sockets: Socket[] = [];
  const ended = new Set<Socket>();
  const statuses = new Map<string, number>();
  const open = async (): Promise<void> => {
    const to = { host: '127.0.0.1', port: endpoint.port, localAddress };
    const socket =
      alpn === undefined
        ? connectTcp(to)
        : connect({ ...to, secureContext: trusting(endpoint), ALPNProtocols: [alpn] });
    sockets.push(socket);
    socket.on('error', () => undefined);
    for (const event of ['end', 'close'] as const) socket.on(event, () => void ended.add(socket));
    socket.on('data', (data: Buffer) => {
      const [, status] = data.toString('latin1', 0, 12).split(' ');
      if (alpn === 'http/1.1' && status !== undefined) statuses.set(status, (statuses.get(status) ?? 0) + 1);
    });
    await once(socket, alpn === undefined ? 'connect' : 'secureConnect').catch(() => undefined);
    const closed = new Promise<void>((resolve) => void socket.once('close', () => resolve()));
    const written = Promise.all(
      pieces.map(
        (piece) => socket.writable && new Promise<void>((resolve) => void socket.write(piece, () => resolve())),
      ),
    );
    await Promise.race([written, closed]);
  };
  for (let done = 0; done < count; done += 50) {
    await Promise.all(Array.from({ length: Math.min(50, count - done) }, open));
  }
  return {
    opened: () => sockets.length,
    ended: () => ended.size,
    statuses: () => statuses,
    stop() {
      for (const socket of sockets) socket.destroy();
    },
  };
}
