import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { duplexPair, type Duplex, type Readable } from 'node:stream';
import { describe, it } from 'node:test';
import { createSpdyFrameReader, encodeSpdyFrame, type SpdyFrame } from './spdy-frames.ts';
import { createHeaderCompressor } from './spdy-headers.ts';
import { SpdySession, type SpdySessionOptions } from './spdy-session.ts';
import type { SpdyStream } from './spdy-stream.ts';

const noHeaders = new Map<string, readonly string[]>();

interface Pair {
  readonly client: SpdySession;
  readonly server: SpdySession;
  /** Resolves with each stream the server accepted, in order. */
  accepted(): Promise<SpdyStream>;
}

function connect(server: Partial<SpdySessionOptions> = {}): Pair {
  const [left, right] = duplexPair();
  const queue: SpdyStream[] = [];
  const waiting: ((stream: SpdyStream) => void)[] = [];
  const onStream = (stream: SpdyStream): boolean => {
    const next = waiting.shift();
    if (next === undefined) queue.push(stream);
    else next(stream);
    return true;
  };
  return {
    server: new SpdySession(right, { role: 'server', onStream, ...server }),
    client: new SpdySession(left, { role: 'client' }),
    accepted: () => {
      const stream = queue.shift();
      return stream === undefined ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(stream);
    },
  };
}

/** Everything up to the end; unlike an async iterator it leaves the writable side open. */
async function collect(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  await new Promise((resolve) => stream.once('end', resolve));
  return Buffer.concat(chunks);
}

/** A peer made of bare frames, to see and do what a session never would. */
function bare(options: Partial<SpdySessionOptions>): {
  readonly session: SpdySession;
  readonly wire: Duplex;
  readonly frames: SpdyFrame[];
  send(frame: SpdyFrame): void;
  until(matches: (frame: SpdyFrame) => boolean): Promise<SpdyFrame>;
} {
  const [left, right] = duplexPair();
  const frames: SpdyFrame[] = [];
  const read = createSpdyFrameReader();
  left.on('data', (chunk: Buffer) => {
    frames.push(...read(chunk));
    left.emit('frames');
  });
  const session = new SpdySession(right, { role: 'server', onStream: () => true, ...options });
  return {
    session,
    wire: left,
    frames,
    send: (frame) => void left.write(encodeSpdyFrame(frame)),
    until: async (matches) => {
      for (;;) {
        const found = frames.find(matches);
        if (found !== undefined) return found;
        await once(left, 'frames');
      }
    },
  };
}

describe('a SPDY session', () => {
  it('carries headers, data both ways and half-closes each side on its own', async () => {
    const pair = connect();
    const stream = pair.client.open(new Map([['streamtype', ['stdin', 'x']]]));
    stream.end('question');
    const other = await pair.accepted();
    assert.equal(other.header('streamtype'), 'stdin');
    assert.equal(String(await collect(other)), 'question');
    assert.equal(await stream.replied(), true);
    other.end('answer');
    assert.equal(String(await collect(stream)), 'answer');
    assert.equal(stream.wasReset, false);
    assert.equal(other.wasReset, false);
    pair.client.close();
  });

  it('carries 10 MB each way at once, intact', async () => {
    const pair = connect();
    const up = randomBytes(10 * 1024 * 1024);
    const down = randomBytes(10 * 1024 * 1024);
    const stream = pair.client.open(noHeaders);
    stream.end(up);
    const other = await pair.accepted();
    other.end(down);
    const [gotUp, gotDown] = await Promise.all([collect(other), collect(stream)]);
    const digest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
    assert.equal(digest(gotUp), digest(up));
    assert.equal(digest(gotDown), digest(down));
    pair.server.close();
  });

  it('never sends WINDOW_UPDATE or SETTINGS, as spdystream does', async () => {
    const peer = bare({ onStream: (stream) => (stream.resume(), true) });
    peer.send({ type: 'synStream', streamId: 1, fin: false, block: createHeaderCompressor()(noHeaders) });
    peer.send({ type: 'data', streamId: 1, fin: true, data: Buffer.alloc(300_000) });
    peer.send({ type: 'ping', id: 1 });
    await peer.until((frame) => frame.type === 'ping');
    assert.deepEqual(
      peer.frames.map((frame) => frame.type),
      ['synReply', 'ping'],
    );
    peer.session.destroy();
  });

  it('answers pings and resolves its own', async () => {
    const pair = connect();
    await Promise.all([pair.client.ping(), pair.server.ping(), pair.client.ping()]);
    pair.client.close();
  });

  it('refuses streams with reused or wrongly numbered ids, and keeps the header compression in step', async () => {
    const seen: string[] = [];
    const peer = bare({
      onStream: (stream) => {
        seen.push(stream.header('n') ?? '');
        return stream.header('n') !== 'refuse me';
      },
    });
    const compress = createHeaderCompressor();
    const open = (streamId: number, n: string): void =>
      peer.send({ type: 'synStream', streamId, fin: false, block: compress(new Map([['n', [n]]])) });
    open(3, 'first');
    open(3, 'again');
    open(4, 'even');
    open(5, 'refuse me');
    open(7, 'last');
    await peer.until((frame) => frame.type === 'synReply' && frame.streamId === 7);
    assert.deepEqual(seen, ['first', 'refuse me', 'last']);
    assert.deepEqual(
      peer.frames.flatMap((frame) => (frame.type === 'rstStream' ? [[frame.streamId, frame.status]] : [])),
      [
        [3, 1],
        [4, 1],
        [5, 3],
      ],
    );
    peer.session.destroy();
  });

  it('a reset ends the readable side and swallows what is written after', async () => {
    const pair = connect();
    const stream = pair.client.open(noHeaders);
    const other = await pair.accepted();
    other.write('before');
    await once(stream, 'readable');
    other.destroy();
    assert.equal(String(await collect(stream)), 'before');
    assert.equal(stream.wasReset, true);
    await new Promise((resolve) => stream.write('into the void', resolve));
    pair.client.close();
  });

  it('close resets open streams, says GOAWAY and both sides learn that it is over', async () => {
    const over = Promise.withResolvers<void>();
    const pair = connect({ onClose: over.resolve });
    const stream = pair.client.open(noHeaders);
    const other = await pair.accepted();
    pair.client.close();
    assert.equal(String(await collect(other)), '');
    assert.equal(other.wasReset, true);
    assert.equal(stream.wasReset, true);
    await over.promise;
    assert.equal(await pair.client.open(noHeaders).replied(), false);
  });

  it('a lost connection ends every stream, and garbage ends the connection', async () => {
    const pair = connect();
    const stream = pair.client.open(noHeaders);
    await pair.accepted();
    pair.server.destroy();
    pair.client.destroy();
    assert.equal(String(await collect(stream)), '');
    const over = Promise.withResolvers<void>();
    const peer = bare({ onClose: over.resolve });
    peer.wire.write(Buffer.alloc(16, 0xff));
    await over.promise;
    assert.deepEqual(peer.frames, [{ type: 'goAway', lastStreamId: 0, status: 1 }]);
  });
});
