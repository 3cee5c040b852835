// A SPDY/3.1 connection with many streams, compatible with moby/spdystream (kubectl, kubelet, kube-apiserver).
// moby/spdystream neither sends nor obeys WINDOW_UPDATE, so this file has no flow control either: when the reader of
// one stream is slow, no stream of the connection receives data.
import type { Duplex } from 'node:stream';
import { createSpdyFrameReader, encodeSpdyFrame, resetCodes, type SpdyFrame } from './spdy-frames.ts';
import { createHeaderCompressor, createHeaderDecompressor, type SpdyHeaders } from './spdy-headers.ts';
import { SpdyStream, type StreamLink } from './spdy-stream.ts';

/**
 * How many milliseconds after `close()` the peer has to close the connection, too. After that, the connection is
 * destroyed.
 */
const lingerMs = 5_000;

/** The options of a session. */
export interface SpdySessionOptions {
  readonly role: 'server' | 'client';
  /** Bytes after the upgrade request that were read together with it. */
  readonly head?: Buffer;
  /**
   * Called for each stream that the peer opens. Return true to accept the stream (SYN_REPLY), false to reset it.
   * Without this function all streams are refused.
   */
  readonly onStream?: (stream: SpdyStream) => boolean;
  /** Called once, when the connection has ended. */
  readonly onClose?: () => void;
}

/** One SPDY connection. After construction, only the session may use the transport. */
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
  #isClosing = false;
  #isOver = false;
  #linger: NodeJS.Timeout | undefined;

  constructor(transport: Duplex, options: SpdySessionOptions) {
    this.#transport = transport;
    this.#options = options;
    this.#nextStreamId = options.role === 'client' ? 1 : 2;
    this.#nextPingId = this.#nextStreamId;
    this.#link = this.#makeLink();
    const read = createSpdyFrameReader();
    const take = (chunk: Buffer): void => {
      if (this.#isOver) return;
      try {
        for (const frame of read(chunk)) this.#receive(frame);
      } catch {
        // The frame boundaries or the compression state are lost, so nothing further on this connection can be read.
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
    // The bytes are put back into the transport and not handled here. Otherwise `onStream` could be called before the
    // caller has the session.
    if (options.head !== undefined && options.head.length > 0) transport.unshift(options.head);
    // If the socket was paused, adding a listener does not resume it.
    transport.resume();
  }

  /** Opens a stream. Data written to it is sent after the peer's SYN_REPLY. */
  open(headers: SpdyHeaders): SpdyStream {
    const streamId = this.#nextStreamId;
    this.#nextStreamId += 2;
    const stream = new SpdyStream(streamId, headers, this.#link);
    this.#streams.set(streamId, stream);
    if (this.#isOver || this.#isClosing) stream.terminate();
    else this.#write({ type: 'synStream', streamId, fin: false, block: this.#compress(headers) });
    return stream;
  }

  /** Sends a ping. Resolves when the peer has answered, or the connection has ended. */
  ping(): Promise<void> {
    const id = this.#nextPingId;
    this.#nextPingId += 2;
    return new Promise((resolve) => {
      this.#pings.set(id, resolve);
      this.#write({ type: 'ping', id });
    });
  }

  /**
   * Resets all open streams, sends GOAWAY, ends this side of the connection, and waits up to 5 seconds for the peer to
   * end its side.
   */
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

  /** Closes the connection at once. */
  destroy(): void {
    this.#transport.destroy();
  }

  #makeLink(): StreamLink {
    return {
      sendData: (stream, data, fin, written) =>
        this.#write({ type: 'data', streamId: stream.streamId, fin, data }, written),
      holdBack: (stream, isHeld) => {
        if (isHeld) this.#held.add(stream);
        else this.#held.delete(stream);
        this.#holdTransport();
      },
      reset: (stream) => this.#write({ type: 'rstStream', streamId: stream.streamId, status: resetCodes.cancel }),
      forget: (stream) => void this.#streams.delete(stream.streamId),
    };
  }

  #holdTransport(): void {
    const isHeld = this.#held.size > 0 && !this.#isClosing;
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
      case 'data': {
        const stream = this.#streams.get(frame.streamId);
        stream?.receive(frame.data);
        if (frame.fin) stream?.receiveFin();
        return;
      }
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
      case 'goAway':
        // After sending GOAWAY, Go's implementation stops reading, so further writes would be lost.
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
    const stream = new SpdyStream(streamId, headers, this.#link);
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

  #finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const stream of this.#streams.values()) stream.terminate();
    for (const answer of this.#pings.values()) answer();
    this.#pings.clear();
    this.#options.onClose?.();
  }
}
