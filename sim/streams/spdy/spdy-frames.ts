// Encodes and decodes SPDY/3.1 frames, except frames for flow control, which no peer of the simulator uses (see
// spdy-session.ts). Header blocks stay compressed here; spdy-headers.ts decompresses them. In a control frame, the
// first 32 bits contain the control bit, 15 bits of version and the type; the next 32 bits contain the flags and 24
// bits of length.

/** The version in control frames. Both SPDY/3 and SPDY/3.1 use 3. */
const version = 3;

/** The types of control frames (SPDY/3.1 section 2.6). */
const frameTypes = { synStream: 1, synReply: 2, rstStream: 3, ping: 6, goAway: 7, headers: 8 } as const;

/** Status codes of RST_STREAM (SPDY/3.1 section 2.6.3). */
export const resetCodes = { protocolError: 1, refusedStream: 3, cancel: 5 } as const;

/** The flag FLAG_FIN: the frame is the last one of its sender on the stream. */
const finFlag = 0x01;

/** One SPDY frame, with the fields of its type. */
export type SpdyFrame =
  | { readonly type: 'synStream'; readonly streamId: number; readonly fin: boolean; readonly block: Buffer }
  | { readonly type: 'synReply' | 'headers'; readonly streamId: number; readonly fin: boolean; readonly block: Buffer }
  | { readonly type: 'data'; readonly streamId: number; readonly fin: boolean; readonly data: Buffer }
  | { readonly type: 'rstStream'; readonly streamId: number; readonly status: number }
  | { readonly type: 'ping'; readonly id: number }
  | { readonly type: 'goAway'; readonly lastStreamId: number; readonly status: number };

/** Returns the bytes of one frame. */
export function encodeSpdyFrame(frame: SpdyFrame): Buffer {
  switch (frame.type) {
    case 'data': {
      const head = words(frame.streamId, flagsAndLength(frame.fin, frame.data.length));
      return Buffer.concat([head, frame.data]);
    }
    case 'synStream':
      // The fields associated stream, priority and slot of the frame are 0.
      return control(frameTypes.synStream, frame.fin, words(frame.streamId, 0), Buffer.alloc(2), frame.block);
    case 'synReply':
    case 'headers':
      return control(frameTypes[frame.type], frame.fin, words(frame.streamId), frame.block);
    case 'rstStream':
      return control(frameTypes.rstStream, false, words(frame.streamId, frame.status));
    case 'ping':
      return control(frameTypes.ping, false, words(frame.id));
    case 'goAway':
      return control(frameTypes.goAway, false, words(frame.lastStreamId, frame.status));
  }
}

function control(type: number, fin: boolean, ...payload: readonly Buffer[]): Buffer {
  const length = payload.reduce((sum, part) => sum + part.length, 0);
  return Buffer.concat([words(((0x8000 | version) << 16) | type, flagsAndLength(fin, length)), ...payload]);
}

function flagsAndLength(fin: boolean, length: number): number {
  return ((fin ? finFlag : 0) << 24) | length;
}

function words(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [i, value] of values.entries()) bytes.writeUInt32BE(value >>> 0, 4 * i);
  return bytes;
}

/**
 * Makes a function that splits received bytes into frames: it takes a chunk of any size and returns the frames that are
 * now complete. Unknown control frames are skipped, as the specification demands. The function throws an Error when the
 * bytes are not SPDY/3 frames, or when a frame has more than `maxFrameBytes` of payload; after an Error it must not be
 * called again.
 */
export function createSpdyFrameReader(maxFrameBytes = 4 * 1024 * 1024): (chunk: Buffer) => readonly SpdyFrame[] {
  let chunks: Buffer[] = [];
  let bufferedBytes = 0;
  let neededBytes = 8;
  return (chunk) => {
    chunks.push(chunk);
    bufferedBytes += chunk.length;
    const frames: SpdyFrame[] = [];
    if (bufferedBytes < neededBytes) return frames;
    let rest = chunks.length === 1 ? chunk : Buffer.concat(chunks, bufferedBytes);
    for (;;) {
      neededBytes = 8;
      if (rest.length < neededBytes) break;
      const length = rest.readUInt32BE(4) & 0xff_ffff;
      if (length > maxFrameBytes) throw new Error(`a SPDY frame of ${length} bytes is too big`);
      neededBytes += length;
      if (rest.length < neededBytes) break;
      const frame = decode(rest.subarray(0, neededBytes));
      if (frame !== undefined) frames.push(frame);
      rest = rest.subarray(neededBytes);
    }
    chunks = [rest];
    bufferedBytes = rest.length;
    return frames;
  };
}

function decode(bytes: Buffer): SpdyFrame | undefined {
  const first = bytes.readUInt32BE(0);
  const fin = (bytes.readUInt8(4) & finFlag) !== 0;
  const payload = bytes.subarray(8);
  if (first < 0x8000_0000) return { type: 'data', streamId: nonZero(first), fin, data: payload };
  if (((first >>> 16) & 0x7fff) !== version)
    throw new Error(`SPDY version ${(first >>> 16) & 0x7fff} is not supported`);
  const word = (index: number): number => {
    if (payload.length < 4 * index + 4) throw new Error('a SPDY frame that ends early');
    return payload.readUInt32BE(4 * index);
  };
  const id = (index: number): number => word(index) & 0x7fff_ffff;
  switch (first & 0xffff) {
    case frameTypes.synStream:
      if (payload.length < 10) throw new Error('a SPDY frame that ends early');
      return { type: 'synStream', streamId: nonZero(id(0)), fin, block: payload.subarray(10) };
    case frameTypes.synReply:
      return { type: 'synReply', streamId: nonZero(id(0)), fin, block: payload.subarray(4) };
    case frameTypes.headers:
      return { type: 'headers', streamId: nonZero(id(0)), fin, block: payload.subarray(4) };
    case frameTypes.rstStream:
      return { type: 'rstStream', streamId: nonZero(id(0)), status: word(1) };
    case frameTypes.ping:
      return { type: 'ping', id: word(0) };
    case frameTypes.goAway:
      return { type: 'goAway', lastStreamId: id(0), status: word(1) };
    default:
      return undefined;
  }
}

function nonZero(streamId: number): number {
  if (streamId === 0) throw new Error('stream 0 is not a stream');
  return streamId;
}
