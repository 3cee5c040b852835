// Ends answers whose client takes nothing. Short answers and watches end after a time, as kube-apiserver ends answers
// beyond its request time-out and watchers that do not keep up. When memory is short anything may end, the longest
// blocked first. Logs, sessions and proxied services have no time limit: `kubectl logs -f | less` may stand still for
// an hour.
import { GatewayError } from '../../cache/model/errors.ts';
import type { OpenStreams } from '../../routing/forward/open-streams.ts';

/** See the file comment. */
export interface SlowClients {
  /** Ends answers that were blocked too long. */
  sweep(): void;
  /** Ends the longest blocked tenth of all blocked answers, at least one if there is any. */
  endSlowest(): void;
  /** Ended so far. */
  readonly ended: number;
  close(): void;
}

/** Starts the checks. @param timeoutMs Infinity for no time limit */
export function startSlowClients(
  openStreams: Pick<OpenStreams, typeof Symbol.iterator>,
  timeoutMs: number,
  nowMs: () => number = () => performance.now(),
): SlowClients {
  let ended = 0;
  const sweep = (): void => {
    const before = nowMs() - timeoutMs;
    for (const stream of openStreams) {
      if (stream.blockedSinceMs === 0 || stream.blockedSinceMs > before) continue;
      if (stream.kind !== 'short' && stream.kind !== 'watch') continue;
      ended += 1;
      stream.abort(
        new GatewayError('TOO_MANY_REQUESTS', `the client took nothing of its answer for ${timeoutMs / 1000} s`),
      );
    }
  };
  const timer =
    timeoutMs === Infinity ? undefined : setInterval(sweep, Math.min(Math.max(timeoutMs / 4, 100), 5_000)).unref();
  return {
    sweep,
    endSlowest() {
      const blocked = [...openStreams].filter(({ blockedSinceMs }) => blockedSinceMs > 0);
      blocked.sort((one, other) => one.blockedSinceMs - other.blockedSinceMs);
      for (const stream of blocked.slice(0, Math.ceil(blocked.length / 10))) {
        ended += 1;
        stream.abort(
          new GatewayError(
            'TOO_MANY_REQUESTS',
            'the gateway is short of memory and the client did not take its answer',
          ),
        );
      }
    },
    get ended() {
      return ended;
    },
    close: () => clearInterval(timer),
  };
}
