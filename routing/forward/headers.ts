// Which headers travel, both ways. Every list towards a member is built from nothing by upstreamHeaders, which
// stream.ts and upgrade.ts both call (rule "headers from an empty list"); an edit in place would let headers named by
// Connection, or look-alikes, decide who we are.
import { GatewayError } from '../../cache/model/errors.ts';
import type { Credential } from '../../cache/model/records.ts';
import { readOnce } from '../../http/repeated-headers.ts';
import { identityTextFault } from '../../cache/model/user.ts';
import type { User } from '../../cache/model/user.ts';
import { rememberingNames } from '../../http/header-names.ts';
import type { RawHeaders } from '../../http/raw-headers.ts';
import { token } from '../../http/field-syntax.ts';

/**
 * Request headers that are copied to a member, with those of singleRequestHeaders. Everything else is dropped:
 * identity, hop-by-hop, cookies, look-alikes.
 */
const forwardedRequestHeaders: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'accept-language',
  'audit-id',
  'cache-control',
  'content-disposition',
  'kubectl-command',
  'kubectl-session',
  'last-event-id',
  'origin',
  'pragma',
  'traceparent',
  'tracestate',
  'x-requested-with',
]);

/** Copied only with an upgrade. */
const forwardedUpgradeHeaders: ReadonlySet<string> = new Set([
  'sec-websocket-extensions',
  'sec-websocket-key',
  'sec-websocket-protocol',
  'sec-websocket-version',
  'x-stream-protocol-version',
]);

/**
 * Response headers that are never relayed: framing and hop-by-hop are ours; the rest would act on the gateway's own
 * origin.
 */
const heldBackResponseHeaders: ReadonlySet<string> = new Set([
  'alt-svc',
  'alternate-protocol',
  'clear-site-data',
  'connection',
  'http2-settings',
  'keep-alive',
  'nel',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-connection',
  'public-key-pins',
  'public-key-pins-report-only',
  'report-to',
  'set-cookie',
  'set-cookie2',
  'strict-transport-security',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'www-authenticate',
]);

/**
 * Prefix of the WebSocket subprotocol that carries a bearer token (kubernetes/apiserver request/websocket/protocol.go).
 * It may stand anywhere in an item: an item that is no subprotocol may still hold somebody's token.
 */
const bearerSubprotocol = /base64url\.bearer\.authorization\.k8s\.io\./i;

/**
 * Of these only the first line is copied: servers in Go read no other, and node:http2 refuses a list that repeats one.
 */
const singleRequestHeaders: readonly string[] = [
  'content-encoding',
  'content-language',
  'content-md5',
  'content-range',
  'content-type',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'range',
  'user-agent',
];

const forward = -1;
const forwardWithUpgrade = -2;
/** What happens to a request header: 0 is dropped, a positive number is the bit of a header that is copied once. */
const requestHeaderFate = rememberingNames((name) => {
  const lower = name.toLowerCase();
  if (lower === 'audit-id') return 0;
  const single = singleRequestHeaders.indexOf(lower);
  if (single >= 0) return 1 << single;
  if (forwardedRequestHeaders.has(lower)) return forward;
  return forwardedUpgradeHeaders.has(lower) ? forwardWithUpgrade : 0;
});

type ResponseHeaderFate =
  | 'relay'
  | 'hold-back'
  | 'asks-for-more'
  | 'connection'
  | 'content-type'
  | 'content-encoding'
  | 'location';
const responseHeaderFate = rememberingNames((name): ResponseHeaderFate => {
  const lower = name.toLowerCase();
  if (lower === 'connection' || lower === 'content-type' || lower === 'content-encoding' || lower === 'location')
    return lower;
  if (lower === 'link' || lower === 'refresh') return 'asks-for-more';
  const isHeldBack = lower.startsWith(':') || lower.startsWith('access-control-') || heldBackResponseHeaders.has(lower);
  // Ours replaces the member's; they are equal unless the member makes its own.
  return isHeldBack || lower === 'audit-id' ? 'hold-back' : 'relay';
});

/**
 * What upstreamHeaders needs to know; `user` is there in the normal mode and absent only in {@link
 * selfUpstreamHeaders}.
 */
