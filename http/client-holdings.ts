// What clients make the process hold before it knows them: unfinished request heads above all. One budget for all
// connections; beyond it those are closed that held the most for the longest. Easy to get wrong: whose head is largest
// is no measure, because a user in 500 groups would go before five thousand attackers with a little each. A head of
// somebody honest is there in milliseconds, so bytes times the time they are held tells the two apart.

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
   * @param close ends the connection, and tells its client why where that is possible; it must end the holding
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

interface Entry {
  readonly isProven: () => boolean;
  readonly close: () => void;
  bytes: number;
  readonly openedMs: number;
  /** When it began to hold something; before that, when it was opened. */
  sinceMs: number;
}

/** Makes the holdings of one process. */
export function makeClientHoldings(options: ClientHoldingsOptions): ClientHoldings {
  const { budgetBytes, isProven, nowMs = () => performance.now() } = options;
  const entries = new Set<Entry>();
  let total = 0;
  let closed = 0;
  let isDue = false;

  const close = (entry: Entry): void => {
    closed += 1;
    entry.close();
  };
  const makeRoom = (): void => {
    isDue = false;
    const holding = [...entries].filter(({ bytes }) => bytes > 0);
    // The budget holds for who has logged in as well, but no stranger pushes them out.
    const unproven = holding.filter((entry) => !entry.isProven());
    const proven = holding.filter((entry) => entry.isProven());
    for (const entry of [...heaviestFirst(unproven, nowMs(), 0), ...heaviestFirst(proven, nowMs(), 0)]) {
      if (total <= budgetBytes * leftShare) return;
      close(entry);
    }
  };

  return {
    open(peer, closeConnection) {
      let proven = false;
      const isNowProven = (): boolean => (proven ||= peer !== undefined && isProven(peer));
      const openedMs = nowMs();
      const entry: Entry = { isProven: isNowProven, close: closeConnection, openedMs, bytes: 0, sinceMs: openedMs };
      entries.add(entry);
      return {
        isProven: isNowProven,
        hold(bytes) {
          if (bytes === entry.bytes || !entries.has(entry)) return;
          if (entry.bytes === 0) entry.sinceMs = nowMs();
          total += bytes - entry.bytes;
          entry.bytes = bytes;
          if (total <= budgetBytes || isDue) return;
          isDue = true;
          // Not in the middle of what a connection is doing: it may be the one that is closed.
          queueMicrotask(makeRoom);
        },
        end() {
          if (entries.delete(entry)) total -= entry.bytes;
        },
      };
    },
    relieve() {
      const isLate = ({ openedMs }: Entry): boolean => nowMs() - openedMs > loginMs;
      const unproven = [...entries].filter((entry) => isLate(entry) && !entry.isProven());
      const most = Math.ceil(unproven.length / 10);
      for (const entry of heaviestFirst(unproven, nowMs(), connectionBytes).slice(0, most)) close(entry);
    },
    get bytes() {
      return total;
    },
    get closed() {
      return closed;
    },
  };
}

/** For who needs no bounds: a listener of a test. */
export function unboundedHoldings(): ClientHoldings {
  return makeClientHoldings({ budgetBytes: Infinity, isProven: () => false });
}

function heaviestFirst(entries: readonly Entry[], nowMs: number, ownBytes: number): Entry[] {
  const weight = ({ bytes, sinceMs }: Entry): number => (ownBytes + bytes) * (1 + nowMs - sinceMs);
  return entries.toSorted((one, other) => weight(other) - weight(one));
}
