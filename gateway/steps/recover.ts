// Step 2 of the chain: an error in a later step is answered with a metav1.Status or, when the answer has already begun,
// cuts it, so that the client sees that it is incomplete. For an unexpected error the caller sees only the Audit-Id;
// the details are logged.
import { GatewayError } from '../../model/errors.ts';
import { recoverable } from '../../request/exchange.ts';
import type { Received, Recoverable } from '../../request/exchange.ts';
import type { ChainDependencies } from './chain-dependencies.ts';
import { HttpFault } from '../../http/http-fault.ts';
import { faultError, statusResponse } from '../../request/answer/status.ts';

export function recover(state: Received, dependencies: ChainDependencies): Recoverable {
  return recoverable(state, (error) => {
    try {
      fail(state, dependencies, error);
    } catch {
      // Even the error could not be sent. The connection is cut and nothing is thrown: one client must not end the
      // process.
      state.inbound.abort();
    }
  });
}

function fail(state: Received, dependencies: ChainDependencies, error: unknown): void {
  const { inbound, auditId, progress } = state;
  const known = knownError(error, auditId);
  if (known.code === 'INTERNAL') dependencies.log.error({ auditId, err: known.cause ?? known }, 'internal error');
  const observed = state as Received & { observation?: { error: unknown } };
  if (observed.observation !== undefined) observed.observation.error = known;
  if (inbound.answered) {
    inbound.abort();
    return;
  }
  const { status, headers, body } = statusResponse(known, auditId);
  progress.status = status;
  progress.bytesOut += body.length;
  progress.onAnswering?.();
  inbound.respond(status, headers, inbound.method === 'HEAD');
  if (inbound.method !== 'HEAD') inbound.write(body);
  inbound.end();
}

function knownError(error: unknown, auditId: string): GatewayError {
  if (error instanceof GatewayError) return error;
  if (error instanceof HttpFault) return faultError(error);
  return new GatewayError('INTERNAL', `an internal error occurred (Audit-Id ${auditId})`, { cause: error });
}
