// All error codes with which Portcullis itself answers a request. Code that fails throws a GatewayError; only
// request/answer/status.ts turns it into an answer. The caller sees `message`. Details that are not for the
// caller belong in `cause`, which is only logged. A secret belongs in neither.
//
// Codes that begin with MEMBER_ tell what went wrong between the gateway and the API server of a cluster, or what that
// server answered. Codes that begin with CLUSTER_ tell what is wrong with the cluster's registration at the gateway.

/** How an error code is sent: HTTP status and `metav1.Status` reason (apimachinery/pkg/apis/meta/v1/types.go). */
export interface ErrorKind {
  readonly status: number;
  readonly reason: string;
}

/** All error codes, with their status and reason. A new kind of failure needs a new line here. */
export const errorKinds = {
  // Errors of the request itself.
  BAD_REQUEST: { status: 400, reason: 'BadRequest' },
  BAD_PATH: { status: 400, reason: 'BadRequest' },
  BAD_HEADERS: { status: 400, reason: 'BadRequest' },
  /**
   * A request that upgrades its connection (exec, attach, port-forward) is malformed, or not supported by the gateway.
   */
  BAD_UPGRADE: { status: 400, reason: 'BadRequest' },
  /** The headers of an impersonation (`kubectl --as`) are malformed or contradict each other. */
  BAD_IMPERSONATION: { status: 400, reason: 'BadRequest' },
  // The caller is not known or not allowed to do this.
  UNAUTHENTICATED: { status: 401, reason: 'Unauthorized' },
  FORBIDDEN: { status: 403, reason: 'Forbidden' },
  /**
   * The credential is valid, but its user name or a group is reserved (such as system:masters), or has characters that
   * an HTTP header cannot carry, so the identity cannot be sent to a cluster.
   */
  IDENTITY_REFUSED: { status: 403, reason: 'Forbidden' },
  // The caller is allowed, but the request cannot be fulfilled as it was made.
  NOT_FOUND: { status: 404, reason: 'NotFound' },
  CLUSTER_NOT_FOUND: { status: 404, reason: 'NotFound' },
  METHOD_NOT_ALLOWED: { status: 405, reason: 'MethodNotAllowed' },
  NOT_ACCEPTABLE: { status: 406, reason: 'NotAcceptable' },
  CONFLICT: { status: 409, reason: 'Conflict' },
  /** The continue token or resourceVersion is too old: the client must list again. */
  EXPIRED: { status: 410, reason: 'Expired' },
  TOO_LARGE: { status: 413, reason: 'RequestEntityTooLarge' },
  HEADERS_TOO_LARGE: { status: 431, reason: 'RequestEntityTooLarge' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, reason: 'UnsupportedMediaType' },
  /** The Host header differs from the server name of the TLS connection. */
  MISDIRECTED: { status: 421, reason: 'BadRequest' },
  /**
   * The request can be read, but a value in it is not allowed. A request that cannot be parsed gets BAD_REQUEST
   * instead.
   */
  INVALID: { status: 422, reason: 'Invalid' },
  // The gateway is overloaded or has failed.
  /** A limit of the gateway is reached: of the caller, of the cluster or of all requests. The message says which. */
  TOO_MANY_REQUESTS: { status: 429, reason: 'TooManyRequests' },
  INTERNAL: { status: 500, reason: 'InternalError' },
  /** The path is not served to clients of HTTP/1.0. */
  HTTP_VERSION: { status: 505, reason: 'InternalError' },
  // The cluster has failed, or something between the gateway and the cluster.
  /** The cluster's answer is not valid HTTP or JSON. */
  MEMBER_BAD_RESPONSE: { status: 502, reason: 'InternalError' },
  /** The cluster answered with a redirect, which the gateway does not follow. */
  MEMBER_REDIRECT: { status: 502, reason: 'InternalError' },
  /** The TLS handshake with the cluster failed, for example because its certificate is not trusted. */
  MEMBER_TLS: { status: 502, reason: 'ServiceUnavailable' },
  /** The gateway has no credential for the cluster, or the cluster refuses it. */
  MEMBER_CREDENTIAL: { status: 502, reason: 'ServiceUnavailable' },
  /** The proxy or tunnel server in front of the cluster has failed. */
  MEMBER_PROXY: { status: 502, reason: 'ServiceUnavailable' },
  /** Nothing listens at the cluster's address. */
  MEMBER_REFUSED: { status: 503, reason: 'ServiceUnavailable' },
  /** The connection to the cluster broke, its host name cannot be resolved, or its last health checks have failed. */
  MEMBER_UNAVAILABLE: { status: 503, reason: 'ServiceUnavailable' },
  /** Too many requests wait for this cluster, or its connections are at their limit. */
  MEMBER_OVERLOADED: { status: 503, reason: 'ServiceUnavailable' },
  /** The cluster did not accept a connection, or did not answer, before a deadline of the gateway. */
  MEMBER_TIMEOUT: { status: 504, reason: 'Timeout' },
  /** The registration of the cluster cannot be used: its address, CA or credential is missing or malformed. */
  CLUSTER_UNUSABLE: { status: 503, reason: 'ServiceUnavailable' },
  // A part of the gateway, or a service it depends on, is not available.
  /** The index, which answers lists over all clusters, is not available. */
  INDEX_UNAVAILABLE: { status: 503, reason: 'ServiceUnavailable' },
  /** The audit log takes no events, so a request that must be recorded is refused. */
  AUDIT_UNAVAILABLE: { status: 503, reason: 'ServiceUnavailable' },
  /** The hub, the Kubernetes API server that the gateway reads clusters, users and rights from, is not available. */
  HUB_UNAVAILABLE: { status: 503, reason: 'ServiceUnavailable' },
  /** The gateway is shutting down and accepts no new requests. */
  DRAINING: { status: 503, reason: 'ServiceUnavailable' },
} as const satisfies Record<string, ErrorKind>;

