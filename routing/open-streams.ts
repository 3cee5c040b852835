// Every request that is on its way to a member, so that draining and the removal of a cluster can end them. Easy to get wrong: an
// entry must leave in every ending, or a drain would wait for ghosts.
import type { GatewayError } from '../cache/errors.ts';

/** One request under way. */
export interface OpenStream {
  /** `watch` can end cleanly between events; `stream` (lists, logs) and `upgrade` can only be aborted; `short` is waited for. */
  readonly kind: 'short' | 'watch' | 'stream' | 'upgrade';
  readonly clusterName: string;
  /** Registration the stream belongs to; '' for answers of the gateway itself. */
  readonly clusterUid: string;
  /** Asks a watch to end at the next event boundary; false when it cannot. */
  endAtBoundary(): boolean;
  /** Ends it now, visibly cut for the client. */
  abort(reason: GatewayError): void;
  /**
   * Ends it within a second and tells the client why where its protocol has words for it (an ERROR event of a watch, the Status of an exec
   * session); else as abort().
   * @param statusJson the reason as metav1.Status
   */
  end(reason: GatewayError, statusJson: string): void;
  /** `performance.now()` since when its client has taken nothing of what waits for it; 0 while it takes. */
  readonly blockedSinceMs: number;
  /** Where it stands among the open ones; written by {@link makeOpenStreams} alone. */
  place?: number;
}

/** The set of open requests, with a way to wait until it is empty. */
export interface OpenStreams {
  add(stream: OpenStream): void;
  delete(stream: OpenStream): void;
  has(stream: OpenStream): boolean;
  readonly size: number;
  [Symbol.iterator](): IterableIterator<OpenStream>;
  /** Resolves as soon as no request is open. */
  whenEmpty(): Promise<void>;
}

/**
 * Makes an empty set. It is an array whose last entry takes the place of one that leaves, and no Set: each time a Set makes room, its old
 * table stays behind with the entries of that moment and a pointer to the new one, and once one of those tables is old, V8's collector of
 * the young generation keeps them all, every request with them (measured: a quarter of all that requests allocate, 4 % of their CPU).
 */
export function makeOpenStreams(): OpenStreams {
  const streams: OpenStream[] = [];
  let waiting: (() => void)[] = [];
  const has = (stream: OpenStream): boolean => stream.place !== undefined && streams[stream.place] === stream;
  return {
    add(stream) {
      if (has(stream)) return;
      stream.place = streams.length;
      streams.push(stream);
    },
    delete(stream) {
      if (has(stream)) {
        const last = streams.pop()!;
        if (last !== stream) {
          streams[stream.place!] = last;
          last.place = stream.place!;
        }
      }
      if (streams.length > 0) return;
      const resolved = waiting;
      waiting = [];
      for (const resolve of resolved) resolve();
    },
    has,
    get size() {
      return streams.length;
    },
    // A copy: whoever ends streams while walking takes them out.
    [Symbol.iterator]: () => [...streams].values(),
    whenEmpty: () => (streams.length === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
  };
}
