// What a raw exec or attach looks like to a test, the same over WebSocket and SPDY. The result is complete only when
// the connection is over, since the status may overtake output on another stream.

/** `metav1.Status` as far as tests read it. */
export interface CommandStatus {
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly details?: { readonly causes?: readonly { readonly reason: string; readonly message: string }[] };
}

/** Everything that came, once the connection is over. */
export interface ExecResult {
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  /** Decoded from the error stream; undefined when nothing came there. */
  readonly status: CommandStatus | undefined;
  /** 0 for Success, the ExitCode cause of NonZeroExitCode, undefined otherwise. */
  readonly exitCode: number | undefined;
}

/** A command under way. */
export interface ExecSession {
  /** Subprotocol the server chose. */
  readonly protocol: string;
  /** Sends stdin; resolves when the bytes left the process. */
  write(data: Buffer | string): Promise<void>;
  /** Half-closes stdin. Over `v4.channel.k8s.io` on WebSocket there is no such thing: throws. */
  endInput(): void;
  resize(columns: number, rows: number): void;
  /** Resolves when stdout so far contains the text. Rejects when the command ends without it, or after 10 s. */
  waitForOutput(text: string, timeoutMs?: number): Promise<void>;
  /** Resolves when the connection is over. */
  readonly result: Promise<ExecResult>;
  /** Breaks off. */
  close(): void;
}

/** What is run and with which streams. */
export interface ExecCall {
  /** Path up to and with `/exec` or `/attach`; the query is added. */
  readonly path: string;
  /** None for attach. */
  readonly command?: readonly string[];
  readonly container?: string;
  readonly stdin?: boolean;
  readonly tty?: boolean;
}

/** Path and query of a call; stderr is asked for unless there is a terminal. */
export function execTarget(call: ExecCall): string {
  const query = new URLSearchParams();
  for (const word of call.command ?? []) query.append('command', word);
  if (call.container !== undefined) query.set('container', call.container);
  if (call.stdin === true) query.set('stdin', 'true');
  query.set('stdout', 'true');
  if (call.tty === true) query.set('tty', 'true');
  else query.set('stderr', 'true');
  return `${call.path}?${query.toString()}`;
}

/** Gathers the output of an exec session; used by the WebSocket client and by the SPDY client. */
export interface OutputGatherer {
  take(stream: 'stdout' | 'stderr' | 'error', data: Buffer): void;
  finish(): void;
  waitForOutput(text: string, timeoutMs?: number): Promise<void>;
  readonly result: Promise<ExecResult>;
}

export function createOutputGatherer(): OutputGatherer {
  const chunks: Record<'stdout' | 'stderr' | 'error', Buffer[]> = { stdout: [], stderr: [], error: [] };
  const { promise: result, resolve } = Promise.withResolvers<ExecResult>();
  const waiting = new Set<() => void>();
  let isOver = false;
  const recheck = (): void => {
    for (const check of waiting) check();
  };
  return {
    result,
    take(stream, data) {
      chunks[stream].push(data);
      if (stream === 'stdout') recheck();
    },
    finish() {
      isOver = true;
      const text = Buffer.concat(chunks.error).toString();
      const status = text === '' ? undefined : decodeStatus(text);
      const stdout = Buffer.concat(chunks.stdout);
      resolve({ stdout, stderr: Buffer.concat(chunks.stderr), status, exitCode: exitCodeOf(status) });
      recheck();
    },
    waitForOutput(text, timeoutMs = 10_000) {
      return new Promise((resolve, reject) => {
        const settle = (isFound: boolean, why: string): void => {
          waiting.delete(check);
          clearTimeout(timer);
          if (isFound) resolve();
          else reject(new Error(`${why} without ${JSON.stringify(text)}: ${JSON.stringify(soFar())}`));
        };
        const soFar = (): string => Buffer.concat(chunks.stdout).toString();
        const check = (): void => {
          if (soFar().includes(text)) settle(true, '');
          else if (isOver) settle(false, 'the command ended');
        };
        const timer = setTimeout(() => settle(false, `${timeoutMs} ms went by`), timeoutMs);
        waiting.add(check);
        check();
      });
    },
  };
}

/** Versions before 4 send plain text. */
function decodeStatus(text: string): CommandStatus {
  return text.startsWith('{') ? (JSON.parse(text) as CommandStatus) : { status: 'Failure', message: text };
}

function exitCodeOf(status: CommandStatus | undefined): number | undefined {
  if (status === undefined) return undefined;
  if (status.status === 'Success') return 0;
  if (status.reason !== 'NonZeroExitCode') return undefined;
  const cause = status.details?.causes?.find((entry) => entry.reason === 'ExitCode');
  return cause === undefined ? undefined : Number(cause.message);
}
