import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { describe, it } from 'node:test';
import { Terminal } from './terminal.ts';

interface Desk {
  readonly terminal: Terminal;
  readonly keyboard: PassThrough;
  /** Everything shown so far. */
  shown(): string;
  type(keys: string): Promise<void>;
}

function desk(): Desk {
  const keyboard = new PassThrough();
  const screen = new PassThrough();
  let text = '';
  screen.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const terminal = new Terminal(keyboard, screen, () => ({ columns: 80, rows: 24 }));
  return {
    terminal,
    keyboard,
    shown: () => text,
    type: async (keys) => {
      keyboard.write(keys);
      await new Promise(setImmediate);
    },
  };
}

describe('a terminal', () => {
  it('edits lines: backspace over wide characters, Ctrl-U, arrow keys ignored', async () => {
    const { terminal, type, shown } = desk();
    const line = terminal.readLine('> ');
    await type('grüx\u007fß\u001b[A\u001b[1;5C!\r');
    assert.equal(await line, 'grüß!');
    assert.equal(shown(), '> grüx\b \bß!\r\n');
    const next = terminal.readLine('> ');
    await type('wrong\u0015right\n');
    assert.equal(await next, 'right');
  });

  it('turns newlines of programs into carriage return and newline', async () => {
    const { terminal, shown } = desk();
    await new Promise((resolve) => terminal.output.write('a\nb\n', resolve));
    assert.equal(shown(), 'a\r\nb\r\n');
  });

  it('ends input at Ctrl-D on an empty line only, and when the keyboard is gone', async () => {
    const { terminal, keyboard, type } = desk();
    const first = terminal.readLine('');
    await type('half\u0004');
    assert.equal(await first, 'half');
    const second = terminal.readLine('');
    await type('\u0004');
    assert.equal(await second, undefined);
    const third = terminal.readLine('');
    keyboard.end('rest');
    assert.equal(await third, 'rest');
    assert.equal(await terminal.readLine(''), undefined);
  });

  it('Ctrl-C goes to who listens, else it starts a new line', async () => {
    const { terminal, type, shown } = desk();
    let interrupts = 0;
    const ignore = terminal.onInterrupt(() => (interrupts += 1));
    await type('lost\u0003');
    assert.equal(interrupts, 1);
    ignore();
    const line = terminal.readLine('$ ');
    await type('x\u0003');
    assert.equal(await line, '');
    assert.match(shown(), /lost\^C\r\n\$ x\^C\r\n$/);
  });

  it('gives what a program did not read to the next reader, whenever it was released', async () => {
    const { terminal, type } = desk();
    await type('one\rtwo\rthree\r');
    const program = terminal.openInput();
    assert.equal(String(program.stdin.read()), 'one\n', 'one line at a time');
    program.release();
    const other = terminal.openInput();
    other.stdin.on('readable', () => undefined);
    await new Promise(setImmediate);
    assert.ok(other.stdin.readableLength > 0);
    other.release();
    assert.equal(await terminal.readLine(''), 'two', 'released with the line in its buffer');
    const last = terminal.openInput();
    last.release();
    last.release();
    assert.equal(await terminal.readLine(''), 'three', 'released without reading');
    const waiting = terminal.openInput();
    waiting.stdin.read();
    waiting.release();
    await type('four\r');
    assert.equal(await terminal.readLine(''), 'four', 'released while waiting');
  });
});
