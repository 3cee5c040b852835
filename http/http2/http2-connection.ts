// One HTTP/2 connection of a client (RFC 9113): reads its frames, passes requests to the listener, and closes. Easy to
// get wrong: an error after which client and gateway would disagree about the state of the connection must close it. If
// it only reset a stream, an attacker could control that state.
import type { Duplex } from 'node:stream';
import { readDirectly } from '../direct-read.ts';
import type { Arrival, Peer } from '../arrival.ts';
import type { ClientHoldings, Holding } from '../client-holdings.ts';
import { ClientStreams, type StreamsOwner } from './client-streams.ts';
import { FloodBudget } from './http2-budget.ts';
import { ConnectionFault, calm, errorCode, protocolFault, sizeFault } from '../http2-faults.ts';
import { FrameReader, frameFlag, frameType, maxWindowBytes, type FrameHandler } from './http2-frames.ts';
import { headLimitsOf } from '../head-limits.ts';
import { oversizedHead, type Http2Head } from './http2-head.ts';
import { HeaderBlocks } from './http2-header-blocks.ts';
import { Liveness } from './http2-liveness.ts';
import { connectionWindowBytes } from './http2-receive-window.ts';
import { Http2Sender } from './http2-sender.ts';
import type { OutputTurn } from './http2-output.ts';
import { applySettings, ourSettings } from './http2-settings.ts';
import type { Http2Stream } from './http2-stream.ts';
import { endLingering } from '../linger.ts';

const startWindowBytes = 65_535;
/**
 * Maximum number of bytes of answers and acknowledgements that wait for a slow socket; above it, reading from the
 * socket pauses.
 */
const maxBacklogBytes = 256 * 1024;
const noBytes = Buffer.alloc(0);
const drainPing = Buffer.from('drain\0\0\0', 'latin1');
const lifePing = Buffer.from('alive?\0\0', 'latin1');

/** What a connection gets from the listener that accepted it. */
export interface Http2Listener {
  /** Called once for every request; must not throw. */
  readonly arrive: (arrival: Arrival) => void;
  readonly turn: OutputTurn;
  readonly holdings: Pick<ClientHoldings, 'open'>;
  /** Called once, when the connection is closed. */
  readonly onReleased: (connection: Http2Connection) => void;
}

type Ending = 'open' | 'announced' | 'last-stream-named' | 'closed';

/** Serves HTTP/2 on a socket whose TLS handshake is done. */
export class Http2Connection implements FrameHandler, StreamsOwner {
  readonly #sender: Http2Sender;
  readonly #socket: Duplex;
  readonly #peer: Peer;
  readonly #listener: Http2Listener;
  readonly #budget = new FloodBudget();
  readonly #reader = new FrameReader(this);
  readonly #blocks = new HeaderBlocks(() => headLimitsOf(this.#peer, this.#holding));
  readonly #streams: ClientStreams;
  readonly #liveness = new Liveness();
  #sawSettings = false;
  readonly #holding: Holding;
  #ending: Ending = 'open';
  #announcedAtMs = 0;
  #reading = true;
  readonly #giveBack: () => void;

