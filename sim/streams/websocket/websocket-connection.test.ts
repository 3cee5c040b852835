import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { duplexPair, type Duplex } from 'node:stream';
import { describe, it } from 'node:test';
import { WebSocketConnection } from './websocket-connection.ts';
import { createFrameReader, encodeFrame, opcodes, type WebSocketFrame } from './websocket-frames.ts';
import { createTunnel } from './websocket-tunnel.ts';

const maxPayloadBytes = 1024 * 1024;

interface Bare {
  readonly wire: Duplex;
  readonly frames: WebSocketFrame[];
  readonly messages: string[];
  readonly closed: Promise<number>;
  readonly connection: WebSocketConnection;
  send(opcode: number, payload: string | Buffer, fin?: boolean, masked?: boolean): void;
}

/** A server connection and, on the other side, a client made of bare frames. */
function bare(maxMessageBytes = maxPayloadBytes): Bare {
  const [wire, right] = duplexPair();
  const frames: WebSocketFrame[] = [];
  const messages: string[] = [];
  const closed = Promise.withResolvers<number>();
  const reader = createFrameReader({ masked: false, maxPayloadBytes });
  wire.on('data', (chunk: Buffer) => {
    frames.push(...reader.push(chunk));
    wire.emit('frames');
  });
  const connection = new WebSocketConnection(
    right,
    { onMessage: (data, isText) => messages.push(`${isText ? 'text' : 'binary'} ${data}`), onClose: closed.resolve },
    { role: 'server', maxMessageBytes },
  );
  return {
    wire,
    frames,
    messages,
    closed: closed.promise,
    connection,
    send: (opcode, payload, fin = true, masked = true) =>
      void wire.write(encodeFrame({ fin, opcode, payload: Buffer.from(payload) }, masked)),
  };
}

async function ended(stream: Duplex): Promise<void> {
  if (!stream.readableEnded) await once(stream, 'end');
}

function closeCodeOf(frame: WebSocketFrame | undefined): number {
  assert.equal(frame?.opcode, opcodes.close);
  return frame?.payload.readUInt16BE(0) ?? 0;
}

describe('WebSocket frames', () => {
  it('survive a round trip at every length encoding, masked and not, in chunks of any size', () => {
    for (const masked of [true, false]) {
      for (const length of [0, 1, 125, 126, 65_535, 65_536, 200_000]) {
        const payload = randomBytes(length);
        const bytes = encodeFrame({ fin: true, opcode: opcodes.binary, payload }, masked);
        if (length >= 125) assert.equal(bytes.includes(payload.subarray(0, 64)), !masked);
        for (const size of [3, 70_000, bytes.length]) {
          const reader = createFrameReader({ masked, maxPayloadBytes });
          const frames: WebSocketFrame[] = [];
          for (let i = 0; i < bytes.length; i += size)
            frames.push(...reader.push(Buffer.from(bytes.subarray(i, i + size))));
          assert.deepEqual(frames, [{ fin: true, opcode: opcodes.binary, payload }]);
        }
      }
    }
  });

  it('match the examples of RFC 6455 section 5.7', () => {
    const hello = { fin: true, opcode: opcodes.text, payload: Buffer.from('Hello') };
    assert.equal(encodeFrame(hello, false).toString('hex'), '810548656c6c6f');
    const masked = Buffer.from('818537fa213d7f9f4d5158', 'hex');
    assert.deepEqual(createFrameReader({ masked: true, maxPayloadBytes }).push(masked), [hello]);
  });

  it('are refused when reserved bits, unknown opcodes, lengths or masking are wrong', () => {
    const refusal = (hex: string, masked = false): number => {
      try {
        createFrameReader({ masked, maxPayloadBytes }).push(Buffer.from(hex, 'hex'));
        return 0;
      } catch (error) {
        return (error as { closeCode: number }).closeCode;
      }
    };
    assert.equal(refusal('c100'), 1002, 'a compressed frame nobody agreed on');
    assert.equal(refusal('8300'), 1002, 'opcode 3');
    assert.equal(refusal('0900'), 1002, 'a fragmented ping');
    assert.equal(refusal('897e0080'), 1002, 'a ping of 128 bytes');
    assert.equal(refusal('8100', true), 1002, 'a client that does not mask');
    assert.equal(refusal('818000000000', false), 1002, 'a server that masks');
    assert.equal(refusal('827fffffffffffffffff'), 1009, 'a length of 2^64 - 1');
    assert.equal(refusal('8100'), 0);
  });
});