export interface HeaderParts {
  /** Headers of the client as received. */
  readonly inbound: RawHeaders;
  /** Value of `Host`: the endpoint, never what the client sent. */
  readonly host: string;
  readonly credential: Credential;
  /** Address of the peer, sent as the only `X-Forwarded-For`. */
  readonly peerAddress: string;
  /** Our `Audit-Id`, so that the member's audit joins ours. */
  readonly auditId: string;
  /** An upgrade also copies the headers of the WebSocket and SPDY handshakes. */
  readonly upgrade: boolean;
}

/**
 * The whole header list towards a member, the caller impersonated: Host, allow-listed copies, then `Impersonate-*` and
 * `Authorization`.
 * @throws GatewayError IDENTITY_REFUSED when the user is not one (no identity, no bytes)
 */
export function upstreamHeaders(parts: HeaderParts, user: User): string[] {
  const headers = copiedHeaders(parts);
  appendImpersonation(headers, user);
  appendAuthorization(headers, parts.credential);
  return headers;
}

/**
 * The header list of standalone `--identity=self`: the credential of the person's own kubeconfig context and no
 * impersonation. A function of its own so that the normal one cannot leave the identity out.
 */
export function selfUpstreamHeaders(parts: HeaderParts): string[] {
  const headers = copiedHeaders(parts);
  appendAuthorization(headers, parts.credential);
  return headers;
}

function copiedHeaders(parts: HeaderParts): string[] {
  const { inbound, upgrade } = parts;
  const headers: string[] = ['Host', parts.host];
  const copies = upgrade ? copiesOf(inbound, true) : plainCopies(inbound);
  for (let i = 0; i < copies.length; i++) headers.push(copies[i]!);
  if (parts.peerAddress !== '') headers.push('X-Forwarded-For', parts.peerAddress);
  headers.push('Audit-ID', parts.auditId);
  return headers;
}

const plainCopies = readOnce((inbound) => copiesOf(inbound, false));

/** Of a client's headers, those that go on. */
function copiesOf(inbound: RawHeaders, upgrade: boolean): string[] {
  const headers: string[] = [];
  let copied = 0;
  for (let i = 0; i < inbound.length; i += 2) {
    const name = inbound[i]!;
    const fate = requestHeaderFate(name);
    if (fate > 0) {
      if ((copied & fate) !== 0) continue;
      copied |= fate;
      headers.push(name, inbound[i + 1]!);
    } else if (fate === forward) headers.push(name, inbound[i + 1]!);
    else if (fate === forwardWithUpgrade && upgrade) {
      const isProtocols = name.toLowerCase() === 'sec-websocket-protocol';
      const value = isProtocols ? withoutBearer(inbound[i + 1]!) : inbound[i + 1]!;
      if (value !== '') headers.push(name, value);
    }
  }
  return headers;
}

function withoutBearer(protocols: string): string {
  return protocols
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '' && !bearerSubprotocol.test(item))
    .join(', ');
}

/** Users are frozen and live as long as their token, so what goes out for one is made once. Saves 0.8 us of 0.9. */
const impersonations = new WeakMap<User, readonly string[]>();

/**
 * Appends `Impersonate-*` as client-go does (transport/round_trippers.go): one field for each group and each extra
 * value.
 */
function appendImpersonation(headers: string[], user: User): void {
  let made = impersonations.get(user);
  if (made === undefined) {
    made = impersonationHeaders(user);
    impersonations.set(user, made);
  }
  for (let i = 0; i < made.length; i++) headers.push(made[i]!);
}

function impersonationHeaders(user: User): string[] {
  const headers = ['Impersonate-User', wireText(user.name, 'user name')];
  for (const group of user.groups) headers.push('Impersonate-Group', wireText(group, 'group'));
  if (user.uid !== '') headers.push('Impersonate-Uid', wireText(user.uid, 'uid'));
  for (const [key, values] of user.extra) {
    const name = `Impersonate-Extra-${escapeExtraKey(key)}`;
    for (const value of values) headers.push(name, wireText(value, 'extra value', true));
  }
  return headers;
}

function appendAuthorization(headers: string[], credential: Credential): void {
  if (credential.authorization !== undefined) headers.push('Authorization', credential.authorization);
}

