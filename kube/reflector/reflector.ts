// Keeps a local copy of one resource of the hub by list and watch, as client-go's reflector does. After a failure it
// resumes the watch or lists again. Objects stay in the copy until the hub says that they are gone; `state()` says how
// old they may be.
import { makeBackoff, makeBusyWaits, type Backoff, type BusyWaits } from '../../lib/backoff.ts';
import { MalformedAnswer } from '../../lib/json/json-scan.ts';
import { readPage, readWatchLine, type Page } from '../events.ts';
import { Pages } from '../pages.ts';
import { collectionPath, resourceLabel } from '../paths.ts';
import { hubUnavailable } from '../faults.ts';
import type { ApiObject, ApiObjects, ApiStream, WatchedResource } from '../types.ts';
import { ExpiryAfterList, isExpired, readWatch, watchLength, watchQuery } from '../watch.ts';
import { isOlder, makeObjectSet, type ObjectChange } from './object-set.ts';
import {
  Expired,
  MissingKind,
  readRefusal,
  refusalOf,
  Setback,
  setbackOf,
  watchFault,
  type Followed,
  type Step,
} from './reflector-faults.ts';
import {
  defaultReflectorTiming,
  type Reflector,
  type ReflectorFault,
  type ReflectorOptions,
  type ReflectorState,
  type ReflectorTiming,
} from './reflector-types.ts';
import { byteLinesOf } from '../../lib/watch-lines.ts';

export type { Reflector, ReflectorFault, ReflectorOptions, ReflectorState } from './reflector-types.ts';

/** Maximum number of objects in one page of a list, as in client-go's pager. */
const pageSize = '500';
/** The most objects of a list. No hub holds as many, but a member may go on without end. */
const mostObjects = 500_000;
/** Maximum number of bytes of one page of a member, and of a whole list that has to come at once. */
const maxPageBytes = 64 * 1024 * 1024;

/** Starts listing at once. Never throws; failures are reported in `state()`. Runs until `close()`. */
export function startReflector(options: ReflectorOptions): Reflector {
  const reflector = new HubReflector(options);
  void reflector.run();
  return reflector;
}

