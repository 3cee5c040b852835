// Step 3 of the chain: metrics and the request log follow the request from here until its answer has ended or the
// client has closed the connection. This may be long after the steps of the chain have returned.
import { observed } from '../../request/exchange.ts';
import type { Observation, Observed, Recoverable } from '../../request/exchange.ts';
import type { ChainDependencies } from './chain-dependencies.ts';

export function observe(state: Recoverable, dependencies: ChainDependencies): Observed {
  const observation: Observation = {
    cluster: '',
    verb: '',
    resource: '',
    longRunning: false,
    error: undefined,
    authorization: undefined,
    audit: undefined,
    trace: undefined,
  };
  const next = observed(state, observation);
  dependencies.metrics.begin(next);
  next.inbound.onClose((aborted) => {
    dependencies.metrics.end(next, aborted);
    if (dependencies.audit !== undefined) dependencies.audit.end(next);
  });
  return next;
}
