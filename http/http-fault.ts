// Why a request cannot be read, or an answer cannot be written, as HTTP. The caller of this room turns a fault into an
// answer; the gateway makes a `metav1.Status` of it (gateway/status.ts).

/** The kinds of faults, named as the gateway's closed list of errors names them, with their HTTP status. */
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

/** `message` is for the client: it names the rule that was broken and repeats nothing of the request. */
export class HttpFault extends Error {
  readonly code: HttpFaultCode;
  /** Seconds until it is worth asking again. */
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
