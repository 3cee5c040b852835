// Finds the bearer token that a browser can only send as a WebSocket subprotocol
// (apiserver:pkg/authentication/request/websocket). It counts on WebSocket requests alone, and only beside another
// subprotocol, which is the one that the server answers with. `routing/forward/headers.ts` drops the token from what
// goes to a member.
import { GatewayError } from '../../cache/model/errors.ts';
import { isOws, withoutEnds } from '../../lib/text/text-ends.ts';
import { decodeHeaderText, headerValues } from './header-values.ts';

const tokenPrefix = 'base64url.bearer.authorization.k8s.io.';

/**
 * Reads the token as latin1 bytes; undefined when the request is no WebSocket request or carries none.
 * @throws GatewayError UNAUTHENTICATED for a token that is malformed, repeated, or alone
 */
export function readWebSocketToken(rawHeaders: readonly string[]): string | undefined {
  const protocols = headerValues(rawHeaders, 'sec-websocket-protocol');
  if (protocols.length === 0 || !isWebSocketRequest(rawHeaders)) return undefined;
  const items = protocols.flatMap((value) => value.split(',')).map((item) => withoutEnds(item, isOws));
  const [item, ...more] = items.filter((one) => one.startsWith(tokenPrefix));
  if (item === undefined) return undefined;
  if (more.length > 0) throw bad('there is more than one bearer token among the WebSocket subprotocols');
  const encoded = item.slice(tokenPrefix.length);
  // Go's RawURLEncoding: no padding, no other alphabet.
  if (!/^[A-Za-z0-9_-]*$/.test(encoded) || encoded.length % 4 === 1) {
    throw bad('the bearer token among the WebSocket subprotocols is not unpadded base64url');
  }
  const token = Buffer.from(encoded, 'base64url').toString('latin1');
  if (decodeHeaderText(token) === undefined)
    throw bad('the bearer token among the WebSocket subprotocols is not UTF-8');
  if (token === '') return undefined;
  if (items.length === 1) throw bad('a bearer token as WebSocket subprotocol needs another subprotocol beside it');
  return token;
}

/**
 * One Upgrade header that is exactly `websocket`, and a Connection header that names it, as in apimachinery's wsstream.
 */
function isWebSocketRequest(rawHeaders: readonly string[]): boolean {
  const upgrades = headerValues(rawHeaders, 'upgrade');
  return (
    upgrades.length === 1 &&
    upgrades[0]?.toLowerCase() === 'websocket' &&
    headerValues(rawHeaders, 'connection').some((value) => value.toLowerCase().includes('upgrade'))
  );
}

function bad(message: string): GatewayError {
  return new GatewayError('UNAUTHENTICATED', message);
}
