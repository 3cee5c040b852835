// Decides when to close the connection of a client that sends nothing. A watch may be silent for hours, so only a PING
// can tell such a client from one that vanished behind a proxy. There is no timer here; the listener calls judge()
// regularly. A connection without open streams is closed when the client has sent nothing for `idleTimeoutMs`.
const idleTimeoutMs = 120_000;
/**
 * Milliseconds that a partly received frame or header block may take to be complete, before the connection is
 * destroyed; the same as for a request head over HTTP/1.1.
 */
const headTimeoutMs = 32_000;
/**
 * An HTTP/2 client with open streams is disconnected when it has sent nothing for this many milliseconds, not even an
 * answer to a PING. The PING is sent after {@link askedAfterShare} of this time. An HTTP/1.1 client is disconnected
 * when it has read nothing of its answer for this long.
 */
export const clientLostMs = 300_000;
const askedAfterShare = 0.2;

/**
 * What to do with a connection: nothing ('fine'), send a PING ('ask'), close it after a GOAWAY ('idle'), or destroy it
 * ('lost').
 */
export type Verdict = 'fine' | 'ask' | 'idle' | 'lost';

/** Decides for one connection when to send a PING and when to close it. */
export class Liveness {
  /** The connection sets this when bytes arrive; judge() resets it. */
  stirred = true;
  #stirredAtMs = performance.now();
  readonly #lostMs: number;
  #isAsked = false;
  #unfinishedSinceMs = Number.POSITIVE_INFINITY;

  constructor(lostMs = clientLostMs) {
    this.#lostMs = lostMs;
  }

  /**
   * Says what to do with the connection now.
   * @param hasStreams whether a stream is open
   * @param isUnfinished whether a frame or header block is partly received
   */
  judge(nowMs: number, hasStreams: boolean, isUnfinished: boolean): Verdict {
    if (this.stirred) {
      this.stirred = false;
      this.#isAsked = false;
      this.#stirredAtMs = nowMs;
    }
    this.#unfinishedSinceMs = isUnfinished ? Math.min(this.#unfinishedSinceMs, nowMs) : Number.POSITIVE_INFINITY;
    if (nowMs - this.#unfinishedSinceMs > headTimeoutMs) return 'lost';
    const quietForMs = nowMs - this.#stirredAtMs;
    if (!hasStreams) return quietForMs > idleTimeoutMs ? 'idle' : 'fine';
    if (quietForMs > this.#lostMs) return 'lost';
    if (quietForMs <= this.#lostMs * askedAfterShare || this.#isAsked) return 'fine';
    this.#isAsked = true;
    return 'ask';
  }
}
