// Runs one credential plugin to its end: no shell, no stdin, a process group of its own, bounded output and time. Easy
// to get wrong: children of a plugin keep its pipes open, so waiting for the pipes may never end and killing the plugin
// alone is not enough.
import { spawn, type ChildProcess } from 'node:child_process';

/** What to run and within which bounds. */
export interface ExecRun {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly timeoutMs: number;
  /** Bytes; more than this ends the plugin. */
  readonly maxStdoutBytes: number;
  /** Kills the plugin when the gateway stops. */
  readonly signal?: AbortSignal | undefined;
}

/** How it ended. `stderr` is the last part of it, for the error only. */
export type ExecResult =
  | { readonly kind: 'exited'; readonly code: number; readonly stdout: string; readonly stderr: string }
  | { readonly kind: 'killed'; readonly signal: string; readonly stderr: string }
  | { readonly kind: 'timeout'; readonly stderr: string }
  | { readonly kind: 'too-large'; readonly stderr: string }
  | { readonly kind: 'aborted'; readonly stderr: string }
  | { readonly kind: 'not-started'; readonly code: string };

/** How long the pipes may stay open after the plugin itself has ended. */
const lingerMs = 1_000;
const stderrTailBytes = 8_192;

/** Runs the plugin. Never rejects. */
export function runExec(run: ExecRun): Promise<ExecResult> {
  if (run.signal?.aborted === true) return Promise.resolve({ kind: 'aborted', stderr: '' });
  const child = startChild(run);
  if (typeof child === 'string') return Promise.resolve({ kind: 'not-started', code: child });
  return new Promise((resolve) => follow(run, child, resolve));
}

/** Calls `resolve` once, when the child has ended or had to be stopped. */
function follow(run: ExecRun, child: ChildProcess, resolve: (result: ExecResult) => void): void {
  const stdout: Buffer[] = [];
  let stdoutBytes = 0;
  let stderr = Buffer.alloc(0);
  let exit: { readonly code: number | null; readonly signal: string | null } | undefined;
  let linger: NodeJS.Timeout | undefined;
  let settled = false;

  const settle = (result: ExecResult): void => {
    if (settled) return;
    settled = true;
    clearTimeout(timer);
    clearTimeout(linger);
    run.signal?.removeEventListener('abort', abort);
    // Ends children that the plugin left behind. After a clean end the group is empty.
    killGroup(child.pid);
    child.stdout?.destroy();
    child.stderr?.destroy();
    resolve(result);
  };
  const finish = (): void => {
    if (exit === undefined) return;
    const tail = stderr.toString('utf8');
    if (exit.signal !== null) settle({ kind: 'killed', signal: exit.signal, stderr: tail });
    else
      settle({ kind: 'exited', code: exit.code ?? -1, stdout: Buffer.concat(stdout).toString('utf8'), stderr: tail });
  };
  const stop = (kind: 'timeout' | 'too-large' | 'aborted'): void => settle({ kind, stderr: stderr.toString('utf8') });
  const abort = (): void => stop('aborted');
  const timer = setTimeout(() => stop('timeout'), run.timeoutMs);
  run.signal?.addEventListener('abort', abort);

  child.on('error', (error) =>
    settle({ kind: 'not-started', code: (error as NodeJS.ErrnoException).code ?? 'UNKNOWN' }),
  );
  child.stdout?.on('data', (chunk: Buffer) => {
    stdoutBytes += chunk.length;
    if (stdoutBytes > run.maxStdoutBytes) stop('too-large');
    else stdout.push(chunk);
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr = Buffer.concat([stderr, chunk]).subarray(-stderrTailBytes);
  });
  child.on('exit', (code, signal) => {
    exit = { code, signal };
    linger = setTimeout(finish, lingerMs);
  });
  child.on('close', finish);
}

/**
 * The started child, or the error code when the system refused at once (E2BIG: arguments and environment are too long).
 */
function startChild(run: ExecRun): ChildProcess | string {
  try {
    return spawn(run.command, [...run.args], {
      env: run.env,
      stdio: ['ignore', 'pipe', 'pipe'],
      // A group of its own: killing it reaches the plugin's children, and Ctrl-C in our terminal does not.
      detached: true,
      windowsHide: true,
    });
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'UNKNOWN';
  }
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The group is empty.
  }
}
