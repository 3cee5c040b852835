// The index in SQLite, as an IndexStore for the main thread. One thread writes and others read; the main thread itself
// only looks up single objects. A write resolves after its commit. Everything up to `resourceVersion()` can be read.
import { createHash } from 'node:crypto';

import { GatewayError } from '../../model/errors.ts';
import type { ListQuery } from '../../query/list-query.ts';
import type { RowScope } from '../../query/scope/scope.ts';
import { typeKey, type ResourceType, type TypeKey } from '../../query/types.ts';
import { indexVersionsOf, type IndexVersions } from '../index-version.ts';
import { allIndexedPaths } from '../indexed-paths.ts';
import { leaveOut, withLeftOut } from '../left-out.ts';
import type {
  Commit,
  Counted,
  FacetBy,
  Facets,
  FoundValues,
  IndexStore,
  LogEntry,
  Page,
  PageRequest,
  ReadPoint,
  StoredType,
  StoredVersion,
  WriteBatch,
} from '../store.ts';
import type { BodyLimits } from '../body-budget.ts';
import { pageOf } from './read/chunked-page.ts';
import { openPointReader, type PointReader } from './read/point-reader.ts';
import type { ReaderOperations, VersionColumns } from './read/reader.ts';
import { SentScopes } from './read/sent-scopes.ts';
import { compareKeys } from '../compare-keys.ts';
import { pointPage } from '../point.ts';
import { packBatch, type WorkerEvent, type WriterState } from './tables/messages.ts';
import { ReaderThreads, readerCacheBytes, type ReaderOutput } from './threads/reader-threads.ts';
import { startWorker, type WorkerCalls } from './threads/worker-call.ts';
import type { WriterData } from './threads/writer-worker.ts';
import type { Moment } from './tables/transaction.ts';
import { defaultLogLimits, type LogLimits } from './write/change-log.ts';

export interface SqliteOptions {
  /** Directory of the index, with nothing else in it. It is created when it does not exist. */
  readonly directory: string;
  /**
   * Size limit of the database file in bytes; undefined means no limit. The write-ahead log is not included; during
   * heavy writing it grows to some 250 MiB.
   */
  readonly maxBytes?: number;
  /** Number of reader threads, 1 by default. Each answers one question at a time. */
  readonly readers?: number;
  /**
   * Bytes of the page cache of each thread. By default 64 MiB for the writer, and for a reader an eighth of the memory,
   * at most 256 MiB.
   */
  readonly cacheBytes?: number;
  readonly log?: Partial<LogLimits>;
  /** Limits of what one question may read of bodies, for conditions that no database index answers. */
  readonly bodyLimits?: BodyLimits;
  /**
   * Called with a message for the operator when an index was moved aside, when it is damaged and will be moved aside at
   * the next start, or when something in it does not work.
   */
  readonly onDamage?: (message: string) => void;
  /**
   * Called when the store must be closed and opened again. A damaged index is empty after that. May be called several
   * times.
   */
  readonly onBroken?: () => void;
  /** Called with the types whose new rows are refused because the index is full; with an empty list for none. */
  readonly onStopped?: (types: readonly TypeKey[]) => void;
}

/** An {@link IndexStore} that also says which types may not grow. */
export interface SqliteStore extends IndexStore {
  /** The types whose new rows are refused because the index is full. */
  stoppedTypes(): readonly TypeKey[];
}

const writerCacheBytes = 64 << 20;
export const maxOffset = 100_000;
/**
 * Opens the index of a directory. Only one process can have it open.
 * @throws GatewayError INDEX_UNAVAILABLE (rejects) when another process has opened the index
 */
export async function openSqliteStore(options: SqliteOptions): Promise<SqliteStore> {
  const events = threadEvents(options);
  const { writer, opened } = await startWriter(options, events);
  return openReaders(options, events, { writer, opened });
}

