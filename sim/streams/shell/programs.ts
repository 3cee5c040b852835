// The programs in a simulated container, each with the main features of the real program. Exit codes and messages
// follow busybox, because scripts depend on them. An option that is not supported is an error.
import { setTimeout } from 'node:timers/promises';
import { resolvePath } from './container-files.ts';
import { put, type Process, type Program } from './process.ts';
import { tar } from './program-tar.ts';

/** A program that only prints a text. */
function prints(text: (process: Process) => string): Program {
  return async (process) => {
    await put(process.stdout, text(process));
    return 0;
  };
}

/** The programs by name. `sh`, `cd`, `exec` and `exit` are in shell.ts, which imports this file. */
export const programs: ReadonlyMap<string, Program> = new Map<string, Program>([
  ['cat', cat],
  ['date', prints(() => `${new Date().toUTCString().replace('GMT', 'UTC')}\n`)],
  ['echo', prints(({ argv }) => `${argv.slice(1).join(' ')}\n`)],
  ['env', prints(({ container }) => [...container.environment].map(([name, value]) => `${name}=${value}\n`).join(''))],
  ['false', async () => 1],
  ['hostname', prints(({ container }) => `${container.hostname}\n`)],
  ['id', prints(() => 'uid=0(root) gid=0(root) groups=0(root)\n')],
  ['ls', ls],
  ['pwd', prints(({ workingDirectory }) => `${workingDirectory}\n`)],
  ['sleep', sleep],
  ['stty', stty],
  ['tar', tar],
  ['test', test],
  ['true', async () => 0],
  ['whoami', prints(() => 'root\n')],
]);

/**
 * The arguments that are not options.
 * @param known the supported options, as single letters
 * @throws Error for any other option
 */
function operands(process: Process, known = ''): readonly string[] {
  const isOption = (argument: string): boolean => /^-./.test(argument);
  for (const option of process.argv.slice(1).filter(isOption)) {
    if (![...option.slice(1)].every((letter) => known.includes(letter)))
      throw new Error(`option ${option} is not simulated`);
  }
  return process.argv.slice(1).filter((argument) => !isOption(argument));
}

async function cat(process: Process): Promise<number> {
  const paths = operands(process);
  let status = 0;
  for (const path of paths.length === 0 ? ['-'] : paths) {
    if (path === '-') {
      for await (const chunk of process.stdin) await put(process.stdout, chunk);
      continue;
    }
    try {
      await put(process.stdout, process.container.files.read(resolvePath(process.workingDirectory, path)));
    } catch (error) {
      await put(process.stderr, `cat: can't open '${path}': ${(error as Error).message}\n`);
      status = 1;
    }
  }
  return status;
}

async function ls(process: Process): Promise<number> {
  const { files } = process.container;
  const paths = operands(process, '1al');
  const isLong = process.argv.some((argument) => /^-.*l/.test(argument));
  const line = (name: string, path: string): string => {
    if (!isLong) return `${name}\n`;
    const [mode, size] = files.isDirectory(path) ? ['drwxr-xr-x', 4096] : ['-rw-r--r--', files.read(path).length];
    return `${mode}    1 root     root      ${String(size).padStart(8)} ${name}\n`;
  };
  let status = 0;
  for (const path of paths.length === 0 ? ['.'] : paths) {
    const absolute = resolvePath(process.workingDirectory, path);
    if (files.isDirectory(absolute)) {
      for (const name of files.list(absolute)) await put(process.stdout, line(name, `${absolute}/${name}`));
    } else if (files.has(absolute)) {
      await put(process.stdout, line(path, absolute));
    } else {
      await put(process.stderr, `ls: ${path}: No such file or directory\n`);
      status = 1;
    }
  }
  return status;
}

async function sleep(process: Process): Promise<number> {
  const [text = ''] = operands(process);
  const longestMs = 2 ** 31 - 1;
  const delayMs = text === 'infinity' ? longestMs : /^\d+(\.\d+)?s?$/.test(text) ? Number.parseFloat(text) * 1000 : NaN;
  if (Number.isNaN(delayMs)) throw new Error(`invalid number '${text}'`);
  const { signal } = process;
  if (process.isInstant !== true)
    await setTimeout(Math.min(delayMs, longestMs), undefined, { signal }).catch(() => undefined);
  return signal.aborted ? 130 : 0;
}

async function stty(process: Process): Promise<number> {
  const size = process.terminal?.size();
  if (size === undefined) throw new Error('standard input: Not a tty');
  if (process.argv[1] !== 'size') throw new Error('only "stty size" is simulated');
  await put(process.stdout, `${size.rows} ${size.columns}\n`);
  return 0;
}

/** `test -d` and `test -e`. `kubectl cp` runs `test -d` to find out whether its target is a directory. */
async function test(process: Process): Promise<number> {
  const [operator = '', path = ''] = process.argv.slice(1);
  const { files } = process.container;
  if (operator !== '-d' && operator !== '-e') throw new Error(`${operator}: unknown operand`);
  const absolute = resolvePath(process.workingDirectory, path);
  return (operator === '-d' ? files.isDirectory(absolute) : files.has(absolute)) ? 0 : 1;
}
