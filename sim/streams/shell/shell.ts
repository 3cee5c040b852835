// Runs programs in a simulated container: one of its programs, `sh -c`, `sh` with commands from stdin, and `sh` on a
// terminal. The shell runs commands one after the other (`;` `&&` `||`), with quotes and `$NAME`. It has no pipes,
// writes to no files, and says so. Exit codes are those of sh: 2 for what it cannot read, 127 for an unknown program.
import { Readable } from 'node:stream';
import { resolvePath } from './container-files.ts';
import { nowhere, put, type Process } from './process.ts';
import { programs } from './programs.ts';

const shells = ['sh', 'bash'];
const builtins = ['cd', 'exec', 'exit'];

/** Ends each message about something that a real container could do. */
export const pretence =
  `this container is simulated: it knows ${[...programs.keys(), ...builtins, ...shells].sort().join(', ')}, ` +
  'joined by ; && and ||, without pipes and files to write to';

/** The program of an exec does not exist. The message is that of the container runtime. */
export class ProgramNotFound extends Error {
  constructor(name: string) {
    super(
      `OCI runtime exec failed: exec failed: unable to start container process: exec: ${JSON.stringify(name)}: ` +
        `executable file not found in $PATH (${pretence})`,
    );
    this.name = 'ProgramNotFound';
  }
}

/** Runs the program `argv[0]` and returns its exit code. @throws ProgramNotFound when there is no such program */
export async function runProgram(process: Process): Promise<number> {
  const [path = '', ...rest] = process.argv;
  const name = path.replace(/^(\/usr(\/local)?)?\/s?bin\//, '');
  const program = shells.includes(name) ? runShell : programs.get(name);
  if (program === undefined) throw new ProgramNotFound(path);
  try {
    return await program({ ...process, argv: [name, ...rest] });
  } catch (error) {
    await put(process.stderr, `${name}: ${(error as Error).message}\n`);
    return 1;
  }
}

/** The state of a shell, which changes while it runs. */
interface ShellState {
  workingDirectory: string;
  lastStatus: number;
  isOver: boolean;
}

async function runShell(process: Process): Promise<number> {
  const state: ShellState = { workingDirectory: process.workingDirectory, lastStatus: 0, isOver: false };
  const [option = '', script = ''] = process.argv.slice(1);
  if (/^-[a-z]*c$/.test(option)) await runScript(process, state, script);
  else if (/^[^-]/.test(option)) return complain(process, 2, `a script in a file (${option})`);
  else if (process.terminal !== undefined) await runInteractive(process, state, process.terminal);
  else await runInput(process, state);
  return state.lastStatus;
}

/** Runs the commands from stdin line by line. The commands get an empty stdin, since the shell has read it. */
async function runInput(process: Process, state: ShellState): Promise<void> {
  const quiet = { ...process, stdin: Readable.from([]) };
  let rest = '';
  for await (const chunk of process.stdin) {
    const lines = (rest + chunk.toString()).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) await runScript(quiet, state, line);
    if (state.isOver) return;
  }
  await runScript(quiet, state, rest);
}

async function runInteractive(
  process: Process,
  state: ShellState,
  terminal: NonNullable<Process['terminal']>,
): Promise<void> {
  const { onInterrupt } = terminal;
  while (!state.isOver && !process.signal.aborted) {
    terminal.onInterrupt = undefined;
    await put(process.stdout, `${state.workingDirectory} # `);
    const line = await terminal.readLine(process.signal);
    const interruption = new AbortController();
    terminal.onInterrupt = () => interruption.abort();
    const signal = AbortSignal.any([process.signal, interruption.signal]);
    // Ctrl-D on an empty line ends a shell, which then says what could have been typed.
    if (line === undefined) await put(process.stdout, 'exit\n');
    await runScript({ ...process, stdin: terminal.lines(signal), signal }, state, line ?? 'exit');
    if (interruption.signal.aborted) state.lastStatus = 130;
  }
  terminal.onInterrupt = onInterrupt;
}

async function runScript(process: Process, state: ShellState, script: string): Promise<void> {
  if (state.isOver) return;
  const valueOf = (name: string): string =>
    name === '?' ? String(state.lastStatus) : (process.container.environment.get(name) ?? '');
  try {
    // Read as a whole first, so that nothing runs of a script that cannot be read to its end.
    Array.from(commandsOf(script, valueOf));
  } catch (error) {
    state.lastStatus = await complain(process, 2, (error as Error).message);
    return;
  }
  for (const { after, words, redirections } of commandsOf(script, valueOf)) {
    if (state.isOver || process.signal.aborted) return;
    if ((after === '&&' && state.lastStatus !== 0) || (after === '||' && state.lastStatus === 0)) continue;
    const { workingDirectory } = state;
    const command = { ...process, ...redirected(process, redirections), argv: words, workingDirectory };
    state.lastStatus = await runCommand(command, state);
  }
}

