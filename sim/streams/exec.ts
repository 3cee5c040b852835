// Runs exec and attach in a simulated container: connects the streams of the client with a simulated program, or with
// the log of the container. At the end a `metav1.Status` is always sent, because the client would otherwise wait for
// ever.
import { Readable } from 'node:stream';
import type { CommandEnd } from './command-status.ts';
import type { CommandStreams } from './command-streams.ts';
import type { Container } from './shell/containers.ts';
import { nowhere, put, type Process } from './shell/process.ts';
import { ProgramNotFound, runProgram } from './shell/shell.ts';
import { Terminal, type TerminalSize } from './shell/terminal.ts';

/** Runs a program with the client's streams. Resolves when its `metav1.Status` was sent. */
export async function runExec(streams: CommandStreams, container: Container, argv: readonly string[]): Promise<void> {
  await streams.finish(await execute(streams, container, argv));
}

/**
 * Attaches to a container. If its spec has `stdin: true`, its command (or a shell) runs now, as `kubectl run -it` and
 * `kubectl debug -it` expect, and `onExit` is called with the exit code. For any other container the client gets new
 * log lines, and its input is sent back to it.
 */
export async function runAttach(
  streams: CommandStreams,
  container: Container,
  parts: {
    readonly followLog: (write: (text: string) => void, gone: AbortSignal) => void;
    readonly onExit?: (code: number) => void;
  },
): Promise<void> {
  if (container.hasStdin) {
    const end = await execute(streams, container, container.argv.length === 0 ? ['sh'] : container.argv);
    if (!streams.gone.aborted) parts.onExit?.(end.kind === 'exit' ? end.code : 128);
    // As in kubelet, the attach has succeeded whatever the exit code is; `onExit` writes the code into the pod's
    // status.
    await streams.finish(end.kind === 'exit' ? { kind: 'exit', code: 0 } : end);
    return;
  }
  const ending = streams.tty ? '\r\n' : '\n';
  const show = (text: string): void => void streams.stdout?.write(text.replaceAll('\n', ending));
  parts.followLog(show, streams.gone);
  streams.stdin?.on('data', (chunk: Buffer) => void streams.stdout?.write(chunk));
  await new Promise<void>((resolve) => {
    if (streams.gone.aborted) resolve();
    else streams.gone.addEventListener('abort', () => resolve());
  });
  await streams.finish({ kind: 'exit', code: 0 });
}

async function execute(streams: CommandStreams, container: Container, argv: readonly string[]): Promise<CommandEnd> {
  const interruption = new AbortController();
  const signal = AbortSignal.any([streams.gone, interruption.signal]);
  const frame = { argv, container, workingDirectory: container.workingDirectory, signal };
  const stdout = streams.stdout ?? nowhere();
  let process: Process;
  if (streams.tty) {
    let size: TerminalSize = { columns: 80, rows: 24 };
    streams.onResize(({ Width, Height }) => (size = { columns: Width, rows: Height }));
    const terminal = new Terminal(streams.stdin, stdout, () => size);
    terminal.onInterrupt = () => interruption.abort();
    const { output } = terminal;
    process = { ...frame, stdin: terminal.lines(signal), stdout: output, stderr: output, terminal };
  } else {
    const stdin = streams.stdin ?? Readable.from([]);
    process = { ...frame, stdin, stdout, stderr: streams.stderr ?? nowhere(), terminal: undefined };
  }
  try {
    const code = await runProgram(process);
    await put(process.stdout, '');
    return { kind: 'exit', code: interruption.signal.aborted ? 130 : code };
  } catch (error) {
    const start = error instanceof ProgramNotFound ? `failed to exec in container: failed to start exec: ` : '';
    return { kind: 'fault', message: `error executing command in container: ${start}${(error as Error).message}` };
  }
}
