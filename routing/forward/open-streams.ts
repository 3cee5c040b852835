// The set of all requests that are being forwarded to members, by which they are ended when the gateway drains or a
// cluster is removed. A drain waits until the set is empty.
import type { GatewayError } from '../../model/errors.ts';
import { SlotSet } from '../../http/slot-set.ts';
import type { InSlot } from '../../http/slot-set.ts';

/** One request that is being forwarded to a member. */
export interface OpenStream extends InSlot {
  /**
   * How a drain ends the request. `watch`: cleanly between two events. `stream` (lists, logs) and `upgrade`: cut.
   * `short`: not at all; the drain waits for its end.
   */
  readonly kind: 'short' | 'watch' | 'stream' | 'upgrade';
  readonly clusterName: string;
  /** UID of the cluster record that the request goes to; '' for answers of the gateway itself. */
  readonly clusterUid: string;
  /** Asks a watch to end after the current event. Returns false when it cannot, so that it has to be cut. */
  endAtBoundary(): boolean;
  /** Ends the request now, so that the client notices that the answer is cut. */
  abort(reason: GatewayError): void;
  /**
   * Ends the request within a second and tells the client why, where the protocol allows it: an ERROR event in a watch,
   * a Status in an exec session. Otherwise it does the same as abort().
   * @param statusJson the reason as metav1.Status in JSON
   */
  end(reason: GatewayError, statusJson: string): void;
  /**
   * Since when data has been waiting for the client because it does not read, as `performance.now()`; 0 while the
   * client reads.
   */
  readonly blockedSinceMs: number;
}

/** The set of requests being forwarded. */
export interface OpenStreams {
  add(stream: OpenStream): void;
  delete(stream: OpenStream): void;
  has(stream: OpenStream): boolean;
  readonly size: number;
  [Symbol.iterator](): IterableIterator<OpenStream>;
  /** Resolves when no request is being forwarded. */
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
