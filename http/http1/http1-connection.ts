// One HTTP/1.1 connection of a client: reads one request at a time and hands it to the listener. Bytes that came early
// (pipelined requests, a body nobody asked for yet) are held, within bounds, until the request before them is over.
import type { Duplex } from 'node:stream';
import { HttpFault } from '../http-fault.ts';
import { readDirectly } from '../direct-read.ts';
import type { BodyReader } from '../inbound.ts';
import type { Arrival, Peer } from '../arrival.ts';
import type { ClientHoldings, Holding } from '../client-holdings.ts';
import { RequestBody } from './http1-body.ts';
import { Http1Inbound, Http1UpgradeInbound } from './http1-inbound.ts';
import type { RequestCarrier } from './http1-inbound.ts';
import { HeldBytes } from './held-bytes.ts';
import { headLimitsOf } from '../head-limits.ts';
import { HeadReader, judge } from './http1-parser.ts';
import type { Http1Head } from './http1-parser.ts';
import type { Http1RequestHead } from '../request-framing.ts';
import { endLingering, lingerBytes, lingerMs } from '../linger.ts';
import type { RefusalAnswer } from './refusal-answer.ts';
import { answerBytes } from './refusal-answer.ts';

/**
 * kube-apiserver's numbers: a head is read within 32 s of its first byte; an idle connection must outlive a load
 * balancer's.
 */
const headTimeoutMs = 32_000;
const idleTimeoutMs = 120_000;
/**
 * While draining: the first request of a new connection is on its way, and its client would not send it again (Go's
 * Shutdown waits, too).
 */
const firstRequestMs = 1_000;

const crowdedText = 'the gateway holds too many unfinished requests; ask again';
const faultHead: Http1RequestHead = { body: 'none', host: '', close: true, expectsContinue: false, upgrade: false };

/** What connections need of their listener. */
export interface Http1Listener {
  /** Called for every request; must not throw. */
  readonly arrive: (arrival: Arrival) => void;
  /** The whole answer to bytes that are no request, for which there is no `Inbound`. */
  readonly refusal: (fault: HttpFault) => RefusalAnswer;
  /** True once every answer says `Connection: close`. */
  readonly draining: () => boolean;
  /** A client that takes none of the bytes that wait for it is given up after this. */
  readonly lostMs: number;
  readonly holdings: Pick<ClientHoldings, 'open'>;
  /** The connection is closed or became a tunnel; called once. */
  readonly onReleased: (connection: Http1Connection) => void;
}

/**
 * Where the reading stands: at a request head, in a body, after a body while the answer is still to come, or nowhere
 * because the socket is no longer ours.
 */
type Mode = 'head' | 'body' | 'answer' | 'released';

