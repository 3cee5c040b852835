// Bounds what clients make the process hold before it knows them, above all unfinished request heads: one budget for
// all connections, beyond which those are closed that held the most for the longest. Size alone is no measure: a user
// in 500 groups would be closed before five thousand attackers with a little each. An honest head is complete in
// milliseconds, so bytes times the time they are held tells the two apart.

/** What one connection holds. */
export interface Holding {
  /** A request on this connection has been authenticated. */
  isProven(): boolean;
  /**
   * So many bytes now, for its unfinished head; while it is not proven, for everything else that was kept of it as
   * well.
   */
  hold(bytes: number): void;
  /** The connection is over, or became a tunnel. */
  end(): void;
}

/** All of them. */
export interface ClientHoldings {
  /**
   * Opens the holding of a connection.
   * @param peer whom it is authenticated by; undefined during its handshake
   * @param close ends the connection, with an answer that says why where that is possible; it must end the holding
   */
  open(peer: object | undefined, close: () => void): Holding;
  /**
   * Memory is short: closes a tenth of the connections that had time to log in and did not, also those that hold
   * nothing but themselves.
   */
  relieve(): void;
  /** Held now. */
  readonly bytes: number;
  /** Connections closed so far. */
  readonly closed: number;
}

/** What holdings depend on. */
export interface ClientHoldingsOptions {
  /** Infinity for no bound. */
  readonly budgetBytes: number;
  /** Whether a request of this peer has been authenticated; once true it stays so. */
  readonly isProven: (peer: object) => boolean;
  readonly nowMs?: () => number;
}

/** Part of the usable memory that is held at most. */
export const heldShare = 1 / 8;
/** How far below the budget room is made: to close one at a time would mean to look at all of them each time. */
const leftShare = 3 / 4;
/** About what a connection costs that holds nothing. */
const connectionBytes = 64 * 1024;
/** A client that means to ask something has done so by then. */
const loginMs = 5_000;

/** Makes the holdings of one process. */
export function makeClientHoldings(options: ClientHoldingsOptions): ClientHoldings {
  return new Holdings(options);
}

/** For callers that need no bounds: a listener of a test. */
export function unboundedHoldings(): ClientHoldings {
  return makeClientHoldings({ budgetBytes: Infinity, isProven: () => false });
}

class Holdings implements ClientHoldings {
  readonly isPeerProven: (peer: object) => boolean;
  readonly nowMs: () => number;
  bytes = 0;
  closed = 0;
  readonly #budgetBytes: number;
  readonly #entries = new Set<Entry>();
  #isDue = false;

  constructor({ budgetBytes, isProven, nowMs = () => performance.now() }: ClientHoldingsOptions) {
    this.#budgetBytes = budgetBytes;
    this.isPeerProven = isProven;
    this.nowMs = nowMs;
  }

  open(peer: object | undefined, close: () => void): Holding {
    const entry = new Entry(this, peer, close);
    this.#entries.add(entry);
    return entry;
  }

  /** An entry holds so many bytes more, or fewer. */
  changed(bytes: number): void {
    this.bytes += bytes;
    if (this.bytes <= this.#budgetBytes || this.#isDue) return;
    this.#isDue = true;
    // Not in the middle of what a connection is doing: it may be the one that is closed.
    queueMicrotask(() => this.#makeRoom());
  }

  delete(entry: Entry): void {
    if (this.#entries.delete(entry)) this.bytes -= entry.bytes;
  }

  has(entry: Entry): boolean {
    return this.#entries.has(entry);
  }

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
    // Clients that have logged in count against the budget as well, but go only after all that have not.
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
  /** When it began to hold something; before that, when it was opened. */
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
