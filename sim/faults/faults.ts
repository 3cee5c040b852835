// Makes a simulated API server misbehave on demand: tests choose which requests fail, in which way and how often.
// Connections of other requests are not affected. A fault with a count ends after exactly that many requests.
import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { paceBody, truncateBody } from './fault-bodies.ts';
import type { FaultedResponse } from './fault-bodies.ts';

/**
 * Which requests a fault applies to. All given conditions must match; without conditions it applies to every request.
 */
export interface FaultMatch {
  /** A text matches paths (without query) that begin with it. A regular expression is tested against path and query. */
  readonly path?: string | RegExp;
  /** HTTP method in upper case. */
  readonly method?: string;
  /** Kubernetes verb of the request, such as `watch` or `list`. */
  readonly verb?: string;
  /** Name of the user that the request runs as, after impersonation. */
  readonly user?: string;
}

/** What happens to a matching request. */
export type FaultAction =
  /** Accept the request but never answer. */
  | { readonly kind: 'stall' }
  /** Reset the TCP connection (RST). */
  | { readonly kind: 'reset' }
  /**
   * Answer as usual, but cut the body after this many bytes: HTTP/1.1 closes the connection, HTTP/2 sends RST_STREAM.
   */
  | { readonly kind: 'truncate'; readonly afterBytes: number }
  /** Wait before handling the request, or limit the speed at which the body is sent, or both. */
  | { readonly kind: 'slow'; readonly delayMs?: number; readonly bytesPerSecond?: number }
  /** Close all connections and refuse new ones, as if the server were down. `match` and `count` are ignored. */
  | { readonly kind: 'refuse' }
  /** Answer with this status. Without a body, a `metav1.Status` is sent. */
  | {
      readonly kind: 'status';
      readonly code: number;
      readonly body?: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  /**
   * Answer 101 to a request that did not ask for an upgrade, and keep the connection open. HTTP/1.1 only, since HTTP/2
   * has no 101.
   */
  | { readonly kind: 'unsolicited101'; readonly upgradeToken?: string; readonly bytes?: string }
  /** Answer 413 without reading the body of the request. The connection is closed after `lingerMs` (default 500 ms). */
  | { readonly kind: 'early413'; readonly lingerMs?: number };

/** An action, the requests it applies to, and how many times it happens (default: until it is removed). */
export type Fault = FaultAction & { readonly match?: FaultMatch; readonly count?: number };

/** What is known of a request when faults are checked. */
export interface FaultedRequest {
  readonly method: string;
  /** Path and query as received. */
  readonly path: string;
  readonly verb?: string;
  readonly user?: string;
}

/** A fault that was added to a server, to be counted and removed. */
export interface FaultHandle {
  /** How many requests the fault was applied to. */
  readonly hits: number;
  /** Ends the fault. For `refuse`, resolves when the server listens again. May be called twice. */
  remove(): Promise<void>;
}

/** The functions of a server that the fault `refuse` needs. */
export interface ListenerSwitch {
  /** Stops listening and destroys all connections. */
  stop(): Promise<void>;
  /** Listens again on the same port. */
  start(): Promise<void>;
}

/** The faults of one simulated server, which tests add and remove while it runs. */
export interface Faults {
  add(fault: Fault): Promise<FaultHandle>;
  clear(): Promise<void>;
  /**
   * Must be called for each TCP connection, so that `reset` can find the TCP socket below TLS: `server.on('connection',
   * faults.watchConnection)`.
   */
  readonly watchConnection: (tcp: Duplex) => void;
  /**
   * To be called once for each request, when its headers have arrived. Returns 'continue' when the server shall answer
   * as usual (the body may be delayed or cut). Returns 'handled' when the server must do nothing; after a `slow` delay,
   * `proceed` is called to answer the request.
   */
  intercept(
    request: FaultedRequest,
    response: FaultedResponse | undefined,
    socket: Duplex,
    proceed: () => void,
  ): 'handled' | 'continue';
  /** Cancels all timers. Connections are not closed. */
  close(): void;
}

interface ActiveFault {
  readonly fault: Fault;
  hits: number;
}

/** Makes the faults of one server. Without `listener`, adding the fault `refuse` throws. */
export function createFaults(options: { readonly listener?: ListenerSwitch } = {}): Faults {
  const active = new Set<ActiveFault>();
  const timers = new Set<NodeJS.Timeout>();
  const tcpByPeer = new Map<string, Duplex>();

  function later(delayMs: number, run: () => void): void {
    const timer = setTimeout(() => {
      timers.delete(timer);
      run();
    }, delayMs);
    timers.add(timer);
  }

  async function remove(entry: ActiveFault): Promise<void> {
    if (active.delete(entry) && entry.fault.kind === 'refuse') await options.listener?.start();
  }

  return {
    async add(fault) {
      const entry: ActiveFault = { fault, hits: 0 };
      if (fault.kind === 'refuse') {
        if (options.listener === undefined)
          throw new Error('this server cannot refuse connections: it gave no listener switch');
        await options.listener.stop();
      }
      active.add(entry);
      return {
        get hits() {
          return entry.hits;
        },
        remove: () => remove(entry),
      };
    },
    async clear() {
      for (const entry of active) await remove(entry);
    },
    watchConnection(tcp) {
      const peer = peerOf(tcp);
      tcpByPeer.set(peer, tcp);
      tcp.once('close', () => tcpByPeer.delete(peer));
    },
    intercept(request, response, socket, proceed) {
      const entry = [...active].find((candidate) => applies(candidate, request, response));
      if (entry === undefined) return 'continue';
      entry.hits += 1;
      if (entry.hits >= (entry.fault.count ?? Infinity)) active.delete(entry);
      return act(entry.fault, { response, socket, proceed, later, tcpOf: (peer) => tcpByPeer.get(peerOf(peer)) });
    },
    close() {
      for (const timer of timers) clearTimeout(timer);
      timers.clear();
      active.clear();
    },
  };
}

function applies(entry: ActiveFault, request: FaultedRequest, response: FaultedResponse | undefined): boolean {
  const { fault } = entry;
  if (fault.kind === 'refuse') return false;
  if (fault.kind === 'unsolicited101' && response !== undefined && !isHttp1(response)) return false;
  const match = fault.match ?? {};
  if (match.method !== undefined && match.method !== request.method) return false;
  if (match.verb !== undefined && match.verb !== request.verb) return false;
  if (match.user !== undefined && match.user !== request.user) return false;
  if (match.path === undefined) return true;
  if (typeof match.path !== 'string') return match.path.test(request.path);
  return (request.path.split('?', 1)[0] ?? '').startsWith(match.path);
}

interface Scene {
  readonly response: FaultedResponse | undefined;
  readonly socket: Duplex;
  readonly proceed: () => void;
  readonly later: (delayMs: number, run: () => void) => void;
  readonly tcpOf: (socket: Duplex) => Duplex | undefined;
}

function act(fault: Fault, scene: Scene): 'handled' | 'continue' {
  const { response, socket } = scene;
  switch (fault.kind) {
    case 'stall':
    case 'refuse':
      return 'handled';
    case 'reset':
      resetTcp(scene.tcpOf(socket) ?? socket);
      return 'handled';
    case 'status':
      answer(scene, fault.code, fault.body ?? statusBody(fault.code), fault.headers ?? {});
      return 'handled';
    case 'unsolicited101':
      socket.write(
        'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n' +
          `Upgrade: ${fault.upgradeToken ?? 'websocket'}\r\n\r\n${fault.bytes ?? ''}`,
      );
      return 'handled';
    case 'early413':
      answer(scene, 413, statusBody(413), { connection: 'close' });
      scene.later(fault.lingerMs ?? 500, () => breakOff(response, socket));
      return 'handled';
    case 'truncate':
      if (response !== undefined) truncateBody(response, fault.afterBytes, () => breakOff(response, socket));
      return 'continue';
    case 'slow':
      if (fault.bytesPerSecond !== undefined && response !== undefined) {
        paceBody(response, fault.bytesPerSecond, scene.later);
      }
      if (fault.delayMs === undefined) return 'continue';
      scene.later(fault.delayMs, scene.proceed);
      return 'handled';
  }
}

function isHttp1(response: FaultedResponse): response is ServerResponse {
  return !('stream' in response) && 'assignSocket' in response;
}

function peerOf(socket: Duplex): string {
  const { remoteAddress, remotePort } = socket as { remoteAddress?: string; remotePort?: number };
  return `${remoteAddress ?? ''} ${remotePort ?? ''}`;
}

function resetTcp(socket: Duplex): void {
  if ('resetAndDestroy' in socket) (socket as { resetAndDestroy(): void }).resetAndDestroy();
  else socket.destroy();
}

/** Cuts an answer: closes the HTTP/1.1 connection, or resets the HTTP/2 stream. */
function breakOff(response: FaultedResponse | undefined, socket: Duplex): void {
  if (response === undefined || isHttp1(response)) {
    socket.destroy();
    return;
  }
  const stream = 'stream' in response ? response.stream : response;
  const internalError = 2; // NGHTTP2_INTERNAL_ERROR, RFC 9113 section 7
  stream.close(internalError);
}

function statusBody(code: number): string {
  return JSON.stringify({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: `simulated fault: ${code}`,
    reason: code === 413 ? 'RequestEntityTooLarge' : 'InternalError',
    code,
  });
}

function answer(scene: Scene, code: number, body: string, headers: Readonly<Record<string, string>>): void {
  const { response, socket } = scene;
  const all: Record<string, string> = {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    ...headers,
  };
  if (response === undefined) {
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.end(`HTTP/1.1 ${code} Simulated\r\n${lines.join('')}\r\n${body}`);
    return;
  }
  if (!isHttp1(response)) delete all['connection'];
  if ('writeHead' in response) {
    (response as ServerResponse).writeHead(code, all);
  } else {
    response.respond({ ':status': code, ...all });
  }
  response.end(body);
}
