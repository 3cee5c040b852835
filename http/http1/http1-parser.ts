// Reads the head of an HTTP/1.1 request, strictly (RFC 9112): whatever two servers could read differently is refused.
// Easy to get wrong: heads come in any pieces, byte by byte from the slow and the hostile, so an unfinished one is held
// in a buffer that doubles and only new bytes are searched. Fields equal to those of the request before on the same
// connection are the same list object.
import { HttpFault } from '../http-fault.ts';
import { maxHeaderBytes, maxHeaderPairs } from '../../lib/limits.ts';
import { isRepeated, markRepeated } from '../repeated-headers.ts';
import { token, trimmed } from '../field-syntax.ts';
import { HeadBuffer } from '../head-buffer.ts';

/** A request line and its fields as they came; strings are latin1, one char a byte. */
export interface Http1Head {
  readonly method: string;
  /** Any form of request target; only origin form gets past the chain's path parser. */
  readonly target: string;
  /** Flat list `[name, value, …]`, blanks around values taken off. */
  readonly headers: readonly string[];
  /** False for any other version: such a request is answered with 400. */
  readonly http11: boolean;
}

/** Collects the head of one request after the other. */
export interface HeadReader {
  /** Bytes of an unfinished head are held. */
  readonly started: boolean;
  /** Bytes of memory that takes. */
  readonly heldBytes: number;
  /** Set when read() gave an offset: the head in front of it. */
  readonly head: Http1Head | undefined;
  /** Forgets the head and what is held: whoever has taken a head must say so, or an idle connection would keep it. */
  forget(): void;
  /**
   * Takes a piece; gives the offset behind the head, or -1 when the head is not complete and the whole piece was taken.
   * @throws HttpFault BAD_REQUEST when it is no request head, HEADERS_TOO_LARGE beyond 1 MiB or 20,000 fields
   */
  read(chunk: Buffer): number;
}

const headEnd = Buffer.from('\r\n\r\n', 'latin1');
const lineFeed = 0x0a;
const carriageReturn = 0x0d;
/** Text is searched faster than bytes, as long as there are few. */
const searchedAsTextBytes = 8 * 1024;
/** Longer fields are not kept for the next request: an idle connection would hold them. */
const keptFieldBytes = 4096;
/** Neither blanks nor control characters; what else a target may hold is for the path parser. */
const targetBytes = /^[\x21-\x7e\x80-\xff]+$/;
/** A control character other than tab, or a CR or LF that is not half of CRLF. */
const badHeadBytes = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)|(?<!\r)\n/;

/** Makes a reader for one connection. */
export function makeHeadReader(): HeadReader {
  const held = new HeadBuffer(maxHeaderBytes + 4);
  let head: Http1Head | undefined;
  const fields = makeFieldReader();
  /**
   * A client that asks the same again (polls, leases) sends the same bytes: the head as it came, and what it was found
   * to say.
   */
  let lastText = '';
  let last: Http1Head | undefined;

  /** A client that ends lines with LF alone is told at once, instead of waiting for a head that never ends. */
  function refuseBareLf(from: number): void {
    const bytes = held.bytes.subarray(0, held.length);
    let at = bytes.indexOf(lineFeed, from);
    while (at >= 0) {
      if (at === 0 || bytes[at - 1] !== carriageReturn) throw badRequest('a line ends with a bare LF');
      at = bytes.indexOf(lineFeed, at + 1);
    }
  }

  function readHeld(chunk: Buffer): number {
    const before = held.length;
    held.append(chunk, 0, Math.min(chunk.length, maxHeaderBytes + 4 - before));
    const end = held.bytes.subarray(0, held.length).indexOf(headEnd, Math.max(0, before - 3));
    if (end < 0) {
      if (held.length > maxHeaderBytes) throw tooLarge();
      refuseBareLf(before);
      return -1;
    }
    const text = held.bytes.toString('latin1', 0, end + 2);
    held.clear();
    head = parse(text);
    return end + 4 - before;
  }

  /** A part of a text keeps all of it, so fields of a long head are not remembered, however few they are. */
  function parse(text: string): Http1Head {
    return parseRequestHead(text, text.length > keptFieldBytes ? readFieldLines : fields);
  }

  return {
    get started() {
      return held.length > 0;
    },
    get heldBytes() {
      return held.heldBytes;
    },
    get head() {
      return head;
    },
    forget() {
      head = undefined;
      held.clear();
    },
    read(chunk) {
      head = undefined;
      if (held.length > 0) return readHeld(chunk);
      if (chunk.length > searchedAsTextBytes) {
        const end = chunk.indexOf(headEnd);
        if (end < 0) return readHeld(chunk);
        head = parse(chunk.toString('latin1', 0, end + 2));
        return end + 4;
      }
      const text = chunk.toString('latin1');
      const end = text.indexOf('\r\n\r\n');
      if (end < 0) return readHeld(chunk);
      const whole = text.slice(0, end + 2);
      if (last !== undefined && whole === lastText) {
        head = last;
        return end + 4;
      }
      head = parse(whole);
      const repeats = isRepeated(head.headers) && whole.length <= keptFieldBytes;
      lastText = repeats ? whole : '';
      last = repeats ? head : undefined;
      return end + 4;
    },
  };
}

