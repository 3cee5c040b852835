// The chain's view of tracing. It has types only, so that a gateway without tracing loads nothing of OpenTelemetry.
import type { Authenticated } from '../exchange.ts';

/** Decides which requests have spans. */
export interface Tracing {
  /** Called when the caller is known; sets `observation.trace` when this request is traced. */
  begin(state: Authenticated): void;
}
