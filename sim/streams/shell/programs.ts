// The programs in a simulated container, each with the main features of the real program. Exit codes and messages
// follow busybox, because scripts depend on them. An option that is not supported is an error.
import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import { parseArgs } from 'node:util';
import { resolvePath, type FileNode } from './container-files.ts';
import { chunksOf, pause, put, readAll, type Process, type Program } from './process.ts';
import { tar } from './program-tar.ts';

/** The programs by name. `sh` is in shell.ts, which imports this file. */
export const programs: Readonly<Record<string, Program>> = {
  cat,
  date: async (process) => (await put(process.stdout, `${new Date().toUTCString().replace('GMT', 'UTC')}\n`), 0),
  echo,
  env: printEnvironment,
  false: async () => 1,
  head,
  hostname: async (process) => (await put(process.stdout, `${process.container.hostname}\n`), 0),
  id: async (process) => (await put(process.stdout, 'uid=0(root) gid=0(root) groups=0(root)\n'), 0),
  ls,
  mkdir,
  pwd: async (process) => (await put(process.stdout, `${process.workingDirectory}\n`), 0),
  rm,
  sha256sum,
  sleep,
  stty,
  tar,
  test,
  touch: async (process) => {
    const { files } = process.container;
    for (const path of operands(process)) files.append(at(process, path), Buffer.alloc(0));
    return 0;
  },
  true: async () => 0,
  whoami: async (process) => (await put(process.stdout, 'root\n'), 0),
};

/** The absolute path of a path that was given as an argument. */
export function at(process: Process, path: string): string {
  return resolvePath(process.workingDirectory, path);
}

/**
 * The arguments that are not options.
 * @param known the supported options, as single letters
 * @throws Error for any other option
 */
function operands(process: Process, known = ''): string[] {
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
  const hasEnd = words[0] !== '-n';
  await put(process.stdout, hasEnd ? `${words.join(' ')}\n` : words.slice(1).join(' '));
  return 0;
}

async function printEnvironment(process: Process): Promise<number> {
  if (operands(process).length > 0) throw new Error('running a program is not simulated');
  for (const [name, value] of process.environment) await put(process.stdout, `${name}=${value}\n`);
  return 0;
}

async function head(process: Process): Promise<number> {
  const { values, positionals } = parseArgs({
    args: process.argv.slice(1),
    options: { lines: { type: 'string', short: 'n', default: '10' }, bytes: { type: 'string', short: 'c' } },
    allowPositionals: true,
  });
  const data = await contents(process, positionals[0] ?? '-');
  const count = Number(values.bytes ?? values.lines);
  if (!(count >= 0)) throw new Error(`invalid number '${values.bytes ?? values.lines}'`);
  let end = values.bytes === undefined ? 0 : count;
  for (let i = 0; values.bytes === undefined && i < count && end < data.length; i++) {
    const newline = data.indexOf(10, end);
    end = newline === -1 ? data.length : newline + 1;
  }
  await put(process.stdout, data.subarray(0, end));
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

/** `test` with one operator. `kubectl cp` runs `test -d` to find out whether its target is a directory. */
async function test(process: Process): Promise<number> {
  const [operator = '', path = '', ...more] = process.argv.slice(1);
  const node = process.container.files.find(at(process, path));
  const answers: Readonly<Record<string, boolean>> = {
    '-d': node?.kind === 'directory',
    '-e': node !== undefined,
    '-f': node?.kind === 'file',
  };
  const holds = more.length === 0 ? answers[operator] : undefined;
  if (holds === undefined) throw new Error(`${operator}: unknown operand`);
  return holds ? 0 : 1;
}

async function sha256sum(process: Process): Promise<number> {
  const paths = operands(process);
  for (const path of paths.length === 0 ? ['-'] : paths) {
    const data = await contents(process, path);
    await put(process.stdout, `${createHash('sha256').update(data).digest('hex')}  ${path}\n`);
  }
  return 0;
}