describe('a WebSocket connection', () => {
  it('puts fragments together, answers pings between them and swallows pongs', async () => {
    const peer = bare();
    peer.send(opcodes.binary, 'one ', false);
    peer.send(opcodes.ping, 'are you there');
    peer.send(opcodes.continuation, 'two ', false);
    peer.send(opcodes.pong, '');
    peer.send(opcodes.continuation, 'three');
    peer.send(opcodes.text, 'whole');
    await once(peer.wire, 'frames');
    assert.deepEqual(peer.messages, ['binary one two three', 'text whole']);
    assert.deepEqual(peer.frames, [{ fin: true, opcode: opcodes.pong, payload: Buffer.from('are you there') }]);
    peer.connection.destroy();
  });

  it('closes with 1002 on fragments out of order and on an unmasked frame, with 1009 on a long message', async () => {
    for (const [provoke, code] of [
      [(peer: Bare) => peer.send(opcodes.continuation, 'x'), 1002],
      [(peer: Bare) => (peer.send(opcodes.binary, 'x', false), peer.send(opcodes.binary, 'y')), 1002],
      [(peer: Bare) => peer.send(opcodes.binary, 'x', true, false), 1002],
      [(peer: Bare) => (peer.send(opcodes.binary, '12345', false), peer.send(opcodes.continuation, '678901')), 1009],
    ] as const) {
      const peer = bare(10);
      provoke(peer);
      assert.equal(await peer.closed, code);
      while (peer.frames.length === 0) await once(peer.wire, 'frames');
      assert.equal(closeCodeOf(peer.frames[0]), code);
      peer.connection.destroy();
    }
  });

  it('answers a close frame with the same code and ends; without one the code is 1006', async () => {
    const peer = bare();
    peer.send(opcodes.close, Buffer.from([4000 >> 8, 4000 & 0xff]));
    assert.equal(await peer.closed, 4000);
    await ended(peer.wire);
    assert.equal(closeCodeOf(peer.frames[0]), 4000);
    const abrupt = bare();
    abrupt.wire.end();
    assert.equal(await abrupt.closed, 1006);
  });

  it('sends its close frame after everything before, and nothing after it', async () => {
    const peer = bare();
    peer.connection.send(Buffer.from('last words'));
    peer.connection.close(1000, 'done');
    const late = Promise.withResolvers<unknown>();
    peer.connection.send(Buffer.from('too late'), late.resolve);
    assert.match(String(await late.promise), /closed/);
    await ended(peer.wire);
    assert.deepEqual(
      peer.frames.map((frame) => frame.opcode),
      [opcodes.binary, opcodes.close],
    );
    assert.equal(peer.frames[1]?.payload.subarray(2).toString(), 'done');
    peer.connection.destroy();
  });

  it('reads what came with the upgrade, once its owner holds it', async () => {
    const [, right] = duplexPair();
    const arrived = Promise.withResolvers<string>();
    const head = encodeFrame({ fin: true, opcode: opcodes.binary, payload: Buffer.from('early') }, true);
    const connection: WebSocketConnection = new WebSocketConnection(
      right,
      {
        onMessage: (data) => arrived.resolve(`${data} ${connection instanceof WebSocketConnection}`),
        onClose: () => undefined,
      },
      { role: 'server', head },
    );
    assert.equal(await arrived.promise, 'early true');
    connection.destroy();
  });
});

describe('a WebSocket tunnel', () => {
  it('carries 10 MB each way at once, intact, holding back a sender whose reader pauses', async () => {
    const [left, right] = duplexPair();
    const client = createTunnel(left, { role: 'client' });
    const server = createTunnel(right, { role: 'server' });
    const up = randomBytes(10 * 1024 * 1024);
    const down = randomBytes(10 * 1024 * 1024);
    const digest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
    const collect = async (stream: Duplex, length: number): Promise<Buffer> => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      while (bytes < length) {
        const chunk = stream.read() as Buffer | null;
        if (chunk === null) await once(stream, 'readable');
        else bytes += chunks.push(chunk) && chunk.length;
      }
      return Buffer.concat(chunks);
    };
    for (let i = 0; i < up.length; i += 100_000) client.write(up.subarray(i, i + 100_000));
    await new Promise(setImmediate);
    assert.ok(server.readableLength < 1_000_000, `${server.readableLength} bytes buffered`);
    for (let i = 0; i < down.length; i += 30_000) server.write(down.subarray(i, i + 30_000));
    const [gotUp, gotDown] = await Promise.all([collect(server, up.length), collect(client, down.length)]);
    assert.equal(digest(gotUp), digest(up));
    assert.equal(digest(gotDown), digest(down));
    client.resume().end();
    server.resume();
    await ended(server);
    server.end();
    client.destroy();
  });
});
