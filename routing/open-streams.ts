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
  const streams = new Set<OpenStream>();
  let waiting: (() => void)[] = [];
  return {
    add: (stream) => void streams.add(stream),
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
    [Symbol.iterator]: () => streams.values(),
    whenEmpty: () => (streams.size === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
  };
}
