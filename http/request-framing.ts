// Decides where the body of an HTTP/1 request ends, and reads what its head says about the connection. Easy to get
// wrong: only this file may decide where a body ends. If other code came to a different result, an attacker could
// smuggle a second request in a body.
import { HttpFault } from './http-fault.ts';
import { token, trimmed } from './field-syntax.ts';
import { readOnce } from './repeated-headers.ts';
import type { BodyFraming } from './inbound.ts';
import type { RawHeaders } from './raw-headers.ts';
import { fieldFault, requireFewSubprotocols, withLine } from './field-bounds.ts';
import { hidesServedUpgrade, servedUpgrade } from './upgrade-offer.ts';

/** What the header fields of an HTTP/1.1 or HTTP/1.0 request say about its body and its connection. */
export interface Http1RequestHead {
  readonly body: BodyFraming;
  /** Value of the Host header. A request of HTTP/1.1 must have exactly one; '' for one of HTTP/1.0 without it. */
  readonly host: string;
  /** Whether the connection closes after this request. */
  readonly close: boolean;
  /** Whether the client waits for `100 Continue` before it sends the body. */
  readonly expectsContinue: boolean;
  /** Whether the request offers to upgrade the connection to a protocol that the gateway upgrades to. */
  readonly upgrade: boolean;
}

