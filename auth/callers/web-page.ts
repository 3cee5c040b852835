// Requests that a web page of another origin makes the caller's browser send. The browser shows a client certificate by
// itself, and a hub's front proxy vouches for whoever the browser was to the hub, so neither says that the person wants
// the request; a bearer token is only there when somebody wrote it. A page cannot forge Origin (RFC 6454) nor
// Sec-Fetch-Site (W3C Fetch Metadata), nor keep the browser from sending them.
import { GatewayError } from '../../cache/model/errors.ts';
import { readOnce } from '../../http/repeated-headers.ts';
import type { AuthenticationRequest } from './authentication-request.ts';
import { readBearerToken } from './bearer-token.ts';
import { readWebSocketToken } from './websocket-token.ts';

/** What a browser says about the page behind a request. */
interface PageHeaders {
  readonly origins: readonly string[];
  readonly sites: readonly string[];
}

const noPage: PageHeaders = { origins: [], sites: [] };
/**
 * A page of ours, or no page: an address that somebody typed. `cross-site`, `same-site` and unknown values are other
 * pages.
 */
const ownSites: ReadonlySet<string> = new Set(['same-origin', 'none']);
const longestQuoted = 200;

/**
 * The credentials of a request that count: all for programs and for our own pages. For a page of another origin only a
 * bearer token counts. A certificate beside it does not, so that a page cannot add a made-up token to use the browser's
 * certificate.
 * @param hubOrigins more origins of our own, in lower case: addresses of the hub in front of us
 * @throws GatewayError FORBIDDEN for such a page without a token; BAD_HEADERS and UNAUTHENTICATED as the readers of
 *   tokens do
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
        'browsers add a client certificate by themselves, so from such pages only a bearer token is taken',
    );
  }
  return { ...request, peerCertificates: [] };
}

function isOwnPage({ origins, sites }: PageHeaders, authority: string, hubOrigins: readonly string[]): boolean {
  if (origins.length > 1 || sites.length > 1 || sites.some((site) => !ownSites.has(site))) return false;
  const [origin] = origins;
  if (origin === undefined) return true;
  const written = withoutDefaultPort(origin);
  return (authority !== '' && written === withoutDefaultPort(`https://${authority}`)) || hubOrigins.includes(written);
}

/** An https origin in the one form that compares: lower case, no `:443` (RFC 6454 section 4). */
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
