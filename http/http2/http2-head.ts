// Checks the header list of an HTTP/2 request (RFC 9113 section 8). A malformed list resets its stream without an
// answer. A list that is well-formed but not accepted is answered with an error. Pseudo-headers such as `:path` are not
// passed on as headers.
import { HttpFault } from '../http-fault.ts';
import { headTooLarge, type HeadLimits } from '../head-limits.ts';
import type { BodyFraming } from '../inbound.ts';
import { rememberingNames } from '../header-names.ts';
import type { RawHeaders } from '../raw-headers.ts';
import { fieldFault } from '../field-bounds.ts';
import type { RepeatedLists } from './repeated-lists.ts';
import { badValue, lowerToken, token } from '../field-syntax.ts';

/** The checked content of an HTTP/2 request's header list. */
export interface Http2Head {
  readonly method: string;
  readonly target: string;
  /** All headers except pseudo-headers and Audit-ID. */
  readonly headers: RawHeaders;
  readonly body: BodyFraming;
  /** The Content-Length, or -1 when there is none; 0 when the request has no body. */
  readonly bodyBytes: number;
  /** Value of `:authority`; if absent, of the Host header; '' when both are absent. */
  readonly host: string;
  readonly expectsContinue: boolean;
  /**
   * Value of the Audit-ID header; undefined for none or several. It is left out of `headers`, because front proxies
   * such as kube-aggregator send a new value with every request, and caching needs a header list that repeats.
   */
  readonly auditId: string | undefined;
  /** Why the request is refused; undefined when it is accepted. */
  readonly fault: HttpFault | undefined;
}

type Pseudo = 'method' | 'scheme' | 'path' | 'authority';
type Kind = 'plain' | 'malformed' | Pseudo | 'audit-id' | 'te' | 'host' | 'content-length' | 'expect' | 'authorization';

/** Header names that are treated specially; other headers are only passed on. */
const kinds: ReadonlyMap<string, Kind> = new Map<string, Kind>([
  [':method', 'method'],
  [':scheme', 'scheme'],
  [':path', 'path'],
  [':authority', 'authority'],
  ['audit-id', 'audit-id'],
  ['te', 'te'],
  ['host', 'host'],
  ['content-length', 'content-length'],
  ['expect', 'expect'],
  ['authorization', 'authorization'],
  // Hop-by-hop headers, which HTTP/2 does not allow (RFC 9113 section 8.2.2).
  ['connection', 'malformed'],
  ['keep-alive', 'malformed'],
  ['proxy-connection', 'malformed'],
  ['transfer-encoding', 'malformed'],
  ['upgrade', 'malformed'],
]);

const kindOf = rememberingNames((name): Kind => kinds.get(name) ?? (lowerToken.test(name) ? 'plain' : 'malformed'));

/** What was found in the headers read so far. */
interface Found {
  method: string | undefined;
  scheme: string | undefined;
  path: string | undefined;
  authority: string | undefined;
  host: string | undefined;
  length: string | undefined;
  expect: string | undefined;
  fault: HttpFault | undefined;
  auditId: string | undefined;
  auditIds: number;
  readonly headers: string[];
}

/**
 * Checks the header list of a request.
 * @param list flat, as the HPACK decoder returned it
 * @param ends whether the request has no body
 * @param lists cache of the connection's header lists; undefined for no caching
 * @returns undefined when the list is malformed (RFC 9113 section 8.1.1)
 */
export function readHttp2Request(list: readonly string[], ends: boolean, lists?: RepeatedLists): Http2Head | undefined {
  const found: Found = {
    method: undefined,
    scheme: undefined,
    path: undefined,
    authority: undefined,
    host: undefined,
    length: undefined,
    expect: undefined,
    fault: undefined,
    auditId: undefined,
    auditIds: 0,
    headers: [],
  };
  const { headers } = found;
  for (let i = 0; i < list.length; i += 2) {
    const name = list[i]!;
    const value = list[i + 1]!;
    const kind = kindOf(name);
    if (kind === 'malformed' || isBadValue(value)) return undefined;
    if (kind === 'plain') headers.push(name, value);
    else if (!readField(found, kind, name, value)) return undefined;
  }
  const method = methodOf(found);
  if (method === undefined) return undefined;
  const { path, authority, host } = found;
  const fault = faultOf(found, method);
  const bodyBytes = found.length === undefined ? -1 : Number(found.length);
  if (ends && bodyBytes > 0) return undefined;
  return {
    method,
    target: path ?? '',
    headers: lists === undefined ? headers : lists.settle(headers),
    body: ends ? 'none' : bodyBytes < 0 ? 'chunked' : bodyBytes,
    bodyBytes: ends ? 0 : bodyBytes,
    host: authority ?? host ?? '',
    expectsContinue: found.expect !== undefined && !ends,
    auditId: found.auditIds === 1 ? found.auditId : undefined,
    fault,
  };
}

