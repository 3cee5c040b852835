// Asks a proxy (`proxy-url` of a kubeconfig) for a tunnel to a member: HTTP CONNECT (RFC 9110 section 9.3.6) or SOCKS5
// (RFC 1928, with user name and password as in RFC 1929). The proxy is sent only the member's host and port and the
// proxy's own credential. Bytes that follow the proxy's answer come from the member.
import { isIPv4, isIPv6 } from 'node:net';
import type { Socket } from 'node:net';
import { formatHostPort } from '../../lib/text/host-port.ts';
import { ipv6Bytes } from '../../lib/text/ip-address.ts';
import type { Endpoint, ProxyAddress } from '../../model/records.ts';
import { maxReasonLength, ProxyRefusal, refusalReason } from './proxy-faults.ts';
import { ResponseParser } from './response-parser.ts';
import { badValue, token } from '../../http/field-syntax.ts';

/**
 * Asks the proxy for a tunnel, after which the socket is a connection to `endpoint`.
 * @returns bytes of the member that arrived together with the proxy's answer
 * @throws ProxyRefusal or ResponseFault (rejects) when the proxy opens no tunnel
 */
export function openTunnel(socket: Socket, proxy: ProxyAddress, endpoint: Endpoint): Promise<Buffer> {
  return proxy.scheme === 'socks5' ? openSocks(socket, proxy, endpoint) : openConnect(socket, proxy, endpoint);
}

/**
 * Passes received data to `take` until the proxy's answer is complete. `take` returns undefined while it needs more
 * data, then the bytes after the answer.
 * @param ended makes the error for a connection that closes before the answer is complete
 */
function readUntil(
  socket: Socket,
  take: (chunk: Buffer) => Buffer | undefined,
  ended: () => Error = () => new ProxyRefusal('it closed the connection'),
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      socket.off('data', onData).off('error', onFault).off('end', onEnd).off('close', onEnd);
      socket.pause();
    };
    const onFault = (error: unknown): void => {
      stop();
      reject(error instanceof Error ? error : new Error('proxy fault'));
    };
    const onEnd = (): void => onFault(ended());
    const onData = (chunk: Buffer): void => {
      try {
        const rest = take(chunk);
        if (rest === undefined) return;
        stop();
        resolve(rest);
      } catch (error) {
        onFault(error);
      }
    };
    socket.on('data', onData).on('error', onFault).on('end', onEnd).on('close', onEnd);
    socket.resume();
  });
}

/**
 * Milliseconds to wait for the text with which a proxy explains its refusal; then the refusal is reported without it.
 */
const reasonTimeoutMs = 300;

function openConnect(socket: Socket, proxy: ProxyAddress, endpoint: Endpoint): Promise<Buffer> {
  let status = 0;
  let contentType = '';
  const said: Buffer[] = [];
  const parser = new ResponseParser({
    onHeaders(received, headers) {
      status = received;
      const at = headers.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === 'content-type');
      contentType = at < 0 ? '' : headers[at + 1]!;
    },
    onData: (chunk) => void said.push(chunk),
  });
  let head: string;
  try {
    head = connectHead(proxy, endpoint);
  } catch (error) {
    return Promise.reject(error as Error);
  }
  parser.begin('connect');
  const refusal = (): Error => {
    if (status === 0) return new ProxyRefusal('it closed the connection');
    const reason = refusalReason(Buffer.concat(said), contentType, secretsOf(proxy));
    return new ProxyRefusal(`it answered CONNECT with ${status}${reason === '' ? '' : `: ${reason}`}`);
  };
  const take = (chunk: Buffer): Buffer | undefined => {
    const used = parser.push(status === 0 ? withKnownVersion(chunk) : chunk);
    if (status < 300) return parser.complete ? chunk.subarray(used) : undefined;
    if (parser.complete || Buffer.concat(said).length > maxReasonLength) throw refusal();
    // The body with the explanation may arrive in a later packet, or not at all.
    patience ??= setTimeout(() => socket.destroy(), reasonTimeoutMs);
    return undefined;
  };
  let patience: NodeJS.Timeout | undefined;
  const answer = readUntil(socket, take, refusal).finally(() => clearTimeout(patience));
  socket.write(head, 'latin1');
  return answer;
}

/**
 * Corrects the HTTP version of an error from konnectivity's proxy server. It reports a failed connection as `HTTP/0.1
 * 502 Bad Gateway`, because it leaves ProtoMajor of Go's http.Response at 0. A 2xx answer with this version stays
 * invalid.
 */
function withKnownVersion(chunk: Buffer): Buffer {
  if (!/^HTTP\/0\.1 [45]/.test(chunk.subarray(0, 10).toString('latin1'))) return chunk;
  return Buffer.concat([Buffer.from('HTTP/1.1', 'latin1'), chunk.subarray(8)]);
}

/**
 * Headers that only this file may write. If a configured header could set them, it could change where the tunnel goes
 * or where the request head ends.
 */
const ownHeader = /^(?:host|content-length|transfer-encoding|connection)$/i;

/**
 * Builds the head of the CONNECT request.
 * @throws ProxyRefusal when the endpoint or a configured header would change the meaning of the request
 */
