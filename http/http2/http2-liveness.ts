// Decides which connections of silent clients end. A watch may be quiet for hours; only the answer to a PING tells such
// a client from one that vanished behind a proxy. There is no timer here: the listener's sweep brings the time.
const idleTimeoutMs = 120_000;
/** A frame or header block that was begun must be complete by then, as a head over HTTP/1.1. */
const headTimeoutMs = 32_000;
/**
 * A client whose connection neither brings nor, with bytes waiting for it, takes anything for so long is given up, over
 * HTTP/1.1 as well. Over HTTP/2 one that is merely quiet is asked for a sign of life after a fifth of it.
 */
export const clientLostMs = 300_000;
const askedAfterShare = 0.2;

/** What to do about a connection: nothing, ask its client, close it in good order, or drop it. */
export type Verdict = 'fine' | 'ask' | 'idle' | 'lost';

/** Watches one connection. */
export class Liveness {
  /** Set whenever bytes come; looked at and taken back by the sweep. */
  stirred = true;
  #stirredAtMs = performance.now();
  readonly #lostMs: number;
  #isAsked = false;
  #unfinishedSinceMs = Number.POSITIVE_INFINITY;

  constructor(lostMs = clientLostMs) {
    this.#lostMs = lostMs;
  }

  /** @param isUnfinished a frame or header block has begun and not ended */
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