/** Callbacks for events of the threads of one store, and what these events have reported. */
export interface ThreadEvents {
  readonly onEvent: (event: WorkerEvent) => void;
  readonly onDeath: (error: unknown) => void;
  /** Gives the types whose new rows are refused because the index is full. */
  readonly stoppedTypes: () => readonly TypeKey[];
  /** Sets the listener for commits of the writer. It replaces the one that was set before. */
  readonly onCommitted: (listener: (state: WriterState) => void) => void;
}

export function threadEvents(options: SqliteOptions): ThreadEvents {
  let stopped: readonly TypeKey[] = [];
  let committed = (_state: WriterState): void => undefined;
  return {
    onEvent(event) {
      if (event.kind === 'stopped') stopped = event.types;
      if (event.kind === 'committed') committed(event.state);
      else reportEvent(event, options);
    },
    onDeath: (error) => options.onDamage?.(`the index in ${options.directory} has stopped: ${String(error)}`),
    stoppedTypes: () => stopped,
    onCommitted: (listener) => (committed = listener),
  };
}

/**
 * Starts the writer thread.
 * @throws GatewayError (rejects) with code INDEX_UNAVAILABLE when another process writes the index
 */
export async function startWriter(
  options: SqliteOptions,
  { onEvent, onDeath }: ThreadEvents,
): Promise<{ readonly writer: WorkerCalls; readonly opened: Opened }> {
  const { directory, maxBytes, cacheBytes } = options;
  const pathsDigest = createHash('sha256').update(JSON.stringify(allIndexedPaths())).digest('base64url').slice(0, 16);
  const log = { ...defaultLogLimits, ...options.log };
  const onWriterDeath = (error: unknown): void => {
    onDeath(error);
    options.onBroken?.();
  };
  const data: WriterData = { directory, maxBytes, cacheBytes: cacheBytes ?? writerCacheBytes, log, pathsDigest };
  const writer = startWorker({ name: 'writer-worker', data, onEvent, onDeath: onWriterDeath });
  try {
    return { writer, opened: (await writer.call('opened', undefined)) as Opened };
  } catch (error) {
    await writer.close();
    throw openingError(error);
  }
}

/** What {@link openReaders} needs besides options: calls to the writer, and properties of the opened file. */
export interface StoreParts extends Pick<Connections, 'writer' | 'newest'> {
  readonly opened: Opened;
}

/** Starts the reader threads, and opens the connection of the main thread. */
export function openReaders(
  options: SqliteOptions,
  { onEvent, onDeath, stoppedTypes, onCommitted }: ThreadEvents,
  { writer, opened, newest }: StoreParts,
): SqliteIndex {
  const { readers: count = 1, cacheBytes, bodyLimits } = options;
  const data = { file: opened.file, cacheBytes: cacheBytes ?? readerCacheBytes(), bodyLimits };
  const readers = new ReaderThreads({ count, data, onEvent, onDeath });
  const points = openPointReader(opened.file);
  const index = new SqliteIndex({ writer, readers, newest, points }, opened, stoppedTypes);
  onCommitted((state) => index.advance(state));
  return index;
}

function reportEvent(
  event: Exclude<WorkerEvent, { kind: 'committed' }>,
  { directory, onStopped, onDamage, onBroken }: SqliteOptions,
): void {
  if (event.kind === 'stopped') onStopped?.(event.types);
  else if (event.kind === 'trouble') onDamage?.(`the index in ${directory}: ${event.message}`);
  else if (event.kind === 'set-aside') onDamage?.(event.message);
  else {
    onDamage?.(`the index in ${directory} is damaged (${event.message}): it is set aside and built anew`);
    onBroken?.();
  }
}

/** What the writer thread answers after it has opened the file. */
export interface Opened {
  readonly file: string;
  readonly storeId: string;
  readonly state: WriterState;
}

/**
 * The reason why the writer thread could not open the file. It arrives as the cause of the error that reports the end
 * of the thread.
 */
