// The index of one gateway: it starts with the gateway or with the first request to it, is replaced when it breaks, and
// is shown in readyz and metrics. An index that cannot start does not keep the gateway from serving: requests to the
// index are answered with its fault, and readyz notes the fault.
import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Registry } from 'prom-client';
import { GatewayError } from '../../model/errors.ts';
import type { Index, IndexOptions } from '../../search/index.ts';
import type { ClusterState } from '../../sync/member/sync-types.ts';
import type { DatabaseStatus } from '../../store/postgres/store.ts';
import type { IndexConfig } from '../../config/sections/index-config.ts';
import type { AnswerIndex } from '../../api/index/index-answers.ts';
import type { FindOwner } from '../live/proxying.ts';
import type { HealthCheck } from '../../api/health.ts';
import { registerIndexMetrics } from '../operations/index-metrics.ts';
import { forbiddenLine, showIndexed } from '../operations/index-status.ts';
import type { Sources } from './sources.ts';
import { statusObject } from '../../request/answer/status.ts';

/** The index of one gateway, whether it has started yet or not. */
export interface GatewayIndex {
  readonly answer: AnswerIndex;
  /** Finds the only cluster that has an object; see {@link FindOwner}. */
  readonly owner: FindOwner;
  readonly check: HealthCheck;
  /**
   * When the index starts together with the gateway: resolves with a line that names clusters which forbid the index to
   * read. When there are no such clusters, or the index starts later, resolves with undefined.
   */
  readonly startNote: Promise<string | undefined>;
  register(registry: Registry): void;
  /** How far the index has read each cluster; undefined while the index does not run. */
  state(): readonly ClusterState[] | undefined;
  /**
   * Calls the listener when the state of a cluster in the index has changed. Progress of the first list of a cluster
   * alone is no such change. Returns a function that removes the listener.
   */
  onChange(listener: () => void): () => void;
  /** Resolves when the index has deleted all rows of clusters that had this name and are no longer indexed. */
  rowsGone(cluster: string): Promise<void>;
  close(): Promise<void>;
}

/** Other parts of the gateway that the index needs, in addition to its configuration. */
export interface GatewayIndexParts extends Omit<
  IndexOptions,
  | 'resources'
  | 'clusters'
  | 'maxBytes'
  | 'postgres'
  | 'rightsMaxAgeMs'
  | 'rights'
  | 'readAs'
  | 'allowsWhereSql'
  | 'areClustersKnown'
  | 'statusJson'
  | 'onBroken'
> {
  readonly sources: Pick<Sources, 'synced'>;
}

/**
 * After a failed start, requests to the index are refused for this many milliseconds. The next request after that
 * starts the index again.
 */
const retryMs = 15_000;
/** When the index breaks twice within this many milliseconds, it is started again only after `retryMs`. */
const brokenAgainMs = 60_000;
const syncedPollMs = 250;
const cannotStart = 'The index cannot start; the gateway serves without it and tries again';

/**
 * Makes the index of a gateway. The index starts at once when a flag asks for it or when an earlier process has left
 * its data on disk; otherwise with the first request to it.
 */
export function makeGatewayIndex(config: IndexConfig, parts: GatewayIndexParts): GatewayIndex {
  return new StartedOnUse(config, parts);
}

class StartedOnUse implements GatewayIndex {
  readonly startNote: Promise<string | undefined>;
  readonly check: HealthCheck;
  readonly #config: IndexConfig;
  readonly #parts: GatewayIndexParts;
  readonly #listeners = new Set<() => void>();
  /** Resolves with the index once it has started. Undefined before the first start and after a failed start. */
  #starting: Promise<Index> | undefined;
  #running: Index | undefined;
  #fault: string | undefined;
  #failedAtMs = -Infinity;
  #brokeAtMs = -Infinity;
  /** Resolves when the previous, broken index has been closed. */
  #closing: Promise<void> = Promise.resolve();
  #again: NodeJS.Timeout | undefined;
  #isClosed = false;
  #endShowing = (): void => undefined;

