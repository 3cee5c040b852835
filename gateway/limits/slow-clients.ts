// Ends answers whose client takes nothing: short ones and watches after a time, as kube-apiserver ends what is not
// written within its request time-out and watchers that do not keep up; anything, the longest blocked first, when
// memory is short. Easy to get wrong: `kubectl logs -f | less` stands still for an hour with good reason, so logs,
// sessions and proxied services have no time limit.
import { GatewayError } from '../../cache/model/errors.ts';
import type { OpenStreams } from '../../routing/forward/open-streams.ts';

/** See the file comment. */
export interface SlowClients {
  /** Ends those that are over their time. */
  sweep(): void;
  /** Ends the longest blocked tenth of all that are blocked, at least one if there is any. */
  endSlowest(): void;
  /** Ended so far. */
  readonly ended: number;
  close(): void;
}

/** Starts the clock. @param timeoutMs Infinity for no time limit */
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