/** The characters that Go's server allows in Host (golang.org/x/net/http/httpguts ValidHostHeader). */
const hostBytes = /^[0-9A-Za-z!$%&()*+,\-.:;=['\]_~]*$/;

/** What was found in the header fields read so far. */
interface Found {
  body: BodyFraming;
  framed: boolean;
  host: string | undefined;
  expectsContinue: boolean;
  upgrade: string | undefined;
  connection: string | undefined;
  subprotocols: string | undefined;
}

/**
 * Reads body framing, Host and connection headers of an HTTP/1.1 request.
 * @throws HttpFault BAD_HEADERS for anything two servers could read differently, BAD_UPGRADE for an upgrade with a
 *   body, HEADERS_TOO_LARGE for a field over its limit
 */
export function readHttp1Head(headers: RawHeaders): Http1RequestHead {
  const head = readFields(headers);
  if (!hasHost(head)) throw new HttpFault('BAD_HEADERS', 'the request has no Host header');
  return head;
}

/**
 * Reads body framing and Host of an HTTP/1.0 request. Such a request needs no Host, and HTTP/1.0 has neither `100
 * Continue` nor upgrades (RFC 9110 sections 10.1.1 and 7.8). The connection closes after the answer, even when the
 * client asks for `keep-alive`: a proxy in between may not understand that header, and what it sends next must not be
 * read as a request.
 * @throws HttpFault as {@link readHttp1Head}, and BAD_HEADERS for Transfer-Encoding, which HTTP/1.0 does not have and
 *   by which two servers may frame the request differently (RFC 9112 section 6.1)
 */
export function readHttp10Head(headers: RawHeaders): Http1RequestHead {
  const { host = '', body } = readFields(headers);
  if (body === 'chunked') throw new HttpFault('BAD_HEADERS', 'a request of HTTP/1.0 must not have a Transfer-Encoding');
  return { body, host, close: true, expectsContinue: false, upgrade: false };
}

/**
 * Body framing, Host and connection options as the header fields give them, before the rules of HTTP/1.1 or HTTP/1.0
 * are applied.
 */
interface ReadFields extends Omit<Http1RequestHead, 'host'> {
  readonly host: string | undefined;
}

function hasHost(head: ReadFields): head is Http1RequestHead {
  return head.host !== undefined;
}

const readFields = readOnce((headers: RawHeaders): ReadFields => {
  const found: Found = {
    body: 'none',
    framed: false,
    host: undefined,
    expectsContinue: false,
    upgrade: undefined,
    connection: undefined,
    subprotocols: undefined,
  };
  for (let i = 0; i < headers.length; i += 2) {
    readField(found, headers[i]!, headers[i + 1]!);
  }
  const { body, host, expectsContinue, connection, subprotocols } = found;
  if (subprotocols !== undefined) requireFewSubprotocols(subprotocols);
  const options = connection === undefined ? [] : connectionOptions(connection);
  const offer = options.includes('upgrade') ? found.upgrade : undefined;
  const upgrade = offer !== undefined && servedUpgrade(offer) !== undefined;
  const close = options.includes('close') || (offer !== undefined && hidesServedUpgrade(offer));
  if (upgrade && body !== 'none') throw new HttpFault('BAD_UPGRADE', 'an upgrade request must not have a body');
  return { body, host, close, expectsContinue, upgrade };
});

/**
 * Returns the options of a Connection header in lower case. Anything but tokens between commas is refused: Go's server
 * finds `close` in `x close`, where a strict reader finds none, and the two disagree about whether a request follows.
 * @throws HttpFault BAD_HEADERS
 */
function connectionOptions(connection: string): readonly string[] {
  return connection.split(',').map((text) => {
    const option = trimmed(text, 0, text.length);
    if (option !== '' && !token.test(option))
      throw new HttpFault('BAD_HEADERS', 'the Connection header is not a comma-separated list of options');
    return option.toLowerCase();
  });
}

/** Reads one header field. Switching on the length of the name first avoids comparing most names at all. */
function readField(found: Found, name: string, value: string): void {
  switch (name.length) {
    case 4:
      if (name.toLowerCase() === 'host') readHost(found, value);
      break;
    case 6:
      if (name.toLowerCase() === 'expect') readExpect(found, value);
      break;
    case 7:
      if (name.toLowerCase() === 'upgrade') found.upgrade = withLine('Upgrade', found.upgrade, value);
      break;
    case 10:
      if (name.toLowerCase() === 'connection') found.connection = withLine('Connection', found.connection, value);
      break;
    case 13:
      if (name.toLowerCase() === 'authorization') requireBounded('Authorization', value);
      break;
    case 14:
      if (name.toLowerCase() === 'content-length') frame(found, value, readContentLength);
      break;
    case 17:
      if (name.toLowerCase() === 'transfer-encoding') frame(found, value, readTransferEncoding);
      break;
    case 22:
      if (name.toLowerCase() === 'sec-websocket-protocol')
        found.subprotocols = withLine('Sec-WebSocket-Protocol', found.subprotocols, value);
      break;
  }
}

function requireBounded(name: 'Host' | 'Authorization', value: string): void {
  const fault = fieldFault(name, value.length);
  if (fault !== undefined) throw fault;
}

function readHost(found: Found, value: string): void {
  if (found.host !== undefined) throw new HttpFault('BAD_HEADERS', 'the request has two Host headers');
  requireBounded('Host', value);
  if (!hostBytes.test(value))
    throw new HttpFault('BAD_HEADERS', 'the Host header has a character that is not allowed in a host name');
  found.host = value;
}

function readExpect(found: Found, value: string): void {
  if (value.toLowerCase() !== '100-continue') {
    throw new HttpFault('BAD_HEADERS', 'the only supported Expect header is "100-continue"');
  }
  found.expectsContinue = true;
}

function frame(found: Found, value: string, read: (value: string) => BodyFraming): void {
  if (found.framed)
    throw new HttpFault('BAD_HEADERS', 'the request has more than one Content-Length or Transfer-Encoding header');
  found.framed = true;
  found.body = read(value);
}

function readTransferEncoding(value: string): BodyFraming {
  if (value.toLowerCase() === 'chunked') return 'chunked';
  throw new HttpFault('BAD_HEADERS', 'the only supported Transfer-Encoding is "chunked"');
}

function readContentLength(value: string): BodyFraming {
  if (!/^\d{1,15}$/.test(value)) throw new HttpFault('BAD_HEADERS', 'Content-Length is not a decimal number');
  const length = Number(value);
  return length === 0 ? 'none' : length;
}
