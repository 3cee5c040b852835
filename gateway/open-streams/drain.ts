// The end of the process in good order (kube-apiserver's shutdown sequence): unready, stop accepting, let short
// requests finish, end watches between two events, abort the rest when the grace is over. A list that is cut must look
// cut, so that kubectl exits non-zero; only a watch may end cleanly. An answer that is written has not left the process
// yet, so connections are waited for.
import { GatewayError } from '../../cache/model/errors.ts';
import type { OpenStreams } from '../../routing/forward/open-streams.ts';
import type { Listener } from '../start/tls-server.ts';

/** How long the end of the process waits for an audit webhook (its events are kept on disk) and a trace collector. */
export const flushMs = 3000;

/** What is drained and how long it may take. */
export interface DrainParts {
  readonly listener: Pick<Listener, 'drain'>;
  readonly openStreams: OpenStreams;
  /** readyz fails from now on. */
  readonly setUnready: () => void;
  /** New requests are refused from now on. */
  readonly setRefusing: () => void;
  readonly delayMs: number;
  readonly graceMs: number;
}

/** Watches that are ended each second, as in kube-apiserver; more when the grace is too short for that. */
const leastWatchesPerSecond = 200;
/** Share of the grace after which the last watch is ended. */
const watchShare = 0.6;
const watchTickMs = 50;

/** Part of the grace kept for sending the aborts (RST_STREAM, close) to clients. */
const abortMs = 250;

/** Resolves when no request is open and no connection is left, or the grace is over. */
export async function drain(parts: DrainParts): Promise<void> {
  const { openStreams } = parts;
  parts.setUnready();
  if (parts.delayMs > 0) await new Promise((resolve) => setTimeout(resolve, parts.delayMs));
  parts.setRefusing();
  const disconnected = parts.listener.drain();
  const ending = endWatches(openStreams, parts.graceMs);
  const allGone = Promise.all([openStreams.whenEmpty(), disconnected]);
  const isEmpty = await within(parts.graceMs - abortMs, allGone);
  ending.stop();
  if (isEmpty) return;
  const reason = new GatewayError('DRAINING', 'the gateway is shutting down');
  for (const stream of openStreams) stream.abort(reason);
  await within(abortMs, disconnected);
}

/**
 * Ends watches a few at a time. Their clients open them again at once, and thousands in one moment would overload the
 * other replicas and the members.
 */
function endWatches(openStreams: OpenStreams, graceMs: number): { stop(): void } {
  const watches = [...openStreams].filter(({ kind }) => kind === 'watch');
  const perSecond = Math.max(leastWatchesPerSecond, (watches.length * 1000) / Math.max(1, graceMs * watchShare));
  const startedMs = performance.now();
  let ended = 0;
  const tick = (): void => {
    const due = Math.ceil(((performance.now() - startedMs + watchTickMs) / 1000) * perSecond);
    for (; ended < Math.min(due, watches.length); ended++) {
      const watch = watches[ended]!;
      if (openStreams.has(watch)) watch.endAtBoundary();
    }
    if (ended === watches.length) clearInterval(timer);
  };
  const timer = setInterval(tick, watchTickMs);
  tick();
  return { stop: () => clearInterval(timer) };
}

/** Whether the promise resolved in time. */
async function within(timeoutMs: number, promise: Promise<unknown>): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<false>();
  const timer = setTimeout(() => resolve(false), Math.max(0, timeoutMs));
  const inTime = await Promise.race([promise.then(() => true), late]);
  clearTimeout(timer);
  return inTime;
}
