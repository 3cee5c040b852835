// The two faults that let an answer begin and spoil its body: cut after so many bytes, and sent slowly. They replace
// `write` and `end` of one response object. The bytes before the cut leave the process before the connection is
// broken.
import type { ServerResponse } from 'node:http';
import type { Http2ServerResponse, ServerHttp2Stream } from 'node:http2';

type Callback = (error?: Error | null) => void;

/** The part of a response that a body fault replaces; all three response kinds have it. */
interface BodySink {
  write(chunk: unknown, encoding?: unknown, callback?: unknown): boolean;
  end(chunk?: unknown, encoding?: unknown, callback?: unknown): unknown;
  emit(event: string): boolean;
}

/**
 * Lets `afterBytes` bytes of body through, then calls `breakOff` once they are written, also when the body was shorter.
 */
export function truncateBody(response: FaultedResponse, afterBytes: number, breakOff: () => void): void {
  const sink = response as unknown as BodySink;
  const write = sink.write.bind(sink);
  let left = afterBytes;
  let isCut = false;
  const put = (...args: readonly unknown[]): void => {
    const { bytes, callback } = readArguments(args);
    if (bytes !== undefined && !isCut) {
      const part = bytes.subarray(0, left);
      left -= part.length;
      isCut = left === 0;
      write(part, undefined, isCut ? breakOff : undefined);
    }
    callback?.();
  };
  sink.write = (...args) => {
    put(...args);
    return true;
  };
  sink.end = (...args) => {
    put(...args);
    if (!isCut) write(Buffer.alloc(0), undefined, breakOff);
    isCut = true;
    return response;
  };
}

/** Sends the body in ten pieces a second, together at most `bytesPerSecond`. */
export function paceBody(
  response: FaultedResponse,
  bytesPerSecond: number,
  later: (delayMs: number, run: () => void) => void,
): void {
  const tickMs = 100;
  const bytesPerTick = Math.max(1, Math.round((bytesPerSecond * tickMs) / 1000));
  const queueLimit = 64 * 1024;
  const sink = response as unknown as BodySink;
  const write = sink.write.bind(sink);
  const end = sink.end.bind(sink);
  let queue = Buffer.alloc(0);
  let isEnding = false;
  let isTicking = false;
  let owesDrain = false;

  const tick = (): void => {
    isTicking = false;
    const part = queue.subarray(0, bytesPerTick);
    queue = queue.subarray(part.length);
    if (part.length > 0) write(part);
    if (owesDrain && queue.length < queueLimit) {
      owesDrain = false;
      sink.emit('drain');
    }
    if (queue.length > 0) start();
    else if (isEnding) end();
  };
  const start = (): void => {
    if (isTicking) return;
    isTicking = true;
    later(tickMs, tick);
  };
  const put = (args: readonly unknown[]): void => {
    const { bytes, callback } = readArguments(args);
    if (bytes !== undefined) queue = Buffer.concat([queue, bytes]);
    start();
    callback?.();
  };
  sink.write = (...args) => {
    put(args);
    owesDrain = queue.length >= queueLimit;
    return !owesDrain;
  };
  sink.end = (...args) => {
    isEnding = true;
    put(args);
    return response;
  };
}

/** Node's `(chunk?, encoding?, callback?)` in all its forms. */
function readArguments(args: readonly unknown[]): { readonly bytes?: Buffer; readonly callback?: Callback } {
  const callback = args.find((arg): arg is Callback => typeof arg === 'function');
  const [chunk, encoding] = args;
  const rest = callback === undefined ? {} : { callback };
  if (typeof chunk === 'string') {
    const name = typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8';
    return { bytes: Buffer.from(chunk, name), ...rest };
  }
  return chunk instanceof Uint8Array ? { bytes: Buffer.from(chunk), ...rest } : rest;
}

/** Where an answer can be written: exactly what the listener holds for the request; undefined for an upgrade. */
export type FaultedResponse = ServerResponse | Http2ServerResponse | ServerHttp2Stream;
