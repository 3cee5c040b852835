// Everything a verb may touch of its process, passed in so that tests need no process. Results go to `print`
// (stdout, which others parse), everything for people goes to `note` (stderr).
import { homedir } from 'node:os';

/** The surroundings of one run of the command line. */
export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly homeDir: string;
  /** Unix milliseconds, for ages. */
  nowMs(): number;
  /** Writes to stdout; the text brings its own line feeds. */
  print(text: string): void;
  /** Writes to stderr; the text brings its own line feeds. */
  note(text: string): void;
}

/** The terminal of this very process. */
export function processTerminal(): Terminal {
  return {
    env: process.env,
    homeDir: homedir(),
    nowMs: () => Date.now(),
    print: (text) => void process.stdout.write(text),
    note: (text) => void process.stderr.write(text),
  };
}
