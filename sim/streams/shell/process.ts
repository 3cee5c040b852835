// A program that runs in a simulated container, with its arguments and streams. A program waits after each write until
// the reader has taken the data, so that large outputs are not buffered.
import { Writable } from 'node:stream';
import type { Container } from './containers.ts';
import type { Terminal } from './terminal.ts';

/** What a program gets when it runs. */
export interface Process {
  /** The words of the command. `argv[0]` is the name of the program. */
  readonly argv: readonly string[];
  readonly container: Container;
  readonly workingDirectory: string;
  readonly stdin: AsyncIterable<Buffer>;
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

/** Writes data, and waits until the reader has taken the data or the stream is closed. */
export function put(stream: Writable, data: Buffer | string): Promise<void> {
  if (stream.destroyed || stream.writableEnded) return Promise.resolve();
  return new Promise((resolve) => {
    stream.write(data, () => resolve());
  });
}

/** A stream whose bytes are lost. */
export function nowhere(): Writable {
  return new Writable({ write: (_chunk, _encoding, done) => done() });
}
