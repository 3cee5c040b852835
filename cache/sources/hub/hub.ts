// Watches the hub objects that register clusters, and writes these clusters into the cluster store. Each source handles
// one way to register them, such as OCM or Karmada. Of two clusters with the same name the older keeps it, whatever
// their sources. So at start all sources wait until every one has listed its objects, and write their clusters at once:
// no request reaches a cluster by a name that an older cluster has. An error in one source does not affect the others.
import type { ApiClient, WatchedResource } from '../../../kube/types.ts';
import type { HubSource } from '../hub-source.ts';
import type { ClusterSpec } from '../../../model/records.ts';
import { resourceKey, resourceLabel } from '../../../kube/paths.ts';
import type { ReflectorTiming } from '../../../kube/reflector/reflector-types.ts';
import { startReflector, type Reflector, type ReflectorState } from '../../../kube/reflector/reflector.ts';
import {
  createProblemBook,
  type ClusterSink,
  type ProblemBook,
  type SourceProblem,
  type SourceReports,
} from '../source.ts';

/** The hub, the sources to run on it, and where their clusters go. */
export interface HubSourcesOptions extends SourceReports {
  readonly client: ApiClient;
  /**
   * The sources, in order of precedence: when two equally old clusters ask for a name, the cluster of the earlier
   * source gets it.
   */
  readonly sources: readonly HubSource[];
  /**
   * The cluster store. Each source writes under its own name. A caller with other sources that come before, such as
   * kubeconfig files, must call `apply` for these first, even with an empty list.
   */
  readonly store: ClusterSink;
  /**
   * Called with an error thrown by a source or by a listener of the cluster store, which is a bug. The error may quote
   * an object, so it must only be logged.
   */
  readonly onError?: (error: unknown) => void;
  readonly timing?: Partial<ReflectorTiming>;
  /**
   * How long, in milliseconds after the hub's first answer, a source that cannot list its objects may delay the others.
   * Default 30 seconds.
   */
  readonly holdUpMs?: number;
}

/** The state of one watched resource of the hub, for metrics and debug pages. */
export interface FollowedResource extends ReflectorState {
  readonly label: string;
  /** How many objects the hub has of this resource. */
  readonly objects: number;
}

/**
 * CustomResourceDefinitions. They are watched in order to learn that the hub serves a kind which it did not serve
 * before. Only their metadata is read.
 */
const definitions: WatchedResource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  resource: 'customresourcedefinitions',
};
/**
 * How often, in milliseconds, the hub is asked again for a kind that it does not have, while CustomResourceDefinitions
 * are watched. Five minutes are enough, because a new CustomResourceDefinition triggers a request at once.
 */
const announcedPollMs = 300_000;
/**
 * How often, in milliseconds, the hub is asked again for a kind that it does not have, while CustomResourceDefinitions
 * are not watched.
 */
const defaultPollMs = 3_000;
const defaultHoldUpMs = 30_000;

/** One source while it runs, with the reflectors of the resources that it watches. */
interface Running {
  readonly source: HubSource;
  readonly reflectors: readonly Reflector[];
  /** True when objects changed after the last call of `compile`. */
  dirty: boolean;
  /** True when the source has written its clusters into the store at least once. */
  applied: boolean;
  /**
   * True when all objects that the source may list are in the cluster store. Until then, an older cluster of this
   * source takes its name from a younger cluster that has the name already; later the cluster that has a name keeps it.
   */
  read: boolean;
  /** Why the last call of `compile` failed; undefined when it did not. */
  fault: SourceProblem | undefined;
}

/** Starts watching the cluster objects on the hub. Returns at once, before any cluster is known. */
export function startHubSources(options: HubSourcesOptions): HubSourcesHandle {
  const sources = new HubSources(options);
  sources.schedule();
  return sources;
}

/** Sources of clusters on the hub, while they run. */
export type HubSourcesHandle = Omit<HubSources, 'schedule'>;

