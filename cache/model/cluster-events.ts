// Calls listeners for every change in a store of clusters, in order, and remembers changes so that a watch can resume.
// When a listener changes the store, that event waits until every listener has seen the present one.
import { GatewayError } from './errors.ts';
import type { ClusterRecord } from './records.ts';

/** Events of one store. */
export interface ClusterEvents {
  /** Of the last change. */
  readonly version: number;
  /** Takes the number of the next change. */
  nextVersion(): string;
  /** Delivers the events; the state after all of them must be in place already. */
  publish(events: readonly ClusterEvent[]): void;
  subscribe(listener: ClusterListener): () => void;
  /** As `eventsSince` of the store. */
  since(resourceVersion: string): readonly ClusterEvent[] | 'expired';
}

/** @param startVersion that of the state the store begins with; events before it are not remembered */
export function makeClusterEvents(
  startVersion: number,
  historyLength: number,
  onListenerError: ((error: unknown) => void) | undefined,
): ClusterEvents {
  // Each with the version at which it subscribed: it could read everything up to that version itself.
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
      // Wrapped, so that the same function subscribed twice is two subscriptions.
      const own: ClusterListener = (event) => listener(event);
      listeners.set(own, version);
      return () => void listeners.delete(own);
    },
    since(resourceVersion) {
      if (!/^\d{1,20}$/.test(resourceVersion)) {
        throw new GatewayError('BAD_REQUEST', 'the resourceVersion is not a number this server gave out; list again');
      }
      const since = Number(resourceVersion);
      // A version from the future is of another process whose clock was ahead: only a new list helps that client.
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

/** One change of the store. The record of a DELETED event is the last one, with the resourceVersion of its deletion. */
export interface ClusterEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly record: ClusterRecord;
  /** Of MODIFIED only: the record before, so that a watcher with a selector knows whether it had the cluster. */
  readonly previous?: ClusterRecord;
}

export type ClusterListener = (event: ClusterEvent) => void;
