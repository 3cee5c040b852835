// Notifies listeners of every change in a store of clusters, in order, and keeps recent changes so that a watch can
// resume. If a listener changes the store itself, the new event is delivered after all listeners have received the
// current one.
import { GatewayError } from './errors.ts';
import type { ClusterRecord } from './records.ts';

/** The change events of one store of clusters: numbering, delivery to listeners, and recent history. */
export interface ClusterEvents {
  /** resourceVersion of the last change. */
  readonly version: number;
  /** Reserves and returns the resourceVersion of the next change. */
  nextVersion(): string;
  /** Delivers events to the listeners. The store must already contain the result of all these events. */
  publish(events: readonly ClusterEvent[]): void;
  /** Calls the listener for every later event. The returned function unsubscribes the listener. */
  subscribe(listener: ClusterListener): () => void;
  /**
   * Events after this resourceVersion, oldest first; 'expired' when some of these events were dropped from the history.
   * @throws GatewayError BAD_REQUEST when `resourceVersion` is not a decimal number
   */
  since(resourceVersion: string): readonly ClusterEvent[] | 'expired';
}

/**
 * Makes the change events of a store.
 * @param startVersion resourceVersion of the store when it is empty at start; a watch from an earlier one gets
 * 'expired'
 * @param historyLength how many events are kept for `since`; older events are dropped
 * @param onListenerError called with every error that a listener throws
 */
export function makeClusterEvents(
  startVersion: number,
  historyLength: number,
  onListenerError: ((error: unknown) => void) | undefined,
): ClusterEvents {
  // Each listener with the version at which it subscribed. The listener is not called for events up to this version:
  // when it subscribed, it could already read their result from the store.
  const listeners = new Map<ClusterListener, number>();
  const history: ClusterEvent[] = [];
  const queue: ClusterEvent[] = [];
  let delivering = false;
  let version = startVersion;
  let rememberedFrom = startVersion;

  return {
    get version() {
      return version;
    },
    nextVersion() {
      version += 1;
      return String(version);
    },
    publish(events) {
      version = Math.max(version, Number(events.at(-1)?.record.resourceVersion ?? 0));
      history.push(...events);
      const surplus = history.length - historyLength;
      if (surplus > 0) {
        const dropped = history.splice(0, surplus);
        rememberedFrom = Number(dropped.at(-1)?.record.resourceVersion ?? rememberedFrom);
      }
      queue.push(...events);
      if (delivering) return;
      delivering = true;
      try {
        for (let event = queue.shift(); event !== undefined; event = queue.shift()) {
          deliver(event, listeners, onListenerError);
        }
      } finally {
        delivering = false;
      }
    },
    subscribe(listener) {
      // Wrapped in a new function, so that a function that is subscribed twice is called twice.
      const own: ClusterListener = (event) => listener(event);
      listeners.set(own, version);
      return () => void listeners.delete(own);
    },
    since(resourceVersion) {
      if (!/^\d{1,20}$/.test(resourceVersion)) {
        throw new GatewayError('BAD_REQUEST', 'the resourceVersion is not a number this server gave out; list again');
      }
      const since = Number(resourceVersion);
      // A version higher than the last one comes from another process whose clock was ahead. The client that sent it
      // must list again.
      if (since < rememberedFrom || since > version) return 'expired';
      return history.filter((event) => Number(event.record.resourceVersion) > since);
    },
  };
}

/** Calls every listener that subscribed before the event. */
function deliver(
  event: ClusterEvent,
  listeners: ReadonlyMap<ClusterListener, number>,
  onListenerError: ((error: unknown) => void) | undefined,
): void {
  for (const [listener, since] of listeners) {
    if (Number(event.record.resourceVersion) <= since) continue;
    try {
      listener(event);
    } catch (error) {
      onListenerError?.(error);
    }
  }
}

/** One change in the store. For DELETED, the record is the last one, with the resourceVersion of the deletion. */
export interface ClusterEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly record: ClusterRecord;
  /**
   * Set for MODIFIED: the record before the change, so that a watch with a selector can tell whether the cluster
   * matched the selector before the change.
   */
  readonly previous?: ClusterRecord;
}

export type ClusterListener = (event: ClusterEvent) => void;
