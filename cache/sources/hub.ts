// Follows everything the sources of a hub watch and keeps their clusters in the store. Easy to get wrong: which source
// keeps a name must never depend on which list came first, so a source is applied for the first time only after those
// before it; and no source may take another along.
import type { HubClient, HubSource, WatchedResource } from '../hub/hub-types.ts';
import { resourceKey, resourceLabel } from '../hub/hub-paths.ts';
import type { ReflectorTiming } from '../hub/reflector-types.ts';
import { startReflector, type Reflector, type ReflectorState } from '../hub/reflector.ts';
import { createProblemBook, type ClusterSink, type SourceProblem, type SourceReports } from './source.ts';

export interface HubSourcesOptions extends SourceReports {
  readonly client: HubClient;
  /** In order of precedence. */
  readonly sources: readonly HubSource[];
  /**
   * Every source applies under its own name; who wants names of other sources between them applies those first, if only
   * to nothing.
   */
  readonly store: ClusterSink;
  /** A fault of ours: of a listener of the store or of a source. For the log, it may name anything. */
  readonly onError?: (error: unknown) => void;
  readonly timing?: Partial<ReflectorTiming>;
  /** How long a source that cannot list what it watches may hold up those behind it, once the hub answers anything. */
  readonly holdUpMs?: number;
}

/** One list and watch, for metrics and debug pages. */
export interface FollowedResource extends ReflectorState {
  readonly label: string;
  readonly objects: number;
}

export interface HubSourcesHandle {
  /** Every source has been applied once, with all it may see; never rejects, and stays open when closed before. */
  readonly synced: Promise<void>;
  /** Problems that hold now. */
  problems(): readonly SourceProblem[];
  followed(): readonly FollowedResource[];
  close(): void;
}

