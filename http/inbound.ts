// One request and its answer, the same for HTTP/1.1 and HTTP/2. After abort(), or once the client is gone, every method
// does nothing.
import type { Duplex } from 'node:stream';
import type { RawHeaders } from './raw-headers.ts';

/** How a request body is framed: none, a known number of bytes, or unknown. */
export type BodyFraming = 'none' | 'chunked' | number;

/** What happens to the request body while it is read. */
export interface BodyReader {
  onData(chunk: Buffer): void;
  onEnd(): void;
}

/** One request and the way to answer it. */
export interface Inbound {
  readonly method: string;
  /** Request target as received, origin form. */
  readonly target: string;
  readonly headers: RawHeaders;
  readonly protocol: 'HTTP/1.1' | 'HTTP/2.0';
  readonly body: BodyFraming;
  /** True once respond() was called. */
  readonly answered: boolean;
  /** True once the client is gone or the answer is complete. */
  readonly closed: boolean;

  readBody(reader: BodyReader): void;
  pauseBody(): void;
  resumeBody(): void;

  /** Sends the head. `bodyless` says that no body follows (HEAD, 204, 304): end() must still be called. */
  respond(status: number, headers: RawHeaders, bodyless: boolean): void;
  /** Sends a piece of body; false means wait for onDrain. */
  write(chunk: Buffer): boolean;
  end(): void;
  /**
   * Ends the answer so that the client sees it as truncated: HTTP/1.1 destroys the socket, HTTP/2 resets the stream.
   */
  abort(): void;
  /** Registers what happens when the client takes more after write() returned false. One listener. */
  onDrain(listener: () => void): void;
  /**
   * Adds what happens when the exchange is over, for whatever reason; called once. `aborted` is false when the answer
   * was sent completely.
   */
  onClose(listener: (aborted: boolean) => void): void;
}

/** A request to upgrade: HTTP/1.1 only; the socket is ours to answer on or to destroy. */
export interface InboundUpgrade extends Inbound {
  readonly socket: Duplex;
  /** Bytes that came after the request head; must not go anywhere before the member answered 101. */
  readonly early: Buffer;
}
