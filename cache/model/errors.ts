// All reasons for which Portcullis itself refuses a request or lets it fail. Code that fails throws a GatewayError, and
// only gateway/status.ts turns it into an answer. Easy to get wrong: the caller sees `message`, so it never holds a
// secret. Private details go into `cause`, which is only logged.

/**
 * What one error code means on the wire: HTTP status and `metav1.Status` reason
 * (apimachinery/pkg/apis/meta/v1/types.go).
 */
export interface ErrorKind {
  readonly status: number;
  readonly reason: string;
}

/** Every error code. A new kind of failure gets a new line here. */
export const errorKinds = {
  // The request itself.
  BAD_REQUEST: { status: 400, reason: 'BadRequest' },
  BAD_PATH: { status: 400, reason: 'BadRequest' },
  BAD_HEADERS: { status: 400, reason: 'BadRequest' },
  /** An upgrade (exec, attach, port-forward) that is malformed, or that the gateway does not offer. */
  BAD_UPGRADE: { status: 400, reason: 'BadRequest' },
  BAD_IMPERSONATION: { status: 400, reason: 'BadRequest' },
  // The caller.
  UNAUTHENTICATED: { status: 401, reason: 'Unauthorized' },
  FORBIDDEN: { status: 403, reason: 'Forbidden' },
  /**
   * The credential is good. But nobody may act under its user name or group, or the name cannot be sent to a cluster.
   */
  IDENTITY_REFUSED: { status: 403, reason: 'Forbidden' },
  // What was asked for.
  NOT_FOUND: { status: 404, reason: 'NotFound' },
  CLUSTER_NOT_FOUND: { status: 404, reason: 'NotFound' },
  METHOD_NOT_ALLOWED: { status: 405, reason: 'MethodNotAllowed' },
  NOT_ACCEPTABLE: { status: 406, reason: 'NotAcceptable' },
  CONFLICT: { status: 409, reason: 'Conflict' },
  EXPIRED: { status: 410, reason: 'Expired' },
  TOO_LARGE: { status: 413, reason: 'RequestEntityTooLarge' },
  HEADERS_TOO_LARGE: { status: 431, reason: 'RequestEntityTooLarge' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, reason: 'UnsupportedMediaType' },
  /** The Host header is not the name that the TLS connection was made for. */
  MISDIRECTED: { status: 421, reason: 'BadRequest' },
  INVALID: { status: 422, reason: 'Invalid' },
  // The gateway.
  TOO_MANY_REQUESTS: { status: 429, reason: 'TooManyRequests' },
  INTERNAL: { status: 500, reason: 'InternalError' },
  // The cluster, or something on the way to it.
  MEMBER_BAD_RESPONSE: { status: 502, reason: 'InternalError' },
  MEMBER_REDIRECT: { status: 502, reason: 'InternalError' },
  MEMBER_TLS: { status: 502, reason: 'ServiceUnavailable' },
  /** The gateway has no credential for the cluster, or the cluster does not accept it. */
  MEMBER_CREDENTIAL: { status: 502, reason: 'ServiceUnavailable' },
  /** The proxy or tunnel server in front of the cluster failed. */
  MEMBER_PROXY: { status: 502, reason: 'ServiceUnavailable' },
  /** Nothing listens at the cluster's address. */
  MEMBER_REFUSED: { status: 503, reason: 'ServiceUnavailable' },
  MEMBER_UNAVAILABLE: { status: 503, reason: 'ServiceUnavailable' },
  /** Too many requests wait for this cluster, or the gateway has no connection left for it. */
  MEMBER_OVERLOADED: { status: 503, reason: 'ServiceUnavailable' },
  MEMBER_TIMEOUT: { status: 504, reason: 'Timeout' },
  /** The cluster cannot be used as it is configured. */
  CLUSTER_UNUSABLE: { status: 503, reason: 'ServiceUnavailable' },
  // Parts of the gateway, and what it depends on.
  INDEX_UNAVAILABLE: { status: 503, reason: 'ServiceUnavailable' },
  AUDIT_UNAVAILABLE: { status: 503, reason: 'ServiceUnavailable' },
  HUB_UNAVAILABLE: { status: 503, reason: 'ServiceUnavailable' },
  /** The gateway stops and takes no new requests. */
  DRAINING: { status: 503, reason: 'ServiceUnavailable' },
} as const satisfies Record<string, ErrorKind>;

/** One of the codes of {@link errorKinds}. */
export type ErrorCode = keyof typeof errorKinds;

/** `details` of a `metav1.Status`, as far as we fill it. */
export interface ErrorDetails {
  readonly kind?: string;
  readonly group?: string;
  readonly name?: string;
  /**
   * Seconds until the caller may try again. Sent as the `Retry-After` header only with 429 and with DRAINING, because
   * the header makes client-go repeat even a POST.
   */
  readonly retryAfterSeconds?: number;
  /** Name of the cluster that the error is about. The `Warning` header names it, too. */
  readonly cluster?: string;
  /** More `Warning` headers for the caller. They name only clusters that the caller may know of. */
  readonly warnings?: readonly { readonly cluster: string | undefined; readonly text: string }[];
}

/** The only error type that code in one folder throws on purpose for code in another folder to handle. */
export class GatewayError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetails;

  /**
   * @param code one of {@link errorKinds}
   * @param message for the caller: says what failed and, where possible, what to do next; no secrets
   * @param options `cause` is kept for the log
   */
  constructor(code: ErrorCode, message: string, options: ErrorDetails & { readonly cause?: unknown } = {}) {
    const { cause, ...details } = options;
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'GatewayError';
    this.code = code;
    this.details = details;
  }

  /** HTTP status code of this error. */
  get status(): number {
    return errorKinds[this.code].status;
  }

  /** `reason` of the `metav1.Status`. */
  get reason(): string {
    return errorKinds[this.code].reason;
  }
}
