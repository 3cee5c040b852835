// Two faults that spoil the body of an answer: it is cut after some bytes, or sent slowly. They replace `write` and
// `end` of one response. Before a connection is cut, the bytes so far are written to it.
import type { ServerResponse } from 'node:http';
import type { Http2ServerResponse, ServerHttp2Stream } from 'node:http2';

type Callback = (error?: Error | null) => void;

/** The methods of a response that a fault replaces. All kinds of responses have them. */
interface BodySink {
  write(chunk: unknown, encoding?: unknown, callback?: unknown): boolean;
  end(chunk?: unknown, encoding?: unknown, callback?: unknown): unknown;
  emit(event: string): boolean;
}

/**
 * Sends the first `afterBytes` bytes of the body and then calls `breakOff`. It is also called when the body is shorter.
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

/** Sends the body in parts, ten per second, with at most `bytesPerSecond` bytes in total each second. */
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

/** Reads the arguments of Node's `write(chunk?, encoding?, callback?)`, any of which may be missing. */
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

/** The response object of a request, for HTTP/1.1 or HTTP/2. */
export type FaultedResponse = ServerResponse | Http2ServerResponse | ServerHttp2Stream;
