// Fault switches of a simulated API server, settable while it runs: which requests fail, how, and how often. A fault
// does not touch other connections, and a fault with a count stops after exactly that many requests.
import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { paceBody, truncateBody } from './fault-bodies.ts';
import type { FaultedResponse } from './fault-bodies.ts';

/** Which requests a fault is for; every given part must hold, none given means every request. */
export interface FaultMatch {
  /** A string matches the path (without query) it begins; an expression is tested against path and query. */
  readonly path?: string | RegExp;
  /** HTTP method, upper case. */
  readonly method?: string;
  /** Kubernetes verb (`watch`, `list`, …), where the server passes one. */
  readonly verb?: string;
  /** Name of the user the request runs as. */
  readonly user?: string;
}

/** What goes wrong. */
export type FaultAction =
  /** Accept the request and never answer. */
  | { readonly kind: 'stall' }
  /** RST the TCP connection. */
  | { readonly kind: 'reset' }
  /** Answer as usual, but break off after this many bytes of body (HTTP/1.1: connection closed, HTTP/2: RST_STREAM). */
  | { readonly kind: 'truncate'; readonly afterBytes: number }
  /** Wait before the request is looked at, and/or send the body no faster than this. */
  | { readonly kind: 'slow'; readonly delayMs?: number; readonly bytesPerSecond?: number }
  /** Nothing listens any more: connections are closed, new ones refused. Match and count do not apply. */
  | { readonly kind: 'refuse' }
  /** Answer this instead. Without a body a `metav1.Status` is made up. */
  | {
      readonly kind: 'status';
      readonly code: number;
      readonly body?: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  /**
   * Answer 101 to a request that asked for no upgrade, then keep the connection open. HTTP/1.1 only: HTTP/2 has no 101.
   */
  | { readonly kind: 'unsolicited101'; readonly upgradeToken?: string; readonly bytes?: string }
  /** Answer 413 and never read the request body; the connection is closed `lingerMs` (default 500) later. */
  | { readonly kind: 'early413'; readonly lingerMs?: number };

/** A fault: an action, for whom, how many times (default: until removed). */
export type Fault = FaultAction & { readonly match?: FaultMatch; readonly count?: number };

/** What the server knows of a request when it asks. */
export interface FaultedRequest {
  readonly method: string;
  /** Path and query as received. */
  readonly path: string;
  readonly verb?: string;
  readonly user?: string;
}

/** A fault that was added. */
export interface FaultHandle {
  /** How many requests it hit so far. */
  readonly hits: number;
  /** Ends it; for `refuse` resolves once the server listens again. Harmless when called twice. */
  remove(): Promise<void>;
}

/** What `refuse` needs of the server. */
export interface ListenerSwitch {
  /** Stops listening and destroys every connection. */
  stop(): Promise<void>;
  /** Listens again on the port of before. */
  start(): Promise<void>;
}

/** The switches of one simulated server. */
export interface Faults {
  add(fault: Fault): Promise<FaultHandle>;
  clear(): Promise<void>;
  /** Lets `reset` find the TCP socket below TLS: `server.on('connection', faults.watchConnection)`. */
  readonly watchConnection: (tcp: Duplex) => void;
  /**
   * Asked once per request, as soon as its head is known. 'handled': do nothing more; after a `slow` delay `proceed` is
   * called instead.
   * 'continue': serve as usual (the body may be paced or cut by then).
   */
  intercept(
    request: FaultedRequest,
    response: FaultedResponse | undefined,
    socket: Duplex,
    proceed: () => void,
  ): 'handled' | 'continue';
  /** Stops all timers. The server closes its connections itself. */
  close(): void;
}

interface ActiveFault {
  readonly fault: Fault;
  hits: number;
}

/** Makes the switches of one server. Without a listener switch, adding `refuse` throws. */
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

/** Ends an answer without its proper end: closes the HTTP/1.1 connection or resets the HTTP/2 stream. */
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