/** The name of an error, one of the keys of {@link errorKinds}. */
export type ErrorCode = keyof typeof errorKinds;

/**
 * The fields of an error besides its message. `kind`, `group`, `name` and `retryAfterSeconds` go into the `details` of
 * the `metav1.Status`, `cluster` and `warnings` into `Warning` headers.
 */
export interface ErrorDetails {
  readonly kind?: string;
  readonly group?: string;
  readonly name?: string;
  /**
   * Seconds after which the caller may retry. Sent as the `Retry-After` header only with 429 and DRAINING: this header
   * makes client-go repeat even a POST, which is safe only for these two errors, since no part of the request was
   * executed.
   */
  readonly retryAfterSeconds?: number;
  /** Name of the cluster that the error is about. */
  readonly cluster?: string;
  /**
   * Further `Warning` headers for the caller, each with the cluster that it is about; undefined when it is about none.
   * They may only name clusters that the caller is allowed to know about.
   */
  readonly warnings?: readonly { readonly cluster: string | undefined; readonly text: string }[];
}

/**
 * The error that code throws when it cannot fulfil a request; request/answer/status.ts turns it into the HTTP response.
 */
export class GatewayError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetails;

  /**
   * @param code one of {@link errorKinds}
   * @param message for the caller: what failed and, where possible, what to do; never a secret
   * @param options `cause` is only logged
   */
  constructor(code: ErrorCode, message: string, options: ErrorDetails & { readonly cause?: unknown } = {}) {
    const { cause, ...details } = options;
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'GatewayError';
    this.code = code;
    this.details = details;
  }

  /** HTTP status code of the answer. */
  get status(): number {
    return errorKinds[this.code].status;
  }

  /** The `reason` field of the `metav1.Status`. */
  get reason(): string {
    return errorKinds[this.code].reason;
  }
}
