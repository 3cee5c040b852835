// An HTTP/2 client that sends frames as they are written down, right or wrong, and says how it was answered. A server
// may answer a fault of one stream by ending the connection, and a connection may end without GOAWAY having arrived;
// both are told apart.
import { once } from 'node:events';
import { connect } from 'node:tls';
import type { TLSSocket } from 'node:tls';
import { trusting } from './raw-client.ts';
import type { Endpoint } from './raw-client.ts';

export const type = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;
export const flag = { endStream: 1, ack: 1, endHeaders: 4, padded: 8, priority: 32 } as const;

const codes = [
  ...['NO_ERROR', 'PROTOCOL_ERROR', 'INTERNAL_ERROR', 'FLOW_CONTROL_ERROR', 'SETTINGS_TIMEOUT', 'STREAM_CLOSED'],
  ...['FRAME_SIZE_ERROR', 'REFUSED_STREAM', 'CANCEL', 'COMPRESSION_ERROR', 'CONNECT_ERROR', 'ENHANCE_YOUR_CALM'],
];

export const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');

/** One frame as received. */
export interface ReceivedFrame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

/** A frame as it goes over the wire. */
export function frame(
  kind: number,
  flags: number,
  stream: number,
  payload: Uint8Array | readonly number[] = [],
): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = kind;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, Buffer.from(payload as readonly number[])]);
}

/** Four bytes. */
export function number32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** SETTINGS with pairs of id and value. */
export function settings(...pairs: readonly (readonly [number, number])[]): Buffer {
  const payload = Buffer.alloc(pairs.length * 6);
  pairs.forEach(([id, value], i) => {
    payload.writeUInt16BE(id, i * 6);
    payload.writeUInt32BE(value, i * 6 + 2);
  });
  return frame(type.settings, 0, 0, payload);
}

/** A header block of literals without indexing. */
export function block(...fields: readonly (readonly [string, string])[]): Buffer {
  const text = (value: string): Buffer => {
    const bytes = Buffer.from(value, 'latin1');
    if (bytes.length < 127) return Buffer.concat([Buffer.from([bytes.length]), bytes]);
    const length = [127];
    let rest = bytes.length - 127;
    for (; rest >= 128; rest = Math.floor(rest / 128)) length.push((rest % 128) | 128);
    return Buffer.concat([Buffer.from([...length, rest]), bytes]);
  };
  return Buffer.concat(fields.flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]));
}

/** Pseudo headers of a GET. */
export const pseudo: readonly (readonly [string, string])[] = [
  [':method', 'GET'],
  [':scheme', 'https'],
  [':authority', 'gateway.test'],
  [':path', '/'],
];

/** HEADERS of a request that ends with it. */
export function get(stream: number, ...more: readonly (readonly [string, string])[]): Buffer {
  return frame(type.headers, flag.endHeaders | flag.endStream, stream, block(...pseudo, ...more));
}

/** HEADERS of a request whose body is to come. */
export function post(stream: number, ...more: readonly (readonly [string, string])[]): Buffer {
  return frame(type.headers, flag.endHeaders, stream, block(...pseudo, ...more));
}

/** One connection. */
export class FrameClient {
  readonly socket: TLSSocket;
  readonly frames: ReceivedFrame[] = [];
  closed = false;
  #bytes: Buffer = Buffer.alloc(0);
  #wake = Promise.withResolvers<void>();

  constructor(socket: TLSSocket) {
    this.socket = socket;
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    const gone = (): void => {
      this.closed = true;
      this.#stir();
    };
    socket.on('end', gone).on('close', gone);
  }

  send(...parts: readonly Buffer[]): void {
    this.socket.write(Buffer.concat(parts));
  }

  /** Waits for the first frame that fits; undefined when the connection ends before. */
  async find(fits: (frame: ReceivedFrame) => boolean): Promise<ReceivedFrame | undefined> {
    for (;;) {
      const found = this.frames.find(fits);
      if (found !== undefined || this.closed) return found;
      await this.#wake.promise;
    }
  }

  /**
   * How it went on: `answered` when the stream got END_STREAM, `RST_STREAM code`, `GOAWAY code`, or `closed`. An error
   * counts more than an answer that was under way, so a PING tells when nothing more is to come.
   */
  async outcome(stream: number): Promise<string> {
    this.send(frame(type.ping, 0, 0, Buffer.from('outcome?')));
    await this.find((f) => f.type === type.goAway || (f.type === type.ping && f.payload.toString() === 'outcome?'));
    const ended = (f: ReceivedFrame): boolean =>
      f.stream === stream && (f.type === type.data || f.type === type.headers) && (f.flags & flag.endStream) !== 0;
    const failed = (f: ReceivedFrame): boolean =>
      f.type === type.goAway || (f.type === type.reset && f.stream === stream);
    const fault = this.frames.find(failed) ?? (await this.find((f) => ended(f) || failed(f)));
    if (fault === undefined) return 'closed';
    return failed(fault) ? describe(fault) : 'answered';
  }

  #take(chunk: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, chunk]);
    while (this.#bytes.length >= 9) {
      const length = this.#bytes.readUIntBE(0, 3);
      if (this.#bytes.length < 9 + length) break;
      const kind = this.#bytes[3]!;
      const flags = this.#bytes[4]!;
      const payload = Buffer.from(this.#bytes.subarray(9, 9 + length));
      this.frames.push({ type: kind, flags, stream: this.#bytes.readUInt32BE(5), payload });
      this.#bytes = this.#bytes.subarray(9 + length);
    }
    this.#stir();
  }

  #stir(): void {
    const { resolve } = this.#wake;
    this.#wake = Promise.withResolvers();
    resolve();
  }
}

function describe({ type: kind, payload }: ReceivedFrame): string {
  const isGoAway = kind === type.goAway;
  const code = payload.readUInt32BE(isGoAway ? 4 : 0);
  return `${isGoAway ? 'GOAWAY' : 'RST_STREAM'} ${codes[code] ?? code}`;
}

/** Connects; sends the preface and SETTINGS unless told otherwise. */
export async function openFrames(
  endpoint: Endpoint,
  first: readonly Buffer[] = [preface, settings()],
): Promise<FrameClient> {
  const socket = connect({
    host: '127.0.0.1',
    port: endpoint.port,
    secureContext: trusting(endpoint),
    ALPNProtocols: ['h2'],
  });
  const client = new FrameClient(socket);
  await once(socket, 'secureConnect');
  if (first.length > 0) client.send(...first);
  return client;
}
