// Errors in the form in which the first process and a worker send them to each other. Only the message of a
// GatewayError may be shown to callers; in place of any other error, a general message is sent.
import { ConfigurationError } from '../../lib/configuration-error.ts';
import type { ConfigurationFault } from '../../lib/configuration-error.ts';
import { GatewayError } from '../../model/errors.ts';
import type { ErrorCode, ErrorDetails } from '../../model/errors.ts';

/** A GatewayError without its cause, which the throwing process logs itself. */
export interface WireError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details: ErrorDetails;
}

/** Why a worker could not start, in a form that can be sent to the first process. */
export type StartFault = { readonly faults: readonly ConfigurationFault[] } | { readonly error: WireError };

export function wireErrorOf(error: unknown): WireError {
  if (error instanceof GatewayError) return { code: error.code, message: error.message, details: error.details };
  return { code: 'INTERNAL', message: 'the first process of the gateway could not answer', details: {} };
}

export function errorOfWire({ code, message, details }: WireError): GatewayError {
  return new GatewayError(code, message, details);
}

/**
 * The form of a start error that can be sent to the first process.
 * @throws the error itself, when it is of a class that the operator cannot fix
 */
export function startFaultOf(error: unknown): StartFault {
  if (error instanceof ConfigurationError) return { faults: error.faults };
  if (error instanceof GatewayError) return { error: wireErrorOf(error) };
  throw error;
}

export function errorOfStart(fault: StartFault): ConfigurationError | GatewayError {
  return 'faults' in fault ? new ConfigurationError(fault.faults) : errorOfWire(fault.error);
}
