// Runs exec plugins for credentials on behalf of all workers. A plugin may open a browser, or invalidate its previous
// token, so the result that one worker got is given to the other workers too. Each worker keeps its credentials itself
// and asks again when it needs a new one.
import { setMaxListeners } from 'node:events';
import { readExecCredential } from '../../cache/credentials/exec-output.ts';
import { runExec } from '../../cache/credentials/exec-run.ts';
import type { ExecResult, ExecRun } from '../../cache/credentials/exec-run.ts';
import type { PluginRun } from './messages.ts';

/** Runs plugins, and shares their results between workers. */
export interface PluginRuns {
  /**
   * Runs the plugin, or returns an earlier result that is still valid. Never rejects.
   * @param worker any object that stands for the asking worker
   */
  run(worker: object, run: PluginRun): Promise<ExecResult>;
  /** Kills the processes of all exec plugins that are running. */
  close(): void;
}

/** The last result of one plugin command with the same arguments and environment. */
interface Known {
  readonly result: ExecResult;
  readonly endedAtMs: number;
  /** End of the time in which the result may be shared, in Unix milliseconds. */
  readonly expiresAtMs: number;
  /** The workers that got this result, each with the time when it first got the result, in milliseconds since 1970. */
  readonly givenAtMs: WeakMap<object, number>;
}

/**
 * A worker whose credential was refused waits at least this many milliseconds before it asks again
 * (`cache/credentials/exec.ts`). So a worker that asks sooner needs the credential for another use of the same plugin,
 * such as a second cluster, and gets the same result.
 */
const sameAskMs = 10_000;
/**
 * For how many milliseconds a failed run is shared with workers that have not got its result yet. After that, the
 * plugin is run again when a worker asks.
 */
const failureMs = 10_000;
/** Milliseconds after which results of plugins are dropped from memory. */
const keptMs = 24 * 3600_000;

/**
 * Makes the object that runs plugins for all workers.
 * @param start runs a plugin
 * @param now returns milliseconds since 1970
 */
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

/** End of the time in which a result may be given to other workers, in Unix milliseconds. */
function expiryOf(result: ExecResult, nowMs: number): number {
  if (result.kind === 'exited' && result.code === 0) {
    try {
      const { apiVersion } = JSON.parse(result.stdout) as { apiVersion?: unknown };
      return readExecCredential(result.stdout, String(apiVersion)).expiresAtMs ?? Infinity;
    } catch {
      // The output is not a valid credential, so it is treated as a failed run.
    }
  }
  return nowMs + failureMs;
}
