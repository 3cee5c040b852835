// A SPDY/3.1 connection: many streams over one Duplex, as moby/spdystream (kubectl, kubelet, kube-apiserver) speaks
// it. That library neither sends nor heeds WINDOW_UPDATE, so flow control starts only once a peer shows that it uses
// it.
import type { Duplex } from 'node:stream';
import {
  createSpdyFrameReader,
  encodeSpdyFrame,
  initialWindowSizeSetting,
  resetCodes,
  type SpdyFrame,
} from './spdy-frames.ts';
import { createHeaderCompressor, createHeaderDecompressor, type SpdyHeaders } from './spdy-headers.ts';
import { defaultWindowBytes, SpdyStream, type StreamLink } from './spdy-stream.ts';

/** How long a closed connection waits for the peer to close too. */
const lingerMs = 5_000;

/** Settings of a session. */
export interface SpdySessionOptions {
  readonly role: 'server' | 'client';
  /** Bytes that came with the upgrade. */
  readonly head?: Buffer;
  /**
   * Asked for every stream the peer opens; false resets it, true sends SYN_REPLY. Without it every stream is refused.
   */
  readonly onStream?: (stream: SpdyStream) => boolean;
  /** Called once, when either side has ended the connection. */
  readonly onClose?: () => void;
  /**
   * 'announce' sends SETTINGS first and keeps to windows; 'follow' (default) does so once the peer sent SETTINGS or
   * WINDOW_UPDATE.
   */
  readonly flowControl?: 'announce' | 'follow';
}

/** One connection. Owns the transport from now on. */
export class SpdySession {
  readonly #transport: Duplex;
  readonly #options: SpdySessionOptions;
  readonly #compress = createHeaderCompressor();
  readonly #decompress = createHeaderDecompressor();
  readonly #streams = new Map<number, SpdyStream>();
  readonly #held = new Set<SpdyStream>();
  readonly #pings = new Map<number, () => void>();
  readonly #link: StreamLink;
  #nextStreamId: number;
  #nextPingId: number;
  #lastPeerStreamId = 0;
  #hasFlowControl = false;
  #initialSendWindowBytes = defaultWindowBytes;
  #sendWindowBytes = defaultWindowBytes;
  #owedWindowBytes = 0;
  #isClosing = false;
  #isOver = false;
  #linger: NodeJS.Timeout | undefined;

