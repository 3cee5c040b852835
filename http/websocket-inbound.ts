// Answers a watch over WebSocket, as kube-apiserver does (k8s.io/apiserver pkg/endpoints/handlers/watch.go): each event
// is one text message, and the connection closes with code 1000 when the watch ends. The code that answers a watch
// writes lines of JSON as to any other request. A refusal is an ordinary HTTP answer.
import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';
import type { BodyReader, Inbound, InboundUpgrade } from './inbound.ts';
import { headerValues } from './raw-headers.ts';
import type { RawHeaders } from './raw-headers.ts';

/**
 * Largest message in bytes that is accepted from the client; a larger one closes the connection. A client that watches
 * has nothing to send.
 */
const mostReceivedBytes = 64 * 1024;
const tokenProtocol = 'base64url.bearer.authorization.k8s.io.';
const newline = 0x0a;

/** Headers of the answer that are sent with the handshake. The others describe a body, and a handshake has none. */
const handshakeHeaders: ReadonlySet<string> = new Set(['audit-id', 'warning']);

/** Whether a request that asks for a WebSocket has what the handshake needs (RFC 6455 section 4.2.1). */
export function canBecomeWebSocket({ method, headers }: Pick<Inbound, 'method' | 'headers'>): boolean {
  const [key = '', ...more] = headerValues(headers, 'sec-websocket-key');
  const versions = headerValues(headers, 'sec-websocket-version');
  const hasKey = more.length === 0 && /^[+/0-9A-Za-z]{22}==$/.test(key);
  return method === 'GET' && hasKey && versions.length === 1 && versions[0] === '13';
}

/** A request for a watch over WebSocket. */
export class WebSocketInbound implements Inbound {
  readonly protocol = 'HTTP/1.1';
  readonly body = 'none';
  readonly method: string;
  readonly target: string;
  readonly headers: RawHeaders;
  readonly #upgrade: InboundUpgrade;
  #connection: WebSocket | undefined;
  #rest: Buffer = Buffer.alloc(0);
  #isEnded = false;
  #closeListeners: ((aborted: boolean) => void)[] = [];

  /** @param upgrade a request for which {@link canBecomeWebSocket} is true */
  constructor(upgrade: InboundUpgrade) {
    this.#upgrade = upgrade;
    this.method = upgrade.method;
    this.target = upgrade.target;
    this.headers = upgrade.headers;
    upgrade.onClose((aborted) => {
      for (const listener of this.#closeListeners) listener(aborted && !this.#isEnded);
    });
  }

  get answered(): boolean {
    return this.#connection !== undefined || this.#upgrade.answered;
  }

  get closed(): boolean {
    return this.#upgrade.closed;
  }

  readBody(reader: BodyReader): void {
    reader.onEnd();
  }

  pauseBody(): void {}
  resumeBody(): void {}

  /**
   * Answers the upgrade. A status of 200 is sent as 101, which opens the WebSocket; any other is sent as an ordinary
   * HTTP answer.
   */
  respond(status: number, headers: RawHeaders, bodyless: boolean): void {
    if (this.answered || this.closed) return;
    if (status === 200 && headerValues(headers, 'content-type')[0]?.startsWith('application/json') === true) {
      this.#open(headers);
    } else if (status === 200) {
      // The client asked for protobuf. Its events are not lines, so they cannot be sent as text messages.
      this.abort();
    } else this.#upgrade.respond(status, headers, bodyless);
  }

  write(chunk: Buffer): boolean {
    const connection = this.#connection;
    if (connection === undefined) return this.#upgrade.write(chunk);
    if (this.closed || this.#isEnded) return true;
    let from = 0;
    for (let end; (end = chunk.indexOf(newline, from)) >= 0; from = end + 1) {
      const line = chunk.subarray(from, end + 1);
      connection.send(this.#rest.length === 0 ? line : Buffer.concat([this.#rest, line]), { binary: false });
      this.#rest = Buffer.alloc(0);
    }
    if (from < chunk.length) this.#rest = Buffer.concat([this.#rest, chunk.subarray(from)]);
    return !this.#upgrade.socket.writableNeedDrain;
  }

  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#connection?.close(1000);
    this.#upgrade.end();
  }

  abort(): void {
    this.#upgrade.abort();
  }

  onDrain(listener: () => void): void {
    this.#upgrade.onDrain(listener);
  }

  onClose(listener: (aborted: boolean) => void): void {
    if (!this.closed) this.#closeListeners.push(listener);
    else listener(!this.#isEnded);
  }

  #open(answer: RawHeaders): void {
    const { socket, early, headers } = this.#upgrade;
    const server = new WebSocketServer({ noServer: true, perMessageDeflate: false, maxPayload: mostReceivedBytes });
    server.once('headers', (lines) => lines.push(...protocolLine(headers), ...answerLines(answer)));
    const [key] = headerValues(headers, 'sec-websocket-key');
    // The subprotocol is left out here, because `ws` refuses names that kube-apiserver accepts.
    const request = {
      method: 'GET',
      headers: { upgrade: 'websocket', 'sec-websocket-key': key, 'sec-websocket-version': '13' },
    };
    server.handleUpgrade(request as never, socket, early, (connection) => {
      this.#connection = connection;
      connection.on('error', () => socket.destroy());
      connection.on('close', () => socket.destroy());
    });
    // Http1Connection has paused the socket before it handed it over.
    socket.resume();
  }
}

/**
 * The header line that accepts the first subprotocol which the client offers and which does not carry a bearer token;
 * none without one. The choice changes nothing else: kube-apiserver sends the same messages under every subprotocol.
 */
function protocolLine(headers: RawHeaders): string[] {
  const offered = headerValues(headers, 'sec-websocket-protocol').flatMap((value) => value.split(','));
  const chosen = offered.map((item) => item.trim()).find((item) => item !== '' && !item.startsWith(tokenProtocol));
  return chosen === undefined ? [] : [`Sec-WebSocket-Protocol: ${chosen}`];
}

function answerLines(headers: RawHeaders): string[] {
  const lines: string[] = [];
  for (let i = 0; i + 1 < headers.length; i += 2) {
    // Header values have one character for each byte, and `ws` writes its lines as UTF-8.
    const value = Buffer.from(headers[i + 1]!, 'latin1').toString('utf8');
    if (handshakeHeaders.has(headers[i]!.toLowerCase())) lines.push(`${headers[i]!}: ${value}`);
  }
  return lines;
}
