// kubectl on a pseudo terminal of its own, by util-linux `script`, with a size that can be changed while it runs. A
// terminal echoes until kubectl has made it raw, so nothing may be typed before that.
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { eventually } from '../../site/polling.ts';
import type { RunOptions, Running, Side } from '../kubectl/sides.ts';

/** A program on a terminal. */
export interface Terminal extends Running {
  type(text: string): void;
  /** Sets the size; the kernel sends SIGWINCH to the program. */
  resize(rows: number, columns: number): void;
  /** Resolves when the program has switched off echo and line editing: it reads keys itself from then on. */
  raw(): Promise<void>;
}

/** Starts the side's kubectl on a terminal of 33 rows and 101 columns. */
export function startInTerminal(
  side: Side,
  kubectl: string,
  args: readonly string[],
  options: RunOptions = {},
): Terminal {
  const ttyFile = join(side.dir, `tty-${randomUUID()}`);
  const quoted = args.map((arg) => `'${arg.replaceAll("'", `'\\''`)}'`).join(' ');
  const command = `tty > "$TTY_FILE"; stty rows 33 cols 101; exec "$KUBECTL" ${quoted}`;
  const running = side.start(['-qec', command, '/dev/null'], {
    ...options,
    binary: 'script',
    env: { ...options.env, KUBECTL: kubectl, TTY_FILE: ttyFile },
  });
  const { child } = running;
  return {
    ...running,
    type: (text) => void child.stdin!.write(text),
    resize(rows, columns) {
      const tty = readFileSync(ttyFile, 'utf8').trim();
      execFileSync('stty', ['-F', tty, 'rows', String(rows), 'cols', String(columns)]);
    },
    async raw() {
      await eventually('a raw terminal', () => {
        const tty = existsSync(ttyFile) ? readFileSync(ttyFile, 'utf8').trim() : '';
        return tty !== '' && execFileSync('stty', ['-F', tty, '-a'], { encoding: 'utf8' }).includes('-icanon');
      });
    },
  };
}
