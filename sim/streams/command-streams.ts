// The streams of one exec or attach: stdin, stdout, stderr and the size of the terminal. Callers use them in the same
// way over WebSocket and over SPDY. At the end a `metav1.Status` is sent after all output, and the connection is
// closed.
import { Readable, Writable, type Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { statusOf, type CommandEnd } from './command-status.ts';
import { SpdySession } from './spdy/spdy-session.ts';
import type { SpdyStream } from './spdy/spdy-stream.ts';

/** The streams that the client requests in its query string. */
export interface WantedStreams {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** The streams of an open exec or attach. A stream that the client did not request is undefined. */
export interface CommandStreams {
  readonly stdin: Readable | undefined;
  readonly stdout: Writable | undefined;
  readonly stderr: Writable | undefined;
  readonly tty: boolean;
  /**
   * Calls the listener for each change of the terminal's size. Changes that arrived before this call are given to the
   * listener at once.
   */
  onResize(listener: (size: { readonly Width: number; readonly Height: number }) => void): void;
  /** Aborted when the client has disconnected. */
  readonly gone: AbortSignal;
  /** Sends the remaining output and a `metav1.Status` for `end`, and closes the connection. */
  finish(end: CommandEnd): Promise<void>;
}

/**
 * How many milliseconds a SPDY client has to open all its streams, as in kubelet. After that, the connection is closed.
 */
const streamCreationTimeoutMs = 30_000;

/**
 * Gives sizes of the terminal to one listener. `take` accepts the JSON text of a size; sizes before `listen` are kept.
 */
interface ResizeFeed {
  take(text: string): void;
  listen(listener: (size: { readonly Width: number; readonly Height: number }) => void): void;
}

function createResizeFeed(): ResizeFeed {
  const early: string[] = [];
  let listener: ((size: { readonly Width: number; readonly Height: number }) => void) | undefined;
  const tell = (text: string): void => {
    try {
      listener?.(JSON.parse(text) as { Width: number; Height: number });
    } catch {
      // An invalid size is ignored. (kubelet would also ignore all later sizes.)
    }
  };
  return {
    take: (text) => void (listener === undefined ? early.push(text) : tell(text)),
    listen(next) {
      listener = next;
      for (const text of early.splice(0)) tell(text);
    },
  };
}

/**
 * The channels of remotecommand over WebSocket: the first byte of each message. `close`, in v5 only, ends another
 * channel.
 */
const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const;

/**
 * Opens the streams of an exec or attach over WebSocket. The first byte of each message is the channel. `canEndInput`:
 * whether the client can end stdin while the connection stays open, as in v5 of the protocol but not in v4.
 */
export function openChannels(connection: WebSocket, wanted: WantedStreams, canEndInput: boolean): CommandStreams {
  const gone = new AbortController();
  const resizes = createResizeFeed();
  const stdin = wanted.stdin
    ? new Readable({ highWaterMark: 1024 * 1024, read: () => connection.resume(), destroy: (_, done) => done(null) })
    : undefined;
  const send: SendOnChannel = (channel, data, written) =>
    connection.send(Buffer.concat([Buffer.from([channel]), data]), () => written?.());

  connection.on('message', (message: Buffer) => {
    const [channel] = message;
    if (canEndInput && channel === channels.close) {
      if (message[1] === channels.stdin) stdin?.push(null);
      return;
    }
    const data = message.subarray(1);
    if (channel === channels.resize) resizes.take(data.toString());
    if (channel !== channels.stdin || stdin === undefined || stdin.destroyed || stdin.readableEnded) return;
    if (data.length > 0 && !stdin.push(data)) connection.pause();
  });
  connection.on('error', () => undefined);
  connection.on('close', () => {
    stdin?.push(null);
    gone.abort();
  });
  const stdout = wanted.stdout ? outlet(channels.stdout, send) : undefined;
  const stderr = wanted.stderr && !wanted.tty ? outlet(channels.stderr, send) : undefined;
  // As in kubelet and kube-apiserver, an empty message on the first output channel tells the client that the container
  // is connected.
  send(stdout ? channels.stdout : stderr ? channels.stderr : channels.error, Buffer.alloc(0));

  return {
    stdin,
    stdout,
    stderr,
    tty: wanted.tty,
    onResize: resizes.listen,
    gone: gone.signal,
    async finish(end) {
      // Input that the program did not read is dropped. Otherwise a full buffer would keep this side from reading the
      // client's close frame.
      stdin?.destroy();
      connection.resume();
      await Promise.all([stdout, stderr].map(flush));
      send(channels.error, Buffer.from(JSON.stringify(statusOf(end))));
      connection.close(1000);
    },
  };
}

type SendOnChannel = (channel: number, data: Buffer, written?: () => void) => void;

/** A stream whose bytes are sent on one channel, in messages of at most 32 KiB. */
function outlet(channel: number, send: SendOnChannel): Writable {
  return new Writable({
    highWaterMark: 64 * 1024,
    write: (chunk: Buffer, _encoding, done) => {
      const pieceBytes = 32 * 1024;
      for (let offset = 0; offset < chunk.length; offset += pieceBytes) {
        const isLast = offset + pieceBytes >= chunk.length;
        send(channel, chunk.subarray(offset, offset + pieceBytes), isLast ? done : undefined);
      }
      if (chunk.length === 0) done();
    },
  });
}

/**
 * Opens the streams of an exec or attach over SPDY: waits until the client has opened all of them. Resolves to
 * undefined when the client does not open them in time, or disconnects.
 */
export function openSpdyStreams(
  socket: Duplex,
  head: Buffer,
  wanted: WantedStreams,
): Promise<CommandStreams | undefined> {
  const expected = new Set(['error']);
  if (wanted.stdin) expected.add('stdin');
  if (wanted.stdout) expected.add('stdout');
  if (wanted.stderr && !wanted.tty) expected.add('stderr');
  if (wanted.tty) expected.add('resize');

  const { promise, resolve } = Promise.withResolvers<CommandStreams | undefined>();
  const gone = new AbortController();
  const streams = new Map<string, SpdyStream>();
  const timer = setTimeout(() => session.close(), streamCreationTimeoutMs);

  const session: SpdySession = new SpdySession(socket, {
    role: 'server',
    head,
    onStream: (stream) => {
      const type = stream.header('streamtype') ?? '';
      if (!expected.has(type) || streams.has(type)) return false;
      streams.set(type, stream);
      if (streams.size === expected.size) {
        clearTimeout(timer);
        resolve(commandStreams(session, streams, wanted.tty, gone.signal));
      }
      return true;
    },
    onClose: () => {
      clearTimeout(timer);
      gone.abort();
      resolve(undefined);
    },
  });
  return promise;
}

function commandStreams(
  session: SpdySession,
  streams: ReadonlyMap<string, SpdyStream>,
  tty: boolean,
  gone: AbortSignal,
): CommandStreams {
  const resizes = createResizeFeed();
  streams.get('resize')?.on('data', (chunk: Buffer) => {
    // Go clients send one JSON text and a newline for each size, but several may arrive in one chunk.
    for (const text of chunk.toString().split('\n')) if (text.trim() !== '') resizes.take(text);
  });
  const error = streams.get('error');
  error?.resume();
  for (const name of ['stdout', 'stderr']) streams.get(name)?.resume();
  return {
    stdin: streams.get('stdin'),
    stdout: streams.get('stdout'),
    stderr: streams.get('stderr'),
    tty,
    onResize: resizes.listen,
    gone,
    async finish(end) {
      await Promise.all(['stdout', 'stderr'].map((name) => flush(streams.get(name))));
      error?.write(JSON.stringify(statusOf(end)));
      await flush(error);
      session.close();
    },
  };
}

/** Ends a stream and waits until all bytes were written, or the stream was closed. */
function flush(stream: Writable | undefined): Promise<void> {
  if (stream === undefined || stream.destroyed || stream.writableFinished) return Promise.resolve();
  return new Promise((resolve) => {
    stream.once('finish', resolve);
    stream.once('close', resolve);
    stream.end();
  });
}