/**
 * Parses a whole head, its last line end included and the empty line not. Host and framing are judged by readHttp1Head
 * of inbound.ts.
 * @throws HttpFault BAD_REQUEST or HEADERS_TOO_LARGE; the message names the rule and repeats nothing of the request
 */
export function parseRequestHead(text: string, readFields = readFieldLines): Http1Head {
  if (text.length > maxHeaderBytes) throw tooLarge();
  const line = text.indexOf('\r\n');
  const method = text.indexOf(' ');
  const target = text.indexOf(' ', method + 1);
  if (method < 1 || target < 0 || target > line) throw badRequest('the request line is not "method target version"');
  const parsed = {
    // A name of our own where there is one: verbs are looked up by it.
    method: method === 3 && text.startsWith('GET') ? 'GET' : text.slice(0, method),
    target: text.slice(method + 1, target),
    headers: readFields(text.slice(line + 2)),
    http11: isHttp11(text.slice(target + 1, line)),
  };
  if (!token.test(parsed.method)) throw badRequest('the method is not a token');
  if (!targetBytes.test(parsed.target)) throw badRequest('the request target holds a blank or is empty');
  return parsed;
}

function isHttp11(version: string): boolean {
  if (version === 'HTTP/1.1') return true;
  if (/^HTTP\/[0-9]\.[0-9]$/.test(version)) return false;
  throw badRequest('the request line does not end with an HTTP version');
}

/**
 * Reads the fields of one connection's requests; those that are byte for byte what the request before had are not read
 * again.
 */
function makeFieldReader(): (text: string) => readonly string[] {
  let lastText = '';
  let last: readonly string[] | undefined;
  return (text) => {
    if (last !== undefined && text === lastText) {
      markRepeated(last);
      return last;
    }
    const headers = readFieldLines(text);
    const kept = text.length <= keptFieldBytes;
    lastText = kept ? text : '';
    last = kept ? headers : undefined;
    return headers;
  };
}

/** @param text all field lines, each with its line end */
function readFieldLines(text: string): readonly string[] {
  if (badHeadBytes.test(text)) throw badRequest('the head holds a control character, a bare CR or a bare LF');
  const headers: string[] = [];
  let at = 0;
  while (at < text.length) {
    const end = text.indexOf('\r\n', at);
    const colon = text.indexOf(':', at);
    if (colon < 0 || colon > end) throw badRequest('a header line has no colon');
    const name = text.slice(at, colon);
    // Also refuses folded lines and a blank before the colon: a blank is no token.
    if (!token.test(name)) throw badRequest('a header name is not a token');
    headers.push(name, trimmed(text, colon + 1, end));
    at = end + 2;
  }
  if (headers.length > maxHeaderPairs * 2) throw tooLarge();
  return headers;
}

function badRequest(what: string): HttpFault {
  return new HttpFault('BAD_REQUEST', `the request is not valid HTTP/1.1: ${what}`);
}

function tooLarge(): HttpFault {
  return new HttpFault('HEADERS_TOO_LARGE', `the request head is over 1 MiB or ${maxHeaderPairs} fields`);
}