function openingError(error: unknown): unknown {
  const cause = (error as Error).cause;
  if (
    error instanceof GatewayError &&
    cause instanceof Error &&
    'code' in cause &&
    cause.code === 'INDEX_UNAVAILABLE'
  ) {
    return new GatewayError('INDEX_UNAVAILABLE', cause.message);
  }
  return error;
}

/** The threads and connections from which a store gets its answers. */
interface Connections {
  readonly writer: WorkerCalls;
  readonly readers: ReaderThreads;
  /** Look-ups of single objects on the main thread. */
  readonly points: PointReader;
  /** Reads the state after the last commit from the file. Undefined when no other process can commit. */
  readonly newest?: (() => WriterState) | undefined;
}

export class SqliteIndex implements SqliteStore {
  readonly id: string;
  readonly limits = { maxOffset };
  readonly stoppedTypes: () => readonly TypeKey[];
  readonly #writer: WorkerCalls;
  readonly #readers: ReaderThreads;
  readonly #points: PointReader;
  readonly #newest: (() => WriterState) | undefined;
  readonly #scopes = new SentScopes();
  readonly #versions: IndexVersions;
  readonly #listeners = new Set<(resourceVersion: string) => void>();
  #state: WriterState;

  constructor(
    { writer, readers, points, newest }: Connections,
    opened: Opened,
    stoppedTypes: () => readonly TypeKey[],
  ) {
    this.#writer = writer;
    this.#readers = readers;
    this.#points = points;
    this.#newest = newest;
    this.id = opened.storeId;
    this.#versions = indexVersionsOf(opened.storeId);
    this.#state = opened.state;
    this.stoppedTypes = stoppedTypes;
  }

  types(incarnation?: string): Promise<readonly StoredType[]> {
    return this.#ask('types', incarnation);
  }

