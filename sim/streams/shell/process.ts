// A program running in a pretend container: its arguments, its streams, its end. Every write waits for the reader,
// so that ten megabytes of output never sit in memory twice.
import type { Readable, Writable } from 'node:stream';
import type { Container } from './containers.ts';

/** Size of a terminal in characters. */
export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/** A terminal with line editing: what a program in its foreground reads are whole lines. */
export interface Terminal {
  size(): TerminalSize;
  /**
   * Shows the prompt and waits for a line without its newline; undefined at Ctrl-D on an empty line and when input is
   * over.
   */
  readLine(prompt: string): Promise<string | undefined>;
  /** Input for one program; when released, unread input is left to the next reader. */
  openInput(): { readonly stdin: Readable; release(): void };
  /** Calls the listener at every Ctrl-C. Returns a function that ends that. */
  onInterrupt(listener: () => void): () => void;
  readonly output: Writable;
}

/** What a program gets. */
export interface Process {
  /** `argv[0]` is the name it was called by. */
  readonly argv: readonly string[];
  readonly container: Container;
  readonly environment: ReadonlyMap<string, string>;
  readonly workingDirectory: string;
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
  /** Set when the streams are a terminal's. */
  readonly terminal: Terminal | undefined;
  /** Aborted when the caller went away or pressed Ctrl-C. */
  readonly signal: AbortSignal;
  /** `sleep` takes no time: only the output is wanted. */
  readonly isInstant?: boolean;
}

/** A program: resolves with its exit code. It may throw FileFault or Error: printed as `name: message`, exit code 1. */
export type Program = (process: Process) => Promise<number>;

/** The program asked for does not exist: the container runtime itself reports it. */
export class ProgramNotFound extends Error {
  constructor(name: string) {
    super(
      `OCI runtime exec failed: exec failed: unable to start container process: exec: ${JSON.stringify(name)}: ` +
        'executable file not found in $PATH: unknown',
    );
    this.name = 'ProgramNotFound';
  }
}

/** Writes and waits until the reader took it, or is gone. */
export function put(stream: Writable, data: Buffer | string): Promise<void> {
  if (stream.destroyed || stream.writableEnded) return Promise.resolve();
  return new Promise((resolve) => {
    stream.write(data, () => resolve());
  });
}

/** Everything up to the end of input, or what came until the signal. */
export async function readAll(stream: Readable, signal: AbortSignal): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of chunksOf(stream, signal)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Chunks up to the end of input, or until the signal. Leaves the stream open, also when the loop is left early. */
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

/** Waits, or less when the signal comes. */
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
