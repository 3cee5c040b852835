// An incremental parser of HTTP/1.1 responses (RFC 9112), fed with whatever pieces the socket gives. It is strict
// because a member may be hostile, and fast because every byte of every answer passes here. Easy to get wrong: push()
// rewrites the buffer it is given (chunked bodies are closed up in place, so that eight small chunks become one write
// to the client), hence it must own that buffer.
import { maxHeaderBytes, maxHeaderPairs } from '../../lib/limits.ts';
import { ResponseFault, makeChunkedBody } from '../../http/http1/chunked-body.ts';
import { rememberingNames } from '../../http/header-names.ts';
import { token, trimmed } from '../../http/field-syntax.ts';

/** Interim (1xx) heads swallowed before one response; more is a flood. */
const maxInterimHeads = 32;

/** What the request was, as far as it decides how the response ends (RFC 9112 section 6.3). */
export type ResponseKind = 'plain' | 'head' | 'upgrade' | 'connect';

/** Receives the parsed pieces. The end is not an event: ask {@link ResponseParser.complete} after each push. */
export interface ResponseSink {
  /** Final status, or 101 of an upgrade; values are latin1. */
  onHeaders(status: number, headers: string[]): void;
  onData(chunk: Buffer): void;
}

/** One parser serves the responses of one connection, one after the other. */
export interface ResponseParser {
  /** Makes ready for the response to the next request. */
  begin(kind: ResponseKind): void;
  /**
   * Takes a piece and gives back how many of its bytes belong to the response; fewer than all only when the response
   * is complete.
   * @throws ResponseFault when the bytes are not a response we accept
   */
  push(chunk: Buffer): number;
  /** The member ended the connection: true when that is how this body ends, false when the response is cut off. */
  finish(): boolean;
  /** Whether any byte of the response came. */
  readonly started: boolean;
  readonly complete: boolean;
  /** Whether the connection may serve another request, as far as this response says. */
  readonly keepAlive: boolean;
}

type State = 'none' | 'head' | 'length' | 'chunked' | 'until-close' | 'complete';

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const headEnd = Buffer.from('\r\n\r\n', 'latin1');
/** A control character other than tab, CR and LF; those two are judged line by line. */
const badHeadBytes = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/;
const decimal = /^[0-9]{1,15}$/;
/** Text is searched faster than bytes, as long as there are few. */
const searchedAsTextBytes = 8 * 1024;
const colonCode = 0x3a;
/** Lines of one answer that are kept for the next. */
const maxKnownFields = 64;
/** Of a longer head nothing is kept: a line is a part of it and would keep all of it in memory. */
const maxKnownHeadLength = 8 * 1024;

