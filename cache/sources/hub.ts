// Follows everything that the sources of a hub watch and keeps their clusters in the store. A source is applied for the
// first time only after those before it, so that the order of the sources decides who keeps a name, not which list came
// first. A source that fails does not disturb the others.
import type { HubClient, HubSource, WatchedResource } from '../hub/hub-types.ts';
import { resourceKey, resourceLabel } from '../hub/hub-paths.ts';
import type { ReflectorTiming } from '../hub/reflector-types.ts';
import { startReflector, type Reflector, type ReflectorState } from '../hub/reflector.ts';
import {
  createProblemBook,
  type ClusterSink,
  type ProblemBook,
  type SourceProblem,
  type SourceReports,
} from './source.ts';

export interface HubSourcesOptions extends SourceReports {
  readonly client: HubClient;
  /** In order of precedence. */
  readonly sources: readonly HubSource[];
  /**
   * Every source applies under its own name. A caller whose other sources come before these applies them first, even if
   * they have no clusters yet.
   */
  readonly store: ClusterSink;
  /** A bug in a source or in a listener of the store. For the log only: it may quote an object. */
  readonly onError?: (error: unknown) => void;
  readonly timing?: Partial<ReflectorTiming>;
  /** How long a source that cannot list its kinds may hold up those behind it, counted from the hub's first answer. */
  readonly holdUpMs?: number;
}

/** One list and watch, for metrics and debug pages. */
export interface FollowedResource extends ReflectorState {
  readonly label: string;
  readonly objects: number;
}

export interface HubSourcesHandle {
  /** Every source has been applied once, with all it may see. Never rejects; after an early close it never settles. */
  readonly synced: Promise<void>;
  /** Problems that hold now. */
  problems(): readonly SourceProblem[];
  followed(): readonly FollowedResource[];
  close(): void;
}

/** Read as metadata only: the name of a definition says which kind has come. */
const definitions: WatchedResource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  resource: 'customresourcedefinitions',
};
/** How often a missing kind is asked for while definitions are watched, which announce it. */
const announcedPollMs = 300_000;
const defaultPollMs = 3_000;
const defaultHoldUpMs = 30_000;

interface Running {
  readonly source: HubSource;
  readonly reflectors: readonly Reflector[];
  /** Something changed since it was compiled last. */
  dirty: boolean;
  applied: boolean;
  fault: SourceProblem | undefined;
}

/** Starts at once and asks in the background; returns before anything is known. */
export function startHubSources(options: HubSourcesOptions): HubSourcesHandle {
  const sources = new HubSources(options);
  sources.schedule();
  return sources;
}

class HubSources implements HubSourcesHandle {
  readonly synced: Promise<void>;
  readonly #options: HubSourcesOptions;
  readonly #book: ProblemBook;
  readonly #reflectors = new Map<string, Reflector>();
  /** By the key of a resource: the sources that watch it. */
  readonly #users = new Map<string, Running[]>();
  readonly #running: readonly Running[];
  readonly #synced = Promise.withResolvers<void>();
  #scheduled: NodeJS.Immediate | undefined;
  #holdUp: NodeJS.Timeout | undefined;
  #heldUpLongEnough = false;
  #closed = false;
  /** Follows the definitions once a kind is missing, unless the gateway may not see them. */
  #kinds: Reflector | undefined;
  #kindsRefused = false;

