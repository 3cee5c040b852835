// The orderly shutdown, in the order of kube-apiserver: readyz fails, no new requests are accepted, short requests
// finish, watches end after a complete event, and the rest is aborted when the grace period is over. A list that is cut
// must look cut, so that kubectl exits non-zero; only a watch may end cleanly. Written bytes may still be in the
// buffers of the process, so the shutdown also waits until the connections have closed.
import { within } from '../../lib/within.ts';
import { GatewayError } from '../../model/errors.ts';
import type { OpenStreams } from '../../routing/forward/open-streams.ts';
import type { Listener } from '../listener/tls-server.ts';

/**
 * How many milliseconds the shutdown waits until the audit webhook and the trace collector have received everything.
 * Audit events that were not sent by then stay on disk.
 */
export const flushMs = 3000;

/** The parts that are shut down, and the time that the shutdown may take. */
export interface DrainParts {
  readonly listener: Pick<Listener, 'drain'>;
  readonly openStreams: OpenStreams;
  /** Makes readyz fail. */
  readonly setUnready: () => void;
  /** Makes the gateway refuse new requests. */
  readonly setRefusing: () => void;
  readonly delayMs: number;
  readonly graceMs: number;
}

/**
 * At shutdown, at least this many watches are ended per second, as in kube-apiserver; more when the grace period is too
 * short to end all watches at this rate.
 */
const leastWatchesPerSecond = 200;
/** The share of the grace period within which all watches are ended. */
const watchShare = 0.6;
const watchTickMs = 50;

/**
 * The last milliseconds of the grace period, which are kept for telling clients that their requests are aborted
 * (RST_STREAM, close).
 */
const abortMs = 250;

/** Shuts down; resolves when no request is open and no connection is left, or when the grace period is over. */
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
 * Ends watches a few at a time. Their clients open new watches at once, and thousands of them in one moment would
 * overload the other replicas and the clusters.
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
