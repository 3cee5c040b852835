// One HTTP/2 connection of a client (RFC 9113): its frames in, its streams, and how it ends. Easy to get wrong: what is
// the fault of one stream resets that stream, what leaves both sides with different ideas ends the connection; and the
// second kind must not be answered with the first, or an attacker chooses what we believe.
import type { Duplex } from 'node:stream';
import { maxClientStreams, maxHeaderBytes, maxHeaderPairs } from '../../lib/limits.ts';
import { readDirectly } from '../direct-read.ts';
import type { Arrival, Peer } from '../arrival.ts';
import type { ClientHoldings, Holding } from '../client-holdings.ts';
import { FloodBudget } from './http2-budget.ts';
import {
  ConnectionFault,
  FrameReader,
  calm,
  errorCode,
  frameFlag,
  frameType,
  maxWindowBytes,
  protocolFault,
  sizeFault,
  type FrameHandler,
} from './http2-frames.ts';
import { oversizedHead, type Http2Head } from './http2-head.ts';
import { HeaderBlocks } from './http2-header-blocks.ts';
import { Liveness } from './http2-liveness.ts';
import { ReceiveWindow, connectionWindowBytes } from './http2-receive-window.ts';
import { Http2Sender } from './http2-sender.ts';
import type { OutputTurn } from './http2-output.ts';
import { applySettings, ourSettings } from './http2-settings.ts';
import { Http2Stream, streamWindowBytes, type StreamCarrier } from './http2-stream.ts';
import { StreamSet } from './http2-stream-set.ts';
import { StreamIds } from './http2-stream-ids.ts';
import { endLingering } from '../linger.ts';

const startWindowBytes = 65_535;
/** Answers and acknowledgements that wait for a slow socket, above which nothing more is read from it. */
const maxBacklogBytes = 256 * 1024;
const noBytes = Buffer.alloc(0);
const drainPing = Buffer.from('drain\0\0\0', 'latin1');
const lifePing = Buffer.from('alive?\0\0', 'latin1');

/** What connections need of their listener. */
export interface Http2Listener {
  /** Called for every request; must not throw. */
  readonly arrive: (arrival: Arrival) => void;
  readonly turn: OutputTurn;
  readonly holdings: Pick<ClientHoldings, 'open'>;
  /** The connection is closed; called once. */
  readonly onReleased: (connection: Http2Connection) => void;
}

type Ending = 'open' | 'announced' | 'last-stream-named' | 'closed';

/** Owns a socket from the end of its handshake. */
export class Http2Connection implements FrameHandler, StreamCarrier {
  readonly sender: Http2Sender;
  readonly #socket: Duplex;
  readonly #peer: Peer;
  readonly #listener: Http2Listener;
  readonly #budget = new FloodBudget();
  readonly #reader = new FrameReader(this);
  readonly #blocks = new HeaderBlocks({ bytes: maxHeaderBytes, pairs: maxHeaderPairs });
  readonly #streams = new StreamSet<Http2Stream>();
  readonly #ids = new StreamIds();
  readonly #liveness = new Liveness();
  #sawSettings = false;
  readonly #window = new ReceiveWindow((bytes) => this.sender.sendWindowUpdate(0, bytes));
  readonly #holding: Holding;
  /** The stream whose DATA frame is being read, and what of it is no body. */
  #dataStream: Http2Stream | undefined;
  #paddingBytes = 0;
  #dataEnds = false;
  #ending: Ending = 'open';
  #announcedAtMs = 0;
  #reading = true;
  readonly #giveBack: () => void;

