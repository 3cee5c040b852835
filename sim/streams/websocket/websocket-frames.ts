// Encodes and decodes WebSocket frames (RFC 6455 section 5.2). Clients must mask every frame, and servers must not mask
// any. A receiver must refuse frames that break this rule.
import { randomBytes } from 'node:crypto';

/** The opcodes of RFC 6455. Opcodes from 8 on are control frames. */
export const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** The close codes that are sent (RFC 6455 section 7.4.1). */
export const closeCodes = { normal: 1000, protocolError: 1002, tooBig: 1009, internalError: 1011 } as const;

/** One frame, with its mask removed. */
export interface WebSocketFrame {
  readonly fin: boolean;
  readonly opcode: number;
  readonly payload: Buffer;
}

/** The peer violated the protocol. The connection should be closed with `closeCode`. */
export class WebSocketFault extends Error {
  readonly closeCode: number;

  constructor(closeCode: number, message: string) {
    super(message);
    this.name = 'WebSocketFault';
    this.closeCode = closeCode;
  }
}

/** Returns the bytes of one frame. `masked` must be true for a client and false for a server. */
export function encodeFrame(frame: WebSocketFrame, masked: boolean): Buffer {
  const { length } = frame.payload;
  const lengthBytes = length < 126 ? 0 : length < 65_536 ? 2 : 8;
  const headLength = 2 + lengthBytes + (masked ? 4 : 0);
  const bytes = Buffer.allocUnsafe(headLength + length);
  bytes[0] = (frame.fin ? 0x80 : 0) | frame.opcode;
  bytes[1] = (masked ? 0x80 : 0) | (lengthBytes === 0 ? length : lengthBytes === 2 ? 126 : 127);
  if (lengthBytes === 2) bytes.writeUInt16BE(length, 2);
  if (lengthBytes === 8) bytes.writeBigUInt64BE(BigInt(length), 2);
  frame.payload.copy(bytes, headLength);
  if (masked) {
    const key = randomBytes(4);
    key.copy(bytes, headLength - 4);
    applyMask(bytes.subarray(headLength), key);
  }
  return bytes;
}

/** Applies the mask to the bytes, or removes it. Changes `bytes`. */
export function applyMask(bytes: Buffer, key: Buffer): void {
  const [k0 = 0, k1 = 0, k2 = 0, k3 = 0] = key;
  const keys = [k0, k1, k2, k3];
  for (let i = 0; i < bytes.length; i++) bytes[i] = (bytes[i] ?? 0) ^ (keys[i & 3] ?? 0);
}

/** Splits received bytes into frames. */
export interface FrameReader {
  /**
   * Takes a chunk of any size and returns the frames that are now complete.
   * @throws WebSocketFault when the bytes violate RFC 6455; the reader cannot be used after that
   */
  push(chunk: Buffer): readonly WebSocketFrame[];
}

/**
 * Makes a reader. `masked` must be true for a server, whose client must mask all frames, and false for a client. A
 * larger payload than `maxPayloadBytes` is refused.
 */
export function createFrameReader(options: {
  readonly masked: boolean;
  readonly maxPayloadBytes: number;
}): FrameReader {
  let chunks: Buffer[] = [];
  let bufferedBytes = 0;
  let neededBytes = 2;
  return {
    push(chunk) {
      chunks.push(chunk);
      bufferedBytes += chunk.length;
      const frames: WebSocketFrame[] = [];
      if (bufferedBytes < neededBytes) return frames;
      let rest = chunks.length === 1 ? chunk : Buffer.concat(chunks, bufferedBytes);
      for (;;) {
        const head = readHead(rest, options);
        neededBytes = head.neededBytes;
        if (rest.length < neededBytes) break;
        const payload = rest.subarray(head.headLength, neededBytes);
        // The mask is removed in place, because nobody else uses this chunk.
        if (head.key !== undefined) applyMask(payload, head.key);
        frames.push({ fin: head.fin, opcode: head.opcode, payload });
        rest = rest.subarray(neededBytes);
        neededBytes = 2;
      }
      chunks = [rest];
      bufferedBytes = rest.length;
      return frames;
    },
  };
}

interface FrameHead {
  readonly fin: boolean;
  readonly opcode: number;
  readonly headLength: number;
  readonly key: Buffer | undefined;
  /** The length of the whole frame. When the head is not complete yet, the bytes that are needed to go on. */
  readonly neededBytes: number;
}

function readHead(bytes: Buffer, options: { readonly masked: boolean; readonly maxPayloadBytes: number }): FrameHead {
  const unknown = { fin: false, opcode: 0, headLength: 0, key: undefined };
  if (bytes.length < 2) return { ...unknown, neededBytes: 2 };
  const first = bytes.readUInt8(0);
  const second = bytes.readUInt8(1);
  const opcode = first & 0x0f;
  const fin = (first & 0x80) !== 0;
  const masked = (second & 0x80) !== 0;
  if ((first & 0x70) !== 0) throw new WebSocketFault(closeCodes.protocolError, 'reserved bits are set');
  if (!(Object.values(opcodes) as number[]).includes(opcode)) {
    throw new WebSocketFault(closeCodes.protocolError, `unknown opcode ${opcode}`);
  }
  if (masked !== options.masked) {
    throw new WebSocketFault(closeCodes.protocolError, masked ? 'a server must not mask' : 'a client must mask');
  }
  const shortLength = second & 0x7f;
  if (opcode >= opcodes.close && (!fin || shortLength > 125)) {
    throw new WebSocketFault(closeCodes.protocolError, 'a control frame is fragmented or longer than 125 bytes');
  }
  const lengthBytes = shortLength === 126 ? 2 : shortLength === 127 ? 8 : 0;
  const headLength = 2 + lengthBytes + (masked ? 4 : 0);
  if (bytes.length < headLength) return { ...unknown, neededBytes: headLength };
  const length =
    lengthBytes === 0 ? shortLength : lengthBytes === 2 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
  if (length > options.maxPayloadBytes)
    throw new WebSocketFault(closeCodes.tooBig, `a frame of ${length} bytes is too big`);
  const key = masked ? Buffer.from(bytes.subarray(headLength - 4, headLength)) : undefined;
  return { fin, opcode, headLength, key, neededBytes: headLength + length };
}
