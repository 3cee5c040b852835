// Where the index is kept: in SQLite, which needs no settings, or in a PostgreSQL database. Every user of the machine
// could read a password on the command line, so the password is read from a file, the environment or the configuration
// file.
import { checkServerUrl } from '../../store/postgres/connection/address.ts';
import { path, text, whole } from '../settings/kinds.ts';
import { flagOf, isWritten, readSettings } from '../settings/settings.ts';
import type { Fault, Settings, Written } from '../settings/settings.ts';

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

/** Two environment variables: this one replaces `--index-store`, the next holds the password for a URL without one. */
export const indexStoreVariable = 'PORTCULLIS_INDEX_STORE';
export const indexStorePasswordVariable = 'PORTCULLIS_INDEX_STORE_PASSWORD';

/**
 * The smallest allowed `--index-store-connections`. Writing takes two connections, and reading for one answer takes up
 * to three.
 */
const leastConnections = 4;

/** The settings of the index's database. */
export const indexStoreSettings = {
  indexStore: {
    kind: text,
    placeholder: '<url>',
    otherwise: '`PORTCULLIS_INDEX_STORE`, else `sqlite`',
    text: 'where the index is kept: `sqlite` in the data directory, or [a PostgreSQL database](../how-to/index-on-postgresql.md) that several gateways may share, `postgres://USER@HOST:PORT/DATABASE` with `sslmode`, `sslrootcert`, `sslcert`, `sslkey`, `connect_timeout` and `host` as libpq has them. The flag takes no password',
  },
  indexStorePasswordFile: {
    kind: path,
    otherwise: '`PORTCULLIS_INDEX_STORE_PASSWORD`',
    text: 'password of that user, read for each connection',
  },
  indexStoreSchema: {
    kind: text,
    placeholder: '<name>',
    otherwise: '`portcullis`',
    text: 'schema of its tables, made when it is not there',
  },
  indexStoreConnections: {
    kind: whole({ least: leastConnections, most: 1000 }),
    otherwise: '`10`',
    text: 'connections of one process to the database at most',
  },
} satisfies Settings;

/**
 * Reads the settings of the index's database; undefined when SQLite holds the index. `written.fault` is called for each
 * setting that is wrong.
 */
export function readIndexStore(written: Written, environment: NodeJS.ProcessEnv): IndexStoreConfig | undefined {
  const given = readSettings(indexStoreSettings, written);
  const url = given.indexStore ?? (environment[indexStoreVariable] || 'sqlite');
  if (url === 'sqlite') {
    for (const name of Object.keys(indexStoreSettings))
      if (name !== 'indexStore' && isWritten(written, name))
        written.fault(flagOf(name), 'is for a database: give --index-store=postgres://USER@HOST/DATABASE too');
    return undefined;
  }
  const hasPassword = hasPasswordIn(url, written.fault);
  if (hasPassword && written.flags['indexStore'] !== undefined) {
    written.fault(
      '--index-store',
      'has a password, which everybody on this machine can read in the list of processes: ' +
        `give it by --index-store-password-file, ${indexStorePasswordVariable}, ${indexStoreVariable} or the configuration file`,
    );
  }
  const { indexStorePasswordFile: passwordFile, indexStoreSchema: schema, indexStoreConnections: connections } = given;
  const password = environment[indexStorePasswordVariable] || undefined;
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
