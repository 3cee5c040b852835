// Sends all workers what changed about clusters: the changes of the store as one message a turn, and what the probe
// found. The events of one swap come one by one, and a worker must not serve a state in between.
import type { ClusterEvent } from '../../cache/model/cluster-events.ts';
import type { ClusterStore } from '../../cache/model/store.ts';
import type { ProbeFindings } from '../probe/probe.ts';
import type { ClusterWriter, WireEvent } from './cluster-wire.ts';
import type { ToWorker } from './messages.ts';
import { wireErrorOf } from './wire-error.ts';
import type { WireError } from './wire-error.ts';

/**
 * The results of this many milliseconds are sent together, because thousands of clusters are probed every few seconds.
 */
const probedAfterMs = 10;

/** Something that sends messages to all workers until it is closed. */
export interface Broadcast {
  /** Sends at once what waits for the end of the turn. */
  flush(): void;
  close(): void;
}

/** Sends the changes of the store. */
export function sendClusters(
  store: Pick<ClusterStore, 'subscribe'>,
  writer: Pick<ClusterWriter, 'event'>,
  send: (message: ToWorker) => void,
): Broadcast {
  let events: WireEvent[] = [];
  const flush = (): void => {
    if (events.length === 0) return;
    send({ kind: 'clusters', events });
    events = [];
  };
  const unsubscribe = store.subscribe((event: ClusterEvent) => {
    if (events.length === 0) queueMicrotask(flush);
    events.push(writer.event(event));
  });
  return { flush, close: unsubscribe };
}

/** Sends what the probe found. */
export function sendProbed(
  send: (message: ToWorker) => void,
  credentialRefused: ProbeFindings['credentialRefused'],
): ProbeFindings & Broadcast {
  const found = new Map<string, WireError | undefined>();
  let timer: NodeJS.Timeout | undefined;
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (found.size > 0) send({ kind: 'probed', found: [...found] });
    found.clear();
  };
  const note = (uid: string, fault: WireError | undefined): void => {
    found.set(uid, fault);
    timer ??= setTimeout(flush, probedAfterMs).unref();
  };
  return {
    answered: ({ uid }) => note(uid, undefined),
    silent: ({ uid }, fault) => note(uid, wireErrorOf(fault)),
    credentialRefused,
    flush,
    close: () => clearTimeout(timer),
  };
}