/** Owns a socket from the end of its handshake. */
export class Http1Connection implements RequestCarrier {
  readonly socket: Duplex;
  /** `performance.now()` after which the client has waited too long to send; never while a request is under way. */
  deadlineMs = performance.now() + idleTimeoutMs;
  readonly #peer: Peer;
  readonly #listener: Http1Listener;
  readonly #holding: Holding;
  readonly #head = new HeadReader();
  readonly #body = new RequestBody();
  #mode: Mode = 'head';
  /** No request has come yet. */
  #isNew = true;
  #inbound: Http1Inbound | undefined;
  #reader: BodyReader | undefined;
  #bodyPaused = false;
  #expectsContinue = false;
  /** The present answer is the last one. */
  #last = false;
  #peerEnded = false;
  readonly #held = new HeldBytes();
  #taking = false;
  #reading = true;
  #lingering: NodeJS.Timeout | undefined;
  readonly #onData = (chunk: Buffer): void => {
    if (this.#held.length > 0) this.#held.push(chunk);
    else this.#take(chunk);
    this.#pump();
    this.#tellHeld();
  };
  readonly #onEnd = (): void => this.#ended();
  readonly #onClose = (): void => this.#closed();
  /** Since when the client takes none of the bytes that wait for it, as the sweep saw it. */
  #stuckSinceMs = Number.POSITIVE_INFINITY;
  readonly #giveBack: () => void;
  readonly #onDrain = (): void => {
    this.#stuckSinceMs = Number.POSITIVE_INFINITY;
    this.#inbound?.drained();
  };

  constructor(socket: Duplex, peer: Peer, listener: Http1Listener) {
    this.socket = socket;
    this.#peer = peer;
    this.#listener = listener;
    this.#holding = listener.holdings.open(peer, () => this.#crowdedOut());
    this.#giveBack = readDirectly(socket, this.#onData);
    socket.on('end', this.#onEnd).on('close', this.#onClose).on('drain', this.#onDrain);
  }

  /** Closes a connection whose client took too long to send, see {@link deadlineMs}, or takes nothing of its answer. */
  sweep(nowMs: number): void {
    if (this.socket.writableNeedDrain) this.#stuckSinceMs = Math.min(this.#stuckSinceMs, nowMs);
    if (nowMs > this.deadlineMs || nowMs - this.#stuckSinceMs > this.#listener.lostMs) this.socket.destroy();
  }

  /** Closes the connection now if no request is on it; otherwise its answer will be the last. */
  closeIdle(): void {
    if (this.#mode !== 'head' || this.#head.started) return;
    if (this.#isNew) this.deadlineMs = Math.min(this.deadlineMs, performance.now() + firstRequestMs);
    else this.#close();
  }

  /**
   * What a client that has logged in sent early is bounded as it is; of any other it counts together with its
   * unfinished head.
   */
  #tellHeld(): void {
    this.#holding.hold(this.#head.heldBytes + (this.#holding.isProven() ? 0 : this.#held.length));
  }

  /** The memory this connection holds is needed by others. */
  #crowdedOut(): void {
    const isAwaited = this.#inbound !== undefined || (this.#mode === 'head' && this.#head.started);
    if (!isAwaited) this.#close();
    else this.#refuse(new HttpFault('TOO_MANY_REQUESTS', crowdedText, { retryAfterSeconds: 1 }));
  }

  /** Reads what is held as far as it is wanted, and makes the client wait when too much is held. */
  #pump(): void {
    if (this.#taking || this.#mode === 'released') return;
    while (this.#held.length > 0 && this.#wants()) {
      const chunk = this.#held.shift();
      this.#take(chunk);
    }
    const reading = !this.#held.isFull && !(this.#mode === 'body' && this.#bodyPaused);
    if (reading === this.#reading || this.#wasReleased()) return;
    this.#reading = reading;
    if (reading) this.socket.resume();
    else this.socket.pause();
  }

  #wants(): boolean {
    return this.#mode === 'head' || (this.#mode === 'body' && this.#reader !== undefined && !this.#bodyPaused);
  }

  #wasReleased(): boolean {
    return this.#mode === 'released';
  }

  #take(chunk: Buffer): void {
    if (!this.#wants()) {
      this.#held.push(chunk);
      return;
    }
    this.#taking = true;
    try {
      if (this.#mode === 'head') this.#readHead(chunk);
      else this.#readBody(chunk);
    } catch (error) {
      if (!(error instanceof HttpFault)) throw error;
      this.#refuse(error);
    } finally {
      this.#taking = false;
    }
  }

  #readHead(chunk: Buffer): void {
    const started = this.#head.started;
    const used = this.#head.read(chunk, headLimitsOf(this.#peer, this.#holding));
    if (used < 0) {
      if (!started) this.deadlineMs = performance.now() + headTimeoutMs;
      return;
    }
    this.#held.putBack(chunk, used);
    this.deadlineMs = Number.POSITIVE_INFINITY;
    const head = this.#head.head!;
    this.#head.forget();
    this.#begin(head);
  }

  #begin(head: Http1Head): void {
    this.#isNew = false;
    let parsed = faultHead;
    let fault: unknown;
    try {
      parsed = judge(head);
    } catch (error) {
      fault = error;
    }
    this.#body.begin(parsed.body);
    this.#last = parsed.close;
    this.#expectsContinue = parsed.expectsContinue;
    this.#reader = undefined;
    this.#bodyPaused = false;
    const { host } = parsed;
    const peer = this.#peer;
    if (parsed.upgrade) {
      const early = this.#held.joined();
      this.#release();
      const inbound = new Http1UpgradeInbound(head, this.socket, early);
      this.#listener.arrive({ inbound, upgradeInbound: inbound, host, peer, headFault: undefined });
      return;
    }
    this.#mode = parsed.body === 'none' ? 'answer' : 'body';
    const inbound = new Http1Inbound(head, parsed.body, this);
    this.#inbound = inbound;
    this.#listener.arrive({ inbound, upgradeInbound: undefined, host, peer, headFault: fault });
  }

  #readBody(chunk: Buffer): void {
    const body = this.#body;
    const reader = this.#reader!;
    this.#held.putBack(chunk, body.read(chunk));
    const { ended } = body;
    if (ended) this.#mode = 'answer';
    if (body.data !== undefined) reader.onData(body.data);
    if (ended && !this.#wasReleased() && !this.socket.destroyed) reader.onEnd();
  }

  readBody(reader: BodyReader): void {
    if (this.#mode !== 'body') {
      // Nothing is to come; the reader hears of the end after this call, as from a stream.
      if (this.#mode === 'answer') queueMicrotask(() => reader.onEnd());
      return;
    }
    this.#reader = reader;
    if (this.#expectsContinue && this.#inbound?.answered === false) {
      this.#expectsContinue = false;
      this.socket.write('HTTP/1.1 100 Continue\r\n\r\n', 'latin1');
    }
    this.#pump();
  }

  pauseBody(): void {
    this.#bodyPaused = true;
    this.#pump();
  }

  resumeBody(): void {
    this.#bodyPaused = false;
    this.#pump();
  }

  endsWithAnswer(): boolean {
    if (this.#mode === 'body' && this.#reader === undefined && !this.#expectsContinue) this.#dropHeldBody();
    this.#last ||= this.#mode === 'body' || this.#listener.draining();
    return this.#last;
  }

  /** A small body that is here already and not wanted is dropped; the connection goes on. */
  #dropHeldBody(): void {
    while (this.#held.length > 0 && !this.#body.ended) {
      const chunk = this.#held.shift();
      try {
        this.#held.putBack(chunk, this.#body.read(chunk));
      } catch {
        this.#last = true;
        return;
      }
    }
    if (this.#body.ended) this.#mode = 'answer';
  }

  /** The callback of the last write of an answer. */
  readonly answered = (error?: Error | null): void => {
    const inbound = this.#inbound;
    if (inbound === undefined || (error !== undefined && error !== null)) return;
    this.#inbound = undefined;
    inbound.finish(false);
    if (this.#peerEnded) this.socket.destroy();
    else if (!this.#last && !this.#listener.draining()) {
      this.#mode = 'head';
      this.deadlineMs = performance.now() + idleTimeoutMs;
      if (this.#held.length > 0) this.#pump();
      this.#tellHeld();
    } else if (this.#mode === 'body') this.#dropBody();
    else this.#close();
  };

  /** After a whole exchange nothing of the client is unread, unless it sent more than it may. */
  #close(): void {
    if (this.#held.length > 0) {
      this.#endLingering();
      return;
    }
    this.#release();
    this.socket.end();
    if (this.socket.writableFinished) this.socket.destroy();
    else this.socket.once('finish', () => this.socket.destroy());
  }

  /** The client is still sending a body that is not wanted, and may not read our answer before it is done. */
  #dropBody(): void {
    let dropped = 0;
    this.#lingering = setTimeout(() => this.socket.destroy(), lingerMs).unref();
    this.#bodyPaused = false;
    this.#reader = {
      onData: (chunk) => {
        dropped += chunk.length;
        if (dropped > lingerBytes) this.socket.destroy();
      },
      onEnd: () => this.#endLingering(),
    };
    this.#pump();
  }

  /** Malformed bytes: they are answered where no answer has begun, and nothing after them is read as HTTP. */
  #refuse(error: HttpFault): void {
    const inbound = this.#inbound;
    this.#inbound = undefined;
    if (inbound?.answered === true) {
      this.#release();
      this.socket.destroy();
      inbound.finish(true);
      return;
    }
    // The rest of the body of a request that has its whole answer: a second one would be taken for the next request's.
    const isAnswered = inbound === undefined && this.#mode === 'body';
    this.#endLingering(isAnswered ? undefined : answerBytes(this.#listener.refusal(error)));
    inbound?.finish(true);
  }

  #endLingering(lastBytes?: Buffer): void {
    this.#release();
    endLingering(this.socket, lastBytes);
  }

  /** From here on this connection does not read its socket; its next owner must. */
  #release(): void {
    if (this.#mode === 'released') return;
    this.#mode = 'released';
    this.#held.clear();
    this.#head.forget();
    this.#holding.end();
    clearTimeout(this.#lingering);
    const { socket } = this;
    this.#giveBack();
    socket.off('end', this.#onEnd).off('close', this.#onClose).off('drain', this.#onDrain);
    socket.pause();
    this.#listener.onReleased(this);
  }

  /** A client that ends its side while we work has gone, as in Go's server; one that has its answer may. */
  #ended(): void {
    this.#peerEnded = true;
    const inbound = this.#inbound;
    if (inbound === undefined) this.#close();
    else if (!inbound.ended) this.socket.destroy();
  }

  #closed(): void {
    const inbound = this.#inbound;
    this.#inbound = undefined;
    this.#release();
    inbound?.finish(true);
  }
}
