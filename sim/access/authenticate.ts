// Authenticates callers by bearer tokens, by ServiceAccount tokens that the simulator issued, or by client certificates
// of its CA. A request without such a credential is from system:anonymous. A request with an unknown bearer token gets
// 401.
import { X509Certificate } from 'node:crypto';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { headerValue } from '../wire/headers.ts';
import { unauthorized } from '../model/status-error.ts';
import type { SimUser } from '../model/types.ts';

/** Returns the user of a bearer token; undefined for an unknown token. */
export type TokenLookup = (token: string) => SimUser | undefined;

const anonymous: SimUser = { name: 'system:anonymous', groups: ['system:unauthenticated'] };

/** Returns the caller of a request. @throws StatusError 401 for an unknown token */
export function authenticate(rawHeaders: readonly string[], socket: Duplex, lookup: TokenLookup): SimUser {
  const byCertificate = certificateUser(socket as TLSSocket);
  if (byCertificate !== undefined) return authenticated(byCertificate);
  const header = headerValue(rawHeaders, 'authorization');
  const token = /^bearer +(\S+)\s*$/i.exec(header ?? '')?.[1] ?? webSocketToken(rawHeaders);
  if (token === undefined) return anonymous;
  const user = lookup(token);
  if (user === undefined) throw unauthorized();
  return authenticated(user);
}

function authenticated(user: SimUser): SimUser {
  return user.groups.includes('system:authenticated')
    ? user
    : { ...user, groups: [...user.groups, 'system:authenticated'] };
}

/**
 * The user in a client certificate: CN is the name, and each O is a group. Undefined without a certificate that Node
 * has verified with the simulator's CA.
 */
function certificateUser(socket: TLSSocket): SimUser | undefined {
  if (socket.authorized !== true) return undefined;
  const peer = socket.getPeerX509Certificate?.();
  if (peer === undefined) return undefined;
  const subject = new X509Certificate(peer.raw).toLegacyObject().subject as Record<
    string,
    string | string[] | undefined
  >;
  const name = [subject['CN'] ?? ''].flat()[0] ?? '';
  if (name === '') return undefined;
  return { name, groups: [subject['O'] ?? []].flat() };
}

/** The token that browsers send in the WebSocket subprotocol `base64url.bearer.authorization.k8s.io.<token>`. */
function webSocketToken(rawHeaders: readonly string[]): string | undefined {
  const protocols = (headerValue(rawHeaders, 'sec-websocket-protocol') ?? '').split(',').map((part) => part.trim());
  const prefix = 'base64url.bearer.authorization.k8s.io.';
  const found = protocols.find((protocol) => protocol.startsWith(prefix));
  return found === undefined ? undefined : Buffer.from(found.slice(prefix.length), 'base64url').toString('utf8');
}