class HubSources {
  /**
   * Resolves when every source has applied its clusters once. Never rejects. After an early `close` it stays pending.
   */
  readonly synced: Promise<void>;
  readonly #options: HubSourcesOptions;
  readonly #book: ProblemBook;
  readonly #reflectors = new Map<string, Reflector>();
  /** The sources that use each watched resource, by the resource's key. */
  readonly #users = new Map<string, Running[]>();
  readonly #running: readonly Running[];
  readonly #synced = Promise.withResolvers<void>();
  #scheduled: NodeJS.Immediate | undefined;
  #holdUp: NodeJS.Timeout | undefined;
  #heldUpLongEnough = false;
  #closed = false;
  /**
   * Watches CustomResourceDefinitions. Started when the hub does not serve a watched kind; undefined before that, and
   * when RBAC forbids this watch.
   */
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
      read: false,
      fault: undefined,
    }));
    for (const one of this.#running) {
      for (const watched of one.source.watches) {
        const key = resourceKey(watched);
        this.#users.set(key, [...(this.#users.get(key) ?? []), one]);
      }
    }
  }

  /** The problems that the sources have now, such as a missing RBAC rule. Empty when all is well. */
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

  /** Schedules #round() with setImmediate. Changes that arrive before it runs share one call. */
  schedule(): void {
    if (!this.#closed) this.#scheduled ??= setImmediate(() => this.#round());
  }

  /**
   * The reflector of a resource. It is started if no source has asked for this resource before. Sources that watch the
   * same resource share one reflector.
   */
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

  /**
   * Makes reflectors that wait because the hub was unreachable try again at once. Called when the hub has answered one
   * of them.
   */
  #wakeWaiting(): void {
    for (const reflector of this.#reflectors.values()) {
      if (reflector.state().fault?.reason === 'Unavailable') reflector.lookAgain();
    }
  }

  /**
   * Watches CustomResourceDefinitions. When the definition of a missing kind appears, the reflector of this kind lists
   * at once.
   */
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
    const mayStart = this.#heldUpLongEnough || this.#running.every((one) => one.applied || hasListed(one));
    if (mayStart) this.#writeClusters();
    this.#book.set(this.#problemsNow());
    if (this.#running.every(({ applied }) => applied)) {
      clearTimeout(this.#holdUp);
      this.#synced.resolve();
    }
  }

  #writeClusters(): void {
    const { store } = this.#options;
    const first = new Map<Running, readonly ClusterSpec[]>();
    for (const one of this.#running) {
      if (one.dirty) {
        one.dirty = false;
        this.#guarded([one], () => {
          const specs = one.source.compile(one.reflectors.map(({ objects }) => objects));
          if (one.read) store.apply(one.source.name, specs);
          else first.set(one, specs);
        });
      }
      one.applied = true;
      one.read ||= one.fault === undefined && hasListed(one);
    }
    if (first.size === 0) return;
    this.#guarded([...first.keys()], () => {
      store.applyFirst(new Map([...first].map(([{ source }, specs]) => [source.name, specs])));
    });
  }

  /** Calls `work`. An error, which is a bug, becomes the fault of the given sources. */
  #guarded(sources: readonly Running[], work: () => void): void {
    const { client, onError } = this.#options;
    const outcome = (fault: (name: string) => SourceProblem | undefined): void => {
      for (const one of sources) one.fault = fault(one.source.name);
    };
    try {
      work();
      outcome(() => undefined);
    } catch (error) {
      // The message may quote an object, so it goes to the log only. `problems()` shows the name of the error.
      onError?.(error);
      const kind = error instanceof Error ? error.name : 'fault';
      const message = `the gateway could not process what the hub has now, so it keeps the clusters that it read before; its log has the error (${kind})`;
      outcome((source) => ({ source, file: client.url, message, stale: true }));
    }
  }

  #problemsNow(): readonly SourceProblem[] {
    const found = new Map<string, SourceProblem>();
    for (const { source, reflectors, fault } of this.#running) {
      if (fault !== undefined) found.set(source.name, fault);
      for (const reflector of reflectors) {
        const { fault: reason, synced: stale } = reflector.state();
        if (reason === undefined || found.has(reason.message)) continue;
        // When the hub is unreachable, all resources fail for the same reason. This is reported as one problem, with
        // the hub's URL.
        const file = reason.reason === 'Unavailable' ? this.#options.client.url : resourceLabel(reflector.resource);
        found.set(reason.message, { source: source.name, file, message: reason.message, stale });
      }
    }
    return [...found.values()];
  }
}

/**
 * Whether all lists of the source are complete. A resource that RBAC forbids to the gateway does not count: the missing
 * right is reported as a problem, and may never be granted.
 */
function hasListed({ reflectors }: Running): boolean {
  return reflectors.every((reflector) => {
    const { synced, fault } = reflector.state();
    return synced || fault?.reason === 'Forbidden';
  });
}
