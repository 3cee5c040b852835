// What the chain knows of tracing: types only, so that naming them loads nothing. Easy to get wrong: an import of a
// value from here or from OpenTelemetry would be paid by everybody who never asked for a trace.
import type { Authenticated } from '../exchange.ts';

/** Decides which requests have spans. */
export interface Tracing {
  /** The caller is known; `observation.trace` is set when this request is traced. */
  begin(state: Authenticated): void;
}
