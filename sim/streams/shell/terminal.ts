// The line discipline between raw keystrokes and programs: echo, editing, Ctrl-C, Ctrl-D, and `\n` turned into
// `\r\n` on the way out. Keys typed while a program runs are echoed at once and kept for the next reader.
import { StringDecoder } from 'node:string_decoder';
import { Readable, Writable } from 'node:stream';
import type { Terminal, TerminalSize } from './process.ts';

const keys = {
  interrupt: '\u0003',
  endOfInput: '\u0004',
  backspace: '\b',
  delete: '\u007f',
  killLine: '\u0015',
  escape: '\u001b',
};

/**
 * A terminal over the raw streams of an exec or attach with `tty`. `size` is asked whenever a program wants to know.
 */
export function createTerminal(input: Readable | undefined, raw: Writable, size: () => TerminalSize): Terminal {
  const decoder = new StringDecoder('utf8');
  const committed: (string | undefined)[] = [];
  const interruptListeners = new Set<() => void>();
  let waiting: ((text: string | undefined) => void) | undefined;
  let line = '';
  let isInEscape = false;
  let isOver = false;

  const output = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      // A terminal that is gone takes everything and shows nothing.
      if (raw.destroyed || raw.writableEnded) done();
      else raw.write(onTheWay(chunk), () => done());
    },
  });

  function show(text: string): void {
    if (!raw.destroyed && !raw.writableEnded) raw.write(text);
  }

  function commit(text: string | undefined): void {
    const waiter = waiting;
    waiting = undefined;
    if (waiter === undefined) committed.push(text);
    else waiter(text);
  }

  /**
   * Hands over the next line, now or when it comes; undefined for the end of input. Returns the way to ask no longer.
   */
  function take(use: (text: string | undefined) => void): () => void {
    if (committed.length > 0) use(committed.shift());
    else if (isOver) use(undefined);
    else waiting = use;
    return () => {
      if (waiting === use) waiting = undefined;
    };
  }

  function press(key: string): void {
    if (isInEscape) {
      isInEscape = !/[A-Za-z~]/.test(key);
      return;
    }
    switch (key) {
      case keys.escape:
        isInEscape = true;
        return;
      case '\r':
      case '\n':
        show('\r\n');
        commit(`${line}\n`);
        line = '';
        return;
      case keys.backspace:
      case keys.delete:
        if (line !== '') show('\b \b');
        line = Array.from(line).slice(0, -1).join('');
        return;
      case keys.killLine:
        show('\b \b'.repeat(Array.from(line).length));
        line = '';
        return;
      case keys.interrupt:
        show('^C\r\n');
        line = '';
        if (interruptListeners.size === 0) commit('\n');
        for (const listener of interruptListeners) listener();
        return;
      case keys.endOfInput:
        commit(line === '' ? undefined : line);
        line = '';
        return;
      default:
        if (key < ' ' && key !== '\t') return;
        line += key;
        show(key);
    }
  }

  input?.on('data', (chunk: Buffer) => {
    for (const key of decoder.write(chunk)) press(key);
  });
  const finish = (): void => {
    if (isOver) return;
    isOver = true;
    if (line !== '') commit(line);
    line = '';
    waiting?.(undefined);
    waiting = undefined;
  };
  input?.on('end', finish);
  input?.on('close', finish);
  if (input === undefined) finish();

  return {
    output,
    size,
    readLine(prompt) {
      show(prompt);
      return new Promise((resolve) => take((text) => resolve(text?.replace(/\n$/, ''))));
    },
    openInput() {
      let ask = true;
      let cancel = (): void => undefined;
      const stdin = new Readable({
        // One line at a time, so that little is ever taken from the next reader.
        highWaterMark: 1,
        read() {
          if (!ask) return;
          ask = false;
          cancel = take((text) => {
            ask = true;
            stdin.push(text === undefined ? null : text);
          });
        },
      });
      return {
        stdin,
        release() {
          cancel();
          ask = false;
          if (stdin.readableLength > 0) committed.unshift(String(stdin.read()));
          stdin.destroy();
        },
      };
    },
    onInterrupt(listener) {
      interruptListeners.add(listener);
      return () => interruptListeners.delete(listener);
    },
  };
}

/** `\n` becomes `\r\n`, byte for byte otherwise. */
function onTheWay(chunk: Buffer): Buffer {
  if (!chunk.includes(10)) return chunk;
  return Buffer.from(chunk.toString('latin1').replaceAll('\n', '\r\n'), 'latin1');
}
