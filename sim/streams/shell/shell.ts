// Runs programs and scripts in a simulated container: `sh -c`, `sh` with commands from stdin, and an interactive `sh`
// on a terminal. The exit code of a script is the exit code of its last command; 127 means that a command was not
// found. `exit` ends only the shell that runs the command.
import { once } from 'node:events';
import { posix } from 'node:path';
import { PassThrough, Readable, Writable } from 'node:stream';
import { resolvePath } from './container-files.ts';
import { chunksOf, ProgramNotFound, put, type Process } from './process.ts';
import { programs } from './programs.ts';
import { parseScript, ShellSyntaxFault, type Redirection, type SimpleCommand, type Word } from './shell-syntax.ts';

const shellNames = ['sh', 'bash', 'ash'];
const programFolders = ['/bin', '/usr/bin', '/usr/local/bin', '/sbin', '/usr/sbin', ''];

/** Runs the program `argv[0]` and returns its exit code. @throws ProgramNotFound when there is no such program */
export async function runProgram(process: Process): Promise<number> {
  const [path = ''] = process.argv;
  const name = posix.basename(path);
  const isKnownFolder = programFolders.includes(posix.dirname(path) === '.' ? '' : posix.dirname(path));
  if (isKnownFolder && shellNames.includes(name)) return runShell(process);
  const program = isKnownFolder && Object.hasOwn(programs, name) ? programs[name] : undefined;
  if (program === undefined) throw new ProgramNotFound(path);
  try {
    return await program({ ...process, argv: [name, ...process.argv.slice(1)] });
  } catch (error) {
    await put(process.stderr, `${name}: ${(error as Error).message}\n`);
    return 1;
  }
}

/** The state of a shell, which changes while a script runs. */
interface ShellState {
  environment: Map<string, string>;
  workingDirectory: string;
  lastStatus: number;
  /** The argument of `exit`; undefined until `exit` runs. */
  exitStatus: number | undefined;
  readonly positional: readonly string[];
}

async function runShell(process: Process): Promise<number> {
  const words = process.argv.slice(1);
  let script: string | undefined;
  while (/^-[a-z]+$/.test(words[0] ?? '')) {
    const option = words.shift() ?? '';
    if (option.includes('c')) script = words.shift() ?? '';
  }
  const state: ShellState = {
    environment: new Map(process.environment),
    workingDirectory: process.workingDirectory,
    lastStatus: 0,
    exitStatus: undefined,
    positional: words.length === 0 ? [process.argv[0] ?? 'sh'] : words,
  };
  if (script === undefined && words.length > 0) {
    await put(process.stderr, 'sh: running a file is not simulated\n');
    return 2;
  }
  if (script !== undefined) await runScript(process, state, script);
  else if (process.terminal !== undefined) await runInteractive(process, state, process.terminal);
  else await runLines(process, state);
  return state.exitStatus ?? state.lastStatus;
}

/** Runs the commands from stdin line by line. The commands get an empty stdin, since the shell has read it. */
async function runLines(process: Process, state: ShellState): Promise<void> {
  let text = '';
  const quiet = { ...process, stdin: Readable.from([]) };
  for await (const chunk of chunksOf(process.stdin, process.signal)) {
    text += chunk.toString();
    let end = text.indexOf('\n');
    while (end !== -1 && state.exitStatus === undefined) {
      await runScript(quiet, state, text.slice(0, end));
      text = text.slice(end + 1);
      end = text.indexOf('\n');
    }
    if (state.exitStatus !== undefined) return;
  }
  if (text !== '') await runScript(quiet, state, text);
}

async function runInteractive(
  process: Process,
  state: ShellState,
  terminal: NonNullable<Process['terminal']>,
): Promise<void> {
  while (state.exitStatus === undefined && !process.signal.aborted) {
    const where = state.workingDirectory === '/root' ? '~' : state.workingDirectory;
    const line = await terminal.readLine(`${where} # `);
    if (line === undefined) {
      await put(process.stdout, 'exit\n');
      return;
    }
    const interruption = new AbortController();
    const input = terminal.openInput();
    const ignore = terminal.onInterrupt(() => interruption.abort());
    const signal = AbortSignal.any([process.signal, interruption.signal]);
    await runScript({ ...process, stdin: input.stdin, signal }, state, line);
    ignore();
    input.release();
    if (interruption.signal.aborted) state.lastStatus = 130;
  }
}

async function runScript(process: Process, state: ShellState, script: string): Promise<void> {
  let pipelines;
  try {
    pipelines = parseScript(script);
  } catch (error) {
    if (!(error instanceof ShellSyntaxFault)) throw error;
    await put(process.stderr, `sh: ${error.message}\n`);
    state.lastStatus = 2;
    return;
  }
  for (const { when, commands } of pipelines) {
    if (state.exitStatus !== undefined || process.signal.aborted) return;
    if (when === 'after-success' && state.lastStatus !== 0) continue;
    if (when === 'after-failure' && state.lastStatus === 0) continue;
    state.lastStatus = await runPipeline(process, state, commands);
  }
}

async function runPipeline(process: Process, state: ShellState, commands: readonly SimpleCommand[]): Promise<number> {
  const [only] = commands;
  if (commands.length === 1 && only !== undefined) return runSimple(process, state, only);
  let stdin = process.stdin;
  const runs: Promise<number>[] = [];
  for (const [i, command] of commands.entries()) {
    const isLast = i === commands.length - 1;
    const pipe = isLast ? undefined : new PassThrough();
    const part = { ...process, stdin, stdout: pipe ?? process.stdout };
    // Each command of a pipeline runs in its own subshell, so `cd` and `exit` in it have no effect on the others.
    const own = { ...state, environment: new Map(state.environment) };
    const input = i === 0 ? undefined : stdin;
    const run = runSimple(part, own, command).then((status) => {
      pipe?.end();
      input?.destroy();
      return own.exitStatus ?? status;
    });
    runs.push(run);
    if (pipe !== undefined) stdin = pipe;
  }
  const statuses = await Promise.all(runs);
  return statuses.at(-1) ?? 0;
}

