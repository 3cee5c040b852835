// Step 6: what is recorded of this request, its trace too, and whether it may go on unrecorded. Easy to get wrong: it stands behind authentication, because the
// policy asks who, and before authorization, because refusals are what an audit log is read for.
import type { Authenticated } from '../exchange.ts';
import type { Rooms } from '../rooms.ts';

export function audit(state: Authenticated, rooms: Rooms): Authenticated | Promise<Authenticated> {
  if (rooms.tracing !== undefined) rooms.tracing.begin(state);
  if (rooms.audit === undefined) return state;
  const waiting = rooms.audit.begin(state);
  return waiting === undefined ? state : waiting.then(() => state);
}
