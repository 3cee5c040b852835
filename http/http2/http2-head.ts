// Judges the header list of a request over HTTP/2 (RFC 9113 section 8). Easy to get wrong: a list that is malformed
// resets the stream and is answered by nobody, while what is merely refused gets a Status; and pseudo headers never
// reach the chain as headers.
import { HttpFault } from '../http-fault.ts';
import { maxHeaderPairs } from '../../lib/limits.ts';
import type { BodyFraming } from '../inbound.ts';
import { rememberingNames } from '../header-names.ts';
import type { RawHeaders } from '../raw-headers.ts';
import { fieldFault } from '../field-bounds.ts';
import type { RepeatedLists } from './repeated-lists.ts';
import { token } from '../field-syntax.ts';

/** A request as the chain sees it. */
export interface Http2Head {
  readonly method: string;
  readonly target: string;
  /** Without pseudo headers. */
  readonly headers: RawHeaders;
  readonly body: BodyFraming;
  /** Bytes of body that must come, or -1 when the head does not say. */
  readonly bodyBytes: number;
  /** `:authority`, else Host, else ''. */
  readonly host: string;
  readonly expectsContinue: boolean;
  /**
   * Value of its one Audit-ID, which is not among the headers: an aggregator sends another one with each request, and
   * the rest repeats.
   */
  readonly auditId: string | undefined;
  /** What the chain is to answer with, instead of anything else. */
  readonly fault: HttpFault | undefined;
}

const lowerToken = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
const badValue = /[^\t\x20-\x7e\x80-\xff]/;

type Kind =
  | 'plain'
  | 'audit-id'
  | 'malformed'
  | 'te'
  | 'host'
  | 'length'
  | 'expect'
  | 'method'
  | 'scheme'
  | 'path'
  | 'authority'
  | 'authorization';

const pseudoKinds: Readonly<Record<string, Kind>> = {
  ':method': 'method',
  ':scheme': 'scheme',
  ':path': 'path',
  ':authority': 'authority',
};

const kindOf = rememberingNames((name): Kind => {
  if (name.startsWith(':')) return Object.hasOwn(pseudoKinds, name) ? pseudoKinds[name]! : 'malformed';
  if (!lowerToken.test(name)) return 'malformed';
  if (/^(?:connection|keep-alive|proxy-connection|transfer-encoding|upgrade)$/.test(name)) return 'malformed';
  if (name === 'te' || name === 'host' || name === 'expect' || name === 'audit-id' || name === 'authorization')
    return name;
  return name === 'content-length' ? 'length' : 'plain';
});

/**
 * Reads a request's list.
 * @param list flat, as HPACK gave it
 * @param ends no DATA frame follows
 * @param lists those of the connection
 * @returns undefined when it is malformed (RFC 9113 section 8.1.1)
 */
export function readHttp2Request(list: readonly string[], ends: boolean, lists?: RepeatedLists): Http2Head | undefined {
  let method: string | undefined;
  let scheme: string | undefined;
  let path: string | undefined;
  let authority: string | undefined;
  let host: string | undefined;
  let length: string | undefined;
  let expect: string | undefined;
  let fault: HttpFault | undefined;
  let auditId: string | undefined;
  let auditIds = 0;
  const headers: string[] = [];
  for (let i = 0; i < list.length; i += 2) {
    const name = list[i]!;
    const value = list[i + 1]!;
    const kind = kindOf(name);
    if (kind === 'malformed' || isBadValue(value)) return undefined;
    switch (kind) {
      case 'method':
        if (method !== undefined || headers.length > 0) return undefined;
        method = value;
        continue;
      case 'scheme':
        if (scheme !== undefined || headers.length > 0) return undefined;
        scheme = value;
        continue;
      case 'path':
        if (path !== undefined || headers.length > 0) return undefined;
        path = value;
        continue;
      case 'authority':
        if (authority !== undefined || headers.length > 0) return undefined;
        authority = value;
        continue;
      case 'audit-id':
        auditIds += 1;
        auditId = value;
        continue;
      case 'te':
        if (value !== 'trailers') return undefined;
        break;
      case 'host':
        if (host !== undefined) fault = new HttpFault('BAD_HEADERS', 'the request has two Host headers');
        host = value;
        break;
      case 'length':
        if (length !== undefined) fault = new HttpFault('BAD_HEADERS', 'the request has two Content-Length headers');
        length = value;
        break;
      case 'expect':
        expect = value;
        break;
      case 'authorization':
        fault ??= fieldFault('Authorization', value.length);
        break;
    }
    headers.push(name, value);
  }
  if (method === undefined || !token.test(method)) return undefined;
  if (method === 'CONNECT') {
    fault ??= new HttpFault('METHOD_NOT_ALLOWED', 'CONNECT is not served: this is no proxy for other hosts');
  } else if (scheme === undefined || scheme === '' || path === undefined || path === '') return undefined;
  if (length !== undefined && !/^\d{1,15}$/.test(length)) {
    fault ??= new HttpFault('BAD_HEADERS', 'Content-Length is not a decimal number');
    length = undefined;
  }
  fault ??= fieldFault('Host', Math.max(authority?.length ?? 0, host?.length ?? 0));
  if (authority !== undefined && host !== undefined && authority.toLowerCase() !== host.toLowerCase()) {
    fault ??= new HttpFault('BAD_HEADERS', 'the Host header differs from :authority');
  }
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') {
    fault ??= new HttpFault('BAD_HEADERS', 'the only expectation served is "100-continue"');
  }
  const bodyBytes = length === undefined ? -1 : Number(length);
  if (ends && bodyBytes > 0) return undefined;
  return {
    method,
    target: path ?? '',
    headers: lists === undefined ? headers : lists.settle(headers),
    body: ends ? 'none' : length === undefined ? 'chunked' : bodyBytes,
    bodyBytes: ends ? 0 : bodyBytes,
    host: authority ?? host ?? '',
    expectsContinue: expect !== undefined && !ends,
    auditId: auditIds === 1 ? auditId : undefined,
    fault,
  };
}

/** Section 8.2.1, and every control character, as over HTTP/1.1. */
function isBadValue(value: string): boolean {
  if (badValue.test(value)) return true;
  const first = value.charCodeAt(0);
  const last = value.charCodeAt(value.length - 1);
  return first === 0x20 || first === 0x09 || last === 0x20 || last === 0x09;
}

/** Whether a list may stand behind a body: no pseudo headers and nothing malformed. What it says is dropped. */
export function areTrailers(list: readonly string[]): boolean {
  for (let i = 0; i < list.length; i += 2) {
    const kind = kindOf(list[i]!);
    if (kind === 'malformed' || list[i]!.startsWith(':') || isBadValue(list[i + 1]!)) return false;
  }
  return true;
}

/** What stands for a request whose list is over the limits. */
export function oversizedHead(ends: boolean): Http2Head {
  return {
    method: 'GET',
    target: '/',
    headers: [],
    body: ends ? 'none' : 'chunked',
    bodyBytes: ends ? 0 : -1,
    host: '',
    expectsContinue: false,
    auditId: undefined,
    fault: new HttpFault('HEADERS_TOO_LARGE', `the request head is over 1 MiB or ${maxHeaderPairs} fields`),
  };
}
