// The line discipline of a terminal: echo, line editing, Ctrl-C, Ctrl-D, and `\r\n` for each `\n` of the output. What
// is typed while no program reads is echoed at once, and the next program that reads gets it.
import { StringDecoder } from 'node:string_decoder';
import { Readable, Writable } from 'node:stream';

const keys = {
  interrupt: '\u0003',
  endOfInput: '\u0004',
  backspace: '\b',
  delete: '\u007f',
  killLine: '\u0015',
  escape: '\u001b',
};

/** The size of a terminal, in characters. */
export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/**
 * A terminal on the raw streams of an exec or attach with `tty`. `size` is called whenever a program needs the size.
 * Programs read whole lines.
 */
export class Terminal {
  readonly output: Writable;
  readonly size: () => TerminalSize;
  readonly #raw: Writable;
  readonly #lines = new LineQueue();
  readonly #interruptListeners = new Set<() => void>();
  #line = '';
  #isInEscape = false;

  constructor(input: Readable | undefined, raw: Writable, size: () => TerminalSize) {
    this.size = size;
    this.#raw = raw;
    this.output = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        // When the client has disconnected, output is dropped, so that programs do not wait.
        if (raw.destroyed || raw.writableEnded) done();
        else raw.write(onTheWay(chunk), () => done());
      },
    });
    const decoder = new StringDecoder('utf8');
    input?.on('data', (chunk: Buffer) => {
      for (const key of decoder.write(chunk)) this.#press(key);
    });
    const finish = (): void => {
      this.#lines.end(this.#line);
      this.#line = '';
    };
    input?.on('end', finish);
    input?.on('close', finish);
    if (input === undefined) finish();
  }

  /**
   * Shows a prompt, waits for a line and returns it without its newline. Returns undefined after Ctrl-D on an empty
   * line, and when the input has ended.
   */
  readLine(prompt: string): Promise<string | undefined> {
    this.#show(prompt);
    return new Promise((resolve) => this.#lines.take((text) => resolve(text?.replace(/\n$/, ''))));
  }

  /** Opens the terminal's input for one program. `release` closes it and leaves unread input for the next program. */
  openInput(): { readonly stdin: Readable; release(): void } {
    return openInput(this.#lines);
  }

  /** Calls the listener at every Ctrl-C. Returns a function that removes the listener. */
  onInterrupt(listener: () => void): () => void {
    this.#interruptListeners.add(listener);
    return () => this.#interruptListeners.delete(listener);
  }

  #show(text: string): void {
    if (!this.#raw.destroyed && !this.#raw.writableEnded) this.#raw.write(text);
  }

  #press(key: string): void {
    if (this.#isInEscape) {
      this.#isInEscape = !/[A-Za-z~]/.test(key);
      return;
    }
    switch (key) {
      case keys.escape:
        this.#isInEscape = true;
        return;
      case '\r':
      case '\n':
        this.#show('\r\n');
        this.#commit(`${this.#line}\n`);
        return;
      case keys.backspace:
      case keys.delete:
        if (this.#line !== '') this.#show('\b \b');
        this.#line = Array.from(this.#line).slice(0, -1).join('');
        return;
      case keys.killLine:
        this.#show('\b \b'.repeat(Array.from(this.#line).length));
        this.#line = '';
        return;
      case keys.interrupt:
        this.#interrupt();
        return;
      case keys.endOfInput:
        this.#commit(this.#line === '' ? undefined : this.#line);
        return;
      default:
        if (key < ' ' && key !== '\t') return;
        this.#line += key;
        this.#show(key);
    }
  }

  #commit(text: string | undefined): void {
    this.#lines.commit(text);
    this.#line = '';
  }

  #interrupt(): void {
    this.#show('^C\r\n');
    this.#line = '';
    if (this.#interruptListeners.size === 0) this.#lines.commit('\n');
    for (const listener of this.#interruptListeners) listener();
  }
}

/**
 * The lines that were typed and not read yet. Each line is given to one reader; undefined stands for the end of the
 * input.
 */
class LineQueue {
  readonly #committed: (string | undefined)[] = [];
  #waiting: ((text: string | undefined) => void) | undefined;
  #isOver = false;

  commit(text: string | undefined): void {
    const waiter = this.#waiting;
    this.#waiting = undefined;
    if (waiter === undefined) this.#committed.push(text);
    else waiter(text);
  }

  /** Passes the next line to `use`, now or when it is typed. Returns a function that stops waiting for the line. */
  take(use: (text: string | undefined) => void): () => void {
    if (this.#committed.length > 0) use(this.#committed.shift());
    else if (this.#isOver) use(undefined);
    else this.#waiting = use;
    return () => {
      if (this.#waiting === use) this.#waiting = undefined;
    };
  }

  /** Puts text that a reader did not use back to the front of the queue, so that the next reader gets it. */
  putBack(text: string): void {
    this.#committed.unshift(text);
  }

  /** Ends the input. `rest`, an unfinished line, becomes the last line unless it is ''. */
  end(rest: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (rest !== '') this.commit(rest);
    this.#waiting?.(undefined);
    this.#waiting = undefined;
  }
}

/** Makes a stream of the typed lines, as stdin for one program. */
function openInput(lines: LineQueue): ReturnType<Terminal['openInput']> {
  let ask = true;
  let cancel = (): void => undefined;
  const stdin = new Readable({
    // The stream reads only one line ahead, so that it takes as little as possible that the next program should get.
    highWaterMark: 1,
    read() {
      if (!ask) return;
      ask = false;
      cancel = lines.take((text) => {
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
      if (stdin.readableLength > 0) lines.putBack(String(stdin.read()));
      stdin.destroy();
    },
  };
}

/** Replaces each `\n` by `\r\n`. All other bytes stay the same. */
function onTheWay(chunk: Buffer): Buffer {
  if (!chunk.includes(10)) return chunk;
  return Buffer.from(chunk.toString('latin1').replaceAll('\n', '\r\n'), 'latin1');
}