async function runSimple(process: Process, state: ShellState, command: SimpleCommand): Promise<number> {
  const argv: string[] = [];
  for (const word of command.words) argv.push(...expand(state, word));
  const [name] = argv;
  // Without a command, assignments change the shell's own variables. In front of a command, assignments apply to this
  // command only.
  const assigned = name === undefined ? state.environment : new Map<string, string>();
  for (const { name: key, value } of command.assignments) {
    assigned.set(key, expand(state, value).join(' '));
  }
  const files: Writable[] = [];
  try {
    const streams = redirect(process, state, command.redirections, files);
    const environment = new Map([...state.environment, ...assigned]);
    const { workingDirectory } = state;
    return name === undefined
      ? 0
      : await runNamed({ ...process, ...streams, argv, environment, workingDirectory }, state);
  } catch (error) {
    await put(process.stderr, `sh: ${(error as Error).message}\n`);
    return 1;
  } finally {
    for (const file of files) {
      file.end();
      if (!file.writableFinished) await once(file, 'finish');
    }
  }
}

async function runNamed(process: Process, state: ShellState): Promise<number> {
  const [name = '', argument] = process.argv;
  switch (name) {
    case ':':
    case 'set':
      return 0;
    case 'exit':
      state.exitStatus = argument === undefined ? state.lastStatus : (Number.parseInt(argument, 10) || 0) & 0xff;
      return state.exitStatus;
    case 'cd': {
      const target = resolvePath(state.workingDirectory, argument ?? '/root');
      if (process.container.files.find(target)?.kind !== 'directory') {
        await put(process.stderr, `sh: cd: can't cd to ${argument}: No such file or directory\n`);
        return 2;
      }
      state.workingDirectory = target;
      return 0;
    }
    case 'export':
      for (const word of process.argv.slice(1)) {
        if (word.includes('='))
          state.environment.set(word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1));
      }
      return 0;
    case 'exec':
      state.exitStatus =
        argument === undefined ? undefined : await runNamed({ ...process, argv: process.argv.slice(1) }, state);
      return state.exitStatus ?? 0;
  }
  try {
    return await runProgram(process);
  } catch (error) {
    if (!(error instanceof ProgramNotFound)) throw error;
    await put(process.stderr, `sh: ${name}: not found\n`);
    return 127;
  }
}

function redirect(
  process: Process,
  state: ShellState,
  redirections: readonly Redirection[],
  opened: Writable[],
): Pick<Process, 'stdin' | 'stdout' | 'stderr'> {
  let { stdin, stdout, stderr } = process;
  for (const { descriptor, kind, target } of redirections) {
    const [path = ''] = expand(state, target);
    if (kind === 'duplicate') {
      if (path !== '1' && path !== '2') throw new ShellSyntaxFault(`${path}: bad file descriptor`);
      const source = path === '1' ? stdout : stderr;
      if (descriptor === 2) stderr = source;
      else stdout = source;
    } else if (kind === 'read') {
      const absolute = resolvePath(state.workingDirectory, path);
      const data = path === '/dev/null' ? Buffer.alloc(0) : process.container.files.read(absolute);
      stdin = Readable.from(data.length === 0 ? [] : [data]);
    } else {
      const file = openFile(process, resolvePath(state.workingDirectory, path), kind === 'append');
      opened.push(file);
      if (descriptor === 2) stderr = file;
      else stdout = file;
    }
  }
  return { stdin, stdout, stderr };
}

/**
 * A stream whose bytes are written to the file when the stream ends. Throws at once when the file cannot be written.
 */
function openFile(process: Process, path: string, isAppend: boolean): Writable {
  const { files } = process.container;
  const isDevice = path === '/dev/null';
  const chunks: Buffer[] = [];
  if (!isDevice && isAppend) files.append(path, Buffer.alloc(0));
  else if (!isDevice) files.write(path, Buffer.alloc(0));
  return new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      if (!isDevice) chunks.push(chunk);
      done();
    },
    final: (done) => {
      if (!isDevice) files.append(path, Buffer.concat(chunks));
      done();
    },
  });
}

/**
 * Replaces variables in a word. The value of an unquoted variable is split at white space, so one word can become
 * several.
 */
function expand(state: ShellState, word: Word): string[] {
  const fields: string[] = [];
  let field: string | undefined;
  for (const part of word) {
    const value = part.kind === 'text' ? part.value : variable(state, part.name);
    if (part.kind === 'text' || part.isQuoted) {
      field = (field ?? '') + value;
      continue;
    }
    const [first = '', ...rest] = value.split(/\s+/);
    if (first !== '') field = (field ?? '') + first;
    for (const next of rest) {
      if (field !== undefined) fields.push(field);
      field = next === '' ? undefined : next;
    }
  }
  if (field !== undefined) fields.push(field);
  return fields;
}

function variable(state: ShellState, name: string): string {
  if (name === '?') return String(state.lastStatus);
  if (name === '$') return '1';
  if (name === '#') return String(state.positional.length - 1);
  if (/^[0-9]$/.test(name)) return state.positional[Number(name)] ?? '';
  return state.environment.get(name) ?? '';
}
