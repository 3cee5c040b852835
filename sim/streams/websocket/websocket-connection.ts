// A WebSocket connection after the 101: messages out of fragments, ping and pong, the close handshake,
// back-pressure. Easy to get wrong: a socket closed with unread bytes in it sends RST, which can destroy our last
// message on its way; so we end, then drain.
import type { Duplex } from 'node:stream';
import {
  closeCodes,
  createFrameReader,
  encodeFrame,
  opcodes,
  WebSocketFault,
  type WebSocketFrame,
} from './websocket-frames.ts';

/** How long a closed connection waits for the peer to close too. */
const lingerMs = 5_000;

/** Callbacks to the owner of a connection. */
export interface WebSocketEvents {
  /** A whole message. `isText` is false for binary ones. */
  onMessage(data: Buffer, isText: boolean): void;
  /**
   * Once, when the peer closed or the connection broke. 1006 stands for "without a close frame" (RFC 6455 section
   * 7.1.5).
   */
  onClose(code: number): void;
}

/** Settings of a connection. */
export interface WebSocketOptions {
  readonly role: 'server' | 'client';
  /** Bytes that came with the upgrade. */
  readonly head?: Buffer;
  /** Longest message accepted, default 32 MiB as golang.org/x/net/websocket has it. */
  readonly maxMessageBytes?: number;
}

/** One upgraded connection. Owns the socket from now on. */
export class WebSocketConnection {
  readonly #socket: Duplex;
  readonly #masks: boolean;
  readonly #maxMessageBytes: number;
  readonly #events: WebSocketEvents;
  #fragments: Buffer[] = [];
  #fragmentBytes = 0;
  #messageOpcode: number | undefined;
  #hasSentClose = false;
  #isOver = false;
  #linger: NodeJS.Timeout | undefined;

  constructor(socket: Duplex, events: WebSocketEvents, options: WebSocketOptions) {
    this.#socket = socket;
    this.#events = events;
    this.#masks = options.role === 'client';
    this.#maxMessageBytes = options.maxMessageBytes ?? 32 * 1024 * 1024;
    const reader = createFrameReader({ masked: options.role === 'server', maxPayloadBytes: this.#maxMessageBytes });
    const take = (chunk: Buffer): void => {
      if (this.#isOver) return;
      try {
        for (const frame of reader.push(chunk)) this.#receive(frame);
      } catch (error) {
        if (!(error instanceof WebSocketFault)) throw error;
        this.close(error.closeCode, error.message);
        this.#finish(error.closeCode);
      }
    };
    socket.on('data', take);
    socket.on('end', () => {
      this.#finish(1006);
      socket.end();
    });
    socket.on('error', () => this.#finish(1006));
    socket.on('close', () => {
      clearTimeout(this.#linger);
      this.#finish(1006);
    });
    // Put back, not handled here: the owner's callbacks must not run before it holds this connection.
    if (options.head !== undefined && options.head.length > 0) socket.unshift(Buffer.from(options.head));
    // A listener alone does not start a paused socket.
    socket.resume();
  }

  /**
   * Sends one message in one frame. `onWritten` is called once the bytes left the process or never will; false means:
   * wait for it.
   */
  send(data: Buffer, onWritten?: (error?: Error | null) => void, opcode: number = opcodes.binary): boolean {
    if (this.#hasSentClose || this.#socket.destroyed) {
      onWritten?.(new Error('the WebSocket connection is closed'));
      return true;
    }
    return this.#socket.write(encodeFrame({ fin: true, opcode, payload: data }, this.#masks), onWritten);
  }

  /** Sends a ping; pongs are swallowed. */
  ping(data: Buffer = Buffer.alloc(0)): void {
    this.send(data, undefined, opcodes.ping);
  }

  /** Stops reading until {@link resume}: holds the peer back. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** Sends a close frame after everything sent so far, ends our side and waits a while for the peer's. */
  close(code: number = closeCodes.normal, reason = ''): void {
    if (this.#hasSentClose) return;
    const payload = Buffer.concat([Buffer.from([code >> 8, code & 0xff]), Buffer.from(reason).subarray(0, 123)]);
    this.send(payload, undefined, opcodes.close);
    this.#hasSentClose = true;
    this.#socket.end();
    this.#socket.resume();
    this.#linger = setTimeout(() => this.#socket.destroy(), lingerMs);
    this.#linger.unref();
  }

  /** Breaks the connection off, without a close frame. */
  destroy(): void {
    this.#socket.destroy();
  }

  #receive(frame: WebSocketFrame): void {
    if (this.#isOver) return;
    switch (frame.opcode) {
      case opcodes.ping:
        this.send(frame.payload, undefined, opcodes.pong);
        return;
      case opcodes.pong:
        return;
      case opcodes.close: {
        const code = frame.payload.length >= 2 ? frame.payload.readUInt16BE(0) : 1005;
        this.close(code === 1005 ? closeCodes.normal : code);
        this.#finish(code);
        return;
      }
    }
    if ((frame.opcode === opcodes.continuation) === (this.#messageOpcode === undefined)) {
      throw new WebSocketFault(closeCodes.protocolError, 'fragments out of order');
    }
    this.#messageOpcode ??= frame.opcode;
    this.#fragments.push(frame.payload);
    this.#fragmentBytes += frame.payload.length;
    if (this.#fragmentBytes > this.#maxMessageBytes) {
      throw new WebSocketFault(closeCodes.tooBig, `a message of more than ${this.#maxMessageBytes} bytes is too big`);
    }
    if (!frame.fin) return;
    const isText = this.#messageOpcode === opcodes.text;
    const data = this.#fragments.length === 1 ? frame.payload : Buffer.concat(this.#fragments, this.#fragmentBytes);
    this.#fragments = [];
    this.#fragmentBytes = 0;
    this.#messageOpcode = undefined;
    this.#events.onMessage(data, isText);
  }

  #finish(code: number): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#events.onClose(code);
  }
}
