// Opens the index store that the configuration names, and what is stored with it: the key for continue tokens, the
// clusters to rebuild, and whether each cluster decides by RBAC alone. With SQLite these are files in the index's
// folder. With PostgreSQL they are in the database, so that all processes of the index share them.
import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { readContinueKeys } from './continue-keys.ts';
import { requestsInDatabase, requestsInFolder, type RebuildRequests } from './operate/rebuild-requests.ts';
import type { IndexPeers } from '../sync/shared/peers.ts';
import type { ContinueKeys } from '../query/continue.ts';
import { makeModeFile } from '../rights/mode-file.ts';
import { mergeModes, type ModeMemory } from '../rights/modes.ts';
import type { Leases } from '../store/leases.ts';
import type { DatabaseStatus, PostgresStore, PostgresStoreOptions } from '../store/postgres/store.ts';
import type { IndexStore } from '../store/store.ts';
import { openSharedStore } from '../store/sqlite/shared/shared-store.ts';
import { openSqliteStore, type SqliteOptions } from '../store/sqlite/store.ts';

/** The methods of a logger (pino) that the index uses. */
export interface IndexLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Where and how the index is stored: in SQLite or PostgreSQL, with which limits. */
export interface StoreOptions {
  /** Folder for the files of a SQLite index and nothing else; created if necessary. Not used with PostgreSQL. */
  readonly folder: string;
  /** The PostgreSQL database that stores the index; undefined for SQLite in `folder`. */
  readonly postgres?: PostgresStoreOptions | undefined;
  /** The largest size of a SQLite index in bytes; Infinity for no limit. Not used with PostgreSQL. */
  readonly maxBytes: number;
  readonly log: IndexLog;
  /**
   * Called when the store cannot be used any longer: the caller should close the index and start another one. May be
   * called several times, and even before the index has started.
   */
  readonly onBroken: () => void;
  /** Other processes that answer from the same folder; undefined: there are none. */
  readonly peers?: IndexPeers | undefined;
}

/** An open index store, with the data that is stored beside its rows. */
export interface OpenedStore {
  readonly store: IndexStore;
  readonly continueKeys: ContinueKeys;
  readonly modeMemory: ModeMemory;
  /**
   * Resolves when this process may write to the store; of several processes with the same SQLite file, only one may
   * write.
   */
  readonly writing: Promise<void>;
  /** Which process follows which clusters and writes their rows; undefined for SQLite, where one process writes all. */
  readonly leases?: Leases;
  /** The clusters that an operator wants to be rebuilt. */
  readonly rebuilds: RebuildRequests;
  /** Returns the state of the PostgreSQL database; undefined for SQLite. */
  readonly database?: () => DatabaseStatus;
}

const keyBytes = 32;

/**
 * Opens the store that the options describe.
 * @throws GatewayError (rejects) INDEX_UNAVAILABLE, or Error with the system's code when the folder cannot be used
 */
export async function openStore(options: StoreOptions): Promise<OpenedStore> {
  return options.postgres === undefined ? await openInFolder(options) : await openInDatabase(options, options.postgres);
}

async function openInFolder(options: StoreOptions): Promise<OpenedStore> {
  const { folder, log } = options;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const opened = await openSqlite(options);
  try {
    return {
      ...opened,
      continueKeys: readContinueKeys(folder),
      rebuilds: requestsInFolder(join(folder, 'rebuild')),
      modeMemory: makeModeFile(join(folder, 'rights.json'), (error) => log.error({ err: error }, notKept)),
    };
  } catch (error) {
    await opened.store.close();
    throw error;
  }
}

async function openSqlite({
  folder,
  maxBytes,
  log,
  onBroken,
  peers,
}: StoreOptions): Promise<Pick<OpenedStore, 'store' | 'writing'>> {
  const settings: SqliteOptions = {
    directory: join(folder, 'sqlite'),
    ...(maxBytes === Infinity ? {} : { maxBytes }),
    onDamage: (message) => log.error({}, `index: ${message}`),
    onBroken,
    onStopped: (types) => {
      if (types.length > 0)
        log.warn({ types }, 'index: its size limit is reached; objects of these types are not updated any more');
      else log.info({}, 'index: its size is below the limit again; objects of all types are updated again');
    },
  };
  if (peers === undefined) return { store: await openSqliteStore(settings), writing: Promise.resolve() };
  const store = await openSharedStore({ ...settings, mayWrite: () => !peers.isEnding() });
  void store.writing.then(() => log.info({}, 'index: this process writes it'));
  return { store, writing: store.writing };
}

async function openInDatabase(
  { log }: StoreOptions,
  postgres: NonNullable<StoreOptions['postgres']>,
): Promise<OpenedStore> {
  // The PostgreSQL libraries are loaded only now, because a gateway with SQLite does not need them.
  const { openPostgresStore } = await import('../store/postgres/store.ts');
  const store = await openPostgresStore({
    ...postgres,
    onTrouble: (message) => log.warn({}, `index: ${message}`),
  });
  try {
    const continueKeys: ContinueKeys = [await store.shared.keepFirst('continue key', randomBytes(keyBytes))];
    const modeMemory = await sharedModes(store, (error) => log.error({ err: error }, notKept));
    const { leases } = store;
    const rebuilds = requestsInDatabase(store.shared);
    const kept = { store, leases, continueKeys, modeMemory, rebuilds };
    return { ...kept, writing: Promise.resolve(), database: () => store.status() };
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function sharedModes({ shared }: PostgresStore, onError: (error: unknown) => void): Promise<ModeMemory> {
  const name = 'rights modes';
  const kept = (await shared.read(name))?.toString();
  let writing = Promise.resolve();
  return {
    read: () => kept,
    write: (text) => {
      writing = writing
        .then(() => shared.change(name, (others) => Buffer.from(mergeModes(others.toString(), text))))
        .catch(onError);
    },
  };
}

const notKept = 'index: what clusters said of their authorizers could not be kept';
