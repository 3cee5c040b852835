// A watch over WebSocket: each line that the watch writes is sent as one text message, as in kube-apiserver.
import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type WebSocket } from 'ws';

/** Has the part of a ServerResponse that a watch uses, and sends over a WebSocket. */
class WebSocketReply extends EventEmitter {
  readonly #request: IncomingMessage;
  readonly #socket: Duplex;
  readonly #head: Buffer;
  #connection: WebSocket | undefined;
  writableEnded = false;

  constructor(request: IncomingMessage, socket: Duplex, head: Buffer) {
    super();
    this.#request = request;
    this.#socket = socket;
    this.#head = head;
    socket.once('close', () => this.emit('close'));
  }

  get headersSent(): boolean {
    return this.#connection !== undefined;
  }

  get destroyed(): boolean {
    return this.#socket.destroyed;
  }

  get writableLength(): number {
    return this.#socket.writableLength;
  }

  writeHead(): void {
    const [protocol] = (this.#request.headers['sec-websocket-protocol'] ?? '').split(',');
    // The header is handled here, because the library `ws` refuses names of subprotocols that kube-apiserver accepts.
    delete this.#request.headers['sec-websocket-protocol'];
    const server = new WebSocketServer({ noServer: true, perMessageDeflate: false });
    if (protocol !== '') server.once('headers', (lines) => lines.push(`Sec-WebSocket-Protocol: ${protocol}`));
    server.handleUpgrade(this.#request, this.#socket, this.#head, (connection) => {
      this.#connection = connection;
      connection.on('error', () => this.destroy());
    });
  }

  flushHeaders(): void {}

  write(line: string): boolean {
    this.#connection?.send(line);
    return true;
  }

  end(line?: string): void {
    if (line !== undefined) this.write(line);
    this.writableEnded = true;
    this.#connection?.close(1000);
  }

  destroy(): void {
    this.#socket.destroy();
  }
}

/** Makes the reply to a watch that was requested as an upgrade to WebSocket. */
export function webSocketReply(request: IncomingMessage, socket: Duplex, head: Buffer): ServerResponse {
  return new WebSocketReply(request, socket, head) as unknown as ServerResponse;
}

/** Whether a request with an Upgrade header asks for a watch over WebSocket. */
export function isWebSocketWatch({ url = '', headers }: IncomingMessage): boolean {
  const watch = new URLSearchParams(url.split('?')[1] ?? '').get('watch');
  return headers.upgrade?.toLowerCase() === 'websocket' && (watch === 'true' || watch === '1');
}
