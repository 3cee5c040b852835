// A request and its answer, with the same interface for HTTP/1.1, HTTP/1.0 and HTTP/2. After abort(), or when the
// client has disconnected, all methods do nothing.
import type { Duplex } from 'node:stream';
import type { RawHeaders } from './raw-headers.ts';

/** How a request body is framed: no body, chunked (its length is not known), or its length in bytes. */
export type BodyFraming = 'none' | 'chunked' | number;

/** Receives the request body. */
export interface BodyReader {
  onData(chunk: Buffer): void;
  onEnd(): void;
}

/** A request, and the methods to answer it. */
export interface Inbound {
  readonly method: string;
  /** The request target as received, for example `/version?x=y`. */
  readonly target: string;
  readonly headers: RawHeaders;
  readonly protocol: 'HTTP/1.1' | 'HTTP/1.0' | 'HTTP/2.0';
  readonly body: BodyFraming;
  /** Whether respond() was called. */
  readonly answered: boolean;
  /** Whether the client has disconnected or the answer was sent completely. */
  readonly closed: boolean;

  readBody(reader: BodyReader): void;
  pauseBody(): void;
  resumeBody(): void;

  /** Sends the response head. With `bodyless`, no body follows (HEAD, 204, 304); end() must still be called. */
  respond(status: number, headers: RawHeaders, bodyless: boolean): void;
  /** Sends body data; false means that the caller should wait for onDrain. */
  write(chunk: Buffer): boolean;
  end(): void;
  /** Cuts the answer so that the client notices: HTTP/1.1 destroys the socket, HTTP/2 resets the stream. */
  abort(): void;
  /** Sets the one listener that is called when more can be written after write() returned false. */
  onDrain(listener: () => void): void;
  /**
   * Adds a listener that is called once when the exchange is over, for any reason. `aborted` is false when the answer
   * was sent completely.
   */
  onClose(listener: (aborted: boolean) => void): void;
}

/**
 * A request that offers an upgrade which the gateway serves, over HTTP/1.1 only. Its handler owns the socket and must
 * answer on it or destroy it.
 */
export interface InboundUpgrade extends Inbound {
  readonly socket: Duplex;
  /**
   * Bytes that the client sent after the request head. They must not be sent to a member before it has answered 101.
   */
  readonly early: Buffer;
}
