// Every request that is on its way to a member, so that draining and the removal of a cluster can end them. An entry
// leaves however its request ends; a drain waits until none is left.
import type { GatewayError } from '../../cache/model/errors.ts';
import { SlotSet } from '../../http/slot-set.ts';
import type { InSlot } from '../../http/slot-set.ts';

/** One request under way. */
export interface OpenStream extends InSlot {
  /**
   * `watch` can end cleanly between events; `stream` (lists, logs) and `upgrade` can only be aborted; `short` is waited
   * for.
   */
  readonly kind: 'short' | 'watch' | 'stream' | 'upgrade';
  readonly clusterName: string;
  /** Registration the stream belongs to; '' for answers of the gateway itself. */
  readonly clusterUid: string;
  /** Asks a watch to end at the next event boundary; false when it cannot. */
  endAtBoundary(): boolean;
  /** Ends it now, visibly cut for the client. */
  abort(reason: GatewayError): void;
  /**
   * Ends it within a second and tells the client why where its protocol has words for it (an ERROR event of a watch,
   * the Status of an exec session); else as abort().
   * @param statusJson the reason as metav1.Status
   */
  end(reason: GatewayError, statusJson: string): void;
  /** `performance.now()` since when its client has taken nothing of what waits for it; 0 while it takes. */
  readonly blockedSinceMs: number;
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

/** Makes an empty set. */
export function makeOpenStreams(): OpenStreams {
  const streams = new SlotSet<OpenStream>();
  let waiting: (() => void)[] = [];
  return {
    add: (stream) => streams.add(stream),
    delete(stream) {
      streams.delete(stream);
      if (streams.size > 0) return;
      const resolved = waiting;
      waiting = [];
      for (const resolve of resolved) resolve();
    },
    has: (stream) => streams.has(stream),
    get size() {
      return streams.size;
    },
    [Symbol.iterator]: () => streams.values().values(),
    whenEmpty: () => (streams.size === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
  };
}
