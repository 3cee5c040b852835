// One HTTP/1.1 connection of a client. It reads one request at a time and passes it to the listener. Bytes that arrive
// early (pipelined requests, a body that is not being read yet) are kept, up to a limit, until they are needed.
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
 * A request head must be complete this many milliseconds after its first byte, as at kube-apiserver; an idle connection
 * is closed after `idleTimeoutMs`, later than common load balancers close theirs. In both cases the connection is
 * closed without an answer.
 */
const headTimeoutMs = 32_000;
const idleTimeoutMs = 120_000;
/**
 * While the gateway drains: how long a new connection may still send its first request. The request may be on its way
 * already, and its client would not send it again. Go's http.Server.Shutdown waits for it too.
 */
const firstRequestMs = 1_000;

const crowdedText = 'the gateway has too many unfinished requests; try again';
const faultHead: Http1RequestHead = { body: 'none', host: '', close: true, expectsContinue: false, upgrade: false };

/** What a connection gets from the listener that accepted it. */
export interface Http1Listener {
  /** Called once for every request; must not throw. */
  readonly arrive: (arrival: Arrival) => void;
  /** Builds the answer for bytes that are not a valid request. */
  readonly refusal: (fault: HttpFault) => RefusalAnswer;
  /** Whether the gateway is draining. Every answer then says `Connection: close`. */
  readonly draining: () => boolean;
  /** Milliseconds after which a client that reads nothing of its answer is disconnected. */
  readonly lostMs: number;
  readonly holdings: Pick<ClientHoldings, 'open'>;
  /** Called once, when the connection was closed or upgraded to a tunnel. */
  readonly onReleased: (connection: Http1Connection) => void;
}

/**
 * What the next received byte belongs to. 'head' and 'body' are parts of a request. In 'answer' the body has been read
 * and the answer is not finished. In 'released' this object does not use the socket any more.
 */
type Mode = 'head' | 'body' | 'answer' | 'released';

/** Serves HTTP/1.1 on a socket whose TLS handshake is done. */
export class Http1Connection implements RequestCarrier {
  readonly socket: Duplex;
  /**
   * Time on the clock of `performance.now()` at which the connection is closed unless the client has sent more.
   * Infinity while a request is being handled.
   */
  deadlineMs = performance.now() + idleTimeoutMs;
  readonly #peer: Peer;
  readonly #listener: Http1Listener;
  readonly #holding: Holding;
  readonly #head = new HeadReader();
  readonly #body = new RequestBody();
  #mode: Mode = 'head';
  /** Whether the connection has not sent a request yet. */
  #isNew = true;
  #inbound: Http1Inbound | undefined;
  #reader: BodyReader | undefined;
  #bodyPaused = false;
  #expectsContinue = false;
  /** Whether the connection closes after the current answer. */
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
  /**
   * When a sweep first saw that the client reads nothing of its answer (`performance.now()`); Infinity while it reads.
   */
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

  /**
   * Closes the connection when its {@link deadlineMs} has passed or the client has stopped reading its answer. To be
   * called regularly.
   */
  sweep(nowMs: number): void {
    if (this.socket.writableNeedDrain) this.#stuckSinceMs = Math.min(this.#stuckSinceMs, nowMs);
    if (nowMs > this.deadlineMs || nowMs - this.#stuckSinceMs > this.#listener.lostMs) this.socket.destroy();
  }

  /**
   * To be called when the gateway drains. Closes the connection if no request is being handled; one that has not sent
   * any request yet still gets 1 second for its first. During a request, the connection closes after the answer.
   */
  closeIdle(): void {
    if (this.#mode !== 'head' || this.#head.started) return;
    if (this.#isNew) this.deadlineMs = Math.min(this.deadlineMs, performance.now() + firstRequestMs);
    else this.#close();
  }

  /**
   * Tells the memory accounting of all connections how many bytes this connection keeps. Of a client that has logged
   * in, pipelined requests and unread body data are left out, since HeldBytes limits them.
   */
  #tellHeld(): void {
    this.#holding.hold(this.#head.heldBytes + (this.#holding.isProven() ? 0 : this.#held.length));
  }

  /**
   * Closes the connection, because its memory is needed for other connections. A client that waits for an answer gets
   * 429.
   */
  #crowdedOut(): void {
    const isAwaited = this.#inbound !== undefined || (this.#mode === 'head' && this.#head.started);
    if (!isAwaited) this.#close();
    else this.#refuse(new HttpFault('TOO_MANY_REQUESTS', crowdedText, { retryAfterSeconds: 1 }));
  }

  /** Processes queued bytes as far as possible, and pauses the socket while too many are queued. */
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
      // No body is left to read. As with a stream, callers expect that onEnd is called only after readBody() has
      // returned.
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

  /** Drops the unread body of a request if all of it has arrived, so that the connection can be used again. */
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

  /** Called when the last write of an answer has finished or failed. */
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

  /**
   * Closes the connection after a complete answer. If bytes of the client are still unread, they are dropped, and so is
   * what it sends from now on, because unread bytes would make the kernel reset the connection.
   */
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

  /**
   * Reads and drops the rest of an unwanted request body, because some clients read the answer only after they have
   * sent everything.
   */
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

  /**
   * Ends the connection after malformed bytes, or to free its memory. Sends an error answer if no answer has begun, and
   * parses nothing of what follows.
   */
  #refuse(error: HttpFault): void {
    const inbound = this.#inbound;
    this.#inbound = undefined;
    if (inbound?.answered === true) {
      this.#release();
      this.socket.destroy();
      inbound.finish(true);
      return;
    }
    // The malformed bytes belong to the body of a request that already has its complete answer. The client would take
    // an error answer for the answer to its next request.
    const isAnswered = inbound === undefined && this.#mode === 'body';
    this.#endLingering(isAnswered ? undefined : answerBytes(this.#listener.refusal(error)));
    inbound?.finish(true);
  }

  #endLingering(lastBytes?: Buffer): void {
    this.#release();
    endLingering(this.socket, lastBytes);
  }

  /** Stops using the socket. Whoever uses it next must add its own listeners. */
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

  /**
   * Called when the client has closed its sending side. During a request this counts as a disconnect, as in Go's
   * server; once the answer is complete it is a normal end.
   */
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
