// The contract between the code that forwards a request (stream.ts, upgrade.ts) and the code that owns the sockets to
// one cluster (transport.ts and its two clients). Headers are flat raw lists: name, value, name, value (rule "raw
// headers only").
import type { Duplex } from 'node:stream';
import type { RawHeaders } from '../../http/raw-headers.ts';
import type { GatewayError } from '../../cache/model/errors.ts';

/** One request to a member, complete but for its body. */
export interface UpstreamRequest {
  readonly method: string;
  /** Origin-form request target, sent as it is: path and query, base path of the endpoint included. */
  readonly target: string;
  /**
   * Where there is one, the same as `headers` ready to be written, but for the value of `Audit-ID`, which is `auditId`.
   */
  readonly headText?: HeadText | undefined;
  readonly auditId?: string;
  /** Host first; no Connection, no Transfer-Encoding, no Content-Length: framing belongs to the client. */
  readonly headers: RawHeaders;
  /** How the body is framed: none, a known length in bytes, or unknown length (chunked on HTTP/1.1). */
  readonly body: 'none' | 'chunked' | number;
  /**
   * Watches, logs and other streams: may use an HTTP/2 session where the member speaks it; never counted by request
   * deadlines.
   */
  readonly longRunning: boolean;
}

/** Header lines as HTTP/1.1 writes them, checked: those up to `Audit-ID: `, and what follows its value. */
export interface HeadText {
  readonly before: string;
  readonly after: string;
}

/** What comes back. Exactly one of onEnd and onError ends the call; after abort() nothing is called any more. */
export interface ResponseHandler {
  /**
   * A socket or session is ready and the head was handed to it. `reused` is false for the first request of a
   * connection.
   */
  onSent?(reused: boolean): void;
  /** Final status (never 1xx) and headers, hop-by-hop headers and framing included as received. */
  onHeaders(status: number, headers: RawHeaders): void;
  /** One piece of body, already unframed. Call pause() on the call to hold the member back. */
  onData(chunk: Buffer): void;
  /** The body is complete as framed. Trailers are not passed on. */
  onEnd(): void;
  /** Connecting failed, or the member broke off; `afterHeaders` tells whether onHeaders was called before. */
  onError(error: GatewayError, afterHeaders: boolean): void;
  /** The request side can take more after write() returned false. */
  onDrain?(): void;
}

/** A request under way. All methods may be called at any time, also after the end. */
export interface UpstreamCall {
  /**
   * Sends a piece of request body; false means wait for onDrain. Ignored once a final response came or the call ended.
   */
  write(chunk: Buffer): boolean;
  /** The request body is complete. */
  end(): void;
  pause(): void;
  resume(): void;
  /** Gives up: nothing is called back any more, the HTTP/1.1 socket is destroyed or the HTTP/2 stream reset. */
  abort(): void;
}

/** The answer to an upgrade request, before anyone decided what to do with it. */
export type UpgradeAnswer =
  /**
   * 101: `socket` is the raw connection, `head` the first bytes after the response head. The caller owns the socket
   * now.
   */
  | { readonly kind: 'switched'; readonly headers: RawHeaders; readonly socket: Duplex; readonly head: Buffer }
  /**
   * Any other answer: its body is streamed through `handler` calls; the socket is destroyed at its end, never pooled.
   */
  | { readonly kind: 'refused' };

/** How many of everything a transport holds now, for metrics. */
export interface TransportStats {
  readonly http1Idle: number;
  readonly http1Active: number;
  readonly http2Sessions: number;
  readonly http2Streams: number;
  readonly pending: number;
  readonly upgraded: number;
}

/** The pooled connections of one cluster record; made for a record and closed with it. */
export interface Transport {
  /** Never throws: every fault arrives at handler.onError. */
  send(request: UpstreamRequest, handler: ResponseHandler): UpstreamCall;
  /**
   * Sends an upgrade request on a connection of its own (HTTP/1.1, never pooled before or after). `upgradeToken` is
   * written as `Connection: Upgrade` and `Upgrade: <token>` by the transport. Not one byte of client data is sent. For
   * a refused upgrade, onHeaders, onData, onEnd and onError of the handler are called as in send(). A connect fault
   * rejects.
   */
  upgrade(
    request: UpstreamRequest,
    upgradeToken: string,
    handler: ResponseHandler,
    signal: AbortSignal,
  ): Promise<UpgradeAnswer>;
  stats(): TransportStats;
  /**
   * 'drain': idle sockets are closed now, busy ones when their request ends. 'abort': everything is closed now and
   * calls end with onError.
   */
  close(mode: 'drain' | 'abort'): void;
}
