// The index in PostgreSQL: an IndexStore that several processes can share. Each process sees the commits of all. Table
// `shard` says which process may write which shard, and writes of other processes are refused.
import { GatewayError } from '../../model/errors.ts';
import type { ListQuery } from '../../query/list-query.ts';
import type { RowScope } from '../../query/scope/scope.ts';
import { typeKey, type ResourceType, type TypeKey } from '../../query/types.ts';
import { indexVersionsOf, type IndexVersions } from '../index-version.ts';
import type { Leases } from '../leases.ts';
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
  ShardWriter,
  StoredType,
  StoredVersion,
  WriteBatch,
} from '../store.ts';
import type { BodyLimits } from '../body-budget.ts';
import { openDatabase, type Database, type DatabaseOptions } from './connection/database.ts';
import { migrate } from './connection/migrate.ts';
import { schemaForm } from './connection/schema.ts';
import { CommitFeed } from './feed/commit-feed.ts';
import { ChangeLog } from './feed/log.ts';
import { defaultPartitions, lacksPartition, Partitions, type PartitionOptions } from './feed/partitions.ts';
import { PostgresLeases } from './leases/leases.ts';
import { openReader, type Reader } from './read/reader.ts';
import { SharedValues } from './shared-values.ts';
import { LeaseWrites } from './write/lease-writes.ts';
import { WriteQueue } from './write/write-queue.ts';
import { Writer } from './write/writer.ts';

export interface PostgresStoreOptions extends DatabaseOptions {
  /** How many write transactions run at the same time, each with its own connection; 2 by default. */
  readonly writers?: number;
  /**
   * How long changes are kept in the log, and the time span of one of its partitions. By default two hours, and ten
   * minutes.
   */
  readonly log?: Partial<PartitionOptions>;
  /** Limits of what one question may read of bodies, for conditions that no database index answers. */
  readonly bodyLimits?: BodyLimits;
  /** Called with a message when background work has failed. The work is tried again by itself. */
  readonly onTrouble?: (message: string) => void;
}

/** An index in PostgreSQL. Beside the rows it has leases and shared values, which other stores do not have. */
export interface PostgresStore extends IndexStore {
  /** The leases that say which process may write which shard. */
  readonly leases: Leases;
  readonly shared: SharedValues;
  /** The state of the connection to the database at the last poll, which was a quarter of a second ago at most. */
  status(): DatabaseStatus;
}

/**
 * The state of this process's connections to the database. Numbers are counted from when this process opened the store.
 */
export interface DatabaseStatus {
  /** The server, in the form `host:port/database as user`. */
  readonly name: string;
  /** Version of the tables (`schemaForm`). */
  readonly form: number;
  /** Why the database does not answer, with what to do; undefined when it answers. */
  readonly fault: string | undefined;
  /**
   * Why new connections use what the files of certificates contained earlier; undefined when they use the present
   * contents.
   */
  readonly filesFault: string | undefined;
  /** Milliseconds since the database last answered a poll. */
  readonly lagMs: number;
  /** Age in milliseconds of the oldest change from which a watch can continue. Updated every minute. */
  readonly logAgeMs: number;
  /** Connections of the pool (`open`, of these `idle`), and the number of queries that wait for a connection. */
  readonly pool: { readonly open: number; readonly idle: number; readonly waiting: number };
  /** Number of transactions that changed something. */
  readonly commits: number;
  /**
   * Milliseconds that writes spent on taking numbers (times) from the sequencer's row, mostly waiting for others.
   */
  readonly sequencerWaitMs: number;
}

const maxOffset = 100_000;
const maintenanceMs = 60_000;

/**
 * Connects, creates the tables if there are none, and opens the store.
 * @throws GatewayError INDEX_UNAVAILABLE (rejects); the message says what to fix
 */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<PostgresStore> {
  const database = await openDatabase(options);
  try {
    await migrate(database);
    const partitions = new Partitions(database, { ...defaultPartitions, ...options.log });
    await partitions.extend();
    const [row] = await database.query<[string]>(`SELECT id FROM ${database.schema}.store WHERE one`);
    const id = row![0];
    const versions = indexVersionsOf(id);
    const log = new ChangeLog(database, versions);
    const feed = new CommitFeed(database, log, id, (await log.moment()).lastUs);
    const reader = openReader({ database, storeId: id, bodyLimits: options.bodyLimits });
    const oldestUs = await log.oldestUs();
    return new OpenStore({ id, database, versions, log, feed, reader, partitions, oldestUs }, options);
  } catch (error) {
    await database.close();
    throw error;
  }
}

interface Parts {
  readonly id: string;
  readonly database: Database;
  readonly versions: IndexVersions;
  readonly log: ChangeLog;
  readonly feed: CommitFeed;
  readonly reader: Reader;
  readonly partitions: Partitions;
  readonly oldestUs: number;
}

class OpenStore implements PostgresStore {
  readonly id: string;
  readonly leases: Leases;
  readonly limits = { maxOffset };
  readonly comesBack = true;
  readonly shared: SharedValues;
  readonly #parts: Parts;
  readonly #queue: WriteQueue;
  readonly #maintenance: NodeJS.Timeout;
  #commits = 0;
  #sequencerWaitMs = 0;
  #oldestUs: number;

