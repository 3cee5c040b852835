// Lets a scenario of the kubectl matrix say which commands must work and which must fail. It is not enough to compare
// the two sides, because both may fail in the same way. Before a command whose output depends on timing, the scenario
// waits for a state with a command that is not compared.
import { connect } from 'node:net';

import type { Outcome, RunOptions, Side } from './sides.ts';

/** Commands of one side in one namespace. */
export interface Steps {
  readonly namespace: string;
  /** Runs and compares; throws unless it exits with 0. */
  ok(args: readonly string[], options?: RunOptions): Promise<Outcome>;
  /** As `ok`, and throws unless standard output matches. */
  shows(args: readonly string[], pattern: RegExp, options?: RunOptions): Promise<Outcome>;
  /** Runs and compares; throws unless it exits with `code` (default 1) and writes what `pattern` says. */
  fails(args: readonly string[], pattern: RegExp, code?: number, options?: RunOptions): Promise<Outcome>;
  /** As `ok`, but the lines of standard output are compared in order of the alphabet. */
  sorted(args: readonly string[]): Promise<Outcome>;
  /** Runs as the member's admin, out of the comparison; throws unless it exits with 0. */
  prepare(...args: readonly string[]): Promise<string>;
  /** Waits, out of the comparison, until `kubectl <args>` of the admin prints what `pattern` says. */
  settled(args: readonly string[], pattern: RegExp): Promise<void>;
}

/** Steps in a namespace; every command of `ok` and `fails` gets `-n`. */
export function stepsIn(side: Side, namespace: string): Steps {
  const run = (args: readonly string[], options?: RunOptions): Promise<Outcome> =>
    side.run(['-n', namespace, ...args], options);
  const admin = (args: readonly string[]): ReturnType<Side['member']['kubectl']> =>
    side.member.kubectl(['-n', namespace, ...args]);
  return {
    namespace,
    async ok(args, options) {
      const outcome = await run(args, options);
      if (outcome.code !== 0) throw new Error(reported(side, outcome, 'failed'));
      return outcome;
    },
    async shows(args, pattern, options) {
      const outcome = await run(args, options);
      if (outcome.code !== 0) throw new Error(reported(side, outcome, 'failed'));
      if (!pattern.test(outcome.stdout)) throw new Error(reported(side, outcome, `did not show ${String(pattern)}`));
      return outcome;
    },
    async sorted(args) {
      const outcome = await run(args, { silent: true });
      if (outcome.code !== 0) throw new Error(reported(side, outcome, 'failed'));
      side.outcomes.push({ ...outcome, stdout: outcome.stdout.split('\n').toSorted().join('\n') });
      return outcome;
    },
    async fails(args, pattern, code = 1, options) {
      const outcome = await run(args, options);
      if (outcome.code !== code) throw new Error(reported(side, outcome, `did not exit with ${code}`));
      if (!pattern.test(outcome.stderr)) throw new Error(reported(side, outcome, `did not say ${String(pattern)}`));
      return outcome;
    },
    async prepare(...args) {
      const { code, stdout, stderr } = await admin(args);
      if (code !== 0) throw new Error(`preparing ${side.member.name}: kubectl ${args.join(' ')}: ${stderr}`);
      return stdout;
    },
    async settled(args, pattern) {
      const deadline = performance.now() + 30_000;
      for (;;) {
        const { stdout, stderr } = await admin(args);
        if (pattern.test(stdout)) return;
        if (performance.now() > deadline) {
          throw new Error(
            `${side.member.name}: kubectl ${args.join(' ')} never said ${String(pattern)}:\n${stdout}${stderr}`,
          );
        }
      }
    },
  };
}

function reported(side: Side, { command, code, stdout, stderr }: Outcome, what: string): string {
  return `${side.name}: kubectl ${command} ${what} (${String(code)})\n${stdout}\n${stderr}`;
}

/**
 * Sends bytes to a local port, half-closes, and resolves with all that came back. Rejects when the connection breaks.
 */
export function exchangeTcp(port: number, data: string | Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.on('error', reject);
    socket.on('end', () => {
      socket.end();
      resolve(Buffer.concat(chunks));
    });
    socket.end(data);
  });
}
