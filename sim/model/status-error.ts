// The error answers of the simulated API server. Reason, message and details are those of kube-apiserver
// (apimachinery/pkg/api/errors), because kubectl prints the message. In most errors `details.kind` is the plural name
// of the resource.
import type { JsonObject } from './types.ts';

/** An API group and the plural name of a resource. */
export interface GroupResource {
  readonly group: string;
  readonly plural: string;
}

/** An error that is answered as a `metav1.Status`. */
export class StatusError extends Error {
  readonly code: number;
  readonly reason: string;
  readonly details: JsonObject | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** When set, the answer is this text instead of a Status. */
  plainText: string | undefined;
  /**
   * The value of `metadata.continue` in the Status: a new continue token for a client whose token expired, so that it
   * can read the rest of the list.
   */
  continueToken: string | undefined;

  constructor(
    code: number,
    reason: string,
    message: string,
    details?: JsonObject,
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
    this.name = 'StatusError';
    this.code = code;
    this.reason = reason;
    this.details = details;
    this.headers = headers;
  }

  /** The body of the answer, a `metav1.Status`. */
  toStatus(): JsonObject {
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: this.continueToken === undefined ? {} : { continue: this.continueToken },
      status: 'Failure',
      message: this.message,
      ...(this.reason === '' ? {} : { reason: this.reason }),
      ...(this.details === undefined ? {} : { details: this.details }),
      code: this.code,
    };
  }
}

/** The name of a resource in messages: `plural.group`, in the core group only the plural name. */
function qualified(resource: GroupResource): string {
  return resource.group === '' ? resource.plural : `${resource.plural}.${resource.group}`;
}

function detailsOf(resource: GroupResource, name?: string, more: JsonObject = {}): JsonObject {
  return {
    ...(name === undefined || name === '' ? {} : { name }),
    ...(resource.group === '' ? {} : { group: resource.group }),
    ...(resource.plural === '' ? {} : { kind: resource.plural }),
    ...more,
  };
}

export function badRequest(message: string): StatusError {
  return new StatusError(400, 'BadRequest', message);
}

export function unauthorized(): StatusError {
  return new StatusError(401, 'Unauthorized', 'Unauthorized');
}

/** A 403 error with the message of Go's NewForbidden. */
export function forbidden(resource: GroupResource, name: string, why: string): StatusError {
  const subject =
    resource.plural === ''
      ? 'forbidden'
      : `${qualified(resource)}${name === '' ? '' : ` ${JSON.stringify(name)}`} is forbidden`;
  return new StatusError(403, 'Forbidden', `${subject}: ${why}`, detailsOf(resource, name));
}

export function notFound(resource: GroupResource, name: string): StatusError {
  return new StatusError(404, 'NotFound', `${qualified(resource)} "${name}" not found`, detailsOf(resource, name));
}

/** A 404 error for a resource or subresource that does not exist. */
export function noSuchResource(): StatusError {
  return new StatusError(404, 'NotFound', 'the server could not find the requested resource', {});
}

/** A 404 error for a path that does not exist, answered with the text of Go's net/http. */
export function noSuchPath(): StatusError {
  const failure = new StatusError(404, 'NotFound', 'the server could not find the requested resource', {});
  failure.plainText = '404 page not found\n';
  return failure;
}

export function methodNotAllowed(): StatusError {
  return new StatusError(
    405,
    'MethodNotAllowed',
    'the server does not allow this method on the requested resource',
    {},
  );
}

export function notAcceptable(accepted: readonly string[]): StatusError {
  const message = `406: Not Acceptable\n\nAvailable representations: ${accepted.join(', ')}`;
  return new StatusError(406, 'NotAcceptable', message, {});
}

export function alreadyExists(resource: GroupResource, name: string): StatusError {
  return new StatusError(
    409,
    'AlreadyExists',
    `${qualified(resource)} "${name}" already exists`,
    detailsOf(resource, name),
  );
}

/** A 409 error for a wrong resourceVersion or another failed precondition. */
export function conflict(resource: GroupResource, name: string, why: string): StatusError {
  const message = `Operation cannot be fulfilled on ${qualified(resource)} "${name}": ${why}`;
  return new StatusError(409, 'Conflict', message, detailsOf(resource, name));
}

/** The message of a 409 error for a wrong resourceVersion. */
export const objectModified =
  'the object has been modified; please apply your changes to the latest version and try again';

/** A 410 error with the reason Expired, for a resourceVersion or continue token that is too old. */
export function expired(message: string): StatusError {
  return new StatusError(410, 'Expired', message);
}

export function tooLarge(message: string): StatusError {
  return new StatusError(413, 'RequestEntityTooLarge', message);
}

export function unsupportedMediaType(accepted: readonly string[]): StatusError {
  const message = `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`;
  return new StatusError(415, 'UnsupportedMediaType', message);
}

/** What is wrong with one field of an object, for a 422 error (Go's field.Error). */
export interface FieldFault {
  /**
   * Go's field.ErrorType, such as FieldValueInvalid, FieldValueRequired, FieldValueForbidden or FieldValueNotSupported.
   */
  readonly reason: string;
  /** The message without the name of the field, such as `Invalid value: "x": must be…`. */
  readonly message: string;
  readonly field: string;
}

/** A 422 error with the message of Go's NewInvalid. `kind` is a kind such as Pod, not the plural name. */
export function invalid(
  kind: { group: string; kind: string },
  name: string,
  faults: readonly FieldFault[],
): StatusError {
  const where = kind.group === '' ? kind.kind : `${kind.kind}.${kind.group}`;
  const texts = [...new Set(faults.map((fault) => `${fault.field}: ${fault.message}`))];
  const list = texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`;
  return new StatusError(422, 'Invalid', `${where} "${name}" is invalid: ${list}`, {
    ...(name === '' ? {} : { name }),
    ...(kind.group === '' ? {} : { group: kind.group }),
    ...(kind.kind === '' ? {} : { kind: kind.kind }),
    causes: faults.map((fault) => ({ reason: fault.reason, message: fault.message, field: fault.field })),
  });
}

export function requiredField(field: string, detail = ''): FieldFault {
  return { reason: 'FieldValueRequired', message: `Required value${detail === '' ? '' : `: ${detail}`}`, field };
}

export function invalidField(field: string, value: unknown, detail: string): FieldFault {
  return { reason: 'FieldValueInvalid', message: `Invalid value: ${JSON.stringify(value)}: ${detail}`, field };
}

/** A 422 error for an option in the query string or in DeleteOptions. */
export function invalidOption(kind: string, fault: FieldFault): StatusError {
  return invalid({ group: 'meta.k8s.io', kind }, '', [fault]);
}

/** A 500 error without a reason, which kube-apiserver sends for some invalid requests. */
export function unexplained(message: string): StatusError {
  return new StatusError(500, '', message);
}

export function internalError(message: string): StatusError {
  return new StatusError(500, 'InternalError', `Internal error occurred: ${message}`, { causes: [{ message }] });
}
