// Timeouts and intervals of connections to members, of their pools and of health probes, for which there is no flag.
// Tests shorten all of them by one factor.
import { connectTimeoutMs } from '../../lib/limits.ts';
import { clientLostMs } from '../../http/http2/http2-liveness.ts';
import { defaultBreakerLimits } from '../../routing/call/breaker.ts';
import type { BreakerLimits } from '../../routing/call/breaker.ts';
import { returnAfterMs } from '../../routing/pools/endpoint-order.ts';
import { defaultPoolTimes } from '../../routing/pools/endpoint-pools.ts';
import type { TransportLimits } from '../../routing/pools/transport.ts';
import { defaultIntervalMs } from '../open-streams/stream-reviews.ts';
import { defaultProbeTiming } from '../probe/probe.ts';

/** Timeouts and intervals, in milliseconds, that the operator cannot set. */
export interface FixedTimes {
  readonly connectTimeoutMs: number;
  readonly transport: TransportLimits;
  readonly breaker: BreakerLimits;
  readonly probeTimeoutMs: number;
  readonly streamReviewIntervalMs: number;
  readonly clientLostMs: number;
}

/** The fixed timeouts and intervals, multiplied by `scale`. */
export function fixedTimes(scale: number): FixedTimes {
  const { failuresToOpen, firstOpenMs, longestOpenMs } = defaultBreakerLimits;
  return {
    connectTimeoutMs: connectTimeoutMs * scale,
    transport: {
      idleTimeoutMs: defaultPoolTimes.idleTimeoutMs * scale,
      pingIntervalMs: defaultPoolTimes.pingIntervalMs * scale,
      pingTimeoutMs: defaultPoolTimes.pingTimeoutMs * scale,
      returnAfterMs: returnAfterMs * scale,
    },
    breaker: { failuresToOpen, firstOpenMs: firstOpenMs * scale, longestOpenMs: longestOpenMs * scale },
    probeTimeoutMs: defaultProbeTiming.timeoutMs * scale,
    streamReviewIntervalMs: defaultIntervalMs * scale,
    clientLostMs: clientLostMs * scale,
  };
}
