// Reads a `postgres://` URL as libpq does. Easy to get wrong: if an unknown parameter were ignored, the connection
// might not be verified as the parameter demands, so unknown parameters are refused. The modes of libpq that fall back
// to plain text are not offered.
import { checkServerIdentity, type ConnectionOptions } from 'node:tls';
import type { ClientConfig } from 'pg';

import { GatewayError } from '../../../model/errors.ts';
import { textOf, TlsFiles } from './files.ts';

export interface ServerOptions {
  /**
   * `postgres://user:password@host:port/database?sslmode=verify-full&sslrootcert=FILE&sslcert=FILE&sslkey=FILE`. A
   * `host` parameter that begins with `/` is the directory of a unix socket. Without `sslmode`, a local server is used
   * without TLS, and the certificate of any other server is verified (verify-full). The files are read for each
   * connection, so renewed certificates need no restart.
   */
  readonly url: string;
  /**
   * File with the password, which replaces the password of the URL. It is read for each connection, so a new password
   * needs no restart.
   */
  readonly passwordFile?: string;
  /** Password from the environment; used when neither the URL nor a file has one. */
  readonly password?: string;
  /** Name shown in pg_stat_activity; `portcullis` by default. */
  readonly applicationName?: string;
}

/** The settings of every connection, and a name of the server for messages. */
export interface ServerAddress {
  /** The settings for pg. Its `ssl` has no certificates and keys: those come from `tls`. */
  readonly config: ClientConfig;
  /** Undefined without TLS. */
  readonly tls: TlsFiles | undefined;
  /** In the form `host:port/database as user`. */
  readonly name: string;
}

const sslModes = ['disable', 'require', 'verify-ca', 'verify-full'] as const;
type SslMode = (typeof sslModes)[number];
const known: ReadonlySet<string> = new Set([
  ...['host', 'port', 'user', 'password', 'dbname', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey'],
  ...['application_name', 'connect_timeout'],
]);
const defaultConnectSeconds = 10;

/** The parts of a database URL, before any file is read. */
interface UrlParts {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
  /** The password that the URL contains; '' when it contains none. */
  readonly password: string;
  readonly sslMode: SslMode;
  readonly parameter: (key: string) => string | undefined;
}

/**
 * Reads the settings of a connection.
 * @throws GatewayError INDEX_UNAVAILABLE (rejects) when the URL or one of its files cannot be used; the message says
 *   what to fix
 */
export async function serverAddress(options: ServerOptions): Promise<ServerAddress> {
  const { host, port, user, database, password, sslMode, parameter } = partsOf(options.url);
  const [sslrootcert, sslcert, sslkey] = ['sslrootcert', 'sslcert', 'sslkey'].map(parameter);
  const ownRoot = sslrootcert === 'system' ? undefined : sslrootcert;
  const tls = sslMode === 'disable' ? undefined : await TlsFiles.open({ sslrootcert: ownRoot, sslcert, sslkey });
  const seconds = Number(parameter('connect_timeout') ?? defaultConnectSeconds) || defaultConnectSeconds;
  const config: ClientConfig = {
    host,
    port,
    user,
    database,
    password: await passwordOf(options, password),
    ssl: tls !== undefined && tlsOptions(host, sslMode, ownRoot !== undefined),
    application_name: parameter('application_name') ?? options.applicationName ?? 'portcullis',
    connectionTimeoutMillis: seconds * 1000,
    keepAlive: true,
  };
  return { config, tls, name: `${host.startsWith('/') ? host : `${host}:${port}`}/${database} as ${user}` };
}

/**
 * Checks a database URL without reading the files that it names, and without connecting.
 * @returns whether the URL contains a password
 * @throws GatewayError INDEX_UNAVAILABLE that says what to correct; the message contains no password
 */
export function checkServerUrl(text: string): { readonly hasPassword: boolean } {
  return { hasPassword: partsOf(text).password !== '' };
}

function partsOf(text: string): UrlParts {
  const url = readUrl(text);
  for (const key of url.searchParams.keys()) {
    if (!known.has(key)) refuse(`the parameter "${key}" of the database URL is not known: remove it`);
  }
  const parameter = (key: string): string | undefined => url.searchParams.get(key) ?? undefined;
  const host = parameter('host') ?? (decoded(url.hostname).replace(/^\[(.*)\]$/, '$1') || 'localhost');
  const port = Number((parameter('port') ?? url.port) || 5432);
  const user = parameter('user') ?? decoded(url.username);
  const database = parameter('dbname') ?? (decoded(url.pathname.slice(1)) || user);
  if (user === '') refuse('the database URL names no user: write postgres://USER@HOST/DATABASE');
  const password = parameter('password') ?? decoded(url.password);
  return { host, port, user, database, password, sslMode: sslModeOf(host, parameter), parameter };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return refuse('the database URL has a % that is no escape: write %25 for a percent sign');
  }
}

function readUrl(text: string): URL {
  if (!/^postgres(?:ql)?:\/\//.test(text) || !URL.canParse(text.replace(/^\w+:\/\/(?=\/)/, 'postgres://localhost'))) {
    refuse('the database URL cannot be read: write postgres://USER@HOST:PORT/DATABASE');
  }
  // `postgres:///database?host=/run/postgresql` has no host. Node's URL needs one, so `localhost` is inserted.
  return new URL(text.replace(/^\w+:\/\/(?=\/)/, 'postgres://localhost'));
}

/** The password in the form that the driver pg takes. pg calls a function for each new connection. */
async function passwordOf({ passwordFile, password }: ServerOptions, ofUrl: string): Promise<ClientConfig['password']> {
  if (passwordFile !== undefined) {
    const read = async (): Promise<string> => (await textOf('password', passwordFile)).replace(/\r?\n$/, '');
    await read();
    return read;
  }
  // Without a password in the URL, a function returns that of the environment or ''. For an empty text in place of the
  // function, pg would read PGPASSWORD and ~/.pgpass.
  return ofUrl === '' ? () => password ?? '' : ofUrl;
}

/** Whether a host is a unix socket or a loopback address, so that traffic stays on this machine. */
export function isThisMachine(host: string): boolean {
  return host.startsWith('/') || host === 'localhost' || host === '::1' || host.startsWith('127.');
}

function sslModeOf(host: string, parameter: UrlParts['parameter']): SslMode {
  const wanted = parameter('sslmode') ?? (isThisMachine(host) ? 'disable' : 'verify-full');
  if (!(sslModes as readonly string[]).includes(wanted)) {
    refuse(
      `sslmode=${wanted} can end in a connection without TLS, or is not known: use ${sslModes.slice(1).join(', ')}, or disable`,
    );
  }
  if ((parameter('sslcert') === undefined) !== (parameter('sslkey') === undefined)) {
    refuse('sslcert and sslkey belong together: give both');
  }
  return wanted as SslMode;
}

function tlsOptions(host: string, mode: SslMode, hasOwnRoot: boolean): ConnectionOptions {
  return {
    // As in libpq: when a root certificate is given, `require` verifies the certificate chain, as `verify-ca` does.
    rejectUnauthorized: mode !== 'require' || hasOwnRoot,
    checkServerIdentity: (_host, certificate) =>
      mode === 'verify-full' ? checkServerIdentity(host, certificate) : undefined,
  };
}

function refuse(message: string): never {
  throw new GatewayError('INDEX_UNAVAILABLE', message);
}
