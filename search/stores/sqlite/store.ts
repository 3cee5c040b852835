// The index in SQLite: one thread that writes, some that read, and this, the IndexStore of the main thread, which runs
// no SQL. Easy to get wrong: a write is answered only after its commit, and what `resourceVersion()` says is always
// readable.
import { createHash } from 'node:crypto';
import { totalmem } from 'node:os';

import { GatewayError } from '../../../cache/model/errors.ts';
import type { ListQuery } from '../../query/list-query.ts';
import type { RowScope } from '../../rights/scope.ts';
import { typeKey, type TypeKey } from '../../types.ts';
import { indexVersionsOf } from '../index-version.ts';
import { allIndexedPaths } from '../indexed-paths.ts';
import type { Commit, IndexStore, LogEntry, Page, RowRead } from '../store.ts';
import { rowsOfChunk, type BodyChunk } from './read/bodies.ts';
import type { BodyLimits } from './read/body-budget.ts';
import type { Changes } from './read/change-reader.ts';
import { defaultLogLimits, type LogLimits } from './write/change-log.ts';
import { packBatch, type WorkerEvent } from './threads/messages.ts';
import { openPointReader, type PointRead, type PointReader } from './read/point-reader.ts';
import type { ReaderData } from './threads/reader-worker.ts';
import type { ReaderOperations, ReadPage, VersionColumns } from './read/reader.ts';
import { SentScopes } from './read/sent-scopes.ts';
import { startWorker, type WorkerCalls } from './threads/worker-call.ts';
import type { WriterData } from './threads/writer-worker.ts';

export interface SqliteOptions {
  /** Made if it is not there; holds nothing else. */
  readonly directory: string;
  /**
   * Of the database file; undefined for no limit. The log beside it, up to some 250 MiB while much is written, comes on
   * top.
   */
  readonly maxBytes?: number;
  /** Threads that read, 1 by default: each answers one question at a time. */
  readonly readers?: number;
  /**
   * Page cache of each thread, bytes. Default: 64 MiB for the writer, and for a reader up to 256 MiB where an eighth of
   * the memory is as much.
   */
  readonly cacheBytes?: number;
  readonly log?: Partial<LogLimits>;
  /** What one question may read of bodies where no index tells. */
  readonly bodyLimits?: BodyLimits;
  /**
   * An index was moved aside, is damaged and will be at the next start, or cannot go on as it should: to be said
   * loudly.
   */
  readonly onDamage?: (message: string) => void;
  /** It cannot go on: closed and opened again it does, empty if it was damaged. May be told several times. */
  readonly onBroken?: () => void;
  /** Types that are refused because the index is full, from now on; none when there is room again. */
  readonly onStopped?: (types: readonly TypeKey[]) => void;
}

/** What this store can tell beyond {@link IndexStore}. */
export interface SqliteStore extends IndexStore {
  /** Types whose upserts are refused because the index is full. */
  stoppedTypes(): readonly TypeKey[];
}

const writerCacheBytes = 64 << 20;
/**
 * As much as the narrow rows of some 700,000 objects and what is read between them; below, a page of them reads most of
 * its rows from the file.
 */
const mostReaderCacheBytes = 256 << 20;
/** What this process may use, if there is a limit, or the machine has. */
const readerCacheShare = 1 / 8;
export const maxOffset = 100_000;
/** Ids that are sent at a time to be read; a chunk is over sooner if they are large. */
const idsAtOnce = 1000;

/**
 * Opens the index of a directory, which one process may have at a time.
 * @throws GatewayError INDEX_UNAVAILABLE when another process has it
 */