/** Reads a header that {@link kinds} names. False when it makes the whole list malformed. */
function readField(found: Found, kind: Exclude<Kind, 'plain' | 'malformed'>, name: string, value: string): boolean {
  switch (kind) {
    case 'method':
    case 'scheme':
    case 'path':
    case 'authority':
      return readPseudo(found, kind, value);
    case 'audit-id':
      found.auditIds += 1;
      found.auditId = value;
      return true;
    case 'te':
      if (value !== 'trailers') return false;
      break;
    case 'host':
      if (found.host !== undefined) found.fault = refuse('the request has two Host headers');
      found.host = value;
      break;
    case 'content-length':
      if (found.length !== undefined) found.fault = refuse('the request has two Content-Length headers');
      found.length = value;
      break;
    case 'expect':
      found.expect = value;
      break;
    case 'authorization':
      found.fault ??= fieldFault('Authorization', value.length);
      break;
  }
  found.headers.push(name, value);
  return true;
}

/** Reads a pseudo-header. False when it is repeated or follows an ordinary header, which makes the list malformed. */
function readPseudo(found: Found, kind: Pseudo, value: string): boolean {
  if (found.headers.length > 0) return false;
  switch (kind) {
    case 'method':
      if (found.method !== undefined) return false;
      found.method = value;
      return true;
    case 'scheme':
      if (found.scheme !== undefined) return false;
      found.scheme = value;
      return true;
    case 'path':
      if (found.path !== undefined) return false;
      found.path = value;
      return true;
    case 'authority':
      if (found.authority !== undefined) return false;
      found.authority = value;
      return true;
  }
}

/**
 * The method; undefined when a pseudo-header is missing. CONNECT needs no other pseudo-header, because it is refused
 * anyway.
 */
function methodOf({ method, scheme, path }: Found): string | undefined {
  if (method === undefined || !token.test(method)) return undefined;
  if (method === 'CONNECT') return method;
  return scheme === undefined || scheme === '' || path === undefined || path === '' ? undefined : method;
}

/**
 * Why a well-formed header list is not accepted; undefined when it is. An invalid Content-Length is also removed from
 * `found`.
 */
function faultOf(found: Found, method: string): HttpFault | undefined {
  const { authority, host, length, expect } = found;
  let { fault } = found;
  if (method === 'CONNECT') {
    fault ??= new HttpFault(
      'METHOD_NOT_ALLOWED',
      'CONNECT is not supported: the gateway is not a proxy for other hosts',
    );
  }
  if (length !== undefined && !/^\d{1,15}$/.test(length)) {
    fault ??= refuse('Content-Length is not a decimal number');
    found.length = undefined;
  }
  fault ??= fieldFault('Host', Math.max(authority?.length ?? 0, host?.length ?? 0));
  if (authority !== undefined && host !== undefined && authority.toLowerCase() !== host.toLowerCase()) {
    fault ??= refuse('the Host header differs from :authority');
  }
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') {
    fault ??= refuse('the only supported Expect header is "100-continue"');
  }
  return fault;
}

function refuse(what: string): HttpFault {
  return new HttpFault('BAD_HEADERS', what);
}

/**
 * Whether a field value is malformed: it has white space at an end (RFC 9113 section 8.2.1) or a control character,
 * which HTTP/1.1 requests may not have either.
 */
function isBadValue(value: string): boolean {
  if (badValue.test(value)) return true;
  const first = value.charCodeAt(0);
  const last = value.charCodeAt(value.length - 1);
  return first === 0x20 || first === 0x09 || last === 0x20 || last === 0x09;
}

/** Whether a header list is valid as trailers: no pseudo-header and nothing malformed. Its content is ignored. */
export function areTrailers(list: readonly string[]): boolean {
  for (let i = 0; i < list.length; i += 2) {
    const kind = kindOf(list[i]!);
    if (kind === 'malformed' || list[i]!.startsWith(':') || isBadValue(list[i + 1]!)) return false;
  }
  return true;
}

/**
 * A placeholder for the head of a request whose header list exceeds the limits, so that the request can be answered
 * with an error.
 */
export function oversizedHead(ends: boolean, limits: HeadLimits): Http2Head {
  return {
    method: 'GET',
    target: '/',
    headers: [],
    body: ends ? 'none' : 'chunked',
    bodyBytes: ends ? 0 : -1,
    host: '',
    expectsContinue: false,
    auditId: undefined,
    fault: headTooLarge(limits),
  };
}
