// Child processes of the fixture: each in its own process group, its output in a file, stopped by pid. Easy to get
// wrong: a killed test run must not leave API servers behind, so children are told (CONTROLPLANE_TETHERED) to die with
// us where the system can do that.
import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { laneVariable } from '../leftovers.ts';

import type { CommandOptions, CommandResult } from './fixture-types.ts';

/** One running child. */
export interface Child {
  readonly name: string;
  readonly pid: number;
  readonly logFile: string;
  /** True until the process has ended. */
  readonly running: () => boolean;
  /** Sends a signal to the whole process group. Does nothing when the process has ended. */
  readonly signal: (signal: NodeJS.Signals) => void;
  /** Resolves when the process has ended. */
  readonly ended: Promise<void>;
  /** SIGTERM, and SIGKILL after `graceMs`. */
  readonly stop: (graceMs?: number) => Promise<void>;
  /** The last lines it wrote. */
  readonly tail: (lines?: number) => Promise<string>;
}

export interface ChildOptions {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly logFile: string;
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts a long-running child. A program that cannot be started ends at once and says why in its log. */
export function startChild(options: ChildOptions): Child {
  const log = openSync(options.logFile, 'a');
  const child = spawn(options.command, options.args, {
    cwd: options.cwd,
    detached: true,
    stdio: ['ignore', log, log],
    env: { ...process.env, ...options.env, CONTROLPLANE_TETHERED: '1' },
  });
  closeSync(log);
  if (child.pid === undefined) throw new Error(`${options.name}: cannot start ${options.command}`);
  const pid = child.pid;
  let running = true;
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => {
      running = false;
      resolve();
    });
  });
  const signal = (name: NodeJS.Signals): void => {
    if (running) signalGroup(pid, name);
  };
  return {
    name: options.name,
    pid,
    logFile: options.logFile,
    running: () => running,
    signal,
    ended,
    stop: async (graceMs = 5000) => {
      if (!running) return;
      signal('SIGCONT');
      signal('SIGTERM');
      const late = new AbortController();
      await Promise.race([ended, delay(graceMs, undefined, { signal: late.signal }).catch(() => {})]);
      late.abort();
      signal('SIGKILL');
      await ended;
    },
    tail: async (lines = 40) => {
      const text = await readFile(options.logFile, 'utf8').catch(() => '');
      return text.split('\n').slice(-lines).join('\n');
    },
  };
}

function signalGroup(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(-pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/**
 * Given once in this process: a port is listened on only some seconds after it was chosen, and a site of twenty ports
 * would often get one twice.
 */
const givenPorts = new Set<number>();

/** Ports to choose from, below those that the kernel takes for itself. */
const firstPort = 20_000;
const portCount = 12_000;

/** Files that run side by side choose from different ports: both would find one free that neither listens on yet. */
function chosenPort(): number {
  const lane = process.env[laneVariable];
  const [from, count] = lane === undefined ? [0, portCount] : [(Number(lane) * portCount) / 2, portCount / 2];
  return firstPort + from + Math.floor(Math.random() * count);
}

/**
 * A TCP port on 127.0.0.1 nobody listens on, below the range from which the kernel takes source ports: a server that is
 * killed and started again must find its port free.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = chosenPort();
    if (givenPorts.has(port)) continue;
    givenPorts.add(port);
    if (await canListen(port)) return port;
  }
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

/** Runs a command to its end and collects what it wrote; it and its children are killed after `timeoutMs`. */
export function runCommand(
  command: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: options.cwd,
      detached: true,
      env: { ...process.env, ...options.env },
      stdio: [options.stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    });
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    child.stdout?.on('data', (chunk: Buffer) => out.push(chunk));
    child.stderr?.on('data', (chunk: Buffer) => err.push(chunk));
    const timer = setTimeout(() => {
      err.push(Buffer.from(`\n[killed after ${options.timeoutMs ?? 60_000} ms]\n`));
      if (child.pid !== undefined) signalGroup(child.pid, 'SIGKILL');
    }, options.timeoutMs ?? 60_000);
    child.once('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.once('close', (code) => {
      clearTimeout(timer);
      resolve({ code, stdout: Buffer.concat(out).toString('utf8'), stderr: Buffer.concat(err).toString('utf8') });
    });
    child.stdin?.on('error', () => {});
    if (options.stdin !== undefined) child.stdin?.end(options.stdin);
  });
}
