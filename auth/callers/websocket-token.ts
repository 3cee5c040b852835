// Reads the bearer token that a browser can only send as a WebSocket subprotocol
// (apiserver:pkg/authentication/request/websocket). It is read only from WebSocket requests. The client must offer
// another subprotocol too, since the server must answer with one that is not the token. `routing/forward/headers.ts`
// removes the token before the request is forwarded.
import { GatewayError } from '../../model/errors.ts';
import { isOws, withoutEnds } from '../../lib/text/text-ends.ts';
import { decodeHeaderText } from './header-values.ts';
import { headerValues } from '../../http/raw-headers.ts';

const tokenPrefix = 'base64url.bearer.authorization.k8s.io.';

/**
 * Reads the token, one latin1 character for each byte. Undefined when this is not a WebSocket request or has no such
 * token.
 * @throws GatewayError UNAUTHENTICATED for a token that is malformed, repeated, or the only subprotocol
 */
export function readWebSocketToken(rawHeaders: readonly string[]): string | undefined {
  const protocols = headerValues(rawHeaders, 'sec-websocket-protocol');
  if (protocols.length === 0 || !isWebSocketRequest(rawHeaders)) return undefined;
  const items = protocols.flatMap((value) => value.split(',')).map((item) => withoutEnds(item, isOws));
  const [item, ...more] = items.filter((one) => one.startsWith(tokenPrefix));
  if (item === undefined) return undefined;
  if (more.length > 0) throw bad('there is more than one bearer token among the WebSocket subprotocols');
  const encoded = item.slice(tokenPrefix.length);
  // Accepts what Go's RawURLEncoding does: base64url without padding.
  if (!/^[A-Za-z0-9_-]*$/.test(encoded) || encoded.length % 4 === 1) {
    throw bad('the bearer token among the WebSocket subprotocols is not unpadded base64url');
  }
  const token = Buffer.from(encoded, 'base64url').toString('latin1');
  if (decodeHeaderText(token) === undefined)
    throw bad('the bearer token among the WebSocket subprotocols is not UTF-8');
  if (token === '') return undefined;
  if (items.length === 1) throw bad('a bearer token must not be the only WebSocket subprotocol; offer another one too');
  return token;
}

/**
 * Whether there is one Upgrade header `websocket` and a Connection header with `upgrade`, as apimachinery's wsstream
 * requires.
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
