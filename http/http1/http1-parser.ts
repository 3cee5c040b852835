// Parses the head of an HTTP/1.1 or HTTP/1.0 request strictly (RFC 9112): everything that two servers could read
// differently is refused. A head may arrive in chunks of any size, even byte by byte. An unfinished head is kept in a
// buffer that doubles in size, and only new bytes are searched for its end.
import { HttpFault } from '../http-fault.ts';
import { headLimits, headTooLarge, type HeadLimits } from '../head-limits.ts';
import { markRepeated } from '../repeated-headers.ts';
import { token, trimmed } from '../field-syntax.ts';
import { HeadBuffer } from '../head-buffer.ts';
import { readHttp10Head, readHttp1Head } from '../request-framing.ts';
import type { Http1RequestHead } from '../request-framing.ts';

/** Request line and header fields as received. Strings hold one latin1 character for each byte. */
export interface Http1Head {
  readonly method: string;
  /** The request target in any form; later the path parser refuses all forms but a path with a query. */
  readonly target: string;
  /** Flat list `[name, value, …]` without white space around the values. */
  readonly headers: readonly string[];
  /** The version of the request line; a request of an `other` version is answered with 400. */
  readonly version: 'HTTP/1.1' | 'HTTP/1.0' | 'other';
}

const headEnd = Buffer.from('\r\n\r\n', 'latin1');
/**
 * In a chunk of at most this many bytes, the end of the head is searched as a string, which is faster than in a Buffer.
 */
const searchedAsTextBytes = 8 * 1024;
/**
 * The header fields of a request are cached for the next one only up to this many bytes, since an idle connection keeps
 * the cache.
 */
const keptFieldBytes = 4096;
/** A target without white space and control characters. The path parser checks the rest of its syntax. */
const targetBytes = /^[\x21-\x7e\x80-\xff]+$/;
/** A control character other than tab, or a CR or LF that is not part of CRLF. */
const badHeadBytes = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)|(?<!\r)\n/;

/** Reads the request heads of one connection, one after the other. */
export class HeadReader {
  readonly #held = new HeadBuffer(headLimits.bytes + 4);
  readonly #fields = new FieldReader();
  #head: Http1Head | undefined;

  /** Whether a part of a head has been received. */
  get started(): boolean {
    return this.#held.length > 0;
  }

  /** Size of the buffer for an unfinished head, in bytes. */
  get heldBytes(): number {
    return this.#held.heldBytes;
  }

  /** The head that the last read() completed; undefined when it completed none. */
  get head(): Http1Head | undefined {
    return this.#head;
  }

  /**
   * Drops the parsed head and any unfinished one. To be called once a head was used, so that an idle connection does
   * not keep it in memory.
   */
  forget(): void {
    this.#head = undefined;
    this.#held.clear();
  }

  /**
   * Reads a chunk.
   * @returns the offset after the head, or -1 when the head is not complete yet and the whole chunk was stored
   * @throws HttpFault BAD_REQUEST when the bytes are not a request head, HEADERS_TOO_LARGE when the head exceeds the
   *   limits
   */
  read(chunk: Buffer, limits: HeadLimits = headLimits): number {
    this.#head = undefined;
    if (this.#held.length > 0) return this.#readHeld(chunk, limits);
    if (chunk.length > searchedAsTextBytes) {
      const end = chunk.indexOf(headEnd);
      if (end < 0) return this.#readHeld(chunk, limits);
      this.#head = this.#parse(chunk.toString('latin1', 0, end + 2), limits);
      return end + 4;
    }
    const text = chunk.toString('latin1');
    const end = text.indexOf('\r\n\r\n');
    if (end < 0) return this.#readHeld(chunk, limits);
    this.#head = this.#parse(text.slice(0, end + 2), limits);
    return end + 4;
  }

  #readHeld(chunk: Buffer, limits: HeadLimits): number {
    const held = this.#held;
    const before = held.length;
    held.append(chunk, 0, Math.min(chunk.length, headLimits.bytes + 4 - before));
    const end = held.endOfHead(before);
    if (end < 0) {
      if (held.length > limits.bytes) throw headTooLarge(limits);
      if (held.hasBareLf(before)) throw badRequest('a line ends with a bare LF');
      return -1;
    }
    const text = held.bytes.toString('latin1', 0, end + 2);
    held.clear();
    this.#head = this.#parse(text, limits);
    return end + 4 - before;
  }

