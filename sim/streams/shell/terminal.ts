// The line discipline of a terminal: echo, backspace, Ctrl-C, Ctrl-D, and `\r\n` for each `\n` of the output. What is
// typed while no program reads is echoed at once, and the next program that reads gets it.
import { StringDecoder } from 'node:string_decoder';
import { Writable, type Readable } from 'node:stream';

const keys = { interrupt: '\u0003', endOfInput: '\u0004', backspace: '\b', delete: '\u007f', escape: '\u001b' };

/** The size of a terminal, in characters. */
export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/** A terminal on the raw streams of an exec or attach with `tty`. `size` is called when a program needs the size. */
export class Terminal {
  readonly output: Writable;
  readonly size: () => TerminalSize;
  /** Called at Ctrl-C. Undefined while a shell shows its prompt: it gets an empty line. */
  onInterrupt: (() => void) | undefined;
  readonly #raw: Writable;
  /** Lines that were typed and not read yet; undefined is the end of the input. */
  readonly #typed: (string | undefined)[] = [];
  #waiting: ((line: string | undefined) => void) | undefined;
  #line = '';
  #isInEscape = false;
  #isOver = false;

  constructor(input: Readable | undefined, raw: Writable, size: () => TerminalSize) {
    this.size = size;
    this.#raw = raw;
    this.output = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        // When the client has disconnected, output is dropped, so that programs do not wait.
        if (raw.destroyed || raw.writableEnded) done();
        else raw.write(Buffer.from(chunk.toString('latin1').replaceAll('\n', '\r\n'), 'latin1'), () => done());
      },
    });
    const decoder = new StringDecoder('utf8');
    input?.on('data', (chunk: Buffer) => {
      for (const key of decoder.write(chunk)) this.#press(key);
    });
    input?.on('close', () => this.#end());
    input?.on('end', () => this.#end());
    if (input === undefined) this.#end();
  }

  /**
   * Waits for a line and returns it with its newline. Returns undefined after Ctrl-D on an empty line, when the input
   * has ended, and when the signal is aborted.
   */
  readLine(signal: AbortSignal): Promise<string | undefined> {
    if (this.#typed.length > 0) return Promise.resolve(this.#typed.shift());
    if (this.#isOver || signal.aborted) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const stop = (): void => this.#commit(undefined);
      signal.addEventListener('abort', stop);
      this.#waiting = (line) => {
        signal.removeEventListener('abort', stop);
        resolve(line);
      };
    });
  }

  /** The input for one program. It takes a line only when the program reads, and leaves all others to the next one. */
  async *lines(signal: AbortSignal): AsyncGenerator<Buffer> {
    for (let line: string | undefined; (line = await this.readLine(signal)) !== undefined;) yield Buffer.from(line);
  }

  #show(text: string): void {
    if (!this.#raw.destroyed && !this.#raw.writableEnded) this.#raw.write(text);
  }

  #press(key: string): void {
    // Arrow keys and the like have no effect: what they send ends with a letter or `~`.
    if (this.#isInEscape || key === keys.escape) {
      this.#isInEscape = !/[A-Za-z~]/.test(key);
    } else if (key === '\r' || key === '\n') {
      this.#show('\r\n');
      this.#commit(`${this.#line}\n`);
    } else if (key === keys.backspace || key === keys.delete) {
      if (this.#line !== '') this.#show('\b \b');
      this.#line = Array.from(this.#line).slice(0, -1).join('');
    } else if (key === keys.interrupt) {
      this.#show('^C\r\n');
      this.#line = '';
      if (this.onInterrupt === undefined) this.#commit('\n');
      else this.onInterrupt();
    } else if (key === keys.endOfInput) {
      this.#commit(this.#line === '' ? undefined : this.#line);
    } else if (key >= ' ' || key === '\t') {
      this.#line += key;
      this.#show(key);
    }
  }

  #commit(line: string | undefined): void {
    const waiter = this.#waiting;
    this.#waiting = undefined;
    this.#line = '';
    if (waiter === undefined) this.#typed.push(line);
    else waiter(line);
  }

  #end(): void {
    if (this.#line !== '') this.#commit(this.#line);
    this.#isOver = true;
    if (this.#waiting !== undefined) this.#commit(undefined);
  }
}
