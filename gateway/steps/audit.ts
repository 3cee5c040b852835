// Step 7 of the chain: starts the audit record and the trace of the request, or refuses a request that must be recorded
// but cannot be. This step comes after authentication, because rules of the audit policy depend on the caller, and
// before authorization, because refused requests belong in the audit log.
import type { Authenticated } from '../../request/exchange.ts';
import type { ChainDependencies } from './chain-dependencies.ts';

export function audit(state: Authenticated, dependencies: ChainDependencies): Authenticated | Promise<Authenticated> {
  if (dependencies.tracing !== undefined) dependencies.tracing.begin(state);
  if (dependencies.audit === undefined) return state;
  const waiting = dependencies.audit.begin(state);
  return waiting === undefined ? state : waiting.then(() => state);
}
