// All requests being forwarded to members, so that they can be ended when the gateway drains or a cluster is removed. A
// drain waits until there is none.
import type { GatewayError } from '../../cache/model/errors.ts';
import { SlotSet } from '../../http/slot-set.ts';
import type { InSlot } from '../../http/slot-set.ts';

/** One request being forwarded. */
export interface OpenStream extends InSlot {
  /**
   * `watch` can end cleanly between two events; `stream` (lists, logs) and `upgrade` can only be cut; a drain waits for
   * `short`.
   */
  readonly kind: 'short' | 'watch' | 'stream' | 'upgrade';
  readonly clusterName: string;
  /** UID of the cluster record that the request goes to; '' for answers of the gateway itself. */
  readonly clusterUid: string;
  /** Asks a watch to end after the current event. False when it cannot. */
  endAtBoundary(): boolean;
  /** Ends the request now, so that the client notices that the answer is cut. */
  abort(reason: GatewayError): void;
  /**
   * Ends the request within a second and tells the client why, where the protocol allows it: an ERROR event in a watch,
   * a Status in an exec session. Otherwise it does the same as abort().
   * @param statusJson the reason as metav1.Status in JSON
   */
  end(reason: GatewayError, statusJson: string): void;
  /** Since when the client has not read data that waits for it, as `performance.now()`; 0 while it reads. */
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

/** Makes the set, which is empty at first. */
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