  /**
   * Parses a complete head. The fields of a long head are not cached, because in V8 a slice of a string keeps the whole
   * string in memory.
   */
  #parse(text: string, limits: HeadLimits): Http1Head {
    return parseRequestHead(text, text.length > keptFieldBytes ? undefined : this.#fields, limits);
  }
}

/**
 * Parses a complete head. `text` includes the line end of the last line, but not the empty line. Host and body framing
 * are checked by {@link judge}.
 * @throws HttpFault BAD_REQUEST or HEADERS_TOO_LARGE; the message names the violated rule and repeats nothing of the
 *   request
 */
export function parseRequestHead(text: string, fields?: FieldReader, limits: HeadLimits = headLimits): Http1Head {
  if (text.length > limits.bytes) throw headTooLarge(limits);
  const line = text.indexOf('\r\n');
  const method = text.indexOf(' ');
  const target = text.indexOf(' ', method + 1);
  if (method < 1 || target < 0 || target > line) throw badRequest('the request line is not "method target version"');
  const parsed = {
    // The constant 'GET' in place of a slice makes later lookups by method faster.
    method: method === 3 && text.startsWith('GET') ? 'GET' : text.slice(0, method),
    target: text.slice(method + 1, target),
    headers:
      fields === undefined ? readFieldLines(text.slice(line + 2), limits) : fields.read(text.slice(line + 2), limits),
    version: versionOf(text.slice(target + 1, line)),
  };
  if (!token.test(parsed.method)) throw badRequest('the method is not a token');
  if (!targetBytes.test(parsed.target)) throw badRequest('the request target holds a blank or is empty');
  return parsed;
}

/**
 * Checks version and method, and reads Host and body framing from the fields.
 * @throws HttpFault when the request must be refused; it can still be answered with an error on this connection
 */
export function judge(head: Http1Head): Http1RequestHead {
  if (head.version === 'other')
    throw new HttpFault('BAD_REQUEST', 'the HTTP version is not supported; use HTTP/1.1 or HTTP/2');
  if (head.method === 'CONNECT') {
    throw new HttpFault('METHOD_NOT_ALLOWED', 'CONNECT is not supported: the gateway is not a proxy for other hosts');
  }
  return head.version === 'HTTP/1.1' ? readHttp1Head(head.headers) : readHttp10Head(head.headers);
}

function versionOf(version: string): Http1Head['version'] {
  if (version === 'HTTP/1.1' || version === 'HTTP/1.0') return version;
  if (/^HTTP\/[0-9]\.[0-9]$/.test(version)) return 'other';
  throw badRequest('the request line does not end with an HTTP version');
}

/**
 * Parses the header fields of one connection's requests. When the fields are byte for byte those of the request before,
 * the same list object is returned, so that readOnce() can reuse what it computed from that list. This saves 1.9 of 2.3
 * microseconds for a typical request of kubectl.
 */
class FieldReader {
  #lastText = '';
  #last: readonly string[] | undefined;

  read(text: string, limits: HeadLimits): readonly string[] {
    if (this.#last !== undefined && text === this.#lastText) {
      markRepeated(this.#last);
      return this.#last;
    }
    const headers = readFieldLines(text, limits);
    const kept = text.length <= keptFieldBytes;
    this.#lastText = kept ? text : '';
    this.#last = kept ? headers : undefined;
    return headers;
  }
}

/**
 * Parses header lines.
 * @param text all lines, each with its CRLF
 * @throws HttpFault BAD_REQUEST when a line is not valid, HEADERS_TOO_LARGE when there are too many
 */
function readFieldLines(text: string, limits: HeadLimits): readonly string[] {
  if (badHeadBytes.test(text)) throw badRequest('the head holds a control character, a bare CR or a bare LF');
  const headers: string[] = [];
  let at = 0;
  while (at < text.length) {
    const end = text.indexOf('\r\n', at);
    const colon = text.indexOf(':', at);
    if (colon < 0 || colon > end) throw badRequest('a header line has no colon');
    const name = text.slice(at, colon);
    // This also refuses folded lines and white space before the colon, since white space is never part of a token.
    if (!token.test(name)) throw badRequest('a header name is not a token');
    headers.push(name, trimmed(text, colon + 1, end));
    if (headers.length > limits.pairs * 2) throw headTooLarge(limits);
    at = end + 2;
  }
  return headers;
}

function badRequest(what: string): HttpFault {
  return new HttpFault('BAD_REQUEST', `the request is not valid HTTP/1.1: ${what}`);
}
