// Types of requests to an API server (the hub's, or a member's that our own code asks), of its answers and objects.

/**
 * A request of our own code to an API server: the hub's, with the gateway's credential, or a member's, as the identity
 * that its client was made for.
 */
export interface ApiCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path and query, such as `/api/v1/secrets?limit=1`. */
  readonly path: string;
  /** Encoded as JSON; a Buffer is sent as it is. A PATCH also needs `contentType`. */
  readonly body?: unknown;
  /** Content-Type of the body. Default `application/json`. */
  readonly contentType?: string;
  /** The Accept header. Default `application/json`. */
  readonly accept?: string;
  /** Milliseconds after which the call fails. For `open`, only the time until the answer's head counts. */
  readonly timeoutMs: number;
  /**
   * Maximum number of bytes in the answer of a member; default: the maximum for a single object. The hub's client has
   * its own limit.
   */
  readonly mostBytes?: number;
  /** Aborting it ends the call. For `open`, it also closes a stream that was returned. */
  readonly signal?: AbortSignal;
}

/** An answer whose body was read to its end. */
export interface ApiAnswer {
  readonly status: number;
  /** The `Retry-After` header in milliseconds. Undefined without the header, or when it is a date and not seconds. */
  readonly retryAfterMs?: number | undefined;
  readonly body: Buffer;
}

/**
 * An answer that is read while it arrives, such as a watch. Iterating `chunks` ends when the answer ends and throws
 * when it was cut.
 */
export interface ApiStream {
  readonly status: number;
  /** The same as `retryAfterMs` of {@link ApiAnswer}. */
  readonly retryAfterMs: number | undefined;
  readonly chunks: AsyncIterable<Buffer>;
  close(): void;
}

/**
 * Sends requests to one API server. An answer with any HTTP status is returned; the methods throw only when no answer,
 * or not all of it, came: the hub's client throws GatewayError HUB_UNAVAILABLE, a member's client the errors of
 * `routing/members`.
 */
export interface ApiClient {
  /**
   * Resolves when the body was read to its end.
   * @throws GatewayError when the server cannot be reached, takes too long or cuts its answer
   */
  request(call: ApiCall): Promise<ApiAnswer>;
  /**
   * Resolves when the answer's status and headers have come.
   * @throws GatewayError when status and headers do not come
   */
  open(call: ApiCall): Promise<ApiStream>;
  /** Names the server in messages: the hub by its address `https://host:port`, a member by its cluster. */
  readonly url: string;
  close(): void;
}

/**
 * An object of an API server, parsed from JSON. Sources must check the type of every field that they read; only `name`,
 * `uid` and `resourceVersion` were checked.
 */
export interface ApiObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly creationTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

/** A collection that is listed and watched, such as the Secrets of one namespace with a label. */
export interface WatchedResource {
  /** API group; '' is the core group. */
  readonly group: string;
  readonly version: string;
  /** The plural name, as in request paths, such as `secrets`. */
  readonly resource: string;
  /** The namespace to watch. Undefined for all namespaces, and for cluster-scoped resources. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

/** The present objects of one {@link WatchedResource}, by `namespace/name`, or by `name` when cluster-scoped. */
export type ApiObjects = ReadonlyMap<string, ApiObject>;