  constructor(config: IndexConfig, parts: GatewayIndexParts) {
    this.#config = config;
    this.#parts = parts;
    this.check = { name: 'index', on: ['readyz'], fault: () => undefined, note: () => this.#note() };
    const first = config.startsAtOnce || existsSync(parts.folder) ? this.#ready() : undefined;
    this.startNote = Promise.resolve(first).then(
      (index) => index && forbiddenLine(index, parts.records, config.resources),
      () => (config.store === undefined ? undefined : this.#fault && `${cannotStart}: ${this.#fault}`),
    );
  }

  readonly answer: AnswerIndex = async (request) => await (await this.#present()).answer(request);

  readonly owner: FindOwner = async (user, object) => await (await this.#present()).owner(user, object);

  register(registry: Registry): void {
    const { store } = this.#config;
    registerIndexMetrics(registry, () => this.#running, store === undefined ? this.#parts.folder : undefined);
  }

  state(): readonly ClusterState[] | undefined {
    return this.#running?.state();
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async rowsGone(cluster: string): Promise<void> {
    await (await this.#ready()).rowsGone(cluster);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#endShowing();
    clearTimeout(this.#again);
    await this.#closing;
    await (this.#running ?? (await this.#starting?.catch(() => undefined)))?.close();
  }

  /**
   * Returns the running index, after starting it if needed.
   * @throws GatewayError (rejects) INDEX_UNAVAILABLE when the index cannot start
   */
  async #present(): Promise<Index> {
    try {
      return this.#running ?? (await this.#ready());
    } catch (error) {
      if (error instanceof GatewayError) throw error;
      throw unavailable('see the log of the gateway', error);
    }
  }

  #ready(): Promise<Index> {
    if (this.#isClosed) return Promise.reject(unavailable('the gateway is shutting down'));
    if (this.#starting === undefined) {
      if (performance.now() - this.#failedAtMs < retryMs)
        return Promise.reject(unavailable(this.#fault ?? 'it did not start'));
      const mine: Promise<Index> = this.#begin(
        () => this.#starting === mine,
        () => this.#replace(mine),
      );
      this.#starting = mine;
    }
    return this.#starting;
  }

  /**
   * Starts an index.
   * @param isCurrent returns false once another start has begun
   * @param onBroken called when this index breaks
   */
  async #begin(isCurrent: () => boolean, onBroken: () => void): Promise<Index> {
    const { records, folder, log } = this.#parts;
    try {
      await this.#closing;
      const index = await this.#start(onBroken);
      if (isCurrent()) {
        this.#fault = undefined;
        this.#running = index;
        this.#endShowing();
        this.#endShowing = showIndexed(index, records, this.#config.resources);
        index.onChange(() => this.#tellListeners());
        this.#tellListeners();
      }
      if (this.#isClosed) await index.close();
      return index;
    } catch (error) {
      // While the gateway is ending, its data directory may have been removed already. An error because of this is not
      // reported as a fault of the index.
      if (!isCurrent() || this.#isClosed) throw error;
      this.#starting = undefined;
      this.#failedAtMs = performance.now();
      this.#fault = error instanceof Error ? error.message : 'unknown fault';
      if (this.#config.store === undefined)
        log.error({ err: error, folder }, 'the index cannot start; the gateway serves without it');
      else this.#awaitDatabase();
      throw error;
    }
  }

  /**
   * Tries to start the index again and again until the database can be used, even when no request asks for the index.
   */
  #awaitDatabase(): void {
    const { log, timeScale } = this.#parts;
    log.error({ detail: this.#fault }, 'the index cannot start; the gateway serves without it and tries again');
    this.#again = setTimeout(() => {
      this.#failedAtMs = -Infinity;
      this.#ready().catch(() => undefined);
    }, retryMs * timeScale).unref();
  }

  async #start(onBroken: () => void): Promise<Index> {
    const { resources, clusters, rules, maxBytes, rightsMaxAgeMs, rights, readAs, allowsWhereSql, store } =
      this.#config;
    const { sources, ...options } = this.#parts;
    // The code of the index is imported only here, so that a gateway without an index starts faster.
    const { startIndex } = await import('../../search/index.ts');
    return await startIndex({
      ...options,
      resources,
      clusters,
      rules,
      maxBytes,
      postgres: store,
      rightsMaxAgeMs,
      rights,
      readAs,
      allowsWhereSql,
      areClustersKnown: untilSynced(sources, () => this.#isClosed),
      statusJson: (error) => JSON.stringify(statusObject(error)),
      onBroken,
    });
  }

  /**
   * Closes a broken index and starts another: at once, or after `retryMs` when the index before this one broke a short
   * time ago.
   */
  #replace(started: Promise<Index>): void {
    if (this.#isClosed || this.#starting !== started) return;
    this.#starting = undefined;
    this.#running = undefined;
    const isFirst = performance.now() - this.#brokeAtMs > brokenAgainMs;
    this.#brokeAtMs = performance.now();
    if (!isFirst) this.#failedAtMs = this.#brokeAtMs;
    this.#fault = 'it was damaged and is built anew';
    // The new index waits until the old one is closed, because the old one holds a lock on the database file.
    this.#closing = started
      .then((index) => index.close())
      .catch((error: unknown) => this.#parts.log.error({ err: error }, 'index: the damaged index could not be closed'));
    this.#again = setTimeout(() => this.#ready().catch(() => undefined), isFirst ? 0 : retryMs);
    this.#again.unref();
  }

  #tellListeners(): void {
    for (const listener of this.#listeners) listener();
  }

  #note(): string {
    if (this.#fault !== undefined) return this.#fault;
    return this.#running === undefined ? 'not started: nobody has asked the index yet' : noteOf(this.#running);
  }
}

/**
 * Resolves when all sources have delivered their clusters for the first time. Sources have no event for this, so they
 * are polled. Never resolves when the gateway ends first.
 */
async function untilSynced(sources: Pick<Sources, 'synced'>, isClosed: () => boolean): Promise<void> {
  while (!sources.synced()) {
    if (isClosed()) return await new Promise<never>(() => undefined);
    await delay(syncedPollMs, undefined, { ref: false });
  }
}

function unavailable(why: string, cause?: unknown): GatewayError {
  return new GatewayError('INDEX_UNAVAILABLE', `the index cannot answer: ${why}`, cause === undefined ? {} : { cause });
}

function databaseNote({ name, form, fault, filesFault, lagMs, logAgeMs }: DatabaseStatus): string {
  const said = `${(lagMs / 1000).toFixed(1)} s ago`;
  const files = filesFault === undefined ? '' : `; new connections use what was there before: ${filesFault}`;
  if (fault !== undefined) return `database ${name}: ${fault} (it last answered ${said})${files}`;
  const tables = `tables of form ${form}, log of ${Math.round(logAgeMs / 60_000)} minutes`;
  return `database ${name}: answered ${said}, ${tables}${files}`;
}

function noteOf(index: Index): string {
  const states = index.state();
  const whole = states.filter(
    ({ fault, types }) => fault === undefined && types.length > 0 && types.every(({ isWhole }) => isWhole),
  );
  const objects = states.flatMap(({ types }) => types).reduce((sum, each) => sum + each.objects, 0);
  const followed = `${objects} objects; ${whole.length} of ${states.length} clusters followed completely`;
  const database = index.database?.();
  return database === undefined ? followed : `${followed}; ${databaseNote(database)}`;
}