  constructor(socket: Duplex, peer: Peer, listener: Http2Listener) {
    this.#socket = socket;
    this.#peer = peer;
    this.#listener = listener;
    this.#holding = listener.holdings.open(peer, () => this.#close(errorCode.enhanceYourCalm));
    this.#sender = new Http2Sender(socket, listener.turn, this.#budget);
    this.#streams = new ClientStreams(this.#sender, this.#budget, this);
    this.#sender.output.frame(frameType.settings, 0, 0, ourSettings());
    this.#sender.sendWindowUpdate(0, connectionWindowBytes - startWindowBytes);
    this.#giveBack = readDirectly(socket, this.#onData);
    socket.on('end', this.#onEnd).on('close', this.#onClose).on('drain', this.#onDrain);
  }

  /** Checks for idle and vanished clients, and refills the frame budget. To be called once a second. */
  sweep(nowMs: number): void {
    this.#budget.refill();
    const isUnfinished = !this.#reader.atRest || !this.#blocks.atRest;
    const verdict = this.#liveness.judge(nowMs, this.#streams.size > 0, isUnfinished);
    if (verdict === 'lost') this.#socket.destroy();
    else if (this.#ending === 'announced' && nowMs > this.#announcedAtMs) this.#nameLastStream();
    else if (verdict === 'idle') this.#close(errorCode.noError);
    else if (verdict === 'ask') this.#sender.sendPing(0, lifePing);
  }

  /** Asks the client to open no more streams, and closes the connection after the last one (RFC 9113 section 6.8). */
  drain(): void {
    if (this.#ending !== 'open') return;
    if (!this.#sawSettings) return this.#close(errorCode.noError);
    this.#ending = 'announced';
    this.#announcedAtMs = performance.now() + 1_000;
    this.#sender.sendGoAway(maxWindowBytes, errorCode.noError);
    // When the client acknowledges this PING, all requests that it sent before it received the GOAWAY have arrived.
    this.#sender.sendPing(0, drainPing);
  }

  #nameLastStream(): void {
    this.#ending = 'last-stream-named';
    if (this.#streams.size === 0) this.#close(errorCode.noError);
    else this.#sender.sendGoAway(this.#streams.last, errorCode.noError);
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#liveness.stirred = true;
    try {
      this.#reader.read(chunk);
    } catch (error) {
      if (!(error instanceof ConnectionFault)) throw error;
      this.#close(error.code);
    }
    if (this.#reading && this.#sender.output.waitingBytes > maxBacklogBytes) {
      this.#reading = false;
      this.#socket.pause();
    }
    this.#tellHeld();
  };

  /**
   * Tells the memory accounting of all connections how many bytes this connection keeps. Bodies and answers of a client
   * that has logged in are left out, since flow control limits them.
   */
  #tellHeld(): void {
    const others = this.#holding.isProven() ? 0 : this.#streams.heldBytes + this.#sender.output.waitingBytes;
    this.#holding.hold(this.#reader.heldBytes + this.#blocks.heldBytes + others);
  }

  readonly #onDrain = (): void => {
    if (!this.#reading) {
      this.#reading = true;
      this.#socket.resume();
    }
    this.#sender.resume();
    this.#tellHeld();
  };

  /** A client that has closed its sending side can no longer use HTTP/2, so the connection is closed. */
  readonly #onEnd = (): void => {
    this.#socket.destroy();
  };

  readonly #onClose = (): void => this.#release();

  /** Closes a draining connection if no stream is open. */
  readonly #closeIfDone = (): void => {
    if (this.#ending === 'last-stream-named' && this.#streams.size === 0) this.#close(errorCode.noError);
  };

  /** Sends GOAWAY, ends all open streams and closes the connection. */
  #close(code: number): void {
    if (this.#ending === 'closed') return;
    this.#endReading();
    const sender = this.#sender;
    sender.sendGoAway(this.#streams.last, code);
    this.#streams.loseAll();
    sender.output.flush();
    this.#giveBack();
    this.#socket.off('end', this.#onEnd).off('drain', this.#onDrain);
    endLingering(this.#socket);
  }

  /** Stops parsing and drops partly received frames and header blocks. */
  #endReading(): void {
    this.#ending = 'closed';
    this.#reader.stop();
    this.#blocks.forget();
    this.#holding.end();
  }

  #release(): void {
    this.#endReading();
    this.#giveBack();
    this.#socket.off('end', this.#onEnd).off('close', this.#onClose).off('drain', this.#onDrain);
    for (const one of this.#sender.output.stop()) (one as Http2Stream).undelivered();
    this.#streams.loseAll();
    this.#listener.onReleased(this);
  }

  // The methods of FrameHandler, which the frame parser calls.

  onFrame(type: number, flags: number, stream: number, bytes: Buffer, start: number, end: number): void {
    this.#requireOrder(type, flags);
    switch (type) {
      case frameType.headers:
        this.#onHeaders(flags, stream, bytes, start, end);
        return;
      case frameType.continuation:
        this.#onContinuation(flags, stream, bytes, start, end);
        return;
      case frameType.windowUpdate:
        this.#onWindowUpdate(stream, bytes, start, end);
        break;
      case frameType.reset:
        this.#onReset(stream, end - start);
        return;
      case frameType.settings:
        this.#onSettings(flags, stream, bytes, start, end);
        break;
      case frameType.ping:
        this.#onPing(flags, stream, bytes, start, end);
        break;
      case frameType.priority:
        this.#onPriority(stream, bytes, start, end);
        break;
      case frameType.goAway:
        if (stream !== 0) throw protocolFault('GOAWAY on a stream');
        if (end - start < 8) throw sizeFault();
        break;
      case frameType.pushPromise:
        throw protocolFault('a client pushes nothing');
    }
    if (!this.#budget.spendFrame()) throw calm('too many frames that ask for nothing');
  }

  #requireOrder(type: number, flags: number): void {
    if (!this.#sawSettings && (type !== frameType.settings || (flags & frameFlag.ack) !== 0)) {
      throw protocolFault('the first frame is not SETTINGS');
    }
    if (!this.#blocks.atRest && type !== frameType.continuation) throw protocolFault('a header block is interrupted');
  }

  #onHeaders(flags: number, stream: number, bytes: Buffer, start: number, end: number): void {
    if (stream === 0 || stream % 2 === 0) throw protocolFault('HEADERS on a stream that no client may open');
    this.#blocks.begin(stream, flags, bytes, start, end);
    if (this.#blocks.atRest) this.#onBlock(stream);
  }

  #onContinuation(flags: number, stream: number, bytes: Buffer, start: number, end: number): void {
    if (this.#blocks.atRest || this.#blocks.stream !== stream) throw protocolFault('CONTINUATION without HEADERS');
    this.#blocks.proceed(bytes, start, end, (flags & frameFlag.endHeaders) !== 0);
    if (this.#blocks.atRest) this.#onBlock(stream);
  }

  /**
   * Handles a complete header block. Even an unwanted block is decoded, because it may add entries to the HPACK table
   * that the next block refers to.
   */
  #onBlock(id: number): void {
    const blocks = this.#blocks;
    const { ends } = blocks;
    const streams = this.#streams;
    const open = streams.get(id);
    if (open !== undefined) return streams.onTrailers(open, blocks.takeTrailers(), ends);
    if (id <= streams.last) {
      blocks.drop();
      return streams.judgeLateHeaders(id);
    }
    const taken = blocks.takeRequest(this.#holding.isProven());
    // After the GOAWAY that names the last stream, new streams are ignored. The client repeats such a request on
    // another connection.
    if (this.#ending !== 'last-stream-named') {
      const head = taken === 'too-large' ? oversizedHead(ends, headLimitsOf(this.#peer, this.#holding)) : taken;
      const request = head === 'malformed' || blocks.dependsOnItself ? undefined : head;
      const stream = streams.open(id, request, ends);
      if (stream !== undefined) this.#arrive(stream, request!);
    }
    blocks.requireTable();
    return undefined;
  }

  #arrive(inbound: Http2Stream, { host, fault, auditId }: Http2Head): void {
    const peer = this.#peer;
    this.#listener.arrive({ inbound, upgradeInbound: undefined, host, peer, askedAuditId: auditId, headFault: fault });
  }

  onDataBegin(id: number, flags: number, length: number): void {
    if (!this.#sawSettings) throw protocolFault('the first frame is not SETTINGS');
    if (!this.#blocks.atRest) throw protocolFault('a header block is interrupted');
    this.#streams.onDataBegin(id, flags, length);
  }

  onDataPiece(piece: Buffer): void {
    this.#streams.onDataPiece(piece);
  }

  onDataEnd(length: number): void {
    this.#streams.onDataEnd(length);
  }

  #onWindowUpdate(id: number, bytes: Buffer, start: number, end: number): void {
    if (end - start !== 4) throw sizeFault();
    const increment = bytes.readUInt32BE(start) & maxWindowBytes;
    if (id === 0) {
      if (increment === 0) throw protocolFault('WINDOW_UPDATE of nothing');
      if (!this.#sender.widenConnection(increment)) {
        throw new ConnectionFault(errorCode.flowControlError, 'the window gets too large');
      }
      return;
    }
    this.#streams.onWindowUpdate(id, increment);
  }

  #onReset(id: number, length: number): void {
    if (length !== 4) throw sizeFault();
    this.#streams.onReset(id);
  }

  #onSettings(flags: number, id: number, bytes: Buffer, start: number, end: number): void {
    if (id !== 0) throw protocolFault('SETTINGS on a stream');
    if ((flags & frameFlag.ack) !== 0) {
      if (end > start) throw sizeFault();
      return;
    }
    // The acknowledgement must be sent before any body data that is allowed only by the new window.
    this.#sender.output.frame(frameType.settings, frameFlag.ack, 0, noBytes);
    applySettings(bytes, start, end, this.#sender, this.#streams.values());
    this.#sawSettings = true;
  }

  #onPing(flags: number, id: number, bytes: Buffer, start: number, end: number): void {
    if (id !== 0) throw protocolFault('PING on a stream');
    if (end - start !== 8) throw sizeFault();
    const payload = bytes.subarray(start, end);
    if ((flags & frameFlag.ack) === 0) this.#sender.sendPing(frameFlag.ack, payload);
    else if (this.#ending === 'announced' && drainPing.equals(payload)) this.#nameLastStream();
  }

  /** Checks the form of a PRIORITY frame; its content is ignored (RFC 9113 section 5.3.2). */
  #onPriority(id: number, bytes: Buffer, start: number, end: number): void {
    if (id === 0) throw protocolFault('PRIORITY on no stream');
    const isWhole = end - start === 5;
    if (isWhole && (bytes.readUInt32BE(start) & maxWindowBytes) !== id) return;
    const code = isWhole ? errorCode.protocolError : errorCode.frameSizeError;
    const stream = this.#streams.get(id);
    if (stream === undefined) throw new ConnectionFault(code, 'PRIORITY is malformed');
    this.#streams.fault(stream, code);
  }

  onHeldLess(): void {
    this.#tellHeld();
  }

  onStreamClosed(): void {
    if (this.#ending === 'last-stream-named' && this.#streams.size === 0) queueMicrotask(this.#closeIfDone);
  }
}
