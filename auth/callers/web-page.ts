// Recognises requests that a web page of another origin makes a browser send. A browser adds a client certificate by
// itself, and a hub's front proxy authenticates the browser's user, so such a request may be unwanted by the user
// (CSRF). Only a bearer token shows that the user wants the request, since a browser never adds one by itself. A page
// can neither forge nor suppress the headers Origin (RFC 6454) and Sec-Fetch-Site (W3C Fetch Metadata).
import { GatewayError } from '../../model/errors.ts';
import { readOnce } from '../../http/repeated-headers.ts';
import type { AuthenticationRequest } from './authentication-request.ts';
import { readBearerToken } from './bearer-token.ts';
import { readWebSocketToken } from './websocket-token.ts';

/** What the browser's headers say about the page that sent a request. */
interface PageHeaders {
  readonly origins: readonly string[];
  readonly sites: readonly string[];
}

const noPage: PageHeaders = { origins: [], sites: [] };
/**
 * Values of Sec-Fetch-Site for a page of the gateway's own origin, and for an address typed by the user. All other
 * values mean a page of another origin.
 */
const ownSites: ReadonlySet<string> = new Set(['same-origin', 'none']);
const longestQuoted = 200;

/**
 * Returns the request with the credentials that may be used. For requests of programs and of the gateway's own pages
 * these are all. For a page of another origin only a bearer token may be used; a certificate is removed even beside a
 * token, so that a page cannot send a made-up token in order to use the certificate.
 * @param hubOrigins further origins that count as the gateway's own, in lower case: addresses of a hub in front of it
 * @throws GatewayError FORBIDDEN for a page of another origin without a token; BAD_HEADERS and UNAUTHENTICATED for a
 *   malformed token
 */
export function withoutAmbientCredentials(
  request: AuthenticationRequest,
  hubOrigins: readonly string[],
): AuthenticationRequest {
  const { rawHeaders, authority = '' } = request;
  const page = readPage(rawHeaders);
  if (page === noPage || isOwnPage(page, authority, hubOrigins)) return request;
  if (readBearerToken(rawHeaders).token === undefined && readWebSocketToken(rawHeaders) === undefined) {
    throw new GatewayError(
      'FORBIDDEN',
      `the request comes from a web page of another origin (${quoted(page)}; this is https://${authority}): ` +
        'browsers add a client certificate by themselves, so requests from such a page must have a bearer token',
    );
  }
  return { ...request, peerCertificates: [] };
}

function isOwnPage({ origins, sites }: PageHeaders, authority: string, hubOrigins: readonly string[]): boolean {
  if (origins.length > 1 || sites.length > 1 || sites.some((site) => !ownSites.has(site))) return false;
  const [origin] = origins;
  if (origin === undefined) return true;
  const written = withoutDefaultPort(withoutPath(origin));
  return (authority !== '' && written === withoutDefaultPort(`https://${authority}`)) || hubOrigins.includes(written);
}

/** The `server` address of a cluster in a kubeconfig that leads through the gateway: an origin, then a path. */
const serverPath = /^(https:\/\/[^/]+)\/(?:clusters|apis)\/.+$/i;

/**
 * Removes the path from the value of an Origin header. Programs such as Headlamp send the whole `server` address of a
 * kubeconfig there. Security: a browser never writes a path into this header, and a page cannot write the header, so no
 * page can gain anything by this.
 */
function withoutPath(origin: string): string {
  return serverPath.exec(origin)?.[1] ?? origin;
}

/** Normalises an https origin for comparison: lower case, without `:443` (RFC 6454 section 4). */
export function withoutDefaultPort(origin: string): string {
  return origin.toLowerCase().replace(/:443$/, '');
}

const readPage = readOnce((rawHeaders): PageHeaders => {
  let origins: string[] | undefined;
  let sites: string[] | undefined;
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (name.length === 6 && name.toLowerCase() === 'origin') (origins ??= []).push(rawHeaders[index + 1]!);
    else if (name.length === 14 && name.toLowerCase() === 'sec-fetch-site') (sites ??= []).push(rawHeaders[index + 1]!);
  }
  return origins === undefined && sites === undefined ? noPage : { origins: origins ?? [], sites: sites ?? [] };
});

function quoted({ origins, sites }: PageHeaders): string {
  return [...origins.map((text) => `Origin: ${text}`), ...sites.map((text) => `Sec-Fetch-Site: ${text}`)]
    .join(', ')
    .slice(0, longestQuoted);
}
