// The interface between the code that forwards requests (../forward/stream.ts, ../forward/upgrade.ts) and the code that
// owns the sockets to one cluster (../pools/transport.ts and its HTTP/1.1 and HTTP/2 clients). Headers are flat lists:
// name, value, name, value (rule "raw headers only" in docs/rules.md).
import type { Duplex } from 'node:stream';
import type { RawHeaders } from '../../http/raw-headers.ts';
import type { GatewayError } from '../../model/errors.ts';

/** One request to a member, without its body. */
export interface UpstreamRequest {
  readonly method: string;
  /** Path and query, including the endpoint's base path; sent unchanged. */
  readonly target: string;
  /**
   * The lines of `headers` as prepared text, except the value of `Audit-ID`, which is in `auditId`. Undefined when the
   * head has to be written from `headers`.
   */
  readonly headText?: HeadText | undefined;
  readonly auditId?: string;
  /**
   * Header list with Host first. It must not contain Connection, Transfer-Encoding or Content-Length, since the HTTP
   * client code writes these.
   */
  readonly headers: RawHeaders;
  /** How the body is framed: no body, a length in bytes, or an unknown length ('chunked'). */
  readonly body: 'none' | 'chunked' | number;
  /** True for watches, logs and other streams. They may use HTTP/2, and request deadlines do not apply to them. */
  readonly longRunning: boolean;
}

/**
 * Header lines for HTTP/1.1 that have been checked: `before` ends with `Audit-ID: `, `after` begins after the value.
 */
export interface HeadText {
  readonly before: string;
  readonly after: string;
}

/** Receives the answer. Either onEnd or onError is called exactly once at the end; after abort() nothing is called. */
export interface ResponseHandler {
  /**
   * Called when the request head was passed to a connection. `reused` is false for the first request of a connection.
   */
  onSent?(reused: boolean): void;
  /** Called with the final status (never 1xx) and all headers as received, including hop-by-hop and framing headers. */
  onHeaders(status: number, headers: RawHeaders): void;
  /** Called with body data without framing. Call pause() on the call to stop receiving more. */
  onData(chunk: Buffer): void;
  /** Called when the body is complete. Trailers are dropped. */
  onEnd(): void;
  /** Called when connecting failed or the answer was cut. `afterHeaders` is true when onHeaders was called before. */
  onError(error: GatewayError, afterHeaders: boolean): void;
  /** Called when more request body can be written after write() returned false. */
  onDrain?(): void;
}

/** A request in progress. All methods may be called at any time, also after its end. */
export interface UpstreamCall {
  /**
   * Sends body data; false means that the caller should wait for onDrain. Ignored after the final response or the end
   * of the call.
   */
  write(chunk: Buffer): boolean;
  /** Ends the request body. */
  end(): void;
  pause(): void;
  resume(): void;
  /** Cancels the request: no further callbacks; the HTTP/1.1 socket is destroyed or the HTTP/2 stream reset. */
  abort(): void;
}

/** The answer to an upgrade request. */
export type UpgradeAnswer =
  /**
   * The member answered 101. The caller now owns `socket`, the connection; `head` are bytes that arrived after the
   * response head.
   */
  | { readonly kind: 'switched'; readonly headers: RawHeaders; readonly socket: Duplex; readonly head: Buffer }
  /**
   * The member gave another answer. The handler receives it, and the connection is destroyed at the end of the answer.
   */
  | { readonly kind: 'refused' };

/** Numbers of connections and requests of a transport, for metrics. */
export interface TransportStats {
  readonly http1Idle: number;
  readonly http1Active: number;
  readonly http2Sessions: number;
  readonly http2Streams: number;
  readonly pending: number;
  readonly upgraded: number;
}

/** All connections to one cluster. They are made for a cluster record and closed with it. */
export interface Transport {
  /** Sends a request. Never throws; all errors are passed to handler.onError. */
  send(request: UpstreamRequest, handler: ResponseHandler): UpstreamCall;
  /**
   * Sends an upgrade request on a new HTTP/1.1 connection. The transport adds `Connection: Upgrade` and `Upgrade:
   * <upgradeToken>`; no client data is sent. When the member answers anything but 101, the handler receives that answer
   * as in send().
   * @throws GatewayError (rejects) when there was no answer
   */
  upgrade(
    request: UpstreamRequest,
    upgradeToken: string,
    handler: ResponseHandler,
    signal: AbortSignal,
  ): Promise<UpgradeAnswer>;
  stats(): TransportStats;
  /**
   * 'drain' closes idle connections now and the others when their request ends. 'abort' closes all now and ends calls
   * with onError.
   */
  close(mode: 'drain' | 'abort'): void;
}
