// A fake member that speaks HTTP/2, in two variants: with Node's HTTP/2 server for ordinary tests, and with raw frames
// for what Node's server never sends, for example a reset with NO_ERROR.
import { createSecureServer, sensitiveHeaders } from 'node:http2';
import type { IncomingHttpHeaders, SecureServerOptions, ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { startTestMember } from '../pools/member.fixture.ts';
import type { TestMember } from '../pools/member.fixture.ts';
import type { TestCertificate } from '../../test/pretend/certificates.ts';
import { serve } from '../../test/pretend/server.ts';

/** A running fake member with everything it received. */
export interface Http2Member {
  readonly port: number;
  readonly sessions: readonly ServerHttp2Session[];
  /** Raw header list of each request. */
  readonly requests: readonly (readonly string[])[];
  /** For each request, the names of headers that were marked as never indexed. */
  readonly secrets: readonly (readonly string[])[];
  /** Resolves with the stream that has this index among the streams of all sessions, counted from 0. */
  stream(index: number): Promise<ServerHttp2Stream>;
  readonly openStreams: () => number;
  close(): Promise<void>;
}

/**
 * Starts Node's HTTP/2 server.
 * @param answer called with each stream
 */
export async function startHttp2Member(
  certificate: TestCertificate,
  answer: (stream: ServerHttp2Stream, raw: readonly string[]) => void = () => {},
  options: SecureServerOptions = {},
): Promise<Http2Member> {
  const sessions: ServerHttp2Session[] = [];
  const secrets: (readonly string[])[] = [];
  const requests: (readonly string[])[] = [];
  const streams: ServerHttp2Stream[] = [];
  const waiting: (() => void)[] = [];
  let open = 0;
  const server = createSecureServer({ ...certificate, maxHeaderListPairs: 20_000, ...options });
  server.on('session', (session) => {
    sessions.push(session);
    session.on('error', () => {});
  });
  server.on(
    'stream',
    (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, _flags: number, raw: readonly string[]) => {
      secrets.push((Reflect.get(headers, sensitiveHeaders) ?? []) as readonly string[]);
      open++;
      stream.on('error', () => {}).on('close', () => open--);
      requests.push(raw);
      streams.push(stream);
      answer(stream, raw);
      for (const look of waiting) look();
    },
  );
  const { port, close } = await serve(server);
  return {
    port,
    sessions,
    requests,
    secrets,
    openStreams: () => open,
    stream: (index) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (index < streams.length) resolve(streams[index]!);
        };
        waiting.push(look);
        look();
      }),
    close,
  };
}

/** Frame types and flags (RFC 9113 section 6). */
export const frames = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, goaway: 7 } as const;
export const endStream = 1;
export const endHeaders = 4;
/** The HPACK encoding of `:status: 200`: entry 8 of the static table. */
export const status200 = Buffer.from([0x88]);

/** Encodes one HTTP/2 frame. */
export function frame(type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Encodes 32-bit numbers, as in RST_STREAM. */
export function uint32(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  values.forEach((value, index) => bytes.writeUInt32BE(value, index * 4));
  return bytes;
}

/** A frame that the fake member received. */
export interface ReceivedFrame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

/** Starts a fake member that sends `settings`; `onFrame` handles everything it receives. */
export function startFrameMember(
  certificate: TestCertificate,
  onFrame: (received: ReceivedFrame, socket: Socket) => void,
  settings: Buffer = Buffer.alloc(0),
): Promise<TestMember> {
  const preface = 24;
  return startTestMember({
    tls: { ...certificate, ALPNProtocols: ['h2'] },
    onConnection(socket) {
      let received = Buffer.alloc(0);
      let at = preface;
      socket.write(frame(frames.settings, 0, 0, settings));
      socket.on('data', (chunk: Buffer) => {
        received = Buffer.concat([received, chunk]);
        while (received.length >= at + 9) {
          const end = at + 9 + received.readUIntBE(at, 3);
          if (received.length < end) return;
          const stream = received.readUInt32BE(at + 5);
          onFrame(
            { type: received[at + 3]!, flags: received[at + 4]!, stream, payload: received.subarray(at + 9, end) },
            socket,
          );
          at = end;
        }
      });
    },
  });
}