class HubReflector implements Reflector {
  readonly resource: WatchedResource;
  readonly synced: Promise<void>;
  readonly #options: ReflectorOptions;
  readonly #timing: ReflectorTiming;
  readonly #random: () => number;
  readonly #now: () => number;
  readonly #label: string;
  readonly #objects = makeObjectSet();
  readonly #stopping = new AbortController();
  readonly #first = Promise.withResolvers<void>();
  readonly #waits: Backoff;
  /**
   * The waits while the hub cannot be reached. They grow separately from `#waits`, so that a request that is refused
   * right after an outage is not followed by a long wait.
   */
  readonly #unreachable: Backoff;
  readonly #busy: BusyWaits;
  #state: ReflectorState = Object.freeze({
    phase: 'listing',
    synced: false,
    lastConfirmedAtMs: undefined,
    resourceVersion: '',
    fault: undefined,
  });
  #resourceVersion = '';
  /** When the hub last answered, in Unix milliseconds. */
  #lastConfirmedAtMs: number | undefined;
  readonly #expiry: ExpiryAfterList;
  #closeLookUntilMs = Number.NEGATIVE_INFINITY;
  #wake: () => void = () => undefined;
  #missingSeen = 0;
  /** True when the last paged list got 410 between two pages. The next list is then requested without paging. */
  #unpaged = false;

  constructor(options: ReflectorOptions) {
    this.#options = options;
    this.resource = options.resource;
    this.synced = this.#first.promise;
    this.synced.catch(() => undefined);
    this.#timing = { ...defaultReflectorTiming, ...options.timing };
    this.#random = options.random ?? Math.random;
    this.#now = options.now ?? Date.now;
    this.#label = resourceLabel(options.resource);
    const { firstBackoffMs, maxBackoffMs, maxUnreachableBackoffMs, busyGraceMs } = this.#timing;
    this.#waits = makeBackoff(firstBackoffMs, maxBackoffMs, this.#random);
    this.#unreachable = makeBackoff(firstBackoffMs, maxUnreachableBackoffMs, this.#random);
    this.#busy = makeBusyWaits(firstBackoffMs, busyGraceMs, this.#random);
    this.#expiry = new ExpiryAfterList(this.#timing);
  }

  get objects(): ApiObjects {
    return this.#objects.current();
  }

  state(): ReflectorState {
    const { phase, synced, fault } = this.#state;
    return this.#stateOf(phase, synced, fault);
  }

  lookAgain(): void {
    this.#closeLookUntilMs = performance.now() + this.#timing.closeLookMs;
    if (this.#state.phase === 'missing' || this.#state.phase === 'failing') this.#wake();
  }

  close(): void {
    this.#stopping.abort();
    this.#wake();
    this.#first.reject(hubUnavailable(this.#url, `${this.#label} was not listed before the gateway stopped`));
    this.#setState('closed');
  }

  /** Lists and watches until the reflector is closed. Never rejects. */
  async run(): Promise<void> {
    let step: Step = 'list';
    while (!this.#stopping.signal.aborted) {
      try {
        step = await this.#do(step);
      } catch (error) {
        if (this.#stopping.signal.aborted) break;
        step = await this.#recover(error, step);
      }
    }
  }

  async #do(step: Step): Promise<Step> {
    if (step === 'check') return this.#check();
    if (step === 'watch') return this.#watch();
    await this.#list();
    return 'watch';
  }

  /**
   * Reads all pages of the list. All pages show the same resourceVersion. When the hub answers 410 to a later page, the
   * list is repeated without paging.
   * @throws MalformedAnswer (rejects) when the list would not end
   */
  async #list(): Promise<void> {
    const items: ApiObject[] = [];
    let page = await this.#getPage(this.#unpaged ? {} : { limit: pageSize });
    const listed = page.resourceVersion;
    for (const item of page.items) items.push(item);
    try {
      const pages = new Pages();
      while (page.continueToken !== '') {
        pages.follow(page.continueToken);
        if (items.length > mostObjects) throw new MalformedAnswer(`a list of more than ${mostObjects} objects`);
        page = await this.#getPage({ limit: pageSize, continue: page.continueToken });
        for (const item of page.items) items.push(item);
      }
    } catch (error) {
      if (!(error instanceof Expired) || this.#unpaged) throw error;
      this.#unpaged = true;
      await this.#list();
      return;
    }
    this.#unpaged = false;
    this.#missingSeen = 0;
    this.#busy.reset();
    this.#resourceVersion = listed;
    this.#expiry.listed();
    this.#lastConfirmedAtMs = this.#now();
    const changes = this.#objects.swap(items);
    this.#setState('watching', undefined, true);
    this.#report(changes);
  }

  /**
   * Returns 'list' when the hub's resourceVersion is older than the last one that the reflector received (etcd was
   * restored from a backup), else 'watch'.
   */
  async #check(): Promise<Step> {
    const page = await this.#getPage({ limit: '1' });
    return isOlder(page.resourceVersion, this.#resourceVersion) ? 'list' : 'watch';
  }

  async #getPage(query: Readonly<Record<string, string>>): Promise<Page> {
    const answer = await this.#options.client.request({
      method: 'GET',
      path: collectionPath(this.resource, query),
      accept: this.#accept('List'),
      timeoutMs: this.#timing.listTimeoutMs,
      mostBytes: maxPageBytes,
      signal: this.#stopping.signal,
    });
    if (answer.status === 410 && query['continue'] !== undefined) throw new Expired();
    if (answer.status !== 200) throw refusalOf(answer, 'list', this.#followed());
    return readPage(answer.body);
  }

  #accept(list: 'List' | ''): string {
    if (this.#options.metadataOnly !== true) return 'application/json';
    return `application/json;as=PartialObjectMetadata${list};g=meta.k8s.io;v=v1,application/json`;
  }

  async #watch(): Promise<Step> {
    const lastsMs = watchLength(this.#timing, this.#random);
    const stream = await this.#openWatch(lastsMs);
    this.#busy.reset();
    this.#lastConfirmedAtMs = this.#now();
    this.#setState('watching');
    const { lastedMs, isHealthy, isRefused, isStalled, error } = await readWatch(byteLinesOf(stream.chunks), {
      timing: this.#timing,
      lastsMs,
      cancel: () => stream.close(),
      take: (line) => {
        this.#lastConfirmedAtMs = this.#now();
        this.#follow(line);
      },
    });
    if (isHealthy) {
      this.#waits.reset();
      this.#unreachable.reset();
      this.#expiry.healthy();
    }
    if (isStalled) throw new Setback('Stalled', `the watch of ${this.#label} on ${this.#url} went silent`, 'check');
    if (error !== undefined) throw watchFault(error, this.#followed());
    if (isRefused)
      throw new Setback('Refused', `the hub ${this.#url} ends every watch of ${this.#label} at once`, 'check');
    this.#lastConfirmedAtMs = this.#now();
    // A watch that ends long before its timeout hints that the API server restarts, or that its storage was restored
    // from a backup.
    return lastedMs < lastsMs - 2000 ? 'check' : 'watch';
  }

  async #openWatch(lastsMs: number): Promise<ApiStream> {
    const stream = await this.#options.client.open({
      method: 'GET',
      path: collectionPath(this.resource, watchQuery(this.#resourceVersion, lastsMs)),
      accept: this.#accept(''),
      timeoutMs: this.#timing.openTimeoutMs,
      signal: this.#stopping.signal,
    });
    if (stream.status !== 200) throw refusalOf(await readRefusal(stream), 'watch', this.#followed());
    return stream;
  }

  #follow(line: Buffer): void {
    const event = readWatchLine(line);
    if (event.type === 'ERROR') {
      if (isExpired(event.status)) throw new Expired();
      const { code, reason } = event.status;
      const message = `the hub ${this.#url} ended the watch of ${this.#label} (${reason || code})`;
      throw new Setback('Refused', message, 'list');
    }
    if (event.type === 'BOOKMARK') {
      this.#resourceVersion = event.resourceVersion;
      return;
    }
    this.#resourceVersion = event.object.metadata.resourceVersion;
    this.#report(event.type === 'DELETED' ? this.#objects.remove(event.object) : this.#objects.put(event.object));
  }

  /** Waits as long as the error demands, and returns the next step. */
  async #recover(error: unknown, doing: Step): Promise<Step> {
    if (error instanceof Expired) return this.#recoverExpired();
    if (error instanceof MissingKind) return this.#recoverMissing();
    const setback = setbackOf(error, doing, this.#followed());
    const busyMs = setback.retryAfterMs === undefined ? undefined : this.#busy.next(setback.retryAfterMs);
    if (busyMs !== undefined) {
      await this.#pause(busyMs);
      return doing === 'check' ? 'check' : setback.next;
    }
    this.#setState('failing', setback.fault);
    await this.#pause((setback.fault.reason === 'Unavailable' ? this.#unreachable : this.#waits).next());
    return this.#resourceVersion === '' ? 'list' : setback.next;
  }

  async #recoverExpired(): Promise<Step> {
    const next = this.#expiry.next();
    if (next === 'fail') {
      const message = `the hub ${this.#url} answers 410 to the watch of ${this.#label} right after each list`;
      this.#setState('failing', { reason: 'Refused', message });
    }
    if (next !== 'list') await this.#pause(this.#waits.next());
    return 'list';
  }

  async #recoverMissing(): Promise<Step> {
    const { closePollMs, goneConfirmations, missingPollMs } = this.#timing;
    this.#missingSeen += 1;
    // A load balancer may answer 404 while the API server is down. So the objects are kept until more than
    // `goneConfirmations` answers in a row say 404.
    if (this.#resourceVersion !== '' && this.#missingSeen <= goneConfirmations) {
      const message = `the hub ${this.#url} no longer has ${this.#label}`;
      this.#setState('failing', { reason: 'Missing', message });
      await this.#pause(Math.min(closePollMs * 2, missingPollMs));
      return 'list';
    }
    this.#lastConfirmedAtMs = this.#now();
    this.#resourceVersion = '';
    this.#waits.reset();
    const changes = this.#objects.swap([]);
    this.#setState('missing', undefined, true);
    this.#report(changes);
    const close = performance.now() < this.#closeLookUntilMs;
    const pollMs = this.#options.missingPollMs?.() ?? missingPollMs;
    await this.#pause((close ? closePollMs : pollMs) * (0.75 + this.#random() / 2));
    return 'list';
  }

  /** Waits `ms` milliseconds, or until `lookAgain` or `close` is called. */
  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
      if (this.#stopping.signal.aborted) this.#wake();
    });
  }

  get #url(): string {
    return this.#options.client.url;
  }

  #followed(): Followed {
    return { url: this.#url, resource: this.resource };
  }

  #stateOf(phase: ReflectorState['phase'], synced: boolean, fault: ReflectorFault | undefined): ReflectorState {
    const lastConfirmedAtMs = this.#lastConfirmedAtMs;
    return Object.freeze({ phase, synced, lastConfirmedAtMs, resourceVersion: this.#resourceVersion, fault });
  }

  #setState(phase: ReflectorState['phase'], fault?: ReflectorFault, synced = this.#state.synced): void {
    const before = this.#state;
    const state = this.#stateOf(phase, synced, fault);
    this.#state = state;
    if (synced) this.#first.resolve();
    const same = before.phase === phase && before.synced === synced && before.fault?.message === fault?.message;
    if (!same) this.#guarded(() => this.#options.onState?.(state));
  }

  #report(changes: readonly ObjectChange[]): void {
    if (changes.length > 0) this.#guarded(() => this.#options.onChange?.(changes));
  }

  /**
   * Calls `onChange` or `onState`, which the caller has passed. An error that the function throws goes to `onError` and
   * does not stop the reflector.
   */
  #guarded(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#options.onError?.(error);
    }
  }
}
