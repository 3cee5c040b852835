// The interface to the process (environment, clock, output) that commands are given, so that tests can run commands
// without a process. Results go to `print` (standard output, which programs may parse); messages for people go to
// `note` (standard error).
import { homedir } from 'node:os';

/** The interface to the process that commands are given: environment, clock and output. */
export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly homeDir: string;
  /** The present time in milliseconds since 1970, from which ages are computed. */
  nowMs(): number;
  /** Writes to standard output, without adding a newline. */
  print(text: string): void;
  /** Writes to standard error, without adding a newline. */
  note(text: string): void;
  /**
   * Width of standard error in columns; undefined when standard error is no terminal. Without the function, it counts
   * as no terminal.
   */
  columns?(): number | undefined;
}

/** A {@link Terminal} for the present process. */
export function processTerminal(): Terminal {
  return {
    env: process.env,
    homeDir: homedir(),
    nowMs: () => Date.now(),
    print: (text) => void process.stdout.write(text),
    note: (text) => void process.stderr.write(text),
    columns: () => (process.stderr.isTTY ? process.stderr.columns : undefined),
  };
}
