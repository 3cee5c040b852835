// What the two front ends share: reading the framing of a request and the list of what may not be in one. Easy to get
// wrong: framing is judged here for the whole request, before anything else; a second opinion about where a body ends
// is how requests are smuggled.
import { HttpFault } from './http-fault.ts';
import { readOnce } from './repeated-headers.ts';
import type { BodyFraming } from './inbound.ts';
import type { RawHeaders } from './raw-headers.ts';
import { fieldFault, requireFewSubprotocols, withLine } from './field-bounds.ts';

/** The headers a gateway step asks for by name, read once from the raw list. */
export interface RequestHead {
  readonly body: BodyFraming;
  /** Value of Host or `:authority`, exactly one. */
  readonly host: string;
}

/** What else the head of an HTTP/1.1 request says about its connection. */
export interface Http1RequestHead extends RequestHead {
  /** The client closes after this request. */
  readonly close: boolean;
  /** `Expect: 100-continue`: the body comes once we ask for it. */
  readonly expectsContinue: boolean;
  /** Both an Upgrade header and `Connection: Upgrade`. */
  readonly upgrade: boolean;
}

/** What Go's server lets a Host be made of (golang.org/x/net/http/httpguts ValidHostHeader). */
const hostBytes = /^[0-9A-Za-z!$%&()*+,\-.:;=['\]_~]*$/;

/**
 * Judges framing, Host and connection headers of an HTTP/1.1 request.
 * @throws HttpFault BAD_HEADERS for anything two servers could read differently, HEADERS_TOO_LARGE for a field over
 * its bound
 */
export const readHttp1Head = readOnce((headers: RawHeaders): Http1RequestHead => {
  let body: BodyFraming = 'none';
  let host: string | undefined;
  let framed = false;
  let expectsContinue = false;
  let upgradeHeader: string | undefined;
  let connection: string | undefined;
  let subprotocols: string | undefined;
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!;
    // Few names have these lengths, so few are compared.
    switch (name.length) {
      case 4:
        if (name.toLowerCase() !== 'host') break;
        if (host !== undefined) throw new HttpFault('BAD_HEADERS', 'the request has two Host headers');
        host = headers[i + 1]!;
        requireBounded('Host', host);
        if (!hostBytes.test(host)) throw new HttpFault('BAD_HEADERS', 'the Host header holds what no host name does');
        break;
      case 6:
        if (name.toLowerCase() === 'expect') expectsContinue = readExpect(headers[i + 1]!);
        break;
      case 7:
        if (name.toLowerCase() === 'upgrade') upgradeHeader = withLine('Upgrade', upgradeHeader, headers[i + 1]!);
        break;
      case 10:
        if (name.toLowerCase() === 'connection') connection = withLine('Connection', connection, headers[i + 1]!);
        break;
      case 13:
        if (name.toLowerCase() === 'authorization') requireBounded('Authorization', headers[i + 1]!);
        break;
      case 14:
        if (name.toLowerCase() !== 'content-length') break;
        if (framed) throw new HttpFault('BAD_HEADERS', 'the request is framed twice');
        framed = true;
        body = readContentLength(headers[i + 1]!);
        break;
      case 17:
        if (name.toLowerCase() !== 'transfer-encoding') break;
        if (framed) throw new HttpFault('BAD_HEADERS', 'the request is framed twice');
        framed = true;
        if (headers[i + 1]!.toLowerCase() !== 'chunked') {
          throw new HttpFault('BAD_HEADERS', 'the only transfer encoding served is "chunked"');
        }
        body = 'chunked';
        break;
      case 22:
        if (name.toLowerCase() === 'sec-websocket-protocol')
          subprotocols = withLine('Sec-WebSocket-Protocol', subprotocols, headers[i + 1]!);
        break;
    }
  }
  if (host === undefined) throw new HttpFault('BAD_HEADERS', 'the request has no Host header');
  if (subprotocols !== undefined) requireFewSubprotocols(subprotocols);
  const options = connection === undefined ? [] : connection.toLowerCase().split(',');
  const hasOption = (name: string): boolean => options.some((option) => option.trim() === name);
  const close = hasOption('close');
  const upgrade = upgradeHeader !== undefined && hasOption('upgrade');
  if (upgrade && body !== 'none') throw new HttpFault('BAD_UPGRADE', 'a request to upgrade has no body');
  return { body, host, close, expectsContinue, upgrade };
});

function requireBounded(name: 'Host' | 'Authorization', value: string): void {
  const fault = fieldFault(name, value.length);
  if (fault !== undefined) throw fault;
}

function readExpect(value: string): boolean {
  if (value.toLowerCase() === '100-continue') return true;
  throw new HttpFault('BAD_HEADERS', 'the only expectation served is "100-continue"');
}

function readContentLength(value: string): BodyFraming {
  if (!/^\d{1,15}$/.test(value)) throw new HttpFault('BAD_HEADERS', 'Content-Length is not a decimal number');
  const length = Number(value);
  return length === 0 ? 'none' : length;
}
