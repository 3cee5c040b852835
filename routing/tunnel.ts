// Asks a proxy (`proxy-url` of a kubeconfig) for a connection to a member: HTTP CONNECT (RFC 9110 section 9.3.6) or
// SOCKS5 (RFC 1928, user and password by RFC 1929). Easy to get wrong: the proxy learns the member's host and port and
// its own credential, nothing else, and bytes that follow its answer belong to the tunnel.
import { isIPv4, isIPv6 } from 'node:net';
import type { Socket } from 'node:net';
import { GatewayError } from '../cache/errors.ts';
import type { Endpoint, ProxyAddress } from '../cache/records.ts';
import { ResponseFault } from './chunked-body.ts';
import { errorCode, fail } from './member-faults.ts';
import type { MemberLabel } from './member-faults.ts';
import { makeResponseParser } from './response-parser.ts';

/** Why the proxy did not give us a connection. */
class ProxyRefusal extends Error {
  override readonly name = 'ProxyRefusal';
}

/** The proxy for people, without its credential. */
export function proxyLabel(proxy: ProxyAddress): string {
  return `proxy ${proxy.scheme}://${bracketed(proxy.host)}:${proxy.port}`;
}

/** The error for any fault between us and the proxy, up to the open tunnel. */
export function proxyFault(error: unknown, proxy: ProxyAddress, member: MemberLabel): GatewayError {
  if (error instanceof GatewayError) return error;
  const label = proxyLabel(proxy);
  if (error instanceof ProxyRefusal || error instanceof ResponseFault) {
    return fail('MEMBER_PROXY', `${label} gave no connection to ${member.address}: ${error.message}`, member, error);
  }
  const code = errorCode(error);
  const detail = code === '' ? 'connection lost' : code;
  return fail('MEMBER_PROXY', `${label} of the cluster cannot be used (${detail})`, member, error);
}

/**
 * Makes the open connection to a proxy a connection to `endpoint`.
 * @returns bytes that came behind the proxy's answer
 */
export function openTunnel(socket: Socket, proxy: ProxyAddress, endpoint: Endpoint): Promise<Buffer> {
  return proxy.scheme === 'socks5' ? openSocks(socket, proxy, endpoint) : openConnect(socket, proxy, endpoint);
}

/** Feeds what the proxy sends to `take` until it gives back the bytes that are left over. */
function readUntil(socket: Socket, take: (chunk: Buffer) => Buffer | undefined): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      socket.off('data', onData).off('error', onFault).off('end', onEnd).off('close', onEnd);
      socket.pause();
    };
    const onFault = (error: unknown): void => {
      stop();
      reject(error instanceof Error ? error : new Error('proxy fault'));
    };
    const onEnd = (): void => onFault(new ProxyRefusal('it closed the connection'));
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

function openConnect(socket: Socket, proxy: ProxyAddress, endpoint: Endpoint): Promise<Buffer> {
  const authority = `${bracketed(endpoint.host)}:${endpoint.port}`;
  let head = `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n`;
  if (proxy.userinfo !== undefined) {
    const { username, password } = proxy.userinfo;
    head += `Proxy-Authorization: Basic ${Buffer.from(`${username}:${password}`, 'utf8').toString('base64')}\r\n`;
  }
  if (!/^[\x21-\x7e]+$/.test(authority)) return Promise.reject(new ProxyRefusal('the host name is invalid'));
  let status = 0;
  const parser = makeResponseParser({
    onHeaders(received) {
      status = received;
      if (status < 200 || status > 299) throw new ProxyRefusal(`it answered CONNECT with ${status}`);
    },
    onData() {},
  });
  parser.begin('connect');
  const answer = readUntil(socket, (chunk) => {
    const used = parser.push(chunk);
    return parser.complete ? chunk.subarray(used) : undefined;
  });
  socket.write(`${head}\r\n`, 'latin1');
  return answer;
}

/** Meaning of the reply field (RFC 1928 section 6). */
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
  if (chosen[1] !== method) throw new ProxyRefusal('it wants another way to authenticate');
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

/** Sends a message and waits for an answer of the given length. */
async function exchange(
  socket: Socket,
  message: Buffer,
  early: Buffer,
  length: number | ((received: Buffer) => number),
): Promise<{ readonly answer: Buffer; readonly left: Buffer }> {
  if (early.length > 0) throw new ProxyRefusal('it answered before it was asked');
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

/** Bytes of the reply to a request, as far as what came so far tells: the bound address has one of three forms. */
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

/** A name goes to the proxy as a name: only the proxy can resolve it. */
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

/** The 16 bytes of an IPv6 literal that isIPv6 accepted, zone left out. */
export function ipv6Bytes(literal: string): Buffer {
  let text = literal.split('%')[0]!;
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(text);
  if (dotted !== null) {
    const [a, b, c, d] = dotted.slice(2).map(Number) as [number, number, number, number];
    text = `${dotted[1]}${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  }
  const [front, back] = text.split('::') as [string, string | undefined];
  const words = (part: string | undefined): string[] => (part === undefined || part === '' ? [] : part.split(':'));
  const before = words(front);
  const after = words(back);
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  const bytes = Buffer.alloc(16);
  [...before, ...zeros, ...after].forEach((word, index) => bytes.writeUInt16BE(Number.parseInt(word, 16), index * 2));
  return bytes;
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
