// Step 3: metrics and the request log see the exchange from here until its sockets are done, however it ends. Easy to get wrong: the
// end of the exchange is when the answer is out or the client is gone, not when the chain returns.
import { grown } from '../exchange.ts';
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
  };
  const observed = grown(state, { observation });
  rooms.metrics.begin(observed);
  observed.inbound.onClose((aborted) => {
    rooms.metrics.end(observed, aborted);
    if (rooms.audit !== undefined) rooms.audit.end(observed);
  });
  return observed;
}
