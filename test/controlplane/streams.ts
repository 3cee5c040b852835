// Long-running kubectl commands for tests: started, watched for what they print, stopped by pid. A port-forward is
// usable only once it has printed its local port.
import { spawn } from 'node:child_process';

import type { ControlPlane, Member } from './fixture-types.ts';

const waitTimeoutMs = 20_000;

/** A running kubectl. */
export interface KubectlStream {
  /** What it has written to standard output so far. */
  readonly output: () => string;
  readonly errors: () => string;
  /** Resolves with the match once standard output matches; rejects when it ends first or after 20 s. */
  readonly waitFor: (pattern: RegExp) => Promise<RegExpMatchArray>;
  /** The exit code, when it has ended by itself or by `stop`; null after a signal. */
  readonly ended: Promise<number | null>;
  readonly stop: () => Promise<void>;
}

/** Starts kubectl as the member's admin; `--kubeconfig` in `args` overrides that. */
export function startKubectl(
  plane: ControlPlane,
  member: Pick<Member, 'adminKubeconfig'>,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): KubectlStream {
  const child = spawn(plane.binaries['kubectl'] ?? '', [`--kubeconfig=${member.adminKubeconfig}`, ...args], {
    detached: true,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  let errors = '';
  const waiters = new Set<() => void>();
  const changed = (): void => {
    for (const waiter of waiters) waiter();
  };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    changed();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  let over = false;
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      over = true;
      changed();
      resolve(code);
    });
  });
  return {
    output: () => output,
    errors: () => errors,
    ended,
    waitFor: (pattern) =>
      new Promise((resolve, reject) => {
        const finish = (settle: () => void): void => {
          clearTimeout(timer);
          waiters.delete(look);
          settle();
        };
        const fail = (why: string): void =>
          finish(() => reject(new Error(`kubectl ${args.join(' ')}: ${why}; it wrote:\n${output}\n${errors}`)));
        const look = (): void => {
          const match = output.match(pattern);
          if (match !== null) finish(() => resolve(match));
          else if (over) fail(`ended without ${pattern}`);
        };
        const timer = setTimeout(() => fail(`nothing like ${pattern} in time`), waitTimeoutMs);
        waiters.add(look);
        look();
      }),
    stop: async () => {
      if (!over && child.pid !== undefined) {
        try {
          process.kill(-child.pid, 'SIGKILL');
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
        }
      }
      await ended;
    },
  };
}

/** A port-forward in use. */
export interface PortForward extends KubectlStream {
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  readonly port: number;
}

/** Starts `kubectl port-forward <target> :<port>` and waits for its local port. */
export async function startForward(
  plane: ControlPlane,
  member: Pick<Member, 'adminKubeconfig'>,
  target: string,
  port: number,
  env: Readonly<Record<string, string>> = {},
): Promise<PortForward> {
  const stream = startKubectl(plane, member, ['port-forward', '--address=127.0.0.1', target, `:${port}`], env);
  try {
    const match = await stream.waitFor(/Forwarding from 127\.0\.0\.1:(\d+)/);
    return { ...stream, url: `http://127.0.0.1:${match[1]}`, port: Number(match[1]) };
  } catch (error) {
    await stream.stop();
    throw error;
  }
}