export async function openSqliteStore(options: SqliteOptions): Promise<SqliteStore> {
  const { directory, maxBytes, readers: readerCount = 1, cacheBytes } = options;
  const pathsDigest = createHash('sha256').update(JSON.stringify(allIndexedPaths())).digest('base64url').slice(0, 16);
  const log = { ...defaultLogLimits, ...options.log };
  let stopped: readonly TypeKey[] = [];
  const onEvent = (event: WorkerEvent): void => {
    if (event.kind === 'stopped') {
      stopped = event.types;
      options.onStopped?.(event.types);
    } else if (event.kind === 'trouble') {
      options.onDamage?.(`the index in ${directory}: ${event.message}`);
    } else if (event.kind === 'set-aside') {
      options.onDamage?.(event.message);
    } else {
      options.onDamage?.(`the index in ${directory} is damaged (${event.message}): it is set aside and built anew`);
      options.onBroken?.();
    }
  };
  const onDeath = (error: unknown): void =>
    options.onDamage?.(`the index in ${directory} has stopped: ${String(error)}`);
  const onWriterDeath = (error: unknown): void => {
    onDeath(error);
    options.onBroken?.();
  };
  const data: WriterData = { directory, maxBytes, cacheBytes: cacheBytes ?? writerCacheBytes, log, pathsDigest };
  const writer = startWorker({ name: 'writer-worker', data, onEvent, onDeath: onWriterDeath });
  let opened: Opened;
  try {
    opened = (await writer.call('opened', undefined)) as Opened;
  } catch (error) {
    await writer.close();
    throw openingError(error);
  }
  const readerData: ReaderData = {
    file: opened.file,
    cacheBytes: cacheBytes ?? readerCacheBytes(),
    bodyLimits: options.bodyLimits,
  };
  const readers = startReaders(readerCount, readerData, onEvent, onDeath);
  return storeOf({ writer, readers, points: openPointReader(opened.file) }, opened, () => stopped);
}

function readerCacheBytes(): number {
  const limit = process.constrainedMemory();
  const memory = limit > 0 ? Math.min(limit, totalmem()) : totalmem();
  return Math.min(mostReaderCacheBytes, Math.floor(memory * readerCacheShare));
}

/** What the writer says when it has the file. */
interface Opened {
  readonly file: string;
  readonly storeId: string;
  readonly sequence: number;
}

/** Threads that read; one that has died is started anew after a while, under another number. */
interface Readers {
  readonly all: readonly { readonly number: number; readonly calls: WorkerCalls }[];
  readonly close: () => Promise<void>;
}

const restartAfterMs = 1000;

function startReaders(
  count: number,
  data: ReaderData,
  onEvent: (event: WorkerEvent) => void,
  onDeath: (error: unknown) => void,
): Readers {
  let lastNumber = 0;
  let isClosed = false;
  const all: { number: number; calls: WorkerCalls }[] = [];
  const start = (at: number): void => {
    const calls = startWorker({
      name: 'reader-worker',
      data,
      onEvent,
      onDeath: (error) => {
        onDeath(error);
        setTimeout(() => isClosed || start(at), restartAfterMs).unref();
      },
    });
    all[at] = { number: ++lastNumber, calls };
  };
  for (let at = 0; at < count; at++) start(at);
  const close = async (): Promise<void> => {
    isClosed = true;
    await Promise.all(all.map(({ calls }) => calls.close()));
  };
  return { all, close };
}

/** A worker that cannot open the file ends with the error itself. */
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

/** Whom a store asks. */
interface Connections {
  readonly writer: WorkerCalls;
  readonly readers: Readers;
  /** On this thread. */
  readonly points: PointReader;
}

