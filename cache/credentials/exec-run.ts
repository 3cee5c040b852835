// Runs a credential plugin: without a shell, without stdin, in its own process group, with limited output and time.
// Easy to get wrong: child processes of a plugin keep its pipes open, so waiting for the pipes to close may take for
// ever, and killing only the plugin leaves its child processes running.
import { spawn, type ChildProcess } from 'node:child_process';

/** The credential plugin to run, and its limits. */
export interface ExecRun {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly timeoutMs: number;
  /** Maximum number of bytes of stdout; the plugin is killed when it prints more. */
  readonly maxStdoutBytes: number;
  /** Aborted when the gateway stops; the plugin is then killed. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * How the run of a plugin ended. `stderr` has the last 8 KiB that the plugin wrote to its standard error; it is meant
 * for error messages only. `not-started` has the error code of the operating system, such as ENOENT.
 */
export type ExecResult =
  | { readonly kind: 'exited'; readonly code: number; readonly stdout: string; readonly stderr: string }
  | { readonly kind: 'killed'; readonly signal: string; readonly stderr: string }
  | { readonly kind: 'timeout'; readonly stderr: string }
  | { readonly kind: 'too-large'; readonly stderr: string }
  | { readonly kind: 'aborted'; readonly stderr: string }
  | { readonly kind: 'not-started'; readonly code: string };

/**
 * Milliseconds that the pipes of stdout and stderr may stay open after the plugin has exited. After that, the output
 * received so far is used.
 */
const lingerMs = 1_000;
/** How many bytes of stderr are kept: the last ones. */
const stderrTailBytes = 8_192;

/** Runs the plugin. The promise never rejects. */
export function runExec(run: ExecRun): Promise<ExecResult> {
  if (run.signal?.aborted === true) return Promise.resolve({ kind: 'aborted', stderr: '' });
  const child = startChild(run);
  if (typeof child === 'string') return Promise.resolve({ kind: 'not-started', code: child });
  return new Promise((resolve) => follow(run, child, resolve));
}

/**
 * Waits for the process and calls `resolve` once, when the process has exited, could not be started, or was killed for
 * exceeding a limit or because `run.signal` was aborted.
 */
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
    // Kills child processes that the plugin left running; usually there are none.
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
 * Starts the process; returns an error code when the system refuses at once, such as E2BIG for arguments that are too
 * long.
 */
function startChild(run: ExecRun): ChildProcess | string {
  try {
    return spawn(run.command, [...run.args], {
      env: run.env,
      stdio: ['ignore', 'pipe', 'pipe'],
      // Starts a process group, so that the plugin's children can be killed together with it, and Ctrl-C in the
      // gateway's terminal does not reach them.
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
    // The kill failed because no process is left in the group; there is nothing more to do.
  }
}