  constructor(options: HubSourcesOptions) {
    this.#options = options;
    this.#book = createProblemBook(options);
    this.synced = this.#synced.promise;
    this.#running = options.sources.map((source) => ({
      source,
      reflectors: source.watches.map((watched) => this.#follow(watched)),
      dirty: true,
      applied: false,
      fault: undefined,
    }));
    for (const one of this.#running) {
      for (const watched of one.source.watches) {
        const key = resourceKey(watched);
        this.#users.set(key, [...(this.#users.get(key) ?? []), one]);
      }
    }
  }

  problems(): readonly SourceProblem[] {
    return this.#book.list();
  }

  followed(): readonly FollowedResource[] {
    return [...this.#reflectors.values()].map((reflector) => ({
      ...reflector.state(),
      label: resourceLabel(reflector.resource),
      objects: reflector.objects.size,
    }));
  }

  close(): void {
    this.#closed = true;
    clearImmediate(this.#scheduled);
    clearTimeout(this.#holdUp);
    for (const reflector of this.#reflectors.values()) reflector.close();
    this.#kinds?.close();
  }

  /** One round for everything that came in the same turn of the event loop. */
  schedule(): void {
    if (!this.#closed) this.#scheduled ??= setImmediate(() => this.#round());
  }

  // Following

  /** The reflector of a resource; sources that watch the same resource share it. */
  #follow(resource: WatchedResource): Reflector {
    const { client, timing, onError } = this.#options;
    const key = resourceKey(resource);
    const present = this.#reflectors.get(key);
    if (present !== undefined) return present;
    const pollMs = timing?.missingPollMs ?? defaultPollMs;
    const reflector = startReflector({
      client,
      resource,
      timing: { ...timing },
      missingPollMs: () => (this.#kinds?.state().phase === 'watching' ? announcedPollMs : pollMs),
      onChange: () => {
        for (const user of this.#users.get(key) ?? []) user.dirty = true;
        this.schedule();
      },
      onState: ({ phase }) => {
        this.schedule();
        if (phase === 'watching') this.#wakeWaiting();
      },
      ...(onError === undefined ? {} : { onError }),
    });
    this.#reflectors.set(key, reflector);
    return reflector;
  }

  /** The hub answers again: reflectors that wait because it did not answer try now. */
  #wakeWaiting(): void {
    for (const reflector of this.#reflectors.values()) {
      if (reflector.state().fault?.reason === 'Unavailable') reflector.lookAgain();
    }
  }

  /** Wakes the reflector of a missing kind when its definition comes. */
  #followDefinitions(): void {
    if (this.#kinds !== undefined || this.#kindsRefused) return;
    const { client, timing, onError } = this.#options;
    const kinds = startReflector({
      client,
      resource: definitions,
      metadataOnly: true,
      timing: { ...timing },
      onChange: (changes) => {
        const names = new Set(changes.map(({ object }) => object.metadata.name));
        for (const reflector of this.#reflectors.values()) {
          const { group, resource } = reflector.resource;
          if (names.has(`${resource}.${group}`)) reflector.lookAgain();
        }
      },
      onState: ({ fault }) => {
        if (fault?.reason !== 'Forbidden') return;
        this.#kindsRefused = true;
        this.#kinds = undefined;
        kinds.close();
      },
      ...(onError === undefined ? {} : { onError }),
    });
    this.#kinds = kinds;
  }

  // Applying

  #round(): void {
    this.#scheduled = undefined;
    if (this.#closed) return;
    const states = [...this.#reflectors.values()].map((reflector) => reflector.state());
    if (this.#holdUp === undefined && states.some(({ synced }) => synced)) {
      this.#holdUp = setTimeout(() => {
        this.#heldUpLongEnough = true;
        this.schedule();
      }, this.#options.holdUpMs ?? defaultHoldUpMs).unref();
    }
    if (states.some(({ phase }) => phase === 'missing')) this.#followDefinitions();
    for (const one of this.#running) {
      if (!one.applied && !this.#mayStart(one)) break;
      if (one.dirty) this.#compile(one);
      one.applied = true;
    }
    this.#book.set(this.#problemsNow());
    if (this.#running.every(({ applied }) => applied)) {
      clearTimeout(this.#holdUp);
      this.#synced.resolve();
    }
  }

  /**
   * True when the source has seen everything it may see, or was waited for long enough. A type that the gateway has no
   * right to read is not waited for: the right may never come, and its lack is reported.
   */
  #mayStart({ reflectors }: Running): boolean {
    if (this.#heldUpLongEnough) return true;
    return reflectors.every((reflector) => {
      const { synced, fault } = reflector.state();
      return synced || fault?.reason === 'Forbidden';
    });
  }

  #compile(one: Running): void {
    const { store, client, onError } = this.#options;
    one.dirty = false;
    const { name } = one.source;
    try {
      store.apply(name, one.source.compile(one.reflectors.map(({ objects }) => objects)));
      one.fault = undefined;
    } catch (error) {
      // Its message may quote an object: it goes to the log, and people see only the name of the error.
      onError?.(error);
      const kind = error instanceof Error ? error.name : 'fault';
      const message = `its clusters stay as they were: what the hub has now could not be used (${kind}, see the log)`;
      one.fault = { source: name, file: client.url, message, stale: true };
    }
  }

  #problemsNow(): readonly SourceProblem[] {
    const found = new Map<string, SourceProblem>();
    for (const { source, reflectors, fault } of this.#running) {
      if (fault !== undefined) found.set(source.name, fault);
      for (const reflector of reflectors) {
        const { fault: reason, synced: stale } = reflector.state();
        if (reason === undefined || found.has(reason.message)) continue;
        // When nothing answers, it is one problem and not one of every kind.
        const file = reason.reason === 'Unavailable' ? this.#options.client.url : resourceLabel(reflector.resource);
        found.set(reason.message, { source: source.name, file, message: reason.message, stale });
      }
    }
    return [...found.values()];
  }
}
