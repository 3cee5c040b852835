// Builds the head of an HTTP/1.1 request. Easy to get wrong: a head is written as latin1, which keeps only the low byte
// of each character, so U+010A would become a line feed and start another header. So every part is checked here once
// more, whichever code built the request.
import { GatewayError } from '../../model/errors.ts';
import { rememberingNames } from '../../http/header-names.ts';
import type { RawHeaders } from '../../http/raw-headers.ts';
import type { HeadText, UpstreamRequest } from '../call/transport-types.ts';
import { badValue, token } from '../../http/field-syntax.ts';

const originForm = /^\/[\x21-\x7e\x80-\xff]*$/;
/** Headers about framing and the connection, which only the HTTP client code may write. */
const framingHeader =
  /^(?:connection|content-length|keep-alive|proxy-connection|transfer-encoding|upgrade|te|trailer|expect)$/i;

const isToken = rememberingNames((name) => token.test(name));
const isFraming = rememberingNames((name) => framingHeader.test(name));

/**
 * Returns the complete head as a latin1 string, including the empty line at its end.
 * @param upgradeToken adds `Connection: Upgrade` and `Upgrade: <token>`
 * @throws GatewayError INTERNAL when a part is not valid; nothing may be sent then
 */
export function requestHead(request: UpstreamRequest, upgradeToken?: string): string {
  const { method, target, body, headText } = request;
  let head = `${method} ${target} HTTP/1.1\r\n`;
  if (headText !== undefined && upgradeToken === undefined) {
    checkLine(request);
    head += headText.before + checkedValue(request.auditId!) + headText.after;
  } else {
    checkRequest(request);
    refuseFramingHeaders(request.headers);
    head += linesOf(request.headers);
  }
  if (body === 'chunked') head += 'Transfer-Encoding: chunked\r\n';
  else if (body !== 'none') head += `Content-Length: ${body}\r\n`;
  else if (method === 'POST' || method === 'PUT' || method === 'PATCH') head += 'Content-Length: 0\r\n';
  if (upgradeToken !== undefined) {
    if (!token.test(upgradeToken.replace('/', ''))) throw refuse('an invalid upgrade token');
    head += `Connection: Upgrade\r\nUpgrade: ${upgradeToken}\r\n`;
  }
  return `${head}\r\n`;
}

/**
 * Prepares header lines that can be sent for several requests which differ only in the value of `Audit-ID`.
 * @throws GatewayError INTERNAL as {@link requestHead}, and when there is not exactly one `Audit-ID`
 */
export function headerText(headers: RawHeaders): HeadText {
  checkHeaders(headers);
  refuseFramingHeaders(headers);
  const at = headers.indexOf('Audit-ID');
  if (at < 0 || at % 2 !== 0 || headers.includes('Audit-ID', at + 1)) throw refuse('no single Audit-ID');
  return {
    before: `${linesOf(headers.slice(0, at))}Audit-ID: `,
    after: `\r\n${linesOf(headers.slice(at + 2))}`,
  };
}

function linesOf(headers: RawHeaders): string {
  let lines = '';
  for (let i = 0; i < headers.length; i += 2) lines += `${headers[i]!}: ${headers[i + 1]!}\r\n`;
  return lines;
}

/**
 * Checks all parts of a request that will be sent, for HTTP/1.1 and HTTP/2.
 * @throws GatewayError INTERNAL
 */
export function checkRequest(request: UpstreamRequest): void {
  checkLine(request);
  checkHeaders(request.headers);
}

function checkLine({ method, target, body }: UpstreamRequest): void {
  if (!token.test(method)) throw refuse('an invalid method');
  if (!originForm.test(target)) throw refuse('an invalid request target');
  if (typeof body === 'number' && !(Number.isSafeInteger(body) && body >= 0)) throw refuse('an invalid body length');
}

function checkHeaders(headers: RawHeaders): void {
  if (headers.length % 2 !== 0) throw refuse('a header without a value');
  checkHost(headers);
  for (let i = 0; i < headers.length; i += 2) {
    if (!isToken(headers[i]!)) throw refuse('an invalid header name');
    checkedValue(headers[i + 1]!);
  }
}

function checkedValue(value: string): string {
  if (badValue.test(value)) throw refuse('an invalid header value');
  return value;
}

/**
 * Refuses headers about framing and the connection, which only the HTTP client code may write.
 * @throws GatewayError INTERNAL
 */
export function refuseFramingHeaders(headers: RawHeaders): void {
  for (let i = 0; i < headers.length; i += 2) {
    if (isFraming(headers[i]!)) throw refuse('a hop-by-hop header');
  }
}

/**
 * Requires exactly one Host, as the first header. With several, a proxy and the server behind it could use different
 * ones.
 */
function checkHost(headers: RawHeaders): void {
  if (headers[0]?.toLowerCase() !== 'host') throw refuse('no Host header');
  for (let i = 2; i < headers.length; i += 2) {
    if (headers[i]!.length === 4 && headers[i]!.toLowerCase() === 'host') throw refuse('two Host headers');
  }
}

function refuse(what: string): GatewayError {
  return new GatewayError('INTERNAL', `the gateway built a request with ${what}; it was not sent`);
}
