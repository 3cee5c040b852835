// Where the index is kept: in SQLite, which needs no settings, or in a PostgreSQL database. Every user of the machine
// could read a password on the command line, so the password is read from a file, the environment or the configuration
// file.
import { resolve } from 'node:path';
import { z } from 'zod';
import { checkServerUrl } from '../../store/postgres/connection/address.ts';
import type { Fault } from '../values/values.ts';

/** Settings of the PostgreSQL database that holds the index. */
export interface IndexStoreConfig {
  /** URL of the database, `postgres://…`, possibly with a password. */
  readonly url: string;
  /** File with the password; an absolute path. */
  readonly passwordFile?: string;
  /** Password from an environment variable, used when the URL holds none. */
  readonly password?: string;
  /** Name of the PostgreSQL schema with the tables of the index. */
  readonly schema?: string;
  /** Maximum number of connections that one process opens to the database. */
  readonly connections?: number;
}

/** The settings of the index's database as the operator wrote them, before they are checked. */
export interface IndexStoreInput {
  readonly indexStore?: string;
  readonly indexStorePasswordFile?: string;
  readonly indexStoreSchema?: string;
  readonly indexStoreConnections?: string | number;
}

/**
 * The settings of the index's database in flags and in the configuration file. Flags override the file. Relative paths
 * in the file refer to the folder of the file.
 */
interface WrittenStore {
  readonly flags: IndexStoreInput;
  readonly file: IndexStoreInput;
  readonly folder: string;
  readonly merged: IndexStoreInput;
  readonly fault: Fault;
}

const text = z.string().min(1);

/** Schema of the settings of the index's database in the configuration file. */
export const indexStoreFileFields = {
  indexStore: text.optional(),
  indexStorePasswordFile: text.optional(),
  indexStoreSchema: text.optional(),
  indexStoreConnections: z.union([z.number().int(), text]).optional(),
};

/** Two environment variables: this one replaces `--index-store`, the next holds the password for a URL without one. */
export const indexStoreVariable = 'PORTCULLIS_INDEX_STORE';
export const indexStorePasswordVariable = 'PORTCULLIS_INDEX_STORE_PASSWORD';

/**
 * The smallest allowed `--index-store-connections`. Writing takes two connections, and reading for one answer takes up
 * to three.
 */
const leastConnections = 4;
const mostConnections = 1000;

/**
 * Checks the settings of the index's database; undefined when SQLite holds the index. `fault` is called for each
 * setting that is wrong.
 */
export function readIndexStore(written: WrittenStore, environment: NodeJS.ProcessEnv): IndexStoreConfig | undefined {
  const { flags, merged, fault } = written;
  const url = merged.indexStore ?? (environment[indexStoreVariable] || 'sqlite');
  if (url === 'sqlite') {
    refuseWithoutDatabase(merged, fault);
    return undefined;
  }
  const hasPassword = hasPasswordIn(url, fault);
  if (hasPassword && flags.indexStore !== undefined) {
    fault(
      '--index-store',
      'has a password, which everybody on this machine can read in the list of processes: ' +
        `give it by --index-store-password-file, ${indexStorePasswordVariable}, ${indexStoreVariable} or the configuration file`,
    );
  }
  const { indexStoreSchema: schema } = merged;
  const passwordFile = passwordFileOf(written);
  const password = environment[indexStorePasswordVariable] || undefined;
  const connections = readConnections(merged.indexStoreConnections, fault);
  return Object.freeze({
    url,
    ...(passwordFile === undefined ? {} : { passwordFile }),
    ...(password === undefined ? {} : { password }),
    ...(schema === undefined ? {} : { schema }),
    ...(connections === undefined ? {} : { connections }),
  });
}

/**
 * Whether the URL holds a password. For a URL that is wrong, the message of the fault does not quote the URL, because
 * the URL may hold a password.
 */
function hasPasswordIn(url: string, fault: Fault): boolean {
  try {
    return checkServerUrl(url).hasPassword;
  } catch (error) {
    fault('--index-store', `is not "sqlite", and ${(error as Error).message}`);
    return false;
  }
}

function refuseWithoutDatabase(given: IndexStoreInput, fault: Fault): void {
  for (const [flag, value] of Object.entries({
    '--index-store-password-file': given.indexStorePasswordFile,
    '--index-store-schema': given.indexStoreSchema,
    '--index-store-connections': given.indexStoreConnections,
  })) {
    if (value !== undefined) fault(flag, 'is for a database: give --index-store=postgres://USER@HOST/DATABASE too');
  }
}

function passwordFileOf({ flags, file, folder }: WrittenStore): string | undefined {
  if (flags.indexStorePasswordFile !== undefined) return resolve(flags.indexStorePasswordFile);
  return file.indexStorePasswordFile === undefined ? undefined : resolve(folder, file.indexStorePasswordFile);
}

function readConnections(written: string | number | undefined, fault: Fault): number | undefined {
  if (written === undefined) return undefined;
  const count = Number(written);
  if (Number.isInteger(count) && count >= leastConnections && count <= mostConnections) return count;
  fault('--index-store-connections', `"${written}" is no number from ${leastConnections} to ${mostConnections}`);
  return undefined;
}