function storeOf(
  { writer, readers, points }: Connections,
  { storeId, sequence: openedAt }: Opened,
  stoppedTypes: () => readonly TypeKey[],
): SqliteStore {
  const listeners = new Set<(resourceVersion: string) => void>();
  const scopes = new SentScopes();
  const versions = indexVersionsOf(storeId);
  let sequence = openedAt;

  const advance = (to: number): void => {
    if (to <= sequence) return;
    sequence = to;
    const resourceVersion = versions.make(to);
    for (const listener of listeners) listener(resourceVersion);
  };
  const idlest = () =>
    readers.all.reduce((best, reader) => (reader.calls.pending() < best.calls.pending() ? reader : best));
  const ask = <Name extends keyof ReaderOperations>(
    operation: Name,
    input: unknown,
    { calls } = idlest(),
  ): Promise<Awaited<ReturnType<ReaderOperations[Name]>>> =>
    calls.call(operation, input) as Promise<Awaited<ReturnType<ReaderOperations[Name]>>>;
  const askOf = <Name extends 'list' | 'count' | 'facets' | 'values'>(
    operation: Name,
    query: ListQuery,
    scope: RowScope,
    rest: object = {},
  ): Promise<Awaited<ReturnType<ReaderOperations[Name]>>> => {
    const reader = idlest();
    return ask(operation, { query, scope: scopes.send(scope, query, reader.number), ...rest }, reader);
  };

  return {
    id: storeId,
    limits: { maxOffset },
    types: () => ask('types', undefined),
    versions: async (incarnation, type) => versionRows(await ask('versions', { incarnation, type })),
    apply: async (batch) => {
      const packed = packBatch(batch);
      const answer = await writer.call('apply', packed, [packed.bodies.buffer as ArrayBuffer]);
      const { commit, sequence: to } = answer as { commit: Commit; sequence: number };
      advance(to);
      return commit;
    },
    forget: async (incarnation, type) => {
      let deleted = 0;
      for (;;) {
        const answer = await writer.call('forget', { incarnation, type: type && typeKey(type) });
        const { commit, isDone, sequence: to } = answer as { commit: Commit; isDone: boolean; sequence: number };
        advance(to);
        deleted += commit.deleted;
        if (isDone) return { ...commit, deleted };
      }
    },
    list: async (query, scope, page) => {
      if ((page.offset ?? 0) > maxOffset) {
        const message = `an offset of ${page.offset} is more than ${maxOffset}: go on with the continue token instead`;
        throw new GatewayError('BAD_REQUEST', message);
      }
      const point = points.find(query, scope, page);
      if (point !== undefined) return pointPage(point, versions.make(point.sequence), page.withRemaining);
      const keys = await askOf('list', query, scope, { page });
      return pageOf(keys, versions.make(keys.sequence), (ids, at) => ask('bodies', { ids, sequence: at }));
    },
    count: (query, scope, overBudget) => askOf('count', query, scope, { overBudget }),
    facets: (query, scope, by, limit) => askOf('facets', query, scope, { by, limit }),
    values: (query, scope, by, prefix, limit) => askOf('values', query, scope, { by, prefix, limit }),
    resourceVersion: () => versions.make(sequence),
    oldestResourceVersion: async () => versions.make(await ask('oldest', undefined)),
    canBeOwn: (resourceVersion) => versions.read(resourceVersion) !== undefined,
    isInLog: async (resourceVersion) => {
      const timeUs = versions.read(resourceVersion);
      return timeUs !== undefined && (await ask('isInLog', { timeUs }));
    },
    changes: async (resourceVersion, types, limit) => {
      let sinceUs = versions.read(resourceVersion);
      if (sinceUs === undefined) {
        throw new GatewayError('EXPIRED', `resourceVersion "${resourceVersion}" is not of this index: list again`);
      }
      // A reader stops early when bodies are large.
      const entries: LogEntry[] = [];
      for (;;) {
        const some: Changes = await ask('changes', { sinceUs, types, limit: limit - entries.length });
        entries.push(...some.entries);
        if (!some.isCut) return entries;
        sinceUs = versions.read(entries.at(-1)!.resourceVersion)!;
      }
    },
    onCommit: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    stoppedTypes,
    close: async () => {
      // Readers first: the writer copies its log into the file once nobody reads it.
      points.close();
      await readers.close();
      await writer.close();
    },
  };
}

function versionRows({ namespaces, names, uids, resourceVersions }: VersionColumns) {
  return names
    .map((name, i) => ({
      namespace: namespaces[i]!,
      name,
      uid: uids[i]!,
      resourceVersion: resourceVersions[i]!,
    }))
    .sort((one, other) => order(one.namespace, other.namespace) || order(one.name, other.name));
}

function order(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

type ReadChunk = (ids: Float64Array, sequence: number) => Promise<BodyChunk>;

function pageOf(
  { sequence, left, next, remaining, warnings, first }: ReadPage,
  resourceVersion: string,
  read: ReadChunk,
): Page {
  return {
    resourceVersion,
    next,
    remaining,
    ...(warnings === undefined ? {} : { warnings }),
    chunks: { [Symbol.asyncIterator]: () => chunksOf(left, sequence, first, read) },
    ...(left !== undefined ? {} : { release: () => void (first.bodies.buffer as ArrayBuffer).transfer(0) }),
  };
}

function pointPage({ rows }: PointRead, resourceVersion: string, withRemaining = false): Page {
  const chunks = async function* (): AsyncGenerator<readonly RowRead[]> {
    if (rows.length > 0) yield rows;
  };
  return {
    resourceVersion,
    next: undefined,
    remaining: withRemaining ? 0 : undefined,
    chunks: { [Symbol.asyncIterator]: chunks },
  };
}

async function* chunksOf(
  ids: Float64Array = new Float64Array(),
  sequence: number,
  first: BodyChunk,
  read: ReadChunk,
): AsyncGenerator<readonly RowRead[]> {
  let chunk = first;
  for (let done = 0; ; done += chunk.done) {
    // One is read ahead while the consumer has this one; it may stop before it asks for the next.
    const next = done < ids.length ? read(ids.slice(done, done + idsAtOnce), sequence) : undefined;
    next?.catch(() => undefined);
    if (chunk.bytes.length > 0) yield rowsOfChunk(chunk);
    if (next === undefined) return;
    chunk = await next;
  }
}
