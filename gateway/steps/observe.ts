// Step 3: metrics and the request log see the exchange from here until its sockets are done, however it ends. Easy to get wrong: the
// end of the exchange is when the answer is out or the client is gone, not when the chain returns.
import { observed } from '../exchange.ts';
import type { Observation, Observed, Recoverable } from '../exchange.ts';
import type { Rooms } from '../rooms.ts';

export function observe(state: Recoverable, rooms: Rooms): Observed {
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
  rooms.metrics.begin(next);
  next.inbound.onClose((aborted) => {
    rooms.metrics.end(next, aborted);
    if (rooms.audit !== undefined) rooms.audit.end(next);
  });
  return next;
}
