// Runs credential plugins for all workers. Each worker keeps credentials by itself and asks when it needs another one.
// A plugin may open a browser, or make its former token invalid, so what one worker was given serves the others too.
import { setMaxListeners } from 'node:events';
import { readExecCredential } from '../../cache/credentials/exec-output.ts';
import { runExec } from '../../cache/credentials/exec-run.ts';
import type { ExecResult, ExecRun } from '../../cache/credentials/exec-run.ts';
import type { PluginRun } from './messages.ts';

/** See the file comment. */
export interface PluginRuns {
  /** @param worker who asks; compared by identity. Never rejects */
  run(worker: object, run: PluginRun): Promise<ExecResult>;
  /** Kills what runs. */
  close(): void;
}

/** Runs with the same command, arguments and environment. */
interface Known {
  readonly result: ExecResult;
  readonly endedAtMs: number;
  /** Unix milliseconds. */
  readonly expiresAtMs: number;
  /** Who was given the result, and when first. */
  readonly givenAtMs: WeakMap<object, number>;
}

/**
 * A worker that asks again sooner has another user of the same plugin: one whose credential was refused asks only after
 * this time (`cache/credentials/exec.ts`).
 */
const sameAskMs = 10_000;
/** A failed run counts for workers that have not heard of it; they ask again by themselves. */
const failureMs = 10_000;
/** Forgotten after this, when nobody asks. */
const keptMs = 24 * 3600_000;

/** @param start runs one; `now` is Unix milliseconds */
export function makePluginRuns(
  start: (run: ExecRun) => Promise<ExecResult> = runExec,
  now: () => number = Date.now,
): PluginRuns {
  const running = new Map<string, Promise<Known>>();
  const known = new Map<string, Known>();
  const closing = new AbortController();
  setMaxListeners(0, closing.signal);

  const begin = async (key: string, run: PluginRun): Promise<Known> => {
    const result = await start({ ...run, signal: closing.signal });
    const made: Known = { result, endedAtMs: now(), expiresAtMs: expiryOf(result, now()), givenAtMs: new WeakMap() };
    running.delete(key);
    known.set(key, made);
    for (const [other, { endedAtMs }] of known) if (now() - endedAtMs > keptMs) known.delete(other);
    return made;
  };
  const isFor = ({ expiresAtMs, givenAtMs }: Known, worker: object): boolean => {
    const givenMs = givenAtMs.get(worker);
    return now() < expiresAtMs && (givenMs === undefined || now() - givenMs < sameAskMs);
  };
  return {
    async run(worker, run) {
      const key = JSON.stringify([run.command, run.args, run.env]);
      const last = known.get(key);
      let found = last !== undefined && isFor(last, worker) ? last : undefined;
      if (found === undefined) {
        const started = running.get(key) ?? begin(key, run);
        running.set(key, started);
        found = await started;
      }
      if (!found.givenAtMs.has(worker)) found.givenAtMs.set(worker, now());
      return found.result;
    },
    close: () => closing.abort(),
  };
}

/** Until when a result may be given to another worker, Unix milliseconds. */
function expiryOf(result: ExecResult, nowMs: number): number {
  if (result.kind === 'exited' && result.code === 0) {
    try {
      const { apiVersion } = JSON.parse(result.stdout) as { apiVersion?: unknown };
      return readExecCredential(result.stdout, String(apiVersion)).expiresAtMs ?? Infinity;
    } catch {
      // No credential: a failure.
    }
  }
  return nowMs + failureMs;
}
