// Plays the steps of a case on an HTTP/2 connection and collects how each stream ended. Only a stream that the client
// has ended is due an answer; what is left open may rightly wait.
import { HpackDecoder } from '../../../http/hpack/hpack-decoder.ts';
import { block, flag, frame, preface, settings, type } from '../../site/http2-frames.ts';
import type { Endpoint } from '../../site/raw-client.ts';
import type { Http2Case, Http2Step } from './case.ts';
import { makeBlockWriter } from './hpack.ts';
import { dueMs, openSocket } from './socket.ts';

/** How a stream ended. */
export interface StreamOutcome {
  status: number;
  contentType: string;
  body: string;
  ended: boolean;
  reset: boolean;
}

/** What became of a case over HTTP/2. */
export interface Http2Outcome {
  readonly streams: ReadonlyMap<number, StreamOutcome>;
  /** The server said GOAWAY or closed. */
  readonly over: boolean;
  readonly late: boolean;
  /** The header block of an answer could not be read. */
  readonly unreadable: boolean;
}

/** Performs the steps and waits for what is due. */
export async function playHttp2(endpoint: Endpoint, { steps }: Http2Case): Promise<Http2Outcome> {
  const socket = await openSocket(endpoint, 'h2');
  const reader = makeFrameReader();
  const due = endedStreams(steps);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(true), dueMs);
  const look = (): void => {
    const answered = [...due].every((id) => {
      const stream = reader.streams.get(id);
      return stream !== undefined && (stream.ended || stream.reset);
    });
    if ((answered && reader.pinged) || reader.over) resolve(false);
  };
  socket.on('data', (chunk: Buffer) => {
    reader.take(chunk);
    look();
  });
  const gone = (): void => {
    reader.over = true;
    look();
  };
  socket.on('end', gone).on('close', gone);
  socket.write(
    Buffer.concat([preface, settings(), ...framesOf(steps), frame(type.ping, 0, 0, Buffer.from('all sent'))]),
  );
  const late = await promise;
  clearTimeout(timer);
  socket.destroy();
  return { streams: reader.streams, over: reader.over, late, unreadable: reader.unreadable };
}

/** Streams a whole request was sent on: begun by HEADERS, ended by END_STREAM. */
function endedStreams(steps: readonly Http2Step[]): ReadonlySet<number> {
  const begun = new Set<number>();
  const ended = new Set<number>();
  for (const step of steps) {
    if (step.kind === 'headers') begun.add(step.stream);
    if (step.kind !== 'frame' && step.ends && begun.has(step.stream)) ended.add(step.stream);
    // The client itself gave the stream up.
    if (step.kind === 'frame' && step.type === type.reset) ended.delete(step.stream);
  }
  return ended;
}

function framesOf(steps: readonly Http2Step[]): Buffer[] {
  const write = makeBlockWriter();
  return steps.flatMap((step) => {
    if (step.kind === 'frame') return [frame(step.type, step.flags, step.stream, Buffer.from(step.payload, 'latin1'))];
    const ends = step.ends ? flag.endStream : 0;
    if (step.kind === 'data') {
      const bytes = Buffer.from(step.text, 'latin1');
      if (step.padding === 0) return [frame(type.data, ends, step.stream, bytes)];
      const padded = Buffer.concat([Buffer.from([step.padding]), bytes, Buffer.alloc(step.padding)]);
      return [frame(type.data, ends | flag.padded, step.stream, padded)];
    }
    const whole = write(step.fields);
    const size = step.frameBytes === 0 ? 16_384 : step.frameBytes;
    const pieces: Buffer[] = [];
    for (let at = 0; at < whole.length || at === 0; at += size) pieces.push(whole.subarray(at, at + size));
    return pieces.map((piece, i) =>
      frame(
        i === 0 ? type.headers : type.continuation,
        (i === 0 ? ends : 0) | (i === pieces.length - 1 ? flag.endHeaders : 0),
        step.stream,
        piece,
      ),
    );
  });
}

interface FrameReader {
  readonly streams: Map<number, StreamOutcome>;
  /** The server has read everything. */
  readonly pinged: boolean;
  over: boolean;
  readonly unreadable: boolean;
  take(chunk: Buffer): void;
}

function makeFrameReader(): FrameReader {
  const streams = new Map<number, StreamOutcome>();
  const decoder = new HpackDecoder({ bytes: 1 << 20, pairs: 1000 });
  let bytes: Buffer = Buffer.alloc(0);
  const reader = { streams, pinged: false, over: false, unreadable: false, take };
  const onFrame = (kind: number, flags: number, id: number, payload: Buffer): void => {
    if (kind === type.goAway) reader.over = true;
    if (kind === type.ping && (flags & flag.ack) !== 0 && payload.toString() === 'all sent') reader.pinged = true;
    if (id === 0) return;
    const stream = streams.get(id) ?? { status: 0, contentType: '', body: '', ended: false, reset: false };
    streams.set(id, stream);
    if (kind === type.reset) stream.reset = true;
    if (kind === type.data) stream.body += payload.toString('latin1');
    if (kind === type.headers) {
      const list = decoder.decode(payload, 0, payload.length) ?? [];
      const value = (name: string): string => list[list.indexOf(name) + 1] ?? '';
      if (list.includes(':status')) stream.status = Number(value(':status'));
      if (list.includes('content-type')) stream.contentType = value('content-type');
      if ((flags & flag.endHeaders) === 0) reader.unreadable = true;
    }
    if ((kind === type.data || kind === type.headers) && (flags & flag.endStream) !== 0) stream.ended = true;
  };
  function take(chunk: Buffer): void {
    bytes = Buffer.concat([bytes, chunk]);
    while (bytes.length >= 9) {
      const length = bytes.readUIntBE(0, 3);
      if (bytes.length < 9 + length) return;
      try {
        onFrame(bytes[3]!, bytes[4]!, bytes.readUInt32BE(5), bytes.subarray(9, 9 + length));
      } catch {
        reader.unreadable = true;
      }
      bytes = bytes.subarray(9 + length);
    }
  }
  return reader;
}

/** A header block for steps that are written as frames. */
export const rawBlock = block;