async function runCommand(process: Process, state: ShellState): Promise<number> {
  const [name = '', argument] = process.argv;
  if (name === 'exit' || name === 'exec') state.isOver = true;
  if (name === 'exit') return argument === undefined ? state.lastStatus : Number(argument) & 0xff;
  if (name === 'exec') return runCommand({ ...process, argv: process.argv.slice(1) }, state);
  if (name === 'cd') {
    const target = resolvePath(state.workingDirectory, argument ?? '/root');
    if (process.container.files.isDirectory(target)) {
      state.workingDirectory = target;
      return 0;
    }
    await put(process.stderr, `sh: cd: can't cd to ${argument}: No such file or directory\n`);
    return 2;
  }
  try {
    return await runProgram(process);
  } catch (error) {
    if (!(error instanceof ProgramNotFound)) throw error;
    return complain(process, 127, `${name}: not found`);
  }
}

/** Says what the shell cannot do, and returns the exit code for it. */
async function complain(process: Process, status: number, what: string): Promise<number> {
  await put(process.stderr, `sh: ${what}; ${pretence}\n`);
  return status;
}

/** One command of a script. */
interface Command {
  /** What stands between the command before and this one: `;`, `&&`, `||`, a newline, or '' at the start. */
  readonly after: string;
  readonly words: readonly string[];
  readonly redirections: readonly string[];
}

const blank = /(?:[ \t\r]|#[^\n]*)*/y;
const joiner = /&&|\|\||[;\n]/y;
// The console opens its shell with `command -v bash >/dev/null 2>&1 && …`. Files other than /dev/null are not written.
const redirection = /(?:2>&1|1?>&2|[12]?> ?\/dev\/null)(?![^\s;&|])/y;
const word = /(?:'[^']*'|"[^"\\`]*"|[^\s'"\\`;&|<>()])+/y;
const reserved = /^(?:for|while|until|if|case|function|[{!]|\[\[|\w+=.*)$/s;

/**
 * Reads a script, one command at a time: the words of a command get the values that variables have when it runs.
 * @throws Error that names what cannot be read
 */
function* commandsOf(script: string, valueOf: (name: string) => string): Generator<Command> {
  let at = 0;
  const next = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    const text = pattern.exec(script)?.[0];
    at += text?.length ?? 0;
    return text;
  };
  for (let after: string | undefined = ''; after !== undefined;) {
    const words: string[] = [];
    const redirections: string[] = [];
    for (;;) {
      next(blank);
      const target = next(redirection);
      const text = target ?? next(word);
      if (text === undefined) break;
      if (target !== undefined) redirections.push(target);
      else if (words.length === 0 && reserved.test(text)) throw unexpected(text);
      else words.push(expand(text, valueOf));
    }
    const end = next(joiner);
    const isMissing = words.length === 0 && (redirections.length > 0 || /[&|]/.test(after + (end ?? '')));
    if (isMissing || (end === undefined && at < script.length)) throw unexpected(end ?? script.charAt(at));
    if (words.length > 0) yield { after, words, redirections };
    after = end;
  }
}

function unexpected(text: string): Error {
  return new Error(`syntax error: ${text === '' ? 'end of file' : JSON.stringify(text)} unexpected`);
}

/** Removes the quotes of a word and puts values for variables. `'…'` has none. */
function expand(text: string, valueOf: (name: string) => string): string {
  return text.replace(/'([^']*)'|"([^"]*)"|[^'"]+/g, (part, single?: string, double?: string) => {
    if (single !== undefined) return single;
    return (double ?? part).replace(/\$(?:(\w+|\?)|[({])/g, (found, name?: string) => {
      if (name === undefined) throw unexpected(found);
      return valueOf(name);
    });
  });
}

function redirected(process: Process, redirections: readonly string[]): Pick<Process, 'stdout' | 'stderr'> {
  const streams = { stdout: process.stdout, stderr: process.stderr };
  for (const text of redirections) {
    const name = text.startsWith('2') ? 'stderr' : 'stdout';
    if (text.endsWith('&1')) streams[name] = streams.stdout;
    else if (text.endsWith('&2')) streams[name] = streams.stderr;
    else streams[name] = nowhere();
  }
  return streams;
}
