// Processes the bench measures: each in its own group, stopped by pid, its words kept for the moment it fails. Output
// must be drained all the time, or a talkative target blocks on its pipe in the middle of a measurement.
import { spawn } from 'node:child_process';

/** How to start a process. */
export interface ProcessOptions {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Wait for the first line of standard output. */
  readonly firstLine?: boolean;
}

/** A running process. Its standard input stays open as long as we live, so that a child may end with us. */
export interface BenchProcess {
  readonly pid: number;
  /** '' when it was not waited for. */
  readonly firstLine: string;
  readonly running: () => boolean;
  /** The last of what it wrote, for messages. */
  readonly words: () => string;
  /** SIGTERM, after 5 s SIGKILL, to the whole group. Safe to call twice. */
  readonly stop: () => Promise<void>;
  /** SIGKILL to the whole group, without waiting. */
  readonly killNow: () => void;
  readonly write: (line: string) => void;
}

const graceMs = 5_000;
const keptCharacters = 8_000;

/** Processes that run now; whoever owns the set kills them all when the bench itself is interrupted. */
export type LiveProcesses = Set<BenchProcess>;

/**
 * Starts a process, and waits for its first line where asked.
 * @throws Error with its last words when it ends before that
 */
export async function startProcess(options: ProcessOptions, live: LiveProcesses): Promise<BenchProcess> {
  const child = spawn(options.command, options.args, {
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...options.env },
  });
  let words = '';
  let output = '';
  let firstLine = '';
  let running = true;
  let lineArrived = (): void => {};
  const line = new Promise<void>((resolve) => {
    lineArrived = resolve;
  });
  const keep = (text: string): void => {
    words = (words + text).slice(-keptCharacters);
  };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    keep(text);
    if (firstLine !== '') return;
    output += text;
    const end = output.indexOf('\n');
    if (end < 0) return;
    firstLine = output.slice(0, end);
    lineArrived();
  });
  child.stderr.setEncoding('utf8').on('data', keep);
  child.stdin.on('error', () => {});
  const ended = new Promise<void>((resolve) => {
    child.once('close', () => {
      running = false;
      resolve();
    });
    child.once('error', (error) => {
      keep(error.message);
      running = false;
      resolve();
    });
  });
  const didNotStart = (): Error => new Error(`${options.name} did not start: ${words.trim()}`);
  const { pid } = child;
  if (pid === undefined) {
    await ended;
    throw didNotStart();
  }
  const stop = async (): Promise<void> => {
    if (!running) return;
    signalGroup(pid, 'SIGTERM');
    const timer = setTimeout(() => signalGroup(pid, 'SIGKILL'), graceMs);
    await ended;
    clearTimeout(timer);
  };
  const started: BenchProcess = {
    pid,
    get firstLine() {
      return firstLine;
    },
    running: () => running,
    words: () => words,
    stop,
    killNow: () => {
      if (running) signalGroup(pid, 'SIGKILL');
    },
    write: (text) => child.stdin.write(`${text}\n`),
  };
  live.add(started);
  void ended.then(() => live.delete(started));
  if (options.firstLine === true) {
    await Promise.race([line, ended]);
    if (firstLine === '') throw didNotStart();
  }
  return started;
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
