// Errors that close a whole HTTP/2 connection, and the error codes of HTTP/2. They are thrown while frames, header
// blocks and streams are handled.

/** Error codes of RST_STREAM and GOAWAY (RFC 9113 section 7). */
export const errorCode = {
  noError: 0,
  protocolError: 1,
  internalError: 2,
  flowControlError: 3,
  streamClosed: 5,
  frameSizeError: 6,
  refusedStream: 7,
  cancel: 8,
  compressionError: 9,
  enhanceYourCalm: 11,
} as const;

/** An error that closes the whole connection. `code` is sent in GOAWAY. */
export class ConnectionFault extends Error {
  override readonly name = 'ConnectionFault';
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** A connection error with code PROTOCOL_ERROR. */
export function protocolFault(message: string): ConnectionFault {
  return new ConnectionFault(errorCode.protocolError, message);
}

/** A connection error with code FRAME_SIZE_ERROR. */
export function sizeFault(): ConnectionFault {
  return new ConnectionFault(errorCode.frameSizeError, 'a frame of a length its type does not allow');
}

/** A connection error with code ENHANCE_YOUR_CALM: the client does something allowed too often. */
export function calm(message: string): ConnectionFault {
  return new ConnectionFault(errorCode.enhanceYourCalm, message);
}