  constructor(transport: Duplex, options: SpdySessionOptions) {
    this.#transport = transport;
    this.#options = options;
    this.#nextStreamId = options.role === 'client' ? 1 : 2;
    this.#nextPingId = this.#nextStreamId;
    this.#link = this.#makeLink();
    const reader = createSpdyFrameReader();
    const take = (chunk: Buffer): void => {
      if (this.#isOver) return;
      try {
        for (const frame of reader.push(chunk)) this.#receive(frame);
      } catch {
        // Framing or the compression state is lost: nothing later on this connection can be understood.
        this.#write({ type: 'goAway', lastStreamId: this.#lastPeerStreamId, status: 1 });
        this.#finish();
        transport.destroy();
      }
    };
    transport.on('data', take);
    transport.on('end', () => {
      this.#finish();
      transport.end();
    });
    transport.on('error', () => this.#finish());
    transport.on('close', () => {
      clearTimeout(this.#linger);
      this.#finish();
    });
    if (options.flowControl === 'announce') {
      this.#hasFlowControl = true;
      this.#write({ type: 'settings', values: new Map([[initialWindowSizeSetting, defaultWindowBytes]]) });
    }
    // Put back, not handled here: the owner's callbacks must not run before it holds this session.
    if (options.head !== undefined && options.head.length > 0) transport.unshift(options.head);
    // A listener alone does not start a paused socket.
    transport.resume();
  }

  /** Opens a stream. What is written to it waits for the peer's SYN_REPLY. */
  open(headers: SpdyHeaders): SpdyStream {
    const streamId = this.#nextStreamId;
    this.#nextStreamId += 2;
    const stream = new SpdyStream(streamId, headers, this.#link, this.#initialSendWindowBytes);
    this.#streams.set(streamId, stream);
    if (this.#isOver || this.#isClosing) stream.terminate();
    else this.#write({ type: 'synStream', streamId, fin: false, block: this.#compress(headers) });
    return stream;
  }

  /** Resolves when the peer answered a ping. */
  ping(): Promise<void> {
    const id = this.#nextPingId;
    this.#nextPingId += 2;
    return new Promise((resolve) => {
      this.#pings.set(id, resolve);
      this.#write({ type: 'ping', id });
    });
  }

  /** Resets the streams still open, says GOAWAY, ends our side and waits a while for the peer's. */
  close(): void {
    if (this.#isOver || this.#isClosing) return;
    this.#isClosing = true;
    for (const stream of this.#streams.values()) {
      this.#write({ type: 'rstStream', streamId: stream.streamId, status: resetCodes.cancel });
      stream.terminate();
    }
    this.#write({ type: 'goAway', lastStreamId: this.#lastPeerStreamId, status: 0 });
    this.#transport.end();
    this.#transport.resume();
    this.#linger = setTimeout(() => this.#transport.destroy(), lingerMs);
    this.#linger.unref();
  }

  /** Breaks the connection off. */
  destroy(): void {
    this.#transport.destroy();
  }

  #makeLink(): StreamLink {
    return {
      allowance: (streamWindowBytes) =>
        this.#hasFlowControl ? Math.min(streamWindowBytes, this.#sendWindowBytes) : Infinity,
      sendData: (stream, data, fin, written) => {
        this.#sendWindowBytes -= data.length;
        this.#write({ type: 'data', streamId: stream.streamId, fin, data }, written);
      },
      holdBack: (stream, isHeld) => {
        if (isHeld) this.#held.add(stream);
        else this.#held.delete(stream);
        this.#holdTransport();
      },
      consumed: (stream, bytes) => {
        stream.owedWindowBytes += bytes;
        this.#payWindow(stream);
      },
      reset: (stream) => this.#write({ type: 'rstStream', streamId: stream.streamId, status: resetCodes.cancel }),
      forget: (stream) => void this.#streams.delete(stream.streamId),
    };
  }

  /** With windows the peer stops by itself; without, a reader that lags stops the whole connection. */
  #holdTransport(): void {
    const isHeld = this.#held.size > 0 && !this.#hasFlowControl && !this.#isClosing;
    if (isHeld === this.#transport.isPaused()) return;
    if (isHeld) this.#transport.pause();
    else this.#transport.resume();
  }

  #write(frame: SpdyFrame, written?: () => void): void {
    if (this.#isOver || this.#transport.writableEnded || this.#transport.destroyed) {
      written?.();
      return;
    }
    this.#transport.write(encodeSpdyFrame(frame), written === undefined ? undefined : () => written());
  }

  #receive(frame: SpdyFrame): void {
    if (this.#isOver) return;
    switch (frame.type) {
      case 'synStream':
        this.#receiveStream(frame.streamId, this.#decompress(frame.block), frame.fin);
        return;
      case 'synReply':
      case 'headers': {
        this.#decompress(frame.block);
        const stream = this.#streams.get(frame.streamId);
        if (frame.type === 'synReply') stream?.markReplied();
        if (frame.fin) stream?.receiveFin();
        return;
      }
      case 'data':
        this.#receiveData(frame.streamId, frame.data, frame.fin);
        return;
      case 'rstStream':
        this.#streams.get(frame.streamId)?.terminate();
        return;
      case 'ping': {
        const isOurs = frame.id % 2 === this.#nextPingId % 2;
        if (!isOurs) this.#write(frame);
        this.#pings.get(frame.id)?.();
        this.#pings.delete(frame.id);
        return;
      }
      case 'settings':
        this.#startFlowControl();
        this.#receiveInitialWindow(frame.values.get(initialWindowSizeSetting));
        return;
      case 'windowUpdate':
        this.#startFlowControl();
        this.#receiveWindow(frame.streamId, frame.delta);
        return;
      case 'goAway':
        // Go's peer stops reading as soon as it has sent this; later writes would be lost.
        this.#finish();
        this.#transport.end();
        return;
    }
  }

  #receiveStream(streamId: number, headers: SpdyHeaders, fin: boolean): void {
    if (this.#isClosing) return;
    const isPeers = streamId % 2 !== this.#nextStreamId % 2;
    if (!isPeers || streamId <= this.#lastPeerStreamId) {
      this.#write({ type: 'rstStream', streamId, status: resetCodes.protocolError });
      return;
    }
    this.#lastPeerStreamId = streamId;
    const stream = new SpdyStream(streamId, headers, this.#link, this.#initialSendWindowBytes);
    this.#streams.set(streamId, stream);
    if (fin) stream.receiveFin();
    if (this.#options.onStream?.(stream) === true) {
      this.#write({ type: 'synReply', streamId, fin: false, block: this.#compress(new Map()) });
      stream.markReplied();
    } else {
      this.#write({ type: 'rstStream', streamId, status: resetCodes.refusedStream });
      stream.terminate();
    }
  }

  #receiveData(streamId: number, data: Buffer, fin: boolean): void {
    this.#owedWindowBytes += data.length;
    this.#paySessionWindow();
    const stream = this.#streams.get(streamId);
    if (stream === undefined) return;
    stream.receiveWindowBytes -= data.length;
    if (this.#hasFlowControl && stream.receiveWindowBytes < 0) {
      this.#write({ type: 'rstStream', streamId, status: resetCodes.flowControlError });
      stream.terminate();
      return;
    }
    stream.receive(data);
    if (fin) stream.receiveFin();
  }

  #startFlowControl(): void {
    if (this.#hasFlowControl) return;
    this.#hasFlowControl = true;
    this.#holdTransport();
    this.#paySessionWindow();
    for (const stream of this.#streams.values()) this.#payWindow(stream);
  }

  #payWindow(stream: SpdyStream): void {
    const delta = stream.owedWindowBytes;
    if (!this.#hasFlowControl || delta === 0 || stream.hasReceivedFin) return;
    stream.owedWindowBytes = 0;
    stream.receiveWindowBytes += delta;
    this.#write({ type: 'windowUpdate', streamId: stream.streamId, delta });
  }

  /**
   * The session window only bounds what is in flight: it is given back at once, so that no stream can starve another.
   */
  #paySessionWindow(): void {
    const delta = this.#owedWindowBytes;
    if (!this.#hasFlowControl || delta === 0) return;
    this.#owedWindowBytes = 0;
    this.#write({ type: 'windowUpdate', streamId: 0, delta });
  }

  #receiveInitialWindow(bytes: number | undefined): void {
    if (bytes === undefined) return;
    const delta = bytes - this.#initialSendWindowBytes;
    this.#initialSendWindowBytes = bytes;
    for (const stream of this.#streams.values()) {
      stream.sendWindowBytes += delta;
      stream.pump();
    }
  }

  #receiveWindow(streamId: number, delta: number): void {
    if (streamId === 0) {
      this.#sendWindowBytes += delta;
      for (const stream of this.#streams.values()) stream.pump();
      return;
    }
    const stream = this.#streams.get(streamId);
    if (stream === undefined) return;
    stream.sendWindowBytes += delta;
    stream.pump();
  }

  #finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const stream of this.#streams.values()) stream.terminate();
    for (const answer of this.#pings.values()) answer();
    this.#pings.clear();
    this.#options.onClose?.();
  }
}
