// An HTTP/1.1 client that sends exactly the bytes it is given over TLS and says exactly what came back. A normalising
// client would mend the attack before it is made, and would hide whether an answer was complete.
import { once } from 'node:events';
import { connect, createSecureContext } from 'node:tls';
import type { ConnectionOptions, SecureContext, TLSSocket } from 'node:tls';

/** Where the gateway is. */
export interface Endpoint {
  readonly port: number;
  /** PEM the gateway's certificate is checked with. */
  readonly ca: string;
}

/** One answer. */
export interface RawAnswer {
  readonly status: number;
  readonly head: string;
  readonly body: string;
  /** False when the connection ended before the framing did. */
  readonly complete: boolean;
  /** Every value of a header, lower-case name given. */
  values(name: string): string[];
}

/** An open connection. */
export interface RawClient {
  readonly socket: TLSSocket;
  send(bytes: string | Buffer): void;
  /** Reads the next answer; rejects when the connection ends before a head came. `headOnly` leaves the body unread. */
  answer(options?: { readonly method?: string; readonly headOnly?: boolean }): Promise<RawAnswer>;
  /** Bytes that came and were not read as an answer, as latin1. */
  rest(): string;
  /** Resolves once `rest()` matches; rejects when the connection ends before. */
  restMatches(pattern: RegExp): Promise<string>;
  /** Resolves when the socket is closed. */
  readonly closed: Promise<void>;
  close(): void;
}

const contexts = new Map<string, SecureContext>();

/**
 * What trusts the endpoint's certificate, made once: contexts would take a tenth of a test's time. Shows nothing,
 * resumes nothing.
 */
export function trusting({ ca }: Endpoint): SecureContext {
  const context = contexts.get(ca) ?? createSecureContext({ ca });
  contexts.set(ca, context);
  return context;
}

/** Opens a connection; ALPN offers http/1.1 unless told otherwise. */
export async function openRaw(endpoint: Endpoint, options: ConnectionOptions = {}): Promise<RawClient> {
  const isPlain = Object.keys(options).every((option) => option === 'servername');
  const socket = connect({
    host: '127.0.0.1',
    port: endpoint.port,
    ...(isPlain ? { secureContext: trusting(endpoint) } : { ca: endpoint.ca }),
    ALPNProtocols: ['http/1.1'],
    ...options,
  });
  await once(socket, 'secureConnect');
  let bytes: Buffer = Buffer.alloc(0);
  let ended = false;
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  let wake = Promise.withResolvers<void>();
  const stir = (): void => {
    wake.resolve();
    wake = Promise.withResolvers();
  };
  socket.on('error', () => undefined);
  socket.on('data', (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk]);
    stir();
  });
  socket.on('end', () => {
    ended = true;
    stir();
  });
  socket.on('close', () => {
    ended = true;
    stir();
    resolve();
  });
  return {
    socket,
    send: (data) => void (typeof data === 'string' ? socket.write(data, 'latin1') : socket.write(data)),
    async answer({ method = 'GET', headOnly = false } = {}) {
      let end = bytes.indexOf('\r\n\r\n');
      while (end < 0) {
        if (ended) throw new Error(`closed without an answer; got ${JSON.stringify(bytes.toString('latin1'))}`);
        await wake.promise;
        end = bytes.indexOf('\r\n\r\n');
      }
      const head = bytes.toString('latin1', 0, end);
      bytes = bytes.subarray(end + 4);
      const status = Number(head.split(' ')[1]);
      const values = (name: string): string[] =>
        head
          .split('\r\n')
          .slice(1)
          .filter((line) => line.slice(0, line.indexOf(':')).toLowerCase() === name)
          .map((line) => line.slice(line.indexOf(':') + 1).trim());
      const result = (body: string, complete: boolean): RawAnswer => ({ status, head, body, complete, values });
      const bodyless = method === 'HEAD' || status === 101 || status === 204 || status === 304;
      if (bodyless || headOnly) return result('', true);
      for (;;) {
        const found = readBody(bytes, values, ended);
        if (found !== undefined) {
          bytes = bytes.subarray(found.used);
          return result(found.body, found.complete);
        }
        await wake.promise;
      }
    },
    rest: () => bytes.toString('latin1'),
    async restMatches(pattern) {
      while (!pattern.test(bytes.toString('latin1'))) {
        if (ended) throw new Error(`closed before ${String(pattern)} came: ${bytes.toString('latin1')}`);
        await wake.promise;
      }
      return bytes.toString('latin1');
    },
    closed,
    close: () => socket.destroy(),
  };
}

/** Sends one request on a connection of its own. */
export async function exchange(
  endpoint: Endpoint,
  request: string | Buffer,
  options: ConnectionOptions = {},
): Promise<RawAnswer> {
  const client = await openRaw(endpoint, options);
  try {
    client.send(request);
    return await client.answer({ method: String(request).slice(0, String(request).indexOf(' ')) });
  } finally {
    client.close();
  }
}

/** Bytes of a request: Host, the given header lines as they are, an empty line, the body. */
export function requestBytes(line: string, headers: readonly string[] = [], body = ''): string {
  return [`${line} HTTP/1.1`, 'Host: gateway.test', ...headers, '', body].join('\r\n');
}

/** Header lines of an upgrade. */
export function upgradeLines(token: string): string[] {
  return token === 'websocket'
    ? [
        'Connection: Upgrade',
        'Upgrade: websocket',
        'Sec-WebSocket-Version: 13',
        'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
        'Sec-WebSocket-Protocol: v5.channel.k8s.io',
      ]
    : ['Connection: Upgrade', `Upgrade: ${token}`, 'X-Stream-Protocol-Version: v4.channel.k8s.io'];
}

function readBody(
  bytes: Buffer,
  values: (name: string) => string[],
  ended: boolean,
): { readonly body: string; readonly used: number; readonly complete: boolean } | undefined {
  const all = (complete: boolean) => ({ body: bytes.toString('latin1'), used: bytes.length, complete });
  const [length] = values('content-length');
  if (length !== undefined) {
    if (bytes.length < Number(length)) return ended ? all(false) : undefined;
    return { body: bytes.toString('latin1', 0, Number(length)), used: Number(length), complete: true };
  }
  if (values('transfer-encoding')[0] !== 'chunked') return ended ? all(true) : undefined;
  let at = 0;
  let body = '';
  for (;;) {
    const line = bytes.indexOf('\r\n', at);
    const size = line < 0 ? 0 : Number.parseInt(bytes.toString('latin1', at, line), 16);
    if (line < 0 || bytes.length < line + 4 + size) {
      return ended ? { body, used: bytes.length, complete: false } : undefined;
    }
    body += bytes.toString('latin1', line + 2, line + 2 + size);
    at = line + 4 + size;
    if (size === 0) return { body, used: at, complete: true };
  }
}