  async catalogVersion(): Promise<string> {
    return String(this.#latest().typesVersion);
  }

  async versions(incarnation: string, type: ResourceType): Promise<readonly StoredVersion[]> {
    return versionRows(await this.#ask('versions', { incarnation, type }));
  }

  async apply(batch: WriteBatch): Promise<Commit> {
    const { kept, leftOut } = leaveOut(batch);
    const packed = packBatch(kept);
    const commit = await this.#writer.call('apply', packed, [packed.bodies.buffer as ArrayBuffer]);
    return withLeftOut(commit as Commit, leftOut);
  }

  async forget(incarnation: string, type?: ResourceType): Promise<Commit> {
    return (await this.#writer.call('forget', { incarnation, type: type && typeKey(type) })) as Commit;
  }

  async list(query: ListQuery, scope: RowScope, page: PageRequest): Promise<Page> {
    if ((page.offset ?? 0) > maxOffset) {
      const message = `an offset of ${page.offset} is more than ${maxOffset}: go on with the continue token instead`;
      throw new GatewayError('BAD_REQUEST', message);
    }
    const point = this.#points.find(query, scope, page);
    if (point !== undefined) return pointPage(point.rows, this.#pointOf(point), page.withRemaining);
    const keys = await this.#askOf('list', query, scope, { page });
    const read = (ids: Float64Array, sequence: number) => this.#ask('bodies', { ids, sequence });
    return pageOf(keys, this.#pointOf(keys), read);
  }

  async count(query: ListQuery, scope: RowScope, overBudget?: 'refuse'): Promise<Counted> {
    const counted = await this.#askOf('count', query, scope, { overBudget });
    return { ...this.#pointOf(counted), count: counted.found };
  }

  async facets(query: ListQuery, scope: RowScope, by: FacetBy, limit: number): Promise<Facets> {
    const facets = await this.#askOf('facets', query, scope, { by, limit });
    return { ...this.#pointOf(facets), counts: facets.found };
  }

  async values(query: ListQuery, scope: RowScope, by: FacetBy, prefix: string, limit: number): Promise<FoundValues> {
    const values = await this.#askOf('values', query, scope, { by, prefix, limit });
    return { ...this.#pointOf(values), values: values.found };
  }

  async readPoint(): Promise<ReadPoint> {
    return this.#pointOf(this.#points.moment() ?? (await this.#ask('moment', undefined)));
  }

  resourceVersion(): string {
    return this.#versions.make(this.#latest().sequence);
  }

  async oldestResourceVersion(): Promise<string> {
    return this.#versions.make(await this.#ask('oldest', undefined));
  }

  canBeOwn(resourceVersion: string): boolean {
    return this.#versions.read(resourceVersion) !== undefined;
  }

  async isInLog(resourceVersion: string): Promise<boolean> {
    const timeUs = this.#versions.read(resourceVersion);
    return timeUs !== undefined && (await this.#ask('isInLog', { timeUs }));
  }

  async changes(resourceVersion: string, types: readonly TypeKey[], limit: number): Promise<readonly LogEntry[]> {
    let sinceUs = this.#versions.read(resourceVersion);
    if (sinceUs === undefined) {
      throw new GatewayError(
        'EXPIRED',
        `resourceVersion "${resourceVersion}" was not issued by this index: list again`,
      );
    }
    const entries: LogEntry[] = [];
    // The reader returns fewer entries than requested when their bodies are large. Then the rest is requested.
    for (;;) {
      const some = await this.#ask('changes', { sinceUs, types, limit: limit - entries.length });
      entries.push(...some.entries);
      if (!some.isCut) return entries;
      sinceUs = this.#versions.read(entries.at(-1)!.resourceVersion)!;
    }
  }

  onCommit(listener: (resourceVersion: string) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    // Readers are closed first: the writer can empty the write-ahead log only when no connection reads from it.
    this.#points.close();
    await this.#readers.close();
    await this.#writer.close();
  }

  #pointOf({ sequence, rights }: Moment): ReadPoint {
    const rightsVersion = rights === 0 ? '' : this.#versions.make(rights);
    return { resourceVersion: this.#versions.make(sequence), rightsVersion };
  }

  /** Calls the listeners when other processes have committed. */
  noticeCommits(): void {
    if (this.#newest !== undefined) this.advance(this.#newest());
  }

  /** The state after the last commit of any process. */
  #latest(): WriterState {
    const seen = this.#newest?.();
    if (seen === undefined) return this.#state;
    return {
      sequence: Math.max(seen.sequence, this.#state.sequence),
      typesVersion: Math.max(seen.typesVersion, this.#state.typesVersion),
    };
  }

  /**
   * Takes over a new state of the writer and calls the listeners. The writer reports its state before it answers a
   * commit, and after each transaction of a long deletion.
   */
  advance(state: WriterState): void {
    const isOld = state.sequence <= this.#state.sequence;
    this.#state = {
      sequence: Math.max(state.sequence, this.#state.sequence),
      typesVersion: Math.max(state.typesVersion, this.#state.typesVersion),
    };
    if (isOld) return;
    const resourceVersion = this.#versions.make(state.sequence);
    for (const listener of this.#listeners) listener(resourceVersion);
  }

  #ask<Name extends keyof ReaderOperations>(operation: Name, input: unknown): Promise<ReaderOutput<Name>> {
    return this.#readers.ask(operation, () => input);
  }

  #askOf<Name extends 'list' | 'count' | 'facets' | 'values'>(
    operation: Name,
    query: ListQuery,
    scope: RowScope,
    rest: object,
  ): Promise<ReaderOutput<Name>> {
    return this.#readers.ask(operation, (reader) => ({
      query,
      scope: this.#scopes.send(scope, query, reader),
      ...rest,
    }));
  }
}

function versionRows({ namespaces, names, uids, resourceVersions }: VersionColumns): readonly StoredVersion[] {
  return names
    .map((name, i) => ({
      namespace: namespaces[i]!,
      name,
      uid: uids[i]!,
      resourceVersion: resourceVersions[i]!,
    }))
    .sort(compareKeys);
}