  constructor(parts: Parts, { writers = 2, onTrouble }: PostgresStoreOptions) {
    this.id = parts.id;
    const leaseWrites = new LeaseWrites();
    this.leases = new PostgresLeases(parts.database, leaseWrites);
    this.#parts = parts;
    this.#oldestUs = parts.oldestUs;
    this.shared = new SharedValues(parts.database);
    const { feed, versions, partitions } = parts;
    const writer = new Writer(parts.database, {
      leaseWrites,
      lastUs: () => feed.lastUs,
      onSealed: (tookMs) => void (this.#sequencerWaitMs += tookMs),
    });
    this.#queue = new WriteQueue(writer, {
      lanes: writers,
      onCommit: (lastUs) => {
        this.#commits += 1;
        feed.committed(lastUs);
      },
      versionOf: (lastUs) => versions.make(lastUs ?? feed.lastUs),
      mend: async (error) => {
        if (!lacksPartition(error)) return false;
        await partitions.extend();
        return true;
      },
    });
    const maintain = async (): Promise<void> => {
      await parts.database.readFiles();
      await partitions.extend();
      await partitions.trim();
      this.#oldestUs = await parts.log.oldestUs();
    };
    this.#maintenance = setInterval(() => {
      maintain().catch((error: unknown) => onTrouble?.(`the log of the index is not kept up: ${String(error)}`));
    }, maintenanceMs).unref();
  }

  types(incarnation?: string): Promise<readonly StoredType[]> {
    return this.#parts.reader.types(incarnation);
  }

  async catalogVersion(): Promise<string> {
    return String((await this.#parts.log.moment()).catalog);
  }

  versions(incarnation: string, type: ResourceType): Promise<readonly StoredVersion[]> {
    return this.#parts.reader.versions(incarnation, type);
  }

  async apply(batch: WriteBatch, writer?: ShardWriter): Promise<Commit> {
    const { kept, leftOut } = leaveOut(batch);
    return withLeftOut(await this.#queue.apply(kept, writer), leftOut);
  }

  forget(incarnation: string, type?: ResourceType, writer?: ShardWriter): Promise<Commit> {
    return this.#queue.forget(incarnation, type && typeKey(type), writer);
  }

  async list(query: ListQuery, scope: RowScope, page: PageRequest): Promise<Page> {
    if ((page.offset ?? 0) > maxOffset) {
      const message = `an offset of ${page.offset} is more than ${maxOffset}: go on with the continue token instead`;
      throw new GatewayError('BAD_REQUEST', message);
    }
    return this.#parts.reader.list(query, scope, page);
  }

  count(query: ListQuery, scope: RowScope, overBudget?: 'refuse'): Promise<Counted> {
    return this.#parts.reader.count(query, scope, overBudget);
  }

  facets(query: ListQuery, scope: RowScope, by: FacetBy, limit: number): Promise<Facets> {
    return this.#parts.reader.facets(query, scope, by, limit);
  }

  values(query: ListQuery, scope: RowScope, by: FacetBy, prefix: string, limit: number): Promise<FoundValues> {
    return this.#parts.reader.values(query, scope, by, prefix, limit);
  }

  async readPoint(): Promise<ReadPoint> {
    const { log, feed } = this.#parts;
    const moment = await log.moment();
    feed.advance(moment.lastUs);
    return log.pointOf(moment);
  }

  resourceVersion(): string {
    return this.#parts.versions.make(this.#parts.feed.lastUs);
  }

  async oldestResourceVersion(): Promise<string> {
    return this.#parts.versions.make(await this.#parts.log.oldestUs());
  }

  canBeOwn(resourceVersion: string): boolean {
    return this.#parts.versions.read(resourceVersion) !== undefined;
  }

  async isInLog(resourceVersion: string): Promise<boolean> {
    const timeUs = this.#parts.versions.read(resourceVersion);
    return timeUs !== undefined && this.#parts.log.isInLog(timeUs);
  }

  async changes(resourceVersion: string, types: readonly TypeKey[], limit: number): Promise<readonly LogEntry[]> {
    const timeUs = this.#parts.versions.read(resourceVersion);
    if (timeUs === undefined) {
      throw new GatewayError(
        'EXPIRED',
        `resourceVersion "${resourceVersion}" was not issued by this index: list again`,
      );
    }
    return this.#parts.log.changes(timeUs, types, limit);
  }

  onCommit(listener: (resourceVersion: string) => void): () => void {
    return this.#parts.feed.subscribe((lastUs) => listener(this.#parts.versions.make(lastUs)));
  }

  status(): DatabaseStatus {
    const { database, feed } = this.#parts;
    const { totalCount, idleCount, waitingCount } = database.pool;
    return {
      name: database.name,
      form: schemaForm,
      fault: feed.fault,
      filesFault: database.filesFault,
      lagMs: feed.lagMs,
      logAgeMs: Math.max(0, Date.now() - this.#oldestUs / 1000),
      pool: { open: totalCount, idle: idleCount, waiting: waitingCount },
      commits: this.#commits,
      sequencerWaitMs: this.#sequencerWaitMs,
    };
  }

  async close(): Promise<void> {
    clearInterval(this.#maintenance);
    await this.#queue.drained();
    await this.#parts.feed.close();
    await this.#parts.database.close();
  }
}
