// What every controller of Kubernetes objects is made of: watches, queues of keys to reconcile, a writer, and one
// `close` that ends all of them.
import { resourceLabel } from '../kube/paths.ts';
import type { ObjectChange } from '../kube/reflector/object-set.ts';
import { startReflector, type Reflector } from '../kube/reflector/reflector.ts';
import type { ReflectorState, ReflectorTiming } from '../kube/reflector/reflector-types.ts';
import { makeObjectWriter, type ObjectWriter } from '../kube/objects/object-writer.ts';
import type { ApiClient, WatchedResource } from '../kube/types.ts';
import { makeQueue, type ControllerLog } from './queue/logged-queue.ts';
import type { Outcome, WorkQueue, WorkQueueOptions } from './queue/work-queue.ts';

export interface ControllerOptions {
  readonly client: ApiClient;
  readonly log: ControllerLog;
  /** Text with which each log message begins, such as `join`. */
  readonly what: string;
  readonly timing?: Partial<ReflectorTiming> | undefined;
}

/** What is called for watched objects. */
export interface Watch {
  readonly onEach: (change: ObjectChange) => void;
  /** Called when the state of the watch has changed; a fault is in the log already. */
  readonly onState?: (state: ReflectorState) => void;
  /** Whether only the metadata of the objects is read. */
  readonly metadataOnly?: boolean;
}

/**
 * Milliseconds between attempts to list a type that the server does not serve. A new CustomResourceDefinition is
 * noticed within this time.
 */
const missingPollMs = 5_000;
/** Longest wait in milliseconds between attempts to list, so a newly granted right is noticed within this time. */
const maxBackoffMs = 5_000;

/** A controller. It runs from its construction until `close`. */
export class Controller {
  readonly #options: ControllerOptions;
  readonly #ends: (() => void)[] = [];
  readonly #ended = new AbortController();
  /** Writes objects. When the controller is closed, running writes are aborted, and no further write is sent. */
  readonly writer: ObjectWriter;

  constructor(options: ControllerOptions) {
    this.#options = options;
    this.writer = makeObjectWriter(options.client, this.#ended.signal);
  }

  /** Lists and watches a resource. Faults go to the log. */
  follow(resource: WatchedResource, { onEach, onState, metadataOnly = false }: Watch): Reflector {
    const { client, log, what, timing } = this.#options;
    const label = resourceLabel(resource);
    const reflector = startReflector({
      client,
      resource,
      metadataOnly,
      timing: { missingPollMs, maxBackoffMs, ...timing },
      onChange: (changes) => {
        for (const change of changes) onEach(change);
      },
      onState: (state) => {
        const { fault } = state;
        if (fault !== undefined)
          log.warn({ resource: label, fault: fault.message }, `${what}: objects of the hub cannot be read`);
        onState?.(state);
      },
      onError: (error) =>
        log.error({ resource: label, err: error }, `${what}: an object of the hub could not be handled`),
    });
    this.atClose(() => reflector.close());
    return reflector;
  }

  /** Makes a queue of keys, whose failures go to the log. @param kind kind of the objects that the keys name */
  queue(
    kind: string,
    reconcile: (key: string) => Promise<Outcome>,
    options: Partial<WorkQueueOptions> = {},
  ): WorkQueue {
    const { log, what } = this.#options;
    const queue = makeQueue(kind, what, log, reconcile, options);
    this.atClose(() => queue.close());
    return queue;
  }

  /** Calls `ready` once all objects of these watches are known, unless the controller is closed before. */
  whenSynced(watches: readonly Reflector[], ready: () => void): void {
    Promise.all(watches.map(({ synced }) => synced)).then(ready, () => undefined);
  }

  /** Calls the function again and again, every so many milliseconds. */
  every(intervalMs: number, then: () => void): void {
    const timer = setInterval(then, intervalMs).unref();
    this.atClose(() => clearInterval(timer));
  }

  /** Calls the function when the controller is closed. */
  atClose(end: () => void): void {
    this.#ends.push(end);
  }

  /**
   * Ends the watches and queues, in reverse order of their creation. A running reconcile goes on but can write nothing
   * more.
   */
  close(): void {
    this.#ended.abort();
    for (const end of this.#ends.splice(0).toReversed()) end();
  }
}