const plainAscii = /^[\x21-\x7e]+$/;

/**
 * A header value whose char codes are the UTF-8 bytes of the text. Checked again here, right before the
 * bytes leave.
 */
function wireText(text: string, what: string, mayBeEmpty = false): string {
  // A value that is no text would be written all the same: a missing name as the user "undefined".
  if (typeof text !== 'string') throw new GatewayError('IDENTITY_REFUSED', `the ${what} is not a text`);
  if (plainAscii.test(text)) return text;
  if (text === '' && mayBeEmpty) return text;
  const fault = text === '' ? 'is empty' : identityTextFault(text);
  if (fault !== undefined) throw new GatewayError('IDENTITY_REFUSED', `the ${what} ${fault}`);
  return Buffer.from(text, 'utf8').toString('latin1');
}

/** Bytes that are no header-token bytes, and `%`, become `%XX` (client-go headerKeyEscape). */
export function escapeExtraKey(key: string): string {
  let escaped = '';
  for (const byte of Buffer.from(key.toLowerCase(), 'utf8')) {
    const char = String.fromCharCode(byte);
    escaped += char !== '%' && token.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return escaped;
}

/** What of a member's answer the client gets, with framing and hop-by-hop headers taken out. */
export interface RelayedHeaders {
  readonly headers: string[];
  /** '' when there is none; of several lines all, joined as one list. */
  readonly contentType: string;
  readonly contentEncoding: string;
  readonly location: string | undefined;
  /** A header makes a browser send further requests, whatever the body is. */
  readonly asksForMore: boolean;
}

/**
 * How an application asks for a login, which goes on with its 401 alone: in any other answer it would be the gateway
 * that seems to ask.
 */
export function challengesOf(received: RawHeaders): string[] {
  return headerValues(received, 'www-authenticate').flatMap((value) => ['WWW-Authenticate', value]);
}

/**
 * Copies a member's response headers, without those that would act on the connection or on the gateway's own origin.
 */
export function relayedHeaders(received: RawHeaders): RelayedHeaders {
  const headers: string[] = [];
  let contentType = '';
  let contentEncoding = '';
  let location: string | undefined;
  let asksForMore = false;
  let connection: Set<string> | undefined;
  for (let i = 0; i < received.length; i += 2) {
    const name = received[i]!;
    const value = received[i + 1]!;
    const fate = responseHeaderFate(name);
    if (fate === 'hold-back') continue;
    if (fate === 'connection') {
      for (const item of value.split(',')) {
        const named = item.trim().toLowerCase();
        if (named !== '' && named !== 'close' && named !== 'keep-alive') (connection ??= new Set()).add(named);
      }
      continue;
    }
    if (fate === 'content-type') contentType = contentType === '' ? value : `${contentType}, ${value}`;
    else if (fate === 'content-encoding') contentEncoding = value;
    else if (fate === 'location') location = value;
    else if (fate === 'asks-for-more') asksForMore = true;
    headers.push(name, value);
  }
  if (connection === undefined) return { headers, contentType, contentEncoding, location, asksForMore };
  const kept: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    if (!connection.has(headers[i]!.toLowerCase())) kept.push(headers[i]!, headers[i + 1]!);
  }
  return { headers: kept, contentType, contentEncoding, location, asksForMore };
}

/** First value of a header, or undefined. Never for identity headers: those need every line. */
export function headerValue(headers: RawHeaders, lowerName: string): string | undefined {
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!;
    if (name.length === lowerName.length && name.toLowerCase() === lowerName) return headers[i + 1]!;
  }
  return undefined;
}

/** Every value of a header, in order. */
export function headerValues(headers: RawHeaders, lowerName: string): string[] {
  const values: string[] = [];
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!;
    if (name.length === lowerName.length && name.toLowerCase() === lowerName) values.push(headers[i + 1]!);
  }
  return values;
}

/** Whether a client has what an ETag stands for: `If-None-Match`, compared weakly (RFC 9110 section 13.1.2). */
export function hasEtag(headers: RawHeaders, etag: string): boolean {
  const known = headerValues(headers, 'if-none-match').flatMap((value) => value.split(','));
  return known.some((each) => each.trim().replace(/^W\//, '') === etag);
}