  constructor(socket: Duplex, peer: Peer, listener: Http2Listener) {
    this.#socket = socket;
    this.#peer = peer;
    this.#listener = listener;
    this.#holding = listener.holdings.open(peer, () => this.#close(errorCode.enhanceYourCalm));
    this.sender = new Http2Sender(socket, listener.turn, this.#budget);
    this.sender.output.frame(frameType.settings, 0, 0, ourSettings());
    this.sender.sendWindowUpdate(0, connectionWindowBytes - startWindowBytes);
    this.#giveBack = readDirectly(socket, this.#onData);
    socket.on('end', this.#onEnd).on('close', this.#onClose).on('drain', this.#onDrain);
  }

  /** Looks after a connection whose client sends nothing; called about once a second. */
  sweep(nowMs: number): void {
    this.#budget.refill();
    const isUnfinished = !this.#reader.atRest || !this.#blocks.atRest;
    const verdict = this.#liveness.judge(nowMs, this.#streams.size > 0, isUnfinished);
    if (verdict === 'lost') this.#socket.destroy();
    else if (this.#ending === 'announced' && nowMs > this.#announcedAtMs) this.#nameLastStream();
    else if (verdict === 'idle') this.#close(errorCode.noError);
    else if (verdict === 'ask') this.sender.sendPing(0, lifePing);
  }

  /** Asks the client to open no more streams, and closes behind the last one (RFC 9113 section 6.8). */
  drain(): void {
    if (this.#ending !== 'open') return;
    if (!this.#sawSettings) return this.#close(errorCode.noError);
    this.#ending = 'announced';
    this.#announcedAtMs = performance.now() + 1_000;
    this.sender.sendGoAway(maxWindowBytes, errorCode.noError);
    // What the client sent before it knew has arrived when it answers this.
    this.sender.sendPing(0, drainPing);
  }

  #nameLastStream(): void {
    this.#ending = 'last-stream-named';
    if (this.#streams.size === 0) this.#close(errorCode.noError);
    else this.sender.sendGoAway(this.#ids.last, errorCode.noError);
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#liveness.stirred = true;
    try {
      this.#reader.read(chunk);
    } catch (error) {
      if (!(error instanceof ConnectionFault)) throw error;
      this.#close(error.code);
    }
    if (this.#reading && this.sender.output.waitingBytes > maxBacklogBytes) {
      this.#reading = false;
      this.#socket.pause();
    }
    this.#tellHeld();
  };

  /** Bodies and answers of a client that has logged in have bounds of their own. */
  #tellHeld(): void {
    const others = this.#holding.isProven() ? 0 : this.#window.heldBytes + this.sender.output.waitingBytes;
    this.#holding.hold(this.#reader.heldBytes + this.#blocks.heldBytes + others);
  }

  readonly #onDrain = (): void => {
    if (!this.#reading) {
      this.#reading = true;
      this.#socket.resume();
    }
    this.sender.resume();
    this.#tellHeld();
  };

  /** A client that closed its half can take part in HTTP/2 no more. */
  readonly #onEnd = (): void => {
    this.#socket.destroy();
  };

  readonly #onClose = (): void => this.#release();

  /** Behind the last answer of a connection that is to end. */
  readonly #closeIfDone = (): void => {
    if (this.#ending === 'last-stream-named' && this.#streams.size === 0) this.#close(errorCode.noError);
  };

  /** GOAWAY, and the end of everything that is still open. */
  #close(code: number): void {
    if (this.#ending === 'closed') return;
    this.#endReading();
    const { sender } = this;
    sender.sendGoAway(this.#ids.last, code);
    for (const stream of this.#streams.values()) stream.lose();
    sender.output.flush();
    this.#giveBack();
    this.#socket.off('end', this.#onEnd).off('drain', this.#onDrain);
    endLingering(this.#socket);
  }

  /** Nothing is read any more, and nothing held. */
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
    for (const one of this.sender.output.stop()) (one as Http2Stream).undelivered();
    for (const stream of this.#streams.values()) stream.lose();
    this.#listener.onReleased(this);
  }

  // Frames.

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

  /** A whole block. Whatever becomes of it, it is decoded: the next one needs what it put into the table. */
  #onBlock(id: number): void {
    const blocks = this.#blocks;
    const { ends } = blocks;
    const open = this.#streams.get(id);
    if (open !== undefined) return this.#onTrailers(open, ends);
    if (id <= this.#ids.last) {
      blocks.drop();
      if (this.#ids.wasResetByUs(id)) return;
      if (this.#ids.wasPassedOver(id)) throw protocolFault('HEADERS on a stream that was passed over');
      throw new ConnectionFault(errorCode.streamClosed, 'HEADERS on a stream that has ended');
    }
    const head = blocks.takeRequest(this.#holding.isProven());
    // Behind the GOAWAY that named the last stream nothing is begun; the client asks again elsewhere.
    if (this.#ending === 'last-stream-named') return;
    this.#ids.open(id);
    if (this.#streams.size >= maxClientStreams) this.#refuse(id, errorCode.refusedStream);
    else if (head === 'malformed' || blocks.dependsOnItself) this.#refuse(id, errorCode.protocolError);
    else this.#begin(id, head === 'too-large' ? oversizedHead(ends) : head, ends);
  }

  #begin(id: number, head: Http2Head, ends: boolean): void {
    const stream = new Http2Stream(id, head, ends, this);
    this.#streams.add(stream);
    const { host, fault, auditId } = head;
    const parts = { upgradeInbound: undefined, host, peer: this.#peer, askedAuditId: auditId, headFault: fault };
    this.#listener.arrive({ inbound: stream, ...parts });
  }

  #onTrailers(stream: Http2Stream, ends: boolean): void {
    const valid = this.#blocks.takeTrailers();
    if (stream.received) this.#fault(stream, errorCode.streamClosed);
    else if (!ends || !valid || !stream.receiveEnd()) this.#fault(stream, errorCode.protocolError);
  }

  onDataBegin(id: number, flags: number, length: number): void {
    if (!this.#sawSettings) throw protocolFault('the first frame is not SETTINGS');
    if (!this.#blocks.atRest) throw protocolFault('a header block is interrupted');
    if (id === 0 || id > this.#ids.last) throw protocolFault('DATA on a stream that is not open');
    if (!this.#window.take(length)) throw new ConnectionFault(errorCode.flowControlError, 'the window is exceeded');
    this.#dataEnds = (flags & frameFlag.endStream) !== 0;
    this.#paddingBytes = length;
    this.#dataStream = undefined;
    const stream = this.#streams.get(id);
    if (stream === undefined) {
      if (!this.#ids.wasResetByUs(id)) this.#refuse(id, errorCode.streamClosed);
    } else if (stream.received) this.#fault(stream, errorCode.streamClosed);
    else if (length > stream.receiveWindow) this.#fault(stream, errorCode.flowControlError);
    else {
      stream.receiveWindow -= length;
      this.#dataStream = stream;
    }
  }

  onDataPiece(piece: Buffer): void {
    const stream = this.#dataStream;
    this.#paddingBytes -= piece.length;
    if (stream !== undefined && !stream.receive(piece)) this.#fault(stream, errorCode.protocolError);
  }

  onDataEnd(length: number): void {
    const stream = this.#dataStream;
    this.#dataStream = undefined;
    const isEmpty = this.#paddingBytes === length;
    if (isEmpty && !this.#dataEnds && !this.#budget.spendFrame()) throw calm('too many empty frames');
    if (stream === undefined) return;
    if (this.#paddingBytes > 0) this.consumed(stream, this.#paddingBytes);
    if (this.#dataEnds && !stream.receiveEnd()) this.#fault(stream, errorCode.protocolError);
  }

  #onWindowUpdate(id: number, bytes: Buffer, start: number, end: number): void {
    if (end - start !== 4) throw sizeFault();
    const increment = bytes.readUInt32BE(start) & maxWindowBytes;
    if (id === 0) {
      if (increment === 0) throw protocolFault('WINDOW_UPDATE of nothing');
      if (!this.sender.widenConnection(increment)) {
        throw new ConnectionFault(errorCode.flowControlError, 'the window gets too large');
      }
      return;
    }
    if (id > this.#ids.last) throw protocolFault('WINDOW_UPDATE on a stream that is not open');
    const stream = this.#streams.get(id);
    if (stream === undefined) return;
    if (increment === 0) this.#fault(stream, errorCode.protocolError);
    else if (!this.sender.widen(stream, increment)) this.#fault(stream, errorCode.flowControlError);
  }

  #onReset(id: number, length: number): void {
    if (length !== 4) throw sizeFault();
    if (id === 0 || id > this.#ids.last) throw protocolFault('RST_STREAM on a stream that is not open');
    if (!this.#budget.spendReset()) throw calm('too many streams are reset');
    this.#streams.get(id)?.lose();
  }

  #onSettings(flags: number, id: number, bytes: Buffer, start: number, end: number): void {
    if (id !== 0) throw protocolFault('SETTINGS on a stream');
    if ((flags & frameFlag.ack) !== 0) {
      if (end > start) throw sizeFault();
      return;
    }
    // In front of whatever a larger window lets go.
    this.sender.output.frame(frameType.settings, frameFlag.ack, 0, noBytes);
    applySettings(bytes, start, end, this.sender, this.#streams.values());
    this.#sawSettings = true;
  }

  #onPing(flags: number, id: number, bytes: Buffer, start: number, end: number): void {
    if (id !== 0) throw protocolFault('PING on a stream');
    if (end - start !== 8) throw sizeFault();
    const payload = bytes.subarray(start, end);
    if ((flags & frameFlag.ack) === 0) this.sender.sendPing(frameFlag.ack, payload);
    else if (this.#ending === 'announced' && drainPing.equals(payload)) this.#nameLastStream();
  }

  /** Priorities are read by nobody (section 5.3.2), but they have a form. */
  #onPriority(id: number, bytes: Buffer, start: number, end: number): void {
    if (id === 0) throw protocolFault('PRIORITY on no stream');
    const isWhole = end - start === 5;
    if (isWhole && (bytes.readUInt32BE(start) & maxWindowBytes) !== id) return;
    const code = isWhole ? errorCode.protocolError : errorCode.frameSizeError;
    const stream = this.#streams.get(id);
    if (stream === undefined) throw new ConnectionFault(code, 'PRIORITY is malformed');
    this.#fault(stream, code);
  }

  // Streams.

  held(bytes: number): void {
    this.#window.held(bytes);
    if (bytes < 0) this.#tellHeld();
  }

  consumed(stream: Http2Stream, bytes: number): void {
    stream.unreported += bytes;
    if (stream.received || stream.unreported < streamWindowBytes / 2) return;
    this.sender.sendWindowUpdate(stream.id, stream.unreported);
    stream.receiveWindow += stream.unreported;
    stream.unreported = 0;
  }

  closed(stream: Http2Stream, resetByUs: boolean): void {
    this.#streams.delete(stream);
    if (resetByUs) this.#ids.rememberReset(stream.id);
    // What ends the stream is written right behind this.
    if (this.#ending === 'last-stream-named' && this.#streams.size === 0) queueMicrotask(this.#closeIfDone);
  }

  /** Resets a stream for what its client did. */
  #fault(stream: Http2Stream, code: number): void {
    if (!this.#budget.spendReset()) throw calm('too many streams had to be reset');
    if (this.#dataStream === stream) this.#dataStream = undefined;
    stream.reset(code);
  }

  /** The same where there is no stream. */
  #refuse(id: number, code: number): void {
    if (!this.#budget.spendReset()) throw calm('too many streams had to be reset');
    this.#ids.rememberReset(id);
    this.sender.refuse(id, code);
  }
}