/** Looked at through its metadata only: of each kind, the name says whether it is one that is awaited. */
const definitions: WatchedResource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  resource: 'customresourcedefinitions',
};
/** While definitions are watched, a kind that is not there is asked for this seldom; it is told when it comes. */
const toldPollMs = 300_000;
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
  const { client, store } = options;
  const book = createProblemBook(options);
  const reflectors = new Map<string, Reflector>();
  const users = new Map<string, Running[]>();
  const synced = Promise.withResolvers<void>();
  const holdUpMs = options.holdUpMs ?? defaultHoldUpMs;
  let scheduled: NodeJS.Immediate | undefined;
  let holdUp: NodeJS.Timeout | undefined;
  let heldUpLongEnough = false;
  let closed = false;
  let kinds: Reflector | undefined;
  let kindsRefused = false;

  const running: readonly Running[] = options.sources.map((source) => ({
    source,
    reflectors: source.watches.map(follow),
    dirty: true,
    applied: false,
    fault: undefined,
  }));
  for (const one of running) {
    for (const watched of one.source.watches) {
      const key = resourceKey(watched);
      users.set(key, [...(users.get(key) ?? []), one]);
    }
  }

  function follow(resource: WatchedResource): Reflector {
    const key = resourceKey(resource);
    const present = reflectors.get(key);
    if (present !== undefined) return present;
    const reflector = startReflector({
      client,
      resource,
      timing: { ...options.timing },
      missingPollMs: () =>
        kinds?.state().phase === 'watching' ? toldPollMs : (options.timing?.missingPollMs ?? 3_000),
      onChange: () => {
        for (const user of users.get(key) ?? []) user.dirty = true;
        schedule();
      },
      onState: ({ phase }) => {
        schedule();
        if (phase === 'watching') wakeWaiting();
      },
      ...(options.onError === undefined ? {} : { onError: options.onError }),
    });
    reflectors.set(key, reflector);
    return reflector;
  }

  /** The hub answers one of them: those that wait because it did not need not wait on. */
  function wakeWaiting(): void {
    for (const reflector of reflectors.values()) {
      if (reflector.state().fault?.reason === 'Unavailable') reflector.lookAgain();
    }
  }

  /**
   * Tells when a kind that is awaited comes. Where we may not see definitions, those that are missing are asked for by
   * the clock.
   */
  function followDefinitions(): void {
    if (kinds !== undefined || kindsRefused) return;
    const definitionsNow = startReflector({
      client,
      resource: definitions,
      metadataOnly: true,
      timing: { ...options.timing },
      onChange: (changes) => {
        const names = new Set(changes.map(({ object }) => object.metadata.name));
        for (const reflector of reflectors.values()) {
          const { group, resource } = reflector.resource;
          if (names.has(`${resource}.${group}`)) reflector.lookAgain();
        }
      },
      onState: ({ fault }) => {
        if (fault?.reason !== 'Forbidden') return;
        kindsRefused = true;
        kinds = undefined;
        definitionsNow.close();
      },
      ...(options.onError === undefined ? {} : { onError: options.onError }),
    });
    kinds = definitionsNow;
  }

  /** One round for everything that came in the same turn of the event loop. */
  function schedule(): void {
    if (!closed) scheduled ??= setImmediate(round);
  }

  function round(): void {
    scheduled = undefined;
    if (closed) return;
    if (holdUp === undefined && [...reflectors.values()].some((reflector) => reflector.state().synced)) {
      holdUp = setTimeout(() => {
        heldUpLongEnough = true;
        schedule();
      }, holdUpMs).unref();
    }
    if ([...reflectors.values()].some((reflector) => reflector.state().phase === 'missing')) followDefinitions();
    for (const one of running) {
      if (!one.applied && !mayStart(one)) break;
      if (one.dirty) compile(one);
      one.applied = true;
    }
    book.set(problemsNow());
    if (running.every(({ applied }) => applied)) {
      clearTimeout(holdUp);
      synced.resolve();
    }
  }

  /** What it may see it has seen. A right that is missing is not waited for: it may never come, and is reported. */
  function mayStart({ reflectors: its }: Running): boolean {
    if (heldUpLongEnough) return true;
    return its.every((reflector) => {
      const { synced, fault } = reflector.state();
      return synced || fault?.reason === 'Forbidden';
    });
  }

  function compile(one: Running): void {
    one.dirty = false;
    const { name } = one.source;
    try {
      store.apply(name, one.source.compile(one.reflectors.map(({ objects }) => objects)));
      one.fault = undefined;
    } catch (error) {
      // Its own words may hold anything of an object; the log gets them, people get the kind of fault.
      options.onError?.(error);
      const kind = error instanceof Error ? error.name : 'fault';
      const message = `its clusters stay as they were: what the hub has now could not be used (${kind}, see the log)`;
      one.fault = { source: name, file: client.url, message, stale: true };
    }
  }

  function problemsNow(): readonly SourceProblem[] {
    const found = new Map<string, SourceProblem>();
    for (const { source, reflectors: its, fault } of running) {
      if (fault !== undefined) found.set(source.name, fault);
      for (const reflector of its) {
        const { fault: reason, synced: stale } = reflector.state();
        if (reason === undefined) continue;
        // When nothing answers, it is one problem and not one of every kind.
        const file = reason.reason === 'Unavailable' ? client.url : resourceLabel(reflector.resource);
        if (!found.has(reason.message)) {
          found.set(reason.message, { source: source.name, file, message: reason.message, stale });
        }
      }
    }
    return [...found.values()];
  }

  schedule();
  return {
    synced: synced.promise,
    problems: book.list,
    followed: () =>
      [...reflectors.values()].map((reflector) => ({
        ...reflector.state(),
        label: resourceLabel(reflector.resource),
        objects: reflector.objects.size,
      })),
    close() {
      closed = true;
      clearImmediate(scheduled);
      clearTimeout(holdUp);
      for (const reflector of reflectors.values()) reflector.close();
      kinds?.close();
    },
  };
}
