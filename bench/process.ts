// Starts the processes that are measured. Each has its own process group and is stopped by its pid; the end of its
// output is kept for error messages. Easy to get wrong: the output must be read all the time, or a process that writes
// much blocks on its full pipe in the middle of a measurement.
import { spawn } from 'node:child_process';

/** The command of a process that is started, and whether to wait for its first output. */
export interface ProcessOptions {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** True to wait until the process has printed its first line on standard output. */
  readonly firstLine?: boolean;
}

/**
 * A running process. Its standard input stays open as long as the benchmark runs, so that the process can end when the
 * benchmark ends.
 */
export interface BenchProcess {
  readonly pid: number;
  /** The first line of the process's output; '' when `startProcess` did not wait for it. */
  readonly firstLine: string;
  readonly running: () => boolean;
  /** Returns the end of the process's output, for error messages. */
  readonly words: () => string;
  /** Ends the whole process group: sends SIGTERM, and SIGKILL after 5 seconds. May be called twice. */
  readonly stop: () => Promise<void>;
  /** Sends SIGKILL to the whole process group without waiting. */
  readonly killNow: () => void;
  readonly write: (line: string) => void;
}

const graceMs = 5_000;
const keptCharacters = 8_000;

/** All processes that are running. The code that created the set kills them when the benchmark is interrupted. */
export type LiveProcesses = Set<BenchProcess>;

/**
 * Starts a process; resolves at once, or after its first line when `firstLine` is set.
 * @throws Error (rejects) with the process's last output when it ends before its first line
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