function connectHead(proxy: ProxyAddress, endpoint: Endpoint): string {
  const authority = formatHostPort(endpoint);
  if (!/^[\x21-\x7e]+$/.test(authority)) throw new ProxyRefusal('the host name is invalid');
  let head = `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n`;
  for (const [name, value] of proxy.headers ?? []) {
    if (!token.test(name) || ownHeader.test(name) || badValue.test(value)) {
      throw new ProxyRefusal('a header configured for it is not allowed');
    }
    // When the proxy URL has a user name, it takes precedence over a configured Proxy-Authorization header, as in Go's
    // http.Transport.
    if (proxy.userinfo !== undefined && name.toLowerCase() === 'proxy-authorization') continue;
    head += `${name}: ${value}\r\n`;
  }
  if (proxy.userinfo !== undefined) head += `Proxy-Authorization: Basic ${basic(proxy.userinfo)}\r\n`;
  return `${head}\r\n`;
}

function basic({ username, password }: NonNullable<ProxyAddress['userinfo']>): string {
  return Buffer.from(`${username}:${password}`, 'utf8').toString('base64');
}

/** The values sent to the proxy that an error message must not contain. */
function secretsOf({ userinfo, headers = [] }: ProxyAddress): string[] {
  const own = userinfo === undefined ? [] : [userinfo.password, basic(userinfo)];
  return [...own, ...headers.map(([, value]) => value)];
}

/** Meaning of the reply codes in a SOCKS5 answer, by index (RFC 1928 section 6). */
const socksReplies: readonly string[] = [
  'succeeded',
  'general SOCKS server failure',
  'connection not allowed by ruleset',
  'network unreachable',
  'host unreachable',
  'connection refused',
  'TTL expired',
  'command not supported',
  'address type not supported',
];

async function openSocks(socket: Socket, proxy: ProxyAddress, endpoint: Endpoint): Promise<Buffer> {
  const { userinfo } = proxy;
  const method = userinfo === undefined ? 0x00 : 0x02;
  let rest = await exchange(socket, Buffer.from([5, 1, method]), Buffer.alloc(0), 2);
  const chosen = rest.answer;
  if (chosen[0] !== 5) throw new ProxyRefusal('it does not speak SOCKS5');
  if (chosen[1] !== method) throw new ProxyRefusal('it requires another authentication method');
  if (userinfo !== undefined) {
    rest = await exchange(socket, socksLogin(userinfo), rest.left, 2);
    if (rest.answer[1] !== 0) throw new ProxyRefusal('it refused the user name and password');
  }
  rest = await exchange(socket, socksRequest(endpoint), rest.left, socksAnswerLength);
  const reply = rest.answer[1]!;
  if (rest.answer[0] !== 5) throw new ProxyRefusal('it does not speak SOCKS5');
  if (reply !== 0) throw new ProxyRefusal(socksReplies[reply] ?? `SOCKS reply ${reply}`);
  return rest.left;
}

/**
 * Sends a SOCKS5 message and waits for the answer.
 * @param early bytes received before the message is sent; any are an error
 * @param length of the answer in bytes, or a function that computes it from the bytes received so far
 * @throws ProxyRefusal (rejects)
 */
async function exchange(
  socket: Socket,
  message: Buffer,
  early: Buffer,
  length: number | ((received: Buffer) => number),
): Promise<{ readonly answer: Buffer; readonly left: Buffer }> {
  if (early.length > 0) throw new ProxyRefusal('it sent data before it got a request');
  let received = Buffer.alloc(0);
  let needed = 0;
  const answer = readUntil(socket, (chunk) => {
    received = Buffer.concat([received, chunk]);
    needed = typeof length === 'number' ? length : length(received);
    return received.length >= needed ? received.subarray(needed) : undefined;
  });
  socket.write(message);
  const left = await answer;
  return { answer: received.subarray(0, needed), left };
}

/**
 * Returns how many bytes of a SOCKS5 reply have to be received before reading can go on. The length depends on the type
 * of the bound address, which is in the first bytes.
 */
function socksAnswerLength(received: Buffer): number {
  if (received.length >= 2 && received[1] !== 0) return 2;
  if (received.length < 5) return 5;
  switch (received[3]) {
    case 1:
      return 10;
    case 3:
      return 7 + received[4]!;
    case 4:
      return 22;
    default:
      throw new ProxyRefusal('it sent an unknown address type');
  }
}

function socksLogin(userinfo: { readonly username: string; readonly password: string }): Buffer {
  const username = Buffer.from(userinfo.username, 'utf8');
  const password = Buffer.from(userinfo.password, 'utf8');
  if (username.length === 0 || username.length > 255 || password.length > 255) {
    throw new ProxyRefusal('the user name or password is too long or empty for SOCKS5');
  }
  return Buffer.concat([Buffer.from([1, username.length]), username, Buffer.from([password.length]), password]);
}

/** The SOCKS5 CONNECT request. A host name is sent unresolved, because only the proxy may be able to resolve it. */
function socksRequest(endpoint: Endpoint): Buffer {
  const port = Buffer.from([endpoint.port >> 8, endpoint.port & 0xff]);
  return Buffer.concat([Buffer.from([5, 1, 0]), socksAddress(endpoint.host), port]);
}

function socksAddress(host: string): Buffer {
  if (isIPv4(host)) return Buffer.from([1, ...host.split('.').map(Number)]);
  if (isIPv6(host)) return Buffer.concat([Buffer.from([4]), ipv6Bytes(host)]);
  const name = Buffer.from(host, 'utf8');
  if (name.length === 0 || name.length > 255) throw new ProxyRefusal('the host name is too long for SOCKS5');
  return Buffer.concat([Buffer.from([3, name.length]), name]);
}
