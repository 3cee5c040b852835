// The programs in a simulated container, each with the main features of the real one. Exit codes and messages follow
// busybox, because scripts depend on them. An option that is not supported is an error.
import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import { resolvePath, type FileNode } from './container-files.ts';
import { chunksOf, pause, put, readAll, type Process, type Program } from './process.ts';
import { tar } from './program-tar.ts';

/** The programs by name. `sh` is not among them, because shell.ts imports this file. */
export const programs: Readonly<Record<string, Program>> = {
  cat,
  date: async (process) => (await put(process.stdout, `${new Date().toUTCString().replace('GMT', 'UTC')}\n`), 0),
  dd,
  df: async (process) => {
    const lines =
      'Filesystem           1K-blocks      Used Available Use% Mounted on\n' +
      'overlay                 262144       128    262016   0% /\n';
    await put(process.stdout, lines);
    return 0;
  },
  echo,
  env: printEnvironment,
  false: async () => 1,
  head,
  hostname: async (process) => (await put(process.stdout, `${process.container.hostname}\n`), 0),
  id: async (process) => (await put(process.stdout, 'uid=0(root) gid=0(root) groups=0(root)\n'), 0),
  ls,
  md5sum: (process) => digest(process, 'md5'),
  mkdir,
  printenv: printEnvironment,
  pwd: async (process) => (await put(process.stdout, `${process.workingDirectory}\n`), 0),
  rm,
  seq,
  sha256sum: (process) => digest(process, 'sha256'),
  sleep,
  stty,
  tar,
  tee,
  test,
  '[': test,
  touch: async (process) => {
    const { files } = process.container;
    for (const path of operands(process)) files.append(at(process, path), Buffer.alloc(0));
    return 0;
  },
  true: async () => 0,
  tty: async (process) => {
    const hasTerminal = process.terminal?.size() !== undefined;
    await put(process.stdout, hasTerminal ? '/dev/pts/0\n' : 'not a tty\n');
    return hasTerminal ? 0 : 1;
  },
  uname: async (process) => {
    const isAll = process.argv.includes('-a');
    await put(
      process.stdout,
      isAll ? `Linux ${process.container.hostname} 6.12.0-simulated x86_64 Linux\n` : 'Linux\n',
    );
    return 0;
  },
  wc,
  whoami: async (process) => (await put(process.stdout, 'root\n'), 0),
};

/** Makes a path of an argument absolute. */
export function at(process: Process, path: string): string {
  return resolvePath(process.workingDirectory, path);
}

/**
 * The arguments that are not options.
 * @param known the supported options, as single letters
 * @throws Error for any other option
 */
export function operands(process: Process, known = ''): string[] {
  const rest: string[] = [];
  let isOver = false;
  for (const argument of process.argv.slice(1)) {
    if (isOver || !argument.startsWith('-') || argument === '-') rest.push(argument);
    else if (argument === '--') isOver = true;
    else if (!Array.from(argument.slice(1)).every((letter) => known.includes(letter)))
      throw new Error(`option ${argument} is not simulated`);
  }
  return rest;
}

function hasOption(process: Process, letter: string): boolean {
  return process.argv.slice(1).some((argument) => /^-[a-zA-Z0-9]+$/.test(argument) && argument.includes(letter));
}

/** The bytes of a file. The path `-` means stdin, and /dev/null is empty. */
async function contents(process: Process, path: string): Promise<Buffer> {
  if (path === '-') return readAll(process.stdin, process.signal);
  if (path === '/dev/null') return Buffer.alloc(0);
  return process.container.files.read(at(process, path));
}

async function complain(process: Process, subject: string, error: unknown): Promise<void> {
  await put(process.stderr, `${process.argv[0]}: ${subject}: ${(error as Error).message}\n`);
}

async function cat(process: Process): Promise<number> {
  const paths = operands(process, 'u');
  let status = 0;
  for (const path of paths.length === 0 ? ['-'] : paths) {
    try {
      if (path === '-')
        for await (const chunk of chunksOf(process.stdin, process.signal)) await put(process.stdout, chunk);
      else await put(process.stdout, await contents(process, path));
    } catch (error) {
      await put(process.stderr, `cat: can't open '${path}': ${(error as Error).message}\n`);
      status = 1;
    }
  }
  return status;
}

async function echo(process: Process): Promise<number> {
  const words = process.argv.slice(1);
  let isRaw = true;
  let end = '\n';
  while (/^-[ne]+$/.test(words[0] ?? '')) {
    const option = words.shift() ?? '';
    if (option.includes('n')) end = '';
    if (option.includes('e')) isRaw = false;
  }
  const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', '\\': '\\', a: '\u0007', e: '\u001b' };
  const text = words.join(' ');
  const plain = isRaw ? text : text.replaceAll(/\\([ntr\\ae])/g, (_match, letter: string) => escapes[letter] ?? letter);
  await put(process.stdout, plain + end);
  return 0;
}

