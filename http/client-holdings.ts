// Bounds the memory that clients make the process use before they have logged in, above all unfinished request heads.
// All connections share one budget. When it is exceeded, connections are closed, beginning with the one whose bytes,
// multiplied by the time they were kept, are the most. Bytes alone would be a bad measure: the connection of one user
// in 500 groups would be closed before those of five thousand attackers with a few bytes each. The time tells them
// apart, since an honest head is complete within milliseconds.

/** Counts how much memory one connection uses. */
export interface Holding {
  /** Whether a request on this connection has been authenticated. */
  isProven(): boolean;
  /**
   * Sets how many bytes the connection keeps now: those of its unfinished request head and, until a request on it has
   * been authenticated, all other data kept for it as well.
   */
  hold(bytes: number): void;
  /** Stops counting the connection, because it was closed or upgraded to a tunnel. */
  end(): void;
}

export interface ClientHoldingsOptions {
  /**
   * Maximum number of bytes to keep for all connections together; above it, connections are closed. Infinity for no
   * bound.
   */
  readonly budgetBytes: number;
  /** Whether a request of this peer has been authenticated. Once it has returned true, it must stay true. */
  readonly isProven: (peer: object) => boolean;
  readonly nowMs?: () => number;
}

/** The default budget, as a share of the memory that the process may use. */
export const heldShare = 1 / 8;
/**
 * When the budget is exceeded, connections are closed until only this share of it is in use. If just enough were
 * closed, all connections would have to be sorted again soon.
 */
const leftShare = 3 / 4;
/** Rough cost in bytes of a connection for which no data is kept. */
const connectionBytes = 64 * 1024;
/** A client that has not logged in by this age, in milliseconds, may be closed when memory is short. */
const loginMs = 5_000;

/** Accounting that never closes a connection, for listeners in tests. */
export function unboundedHoldings(): ClientHoldings {
  return new Holdings({ budgetBytes: Infinity, isProven: () => false });
}

/** The memory that all connections of the process use. */
export type ClientHoldings = Readonly<Pick<Holdings, 'bytes' | 'closed' | 'open' | 'relieve'>>;

/** Counts the memory of all connections of one process, and closes connections when it exceeds the budget. */
export class Holdings {
  readonly isPeerProven: (peer: object) => boolean;
  readonly nowMs: () => number;
  /** Bytes that are kept for all connections together. */
  bytes = 0;
  /** How many connections were closed to free memory since the start. */
  closed = 0;
  readonly #budgetBytes: number;
  readonly #entries = new Set<Entry>();
  #isDue = false;

  constructor({ budgetBytes, isProven, nowMs = () => performance.now() }: ClientHoldingsOptions) {
    this.#budgetBytes = budgetBytes;
    this.isPeerProven = isProven;
    this.nowMs = nowMs;
  }

  /**
   * Begins to count the memory of a connection.
   * @param peer the client, as the object that {@link ClientHoldingsOptions.isProven} is asked about; undefined during
   *   the TLS handshake
   * @param close closes the connection, where possible after an answer that says why; it must call `end()` of the
   *   returned Holding
   */
  open(peer: object | undefined, close: () => void): Holding {
    const entry = new Entry(this, peer, close);
    this.#entries.add(entry);
    return entry;
  }

  /** Adds `bytes` to the total of all connections; negative when a connection keeps fewer bytes than before. */
  changed(bytes: number): void {
    this.bytes += bytes;
    if (this.bytes <= this.#budgetBytes || this.#isDue) return;
    this.#isDue = true;
    // Deferred, because a connection may be closed here, and the caller may be in the middle of that connection's work.
    queueMicrotask(() => this.#makeRoom());
  }

  delete(entry: Entry): void {
    if (this.#entries.delete(entry)) this.bytes -= entry.bytes;
  }

  has(entry: Entry): boolean {
    return this.#entries.has(entry);
  }

  /**
   * To be called when memory is short. Closes a tenth of the connections that have not logged in within 5 seconds, even
   * when no data is kept for them.
   */
  relieve(): void {
    const nowMs = this.nowMs();
    const late = [...this.#entries].filter((entry) => nowMs - entry.openedMs > loginMs && !entry.isProven());
    const most = Math.ceil(late.length / 10);
    for (const entry of heaviestFirst(late, nowMs, connectionBytes).slice(0, most)) this.#close(entry);
  }

  #makeRoom(): void {
    this.#isDue = false;
    const nowMs = this.nowMs();
    const holding = [...this.#entries].filter(({ bytes }) => bytes > 0);
    // The bytes of clients that have logged in count too, but these clients are closed last.
    const unproven = holding.filter((entry) => !entry.isProven());
    const proven = holding.filter((entry) => entry.isProven());
    for (const entry of [...heaviestFirst(unproven, nowMs, 0), ...heaviestFirst(proven, nowMs, 0)]) {
      if (this.bytes <= this.#budgetBytes * leftShare) return;
      this.#close(entry);
    }
  }

  #close(entry: Entry): void {
    this.closed += 1;
    entry.close();
  }
}

class Entry implements Holding {
  readonly openedMs: number;
  readonly close: () => void;
  bytes = 0;
  readonly #all: Holdings;
  readonly #peer: object | undefined;
  #isProven = false;
  /**
   * Since when the connection has kept data, in milliseconds of `nowMs`. Before it keeps any, the time when it was
   * opened.
   */
  #sinceMs: number;

  constructor(all: Holdings, peer: object | undefined, close: () => void) {
    this.#all = all;
    this.#peer = peer;
    this.close = close;
    this.openedMs = all.nowMs();
    this.#sinceMs = this.openedMs;
  }

  isProven(): boolean {
    return (this.#isProven ||= this.#peer !== undefined && this.#all.isPeerProven(this.#peer));
  }

  hold(bytes: number): void {
    if (bytes === this.bytes || !this.#all.has(this)) return;
    if (this.bytes === 0) this.#sinceMs = this.#all.nowMs();
    const change = bytes - this.bytes;
    this.bytes = bytes;
    this.#all.changed(change);
  }

  end(): void {
    this.#all.delete(this);
  }

  weight(nowMs: number, ownBytes: number): number {
    return (ownBytes + this.bytes) * (1 + nowMs - this.#sinceMs);
  }
}

function heaviestFirst(entries: readonly Entry[], nowMs: number, ownBytes: number): Entry[] {
  return entries.toSorted((one, other) => other.weight(nowMs, ownBytes) - one.weight(nowMs, ownBytes));
}
