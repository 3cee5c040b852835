// The only place that turns an error into a response: a metav1.Status and a Warning header. The Warning is there
// because kubectl loses the message when discovery fails, but prints warnings. Easy to get wrong: a 5xx must have no
// Retry-After. With a Retry-After, client-go repeats even POSTs, and a 503 becomes 50 seconds of waiting.
import { GatewayError } from '../../model/errors.ts';
import { HttpFault } from '../../http/http-fault.ts';
import { ownHeaders } from '../../http/own-headers.ts';
import { warningHeader } from '../../routing/forward/warning.ts';

/** A complete answer. Header values have one character per byte (latin1). */
export interface CompleteResponse {
  readonly status: number;
  readonly headers: string[];
  readonly body: Buffer;
}

/** The `metav1.Status` of an error, as an object. */
export function statusObject(error: GatewayError): object {
  const { kind, group, name, retryAfterSeconds, cluster } = error.details;
  const details =
    kind === undefined && name === undefined && retryAfterSeconds === undefined && cluster === undefined
      ? {}
      : {
          details: {
            name: name ?? cluster,
            group,
            kind: kind ?? (cluster === undefined ? undefined : 'clusters'),
            retryAfterSeconds,
          },
        };
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: namingCluster(error.message, cluster),
    reason: error.reason,
    ...details,
    code: error.status,
  };
}

/**
 * Adds the name of the cluster to a message. Errors of a connection name only an address, but callers know the cluster
 * by its name.
 */
function namingCluster(message: string, cluster: string | undefined): string {
  return cluster === undefined || message.includes(`cluster "${cluster}"`)
    ? message
    : `cluster "${cluster}": ${message}`;
}

/** An answer has at most this many Warning headers; further warnings are only in the message of its Status. */
const mostWarnings = 30;

/**
 * Turns a fault of the HTTP layer (a request that could not be read, or an answer that could not be written) into a
 * GatewayError.
 */
export function faultError(fault: HttpFault): GatewayError {
  const { code, message, retryAfterSeconds } = fault;
  return new GatewayError(code, message, retryAfterSeconds === undefined ? {} : { retryAfterSeconds });
}

/**
 * The answer for an error: a Status, the Audit-Id, and for an error of a cluster a Warning that names the cluster and
 * the cause.
 */
export function statusResponse(error: GatewayError, auditId: string): CompleteResponse {
  const body = Buffer.from(`${JSON.stringify(statusObject(error))}\n`);
  const headers = jsonHeaders(body.length, auditId);
  const { cluster, retryAfterSeconds, warnings = [] } = error.details;
  if (cluster !== undefined || error.status >= 500) headers.push('Warning', warningHeader(cluster, error.message));
  for (const one of warnings.slice(0, mostWarnings)) headers.push('Warning', warningHeader(one.cluster, one.text));
  if (retryAfterSeconds !== undefined && (error.status === 429 || error.code === 'DRAINING')) {
    headers.push('Retry-After', String(retryAfterSeconds));
  }
  return { status: error.status, headers, body };
}

/** A JSON answer of the gateway itself, with status 200. */
export function jsonResponse(value: unknown, auditId: string, contentType = 'application/json'): CompleteResponse {
  const body = Buffer.from(`${JSON.stringify(value)}\n`);
  return { status: 200, headers: jsonHeaders(body.length, auditId, contentType), body };
}

/** A plain-text answer of the gateway itself. */
export function textResponse(status: number, text: string, auditId: string): CompleteResponse {
  const body = Buffer.from(text);
  return { status, headers: jsonHeaders(body.length, auditId, 'text/plain; charset=utf-8'), body };
}

/** The headers of a JSON answer of the gateway itself. @param length bytes of its body */
export function jsonHeaders(length: number, auditId: string, contentType = 'application/json'): string[] {
  return [...ownHeaders(auditId, contentType), 'Content-Length', String(length)];
}

/** The error that kube-apiserver answers for a type that it does not serve. */
export function notServed(): GatewayError {
  return new GatewayError('NOT_FOUND', 'the server could not find the requested resource');
}
