// The part of tracing that the request chain uses. This file has only types, so that a gateway without tracing does not
// load OpenTelemetry.
import type { Authenticated } from '../../request/exchange.ts';

/** Decides which requests are traced. */
export interface Tracing {
  /** Called when the caller is known. Sets `observation.trace` when the request is to be traced. */
  begin(state: Authenticated): void;
}