/** Makes a parser that hands what it reads to `sink`. */
export function makeResponseParser(sink: ResponseSink): ResponseParser {
  let state: State = 'none';
  let kind: ResponseKind = 'plain';
  let started = false;
  let keepAlive = false;
  let interimHeads = 0;
  /** An unfinished head, in a buffer that doubles: members may send it byte by byte. */
  let held = Buffer.alloc(0);
  let heldBytes = 0;
  let remaining = 0;
  const last: KnownLines = { status: undefined, fields: [] };
  const chunked = makeChunkedBody();

  /** Offset behind the head in `chunk`, or -1 when the head is not complete yet. */
  function readHead(chunk: Buffer, from: number): number {
    if (heldBytes === 0) {
      const small = chunk.length - from <= searchedAsTextBytes;
      const text = small ? chunk.toString('latin1', from) : '';
      const end = small ? text.indexOf('\r\n\r\n') : chunk.indexOf(headEnd, from) - from;
      if (end >= 0) {
        refuseLongHead(end + 4);
        parseHead(small ? text.slice(0, end + 2) : chunk.toString('latin1', from, from + end + 2));
        return from + end + 4;
      }
    }
    const before = heldBytes;
    const room = Math.min(chunk.length - from, maxHeaderBytes + 4 - before);
    hold(chunk, from, from + room);
    const end = held.subarray(0, heldBytes).indexOf(headEnd, Math.max(0, before - 3));
    if (end < 0) {
      refuseLongHead(heldBytes);
      refuseBareLf(before);
      return -1;
    }
    refuseLongHead(end + 4);
    const text = held.toString('latin1', 0, end + 2);
    heldBytes = 0;
    held = Buffer.alloc(0);
    parseHead(text);
    return from + end + 4 - before;
  }

  function hold(chunk: Buffer, from: number, to: number): void {
    const needed = heldBytes + to - from;
    if (needed > held.length) {
      const grown = Buffer.allocUnsafe(Math.max(1024, needed * 2));
      held.copy(grown, 0, 0, heldBytes);
      held = grown;
    }
    chunk.copy(held, heldBytes, from, to);
    heldBytes = needed;
  }

  /** Tells at once about a member that ends lines with LF alone, instead of waiting for a head that never ends. */
  function refuseBareLf(from: number): void {
    let at = held.subarray(0, heldBytes).indexOf(lineFeed, from);
    while (at >= 0) {
      if (at === 0 || held[at - 1] !== carriageReturn) throw new ResponseFault('a line ends with a bare LF');
      at = held.subarray(0, heldBytes).indexOf(lineFeed, at + 1);
    }
  }

  function parseHead(text: string): void {
    const { http11, status, line } = statusLine(text, last);
    const headers: string[] = [];
    const framing = parseFields(text, line.length, headers, last.fields);
    if (status < 200 && status !== 101) {
      interimHeads++;
      if (interimHeads > maxInterimHeads) throw new ResponseFault('it sent too many interim (1xx) responses');
      return;
    }
    if (status === 101 && kind !== 'upgrade') throw new ResponseFault('it switched protocols without being asked');
    keepAlive = http11 && !framing.close;
    beginBody(status, http11, framing);
    sink.onHeaders(status, headers);
  }

  function beginBody(status: number, http11: boolean, framing: Framing): void {
    const { length, transferEncoding } = framing;
    if (transferEncoding !== undefined) {
      if (length !== undefined) throw new ResponseFault('it sent both Content-Length and Transfer-Encoding');
      if (!http11) throw new ResponseFault('it sent Transfer-Encoding with HTTP/1.0');
      if (transferEncoding.toLowerCase() !== 'chunked') {
        throw new ResponseFault('its Transfer-Encoding is something other than chunked');
      }
    }
    if (kind === 'head' || status === 204 || status === 304 || status === 101) state = 'complete';
    else if (kind === 'connect' && status < 300) state = 'complete';
    else if (transferEncoding !== undefined) {
      state = 'chunked';
      chunked.begin();
    } else if (length !== undefined) {
      remaining = length;
      state = length === 0 ? 'complete' : 'length';
    } else {
      keepAlive = false;
      state = 'until-close';
    }
  }

  const readingHead = (): boolean => state === 'head';

  function push(chunk: Buffer): number {
    let at = 0;
    if (chunk.length > 0) started = true;
    while (readingHead()) {
      if (at >= chunk.length) return at;
      at = readHead(chunk, at);
      if (at < 0) return chunk.length;
    }
    if (at >= chunk.length) return at;
    if (state === 'length') {
      const take = Math.min(remaining, chunk.length - at);
      remaining -= take;
      if (remaining === 0) state = 'complete';
      sink.onData(take === chunk.length ? chunk : chunk.subarray(at, at + take));
      return at + take;
    }
    if (state === 'chunked') {
      const used = chunked.read(chunk, at);
      if (chunked.ended()) state = 'complete';
      const { start, end } = chunked.found;
      if (end > start) sink.onData(chunk.subarray(start, end));
      return used;
    }
    if (state === 'until-close') {
      sink.onData(at === 0 ? chunk : chunk.subarray(at));
      return chunk.length;
    }
    return at;
  }

  return {
    begin(nextKind) {
      kind = nextKind;
      state = 'head';
      started = false;
      keepAlive = false;
      interimHeads = 0;
      heldBytes = 0;
    },
    push,
    finish() {
      if (state === 'until-close') state = 'complete';
      return state === 'complete';
    },
    get started() {
      return started;
    },
    get complete() {
      return state === 'complete';
    },
    get keepAlive() {
      return keepAlive;
    },
  };
}

function refuseLongHead(bytes: number): void {
  if (bytes > maxHeaderBytes) throw new ResponseFault('its head is longer than 1 MiB');
}

/** A line as it came, its CRLF included, with what it was found to say. */
interface KnownField {
  readonly line: string;
  readonly name: string;
  readonly value: string;
  /** It says something about framing. */
  readonly frames: boolean;
}

/**
 * The last answer of a connection line by line: most lines of the next one are the same bytes, and were judged. Strings
 * that are used again are also found faster in Maps than new ones of the same letters.
 */
interface KnownLines {
  status: { readonly line: string; readonly http11: boolean; readonly status: number } | undefined;
  readonly fields: KnownField[];
}

