// The frames of HTTP/2 (RFC 9113 section 4): the numbers of types, flags and settings, and a parser for the
// bytes from a socket. A chunk may end anywhere, also within the nine bytes of a frame header. Body data is passed on
// as it arrives; all other frames are collected first.

import { errorCode, ConnectionFault } from '../http2-faults.ts';

/** Frame types (RFC 9113 section 6). */
export const frameType = {
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

export const frameFlag = { endStream: 1, ack: 1, endHeaders: 4, padded: 8, priority: 32 } as const;

/** Identifiers in SETTINGS frames (RFC 9113 section 6.5.2). */
export const setting = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
} as const;

export const frameHeadBytes = 9;
/** Largest frame payload that is accepted, in bytes. It is HTTP/2's default, and our SETTINGS never raise it. */
export const maxFrameBytes = 16_384;
export const maxWindowBytes = 0x7fff_ffff;

/** Receives all frames in order. Every method may throw ConnectionFault. */
export interface FrameHandler {
  /**
   * Called at the beginning of a DATA frame. `length` is its payload in bytes with padding; all of it counts for flow
   * control.
   */
  onDataBegin(stream: number, flags: number, length: number): void;
  /**
   * Called with body data of the current DATA frame, never empty. `piece` is part of the socket's buffer: a handler
   * that stores it must copy it.
   */
  onDataPiece(piece: Buffer): void;
  /** Called at the end of a DATA frame; `length` is the same as for onDataBegin. */
  onDataEnd(length: number): void;
  /**
   * Called with a complete frame of any type but DATA. Its payload is `bytes[start, end)`, which is only valid during
   * the call.
   */
  onFrame(type: number, flags: number, stream: number, bytes: Buffer, start: number, end: number): void;
}

const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');

type Phase = 'preface' | 'head' | 'payload' | 'padding-length' | 'data' | 'padding';

/** Parses the frames of one connection. */
export class FrameReader {
  readonly #handler: FrameHandler;
  #phase: Phase = 'preface';
  #stopped = false;
  #type = 0;
  #flags = 0;
  #stream = 0;
  /** How many bytes of the current part (preface, frame header, payload, padding) are still to be received. */
  #left = preface.length;
  #length = 0;
  #paddingBytes = 0;
  /** The received part of a frame header or payload that is not complete yet. */
  #held: Buffer | undefined;
  #heldBytes = 0;

  constructor(handler: FrameHandler) {
    this.#handler = handler;
  }

  /** Whether no frame other than DATA is partly received, and the connection preface is complete. */
  get atRest(): boolean {
    return this.#heldBytes === 0 && this.#phase !== 'preface';
  }

  /** Size in bytes of the buffer for a partly received frame. */
  get heldBytes(): number {
    return this.#held?.length ?? 0;
  }

  /** Makes the parser ignore all further bytes. */
  stop(): void {
    this.#stopped = true;
    this.#held = undefined;
  }

  /**
   * Parses a chunk and calls the handler for each complete frame.
   * @throws ConnectionFault
   */
  read(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length && !this.#stopped) {
      switch (this.#phase) {
        case 'head':
          at =
            this.#heldBytes === 0 && chunk.length - at >= frameHeadBytes
              ? this.#head(chunk, at)
              : this.#collect(chunk, at);
          break;
        case 'payload':
          at =
            this.#heldBytes === 0 && chunk.length - at >= this.#left
              ? this.#payload(chunk, at)
              : this.#collect(chunk, at);
          break;
        case 'data':
          at = this.#data(chunk, at);
          break;
        case 'padding':
          at = this.#padding(chunk, at);
          break;
        case 'padding-length':
          at = this.#paddingLength(chunk, at);
          break;
        case 'preface':
          at = this.#preface(chunk, at);
          break;
      }
    }
  }

  #preface(chunk: Buffer, at: number): number {
    const take = Math.min(this.#left, chunk.length - at);
    const from = preface.length - this.#left;
    if (chunk.compare(preface, from, from + take, at, at + take) !== 0) {
      throw new ConnectionFault(errorCode.protocolError, 'the connection does not begin with the preface of HTTP/2');
    }
    this.#left -= take;
    if (this.#left === 0) this.#next();
    return at + take;
  }

  #next(): void {
    this.#phase = 'head';
    this.#left = frameHeadBytes;
  }

  /** Collects a frame header or payload that arrives in several chunks; a payload has at most {@link maxFrameBytes}. */
  #collect(chunk: Buffer, at: number): number {
    this.#held ??= Buffer.allocUnsafe(Math.max(this.#left, 64));
    const missing = this.#left - this.#heldBytes;
    const take = Math.min(missing, chunk.length - at);
    chunk.copy(this.#held, this.#heldBytes, at, at + take);
    this.#heldBytes += take;
    if (take === missing) {
      const held = this.#held;
      this.#held = undefined;
      this.#heldBytes = 0;
      if (this.#phase === 'head') this.#head(held, 0);
      else this.#payload(held, 0);
    }
    return at + take;
  }

  #head(bytes: Buffer, at: number): number {
    const length = (bytes[at]! << 16) | (bytes[at + 1]! << 8) | bytes[at + 2]!;
    if (length > maxFrameBytes) throw new ConnectionFault(errorCode.frameSizeError, 'a frame is larger than allowed');
    this.#type = bytes[at + 3]!;
    this.#flags = bytes[at + 4]!;
    this.#stream = bytes.readUInt32BE(at + 5) & maxWindowBytes;
    this.#left = length;
    if (this.#type === frameType.data) this.#dataHead(length);
    else {
      this.#phase = 'payload';
      if (length === 0) this.#payload(bytes, at);
    }
    return at + frameHeadBytes;
  }

  #payload(bytes: Buffer, at: number): number {
    const end = at + this.#left;
    this.#next();
    this.#handler.onFrame(this.#type, this.#flags, this.#stream, bytes, at, end);
    return end;
  }

  #dataHead(length: number): void {
    const isPadded = (this.#flags & frameFlag.padded) !== 0;
    if (isPadded && length === 0)
      throw new ConnectionFault(errorCode.frameSizeError, 'a PADDED flag without a pad length');
    this.#length = length;
    this.#paddingBytes = 0;
    this.#phase = isPadded ? 'padding-length' : 'data';
    this.#handler.onDataBegin(this.#stream, this.#flags, length);
    if (length === 0) this.#dataEnd();
  }

  #paddingLength(chunk: Buffer, at: number): number {
    this.#paddingBytes = chunk[at]!;
    this.#left -= 1 + this.#paddingBytes;
    if (this.#left < 0) throw new ConnectionFault(errorCode.protocolError, 'a frame holds more padding than bytes');
    this.#phase = 'data';
    if (this.#left === 0) this.#bodyEnd();
    return at + 1;
  }

  #data(chunk: Buffer, at: number): number {
    const take = Math.min(this.#left, chunk.length - at);
    this.#left -= take;
    this.#handler.onDataPiece(chunk.subarray(at, at + take));
    if (this.#left === 0) this.#bodyEnd();
    return at + take;
  }

  #bodyEnd(): void {
    this.#left = this.#paddingBytes;
    this.#phase = 'padding';
    if (this.#left === 0) this.#dataEnd();
  }

  #padding(chunk: Buffer, at: number): number {
    const take = Math.min(this.#left, chunk.length - at);
    this.#left -= take;
    if (this.#left === 0) this.#dataEnd();
    return at + take;
  }

  #dataEnd(): void {
    this.#next();
    this.#handler.onDataEnd(this.#length);
  }
}