async function printEnvironment(process: Process): Promise<number> {
  const names = operands(process);
  if (names.length > 0 && process.argv[0] === 'env') throw new Error('running a program is not simulated');
  const values = names.length > 0 ? names.map((name) => process.environment.get(name)) : undefined;
  const lines = values ?? [...process.environment].map(([name, value]) => `${name}=${value}`);
  for (const line of lines) if (line !== undefined) await put(process.stdout, `${line}\n`);
  return lines.includes(undefined) ? 1 : 0;
}

/** Parses a number of bytes such as `10`, `10k` or `10M`. */
function byteCount(text: string): number {
  const match = /^(\d+)([kKMG]?)B?$/.exec(text);
  if (match === null) throw new Error(`invalid number '${text}'`);
  return (
    Number(match[1]) * { '': 1, k: 1024, K: 1024, M: 1024 ** 2, G: 1024 ** 3 }[match[2] as '' | 'k' | 'K' | 'M' | 'G']
  );
}

async function head(process: Process): Promise<number> {
  const words = process.argv.slice(1);
  let lines = 10;
  let bytes: number | undefined;
  const paths: string[] = [];
  while (words.length > 0) {
    const word = words.shift() ?? '';
    const match = /^-([cn])(.*)$/.exec(word);
    if (match === null) paths.push(word);
    else if (match[1] === 'c') bytes = byteCount(match[2] === '' ? (words.shift() ?? '') : (match[2] ?? ''));
    else lines = byteCount(match[2] === '' ? (words.shift() ?? '') : (match[2] ?? ''));
  }
  const [path = '-'] = paths;
  if (path === '/dev/zero' && bytes !== undefined) return zeros(process, bytes);
  const data = await contents(process, path);
  let end = bytes ?? 0;
  const wantedLines = bytes === undefined ? lines : 0;
  for (let i = 0; i < wantedLines && end < data.length; i++) {
    const newline = data.indexOf(10, end);
    end = newline === -1 ? data.length : newline + 1;
  }
  await put(process.stdout, data.subarray(0, end));
  return 0;
}

async function zeros(process: Process, bytes: number): Promise<number> {
  const piece = Buffer.alloc(64 * 1024);
  for (let left = bytes; left > 0 && !process.signal.aborted; left -= piece.length) {
    await put(process.stdout, piece.subarray(0, left));
  }
  return 0;
}

async function dd(process: Process): Promise<number> {
  const named = new Map(
    process.argv.slice(1).map((word) => [word.split('=', 1)[0] ?? '', word.slice(word.indexOf('=') + 1)]),
  );
  const blockBytes = byteCount(named.get('bs') ?? '512');
  const limit = named.has('count') ? blockBytes * byteCount(named.get('count') ?? '') : undefined;
  const source = named.get('if') ?? '-';
  if (source === '/dev/zero' && limit === undefined) throw new Error('count is needed with /dev/zero');
  const data = source === '/dev/zero' ? Buffer.alloc(limit ?? 0) : (await contents(process, source)).subarray(0, limit);
  const target = named.get('of');
  if (target === undefined) await put(process.stdout, data);
  else process.container.files.write(at(process, target), Buffer.from(data));
  const blocks = `${Math.floor(data.length / blockBytes)}+${data.length % blockBytes === 0 ? 0 : 1}`;
  await put(process.stderr, `${blocks} records in\n${blocks} records out\n`);
  return 0;
}

function permissions(node: FileNode): string {
  const type = { file: '-', directory: 'd', symlink: 'l' }[node.kind];
  const bits = [...'rwxrwxrwx'].map((letter, i) => ((node.mode >> (8 - i)) & 1 ? letter : '-'));
  return type + bits.join('');
}

async function ls(process: Process): Promise<number> {
  const { files } = process.container;
  const paths = operands(process, '1alAdh');
  let status = 0;
  const line = (name: string, node: FileNode | undefined): string => {
    if (!hasOption(process, 'l') || node === undefined) return `${name}\n`;
    const size = node.kind === 'file' ? node.data.length : 4096;
    const day = new Date(node.modifiedAtMs).toUTCString();
    const date = `${day.slice(8, 11)} ${day.slice(5, 7)} ${day.slice(17, 22)}`;
    const target = node.kind === 'symlink' ? ` -> ${node.target}` : '';
    return `${permissions(node)}    1 root     root      ${String(size).padStart(8)} ${date} ${name}${target}\n`;
  };
  for (const path of paths.length === 0 ? ['.'] : paths) {
    const absolute = at(process, path);
    const node = files.find(absolute);
    if (node === undefined) {
      await complain(process, path, new Error('No such file or directory'));
      status = 1;
    } else if (node.kind !== 'directory' || hasOption(process, 'd')) {
      await put(process.stdout, line(path, files.findLink(absolute)));
    } else {
      if (paths.length > 1) await put(process.stdout, `${path}:\n`);
      const names = files.list(absolute).filter((name) => !name.startsWith('.') || hasOption(process, 'a'));
      for (const name of names) await put(process.stdout, line(name, files.findLink(posix.join(absolute, name))));
    }
  }
  return status;
}

