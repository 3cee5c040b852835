// A program that runs in a simulated container, with its arguments and streams. A program waits after each write until
// the reader has taken the data, so that large outputs are not buffered.
import type { Readable, Writable } from 'node:stream';
import type { Container } from './containers.ts';
import type { Terminal } from './terminal.ts';

/** What a program gets when it runs. */
export interface Process {
  /** The words of the command. `argv[0]` is the name of the program. */
  readonly argv: readonly string[];
  readonly container: Container;
  readonly environment: ReadonlyMap<string, string>;
  readonly workingDirectory: string;
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
  /** The terminal to which the streams belong; undefined when the client requested none. */
  readonly terminal: Terminal | undefined;
  /** Aborted when the client has disconnected, or Ctrl-C was pressed. */
  readonly signal: AbortSignal;
  /** True: `sleep` does not wait, because only the output is needed. */
  readonly isInstant?: boolean;
}

/**
 * A program. Resolves to its exit code. When it throws an Error, `name: message` is printed to stderr and the exit code
 * is 1.
 */
export type Program = (process: Process) => Promise<number>;

/**
 * The program of an exec does not exist. The message is that of the container runtime; a shell prints its own message.
 */
export class ProgramNotFound extends Error {
  constructor(name: string) {
    super(
      `OCI runtime exec failed: exec failed: unable to start container process: exec: ${JSON.stringify(name)}: ` +
        'executable file not found in $PATH: unknown',
    );
    this.name = 'ProgramNotFound';
  }
}

/** Writes data, and waits until the reader has taken the data or the stream is closed. */
export function put(stream: Writable, data: Buffer | string): Promise<void> {
  if (stream.destroyed || stream.writableEnded) return Promise.resolve();
  return new Promise((resolve) => {
    stream.write(data, () => resolve());
  });
}

/** Reads until the input ends or the signal is aborted. */
export async function readAll(stream: Readable, signal: AbortSignal): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of chunksOf(stream, signal)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/**
 * Yields chunks until the input ends or the signal is aborted. The stream stays open, even when the caller leaves its
 * loop early, so that another program can read the rest.
 */
export async function* chunksOf(stream: Readable, signal: AbortSignal): AsyncGenerator<Buffer> {
  let wake = (): void => undefined;
  const onChange = (): void => wake();
  const names = ['readable', 'end', 'close', 'error'] as const;
  for (const name of names) stream.on(name, onChange);
  signal.addEventListener('abort', onChange);
  try {
    while (!signal.aborted) {
      const chunk = stream.read() as Buffer | string | null;
      if (chunk !== null) yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
      else if (stream.readableEnded || stream.destroyed) return;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    for (const name of names) stream.off(name, onChange);
    signal.removeEventListener('abort', onChange);
  }
}

/** Resolves after `delayMs` milliseconds, or when the signal is aborted. */
export function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(done, delayMs);
    function done(): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    }
    signal.addEventListener('abort', done);
  });
}
