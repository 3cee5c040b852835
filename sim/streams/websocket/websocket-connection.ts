// A WebSocket connection after the upgrade: joins fragments, answers pings, performs the close handshake, and applies
// back-pressure. Easy to get wrong: closing a socket with unread bytes sends a RST, which can destroy the last message
// on its way. So the socket is ended first, and then read until the peer ends it.
import type { Duplex } from 'node:stream';
import {
  closeCodes,
  createFrameReader,
  encodeFrame,
  opcodes,
  WebSocketFault,
  type WebSocketFrame,
} from './websocket-frames.ts';

/** How long, in milliseconds, a closed connection waits for the peer to close it, too. */
const lingerMs = 5_000;

/** The callbacks of a connection. */
export interface WebSocketEvents {
  /** Called with each complete message. `isText` is false for a binary message. */
  onMessage(data: Buffer, isText: boolean): void;
  /**
   * Called once, when the connection has ended. 1006 means that it ended without a close frame (RFC 6455 section
   * 7.1.5).
   */
  onClose(code: number): void;
}

/** The options of a connection. */
export interface WebSocketOptions {
  readonly role: 'server' | 'client';
  /** Bytes that arrived together with the upgrade request. */
  readonly head?: Buffer;
  /** Longest message that is accepted. Default 32 MiB, as in golang.org/x/net/websocket. */
  readonly maxMessageBytes?: number;
}

/** One WebSocket connection. After construction, only this object may use the socket. */
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
    // The bytes are put back instead of being handled here. Otherwise callbacks would run before the caller has the
    // connection.
    if (options.head !== undefined && options.head.length > 0) socket.unshift(Buffer.from(options.head));
    // If the socket was paused, adding a listener does not resume it.
    socket.resume();
  }

  /**
   * Sends a message in one frame. `onWritten` is called when the bytes were written to the socket, or were dropped.
   * When it returns false, the caller should wait for `onWritten`.
   */
  send(data: Buffer, onWritten?: (error?: Error | null) => void, opcode: number = opcodes.binary): boolean {
    if (this.#hasSentClose || this.#socket.destroyed) {
      onWritten?.(new Error('the WebSocket connection is closed'));
      return true;
    }
    return this.#socket.write(encodeFrame({ fin: true, opcode, payload: data }, this.#masks), onWritten);
  }

  /** Sends a ping. The peer's pong is ignored. */
  ping(data: Buffer = Buffer.alloc(0)): void {
    this.send(data, undefined, opcodes.ping);
  }

  /** Stops reading until {@link resume} is called, so that the peer must wait. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /**
   * Sends a close frame after all earlier messages, ends this side of the connection, and waits a short time for the
   * peer to end it.
   */
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

  /** Closes the connection at once, without a close frame. */
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