async function mkdir(process: Process): Promise<number> {
  for (const path of operands(process, 'p')) {
    process.container.files.makeDirectory(at(process, path), { parents: hasOption(process, 'p') });
  }
  return 0;
}

async function rm(process: Process): Promise<number> {
  const isForced = hasOption(process, 'f');
  for (const path of operands(process, 'rRf')) {
    const absolute = at(process, path);
    if (isForced && process.container.files.findLink(absolute) === undefined) continue;
    process.container.files.remove(absolute, { recursive: hasOption(process, 'r') || hasOption(process, 'R') });
  }
  return 0;
}

async function seq(process: Process): Promise<number> {
  const numbers = process.argv.slice(1).map(Number);
  if (numbers.length === 0 || numbers.some(Number.isNaN)) throw new Error('invalid number');
  const [first, last] = numbers.length === 1 ? [1, numbers[0] ?? 0] : [numbers[0] ?? 1, numbers.at(-1) ?? 0];
  for (let i = first; i <= last && !process.signal.aborted; i++) await put(process.stdout, `${i}\n`);
  return 0;
}

async function sleep(process: Process): Promise<number> {
  const [text = ''] = operands(process);
  const longestMs = 2 ** 31 - 1;
  const match = /^(\d+(?:\.\d+)?)([smh]?)$/.exec(text === 'infinity' ? String(longestMs) : text);
  if (match === null) throw new Error(`invalid number '${text}'`);
  const unitMs = { '': 1000, s: 1000, m: 60_000, h: 3_600_000 }[match[2] as '' | 's' | 'm' | 'h'];
  if (process.isInstant !== true) await pause(Math.min(Number(match[1]) * unitMs, longestMs), process.signal);
  return process.signal.aborted ? 130 : 0;
}

async function stty(process: Process): Promise<number> {
  const size = process.terminal?.size();
  if (size === undefined) throw new Error('standard input: Not a tty');
  if (process.argv[1] !== 'size') throw new Error('only "stty size" is simulated');
  await put(process.stdout, `${size.rows} ${size.columns}\n`);
  return 0;
}

async function tee(process: Process): Promise<number> {
  const data = await readAll(process.stdin, process.signal);
  for (const path of operands(process, 'a')) {
    if (hasOption(process, 'a')) process.container.files.append(at(process, path), data);
    else process.container.files.write(at(process, path), data);
  }
  await put(process.stdout, data);
  return 0;
}

async function test(process: Process): Promise<number> {
  const words = process.argv.slice(1);
  if (process.argv[0] === '[' && words.pop() !== ']') throw new Error('missing ]');
  const isNegated = words[0] === '!';
  if (isNegated) words.shift();
  const [first = '', second = '', third = ''] = words;
  const node = words.length === 2 ? process.container.files.find(at(process, second)) : undefined;
  const unary: Readonly<Record<string, boolean>> = {
    '-d': node?.kind === 'directory',
    '-e': node !== undefined,
    '-f': node?.kind === 'file',
    '-s': node?.kind === 'file' && node.data.length > 0,
    '-n': second !== '',
    '-z': second === '',
  };
  const binary: Readonly<Record<string, boolean>> = {
    '=': first === third,
    '!=': first !== third,
    '-eq': Number(first) === Number(third),
    '-ne': Number(first) !== Number(third),
    '-lt': Number(first) < Number(third),
    '-gt': Number(first) > Number(third),
  };
  const holds = words.length <= 1 ? first !== '' : words.length === 2 ? unary[first] : binary[second];
  if (holds === undefined) throw new Error(`${words.length === 2 ? first : second}: unknown operand`);
  return holds === isNegated ? 1 : 0;
}

async function digest(process: Process, algorithm: string): Promise<number> {
  const paths = operands(process);
  for (const path of paths.length === 0 ? ['-'] : paths) {
    const data = await contents(process, path);
    await put(process.stdout, `${createHash(algorithm).update(data).digest('hex')}  ${path}\n`);
  }
  return 0;
}

async function wc(process: Process): Promise<number> {
  const paths = operands(process, 'clw');
  const wanted = [...'lwc'].filter((letter) => hasOption(process, letter));
  for (const path of paths.length === 0 ? ['-'] : paths) {
    const data = await contents(process, path);
    const text = data.toString('latin1');
    const counts: Readonly<Record<string, number>> = {
      l: text.split('\n').length - 1,
      w: text.split(/\s+/).filter(Boolean).length,
      c: data.length,
    };
    const letters = wanted.length === 0 ? ['l', 'w', 'c'] : wanted;
    const name = paths.length === 0 ? '' : ` ${path}`;
    await put(process.stdout, `${letters.map((letter) => counts[letter]).join(' ')}${name}\n`);
  }
  return 0;
}
