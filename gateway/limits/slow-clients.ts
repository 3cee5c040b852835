// Ends answers that their clients do not read. Short answers and watches end after a time limit, as in kube-apiserver.
// When memory is short, any answer may be ended, beginning with those blocked longest. Logs, exec sessions and proxied
// services have no time limit: `kubectl logs -f | less` may stand still for an hour.
import { GatewayError } from '../../model/errors.ts';
import type { OpenStreams } from '../../routing/forward/open-streams.ts';

/** Ends answers that their clients do not read. */
export interface SlowClients {
  /** Ends short answers and watches whose clients have read nothing for longer than the time limit. */
  sweep(): void;
  /**
   * Ends a tenth of all answers that their clients do not read, namely those blocked longest; at least one, if there is
   * any.
   */
  endSlowest(): void;
  /** How many answers were cut off so far because their clients did not read them. */
  readonly ended: number;
  close(): void;
}

/**
 * Starts to check regularly for answers that their clients do not read.
 * @param timeoutMs time limit in milliseconds for short answers and watches; Infinity for none
 */
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
        new GatewayError('TOO_MANY_REQUESTS', `the client read nothing of its answer for ${timeoutMs / 1000} s`),
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
            'the gateway is short of memory and the client did not read its answer',
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
