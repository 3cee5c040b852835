// The error for a request that is not valid HTTP, or an answer that cannot be written as HTTP. Code outside the folder
// `http` turns it into an answer; the gateway makes a `metav1.Status` of it (request/answer/status.ts).

/** HTTP status of each fault. The names are those of the gateway's error codes (model/errors.ts). */
const statuses = {
  BAD_REQUEST: 400,
  BAD_HEADERS: 400,
  BAD_UPGRADE: 400,
  METHOD_NOT_ALLOWED: 405,
  TOO_MANY_REQUESTS: 429,
  HEADERS_TOO_LARGE: 431,
  INTERNAL: 500,
} as const;

export type HttpFaultCode = keyof typeof statuses;

/**
 * The error to answer a request with. Its `message` is sent to the client, so it names the violated rule and repeats
 * nothing of the request.
 */
export class HttpFault extends Error {
  readonly code: HttpFaultCode;
  /** Value for a `Retry-After` header in seconds; undefined for no such header. */
  readonly retryAfterSeconds: number | undefined;

  constructor(code: HttpFaultCode, message: string, options: { readonly retryAfterSeconds?: number } = {}) {
    super(message);
    this.name = 'HttpFault';
    this.code = code;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }

  /** HTTP status code of the answer. */
  get status(): number {
    return statuses[this.code];
  }
}