function statusLine(text: string, last: KnownLines): NonNullable<KnownLines['status']> {
  const known = last.status;
  if (known !== undefined && isAt(text, 0, known.line)) return known;
  const line = text.slice(0, lineEnd(text, 0) + 2);
  refuseControls(line);
  const judged = { line, http11: parseVersion(line), status: parseStatus(line) };
  if (text.length <= maxKnownHeadLength) last.status = judged;
  return judged;
}

/** As `text.startsWith(line, at)`, which compares char by char and took four times as long for these (measured). */
function isAt(text: string, at: number, line: string): boolean {
  return text.slice(at, at + line.length) === line;
}

function refuseControls(line: string): void {
  if (badHeadBytes.test(line)) throw new ResponseFault('its head holds a control character');
}

/** True for HTTP/1.1, false for HTTP/1.0. */
function parseVersion(text: string): boolean {
  if (text.startsWith('HTTP/1.1 ')) return true;
  if (text.startsWith('HTTP/1.0 ')) return false;
  throw new ResponseFault('it does not begin with HTTP/1.1 or HTTP/1.0');
}

function parseStatus(text: string): number {
  const code = text.slice(9, 12);
  const after = text.charCodeAt(12);
  if (!/^[1-5][0-9]{2}$/.test(code) || (after !== 0x20 && after !== carriageReturn)) {
    throw new ResponseFault('its status code is not between 100 and 599');
  }
  return Number(code);
}

/** What the header fields say about where the body ends. */
interface Framing {
  length: number | undefined;
  transferEncoding: string | undefined;
  close: boolean;
}

const isToken = rememberingNames((name) => token.test(name));

/**
 * Where the line from `at` on ends: the first CR and the first LF must be one CRLF.
 * @throws ResponseFault
 */
function lineEnd(text: string, at: number): number {
  const end = text.indexOf('\r', at);
  if (end < 0 || text.indexOf('\n', at) !== end + 1) throw new ResponseFault('a line holds a bare CR or a bare LF');
  return end;
}

/**
 * Appends every field to `headers`. The caller made sure that `text` ends with CRLF.
 * @throws ResponseFault
 */
function parseFields(text: string, from: number, headers: string[], knownFields: KnownField[]): Framing {
  const framing: Framing = { length: undefined, transferEncoding: undefined, close: false };
  let at = from;
  while (at < text.length) {
    const index = headers.length >> 1;
    let field = knownFields[index];
    if (field === undefined || !isAt(text, at, field.line)) {
      field = parseField(text.slice(at, lineEnd(text, at) + 2), field?.name);
      if (index < maxKnownFields && text.length <= maxKnownHeadLength) knownFields[index] = field;
    }
    headers.push(field.name, field.value);
    if (field.frames) readFraming(framing, field.name, field.value);
    at += field.line.length;
  }
  if (headers.length > maxHeaderPairs * 2) throw new ResponseFault(`it has more than ${maxHeaderPairs} headers`);
  return framing;
}

/** @param likely the name this line had in the last answer */
function parseField(line: string, likely: string | undefined): KnownField {
  refuseControls(line);
  let name = likely;
  if (name === undefined || line.charCodeAt(name.length) !== colonCode || !line.startsWith(name)) {
    const colon = line.indexOf(':');
    if (colon < 0) throw new ResponseFault('a header line has no colon');
    name = line.slice(0, colon);
    if (!isToken(name)) throw new ResponseFault('a header name is not a token');
  }
  return { line, name, value: trimmed(line, name.length + 1, line.length - 2), frames: isFraming(name) };
}

const isFraming = rememberingNames((name) =>
  ['content-length', 'transfer-encoding', 'connection'].includes(name.toLowerCase()),
);

/** The length of a name tells most headers apart without lower-casing them. */
function readFraming(framing: Framing, name: string, value: string): void {
  if (name.length === 14 && name.toLowerCase() === 'content-length') {
    if (!decimal.test(value)) throw new ResponseFault('its Content-Length is not a decimal number');
    const length = Number(value);
    if (framing.length !== undefined && framing.length !== length) {
      throw new ResponseFault('it sent two different Content-Length headers');
    }
    framing.length = length;
  } else if (name.length === 17 && name.toLowerCase() === 'transfer-encoding') {
    if (framing.transferEncoding !== undefined) throw new ResponseFault('it sent two Transfer-Encoding headers');
    framing.transferEncoding = value;
  } else if (name.length === 10 && name.toLowerCase() === 'connection') {
    for (const option of value.split(',')) if (option.trim().toLowerCase() === 'close') framing.close = true;
  }
}
