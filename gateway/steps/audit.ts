// Step 6: what is recorded of this request, its trace too, and whether it may go on unrecorded. It comes after
// authentication, because the policy asks who, and before authorization, because refusals belong in an audit log.
import type { Authenticated } from '../exchange.ts';
import type { ChainDependencies } from '../chain-dependencies.ts';

export function audit(state: Authenticated, dependencies: ChainDependencies): Authenticated | Promise<Authenticated> {
  if (dependencies.tracing !== undefined) dependencies.tracing.begin(state);
  if (dependencies.audit === undefined) return state;
  const waiting = dependencies.audit.begin(state);
  return waiting === undefined ? state : waiting.then(() => state);
}
