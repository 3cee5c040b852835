// Turns a failure of the database into one sentence that says what to do. The sentence may reach a client, so it
// contains no password. The server's own message stays in the error's cause.
import { GatewayError } from '../../../model/errors.ts';

type Texts = Readonly<Record<string, string>>;

/** Texts for the operator, by SQLSTATE. Each text completes the sentence "the database of the index …". */
const ofServer: Texts = {
  '28P01': 'refuses the password: give the right one in the URL, the password file or the environment',
  '28000':
    'does not let this user in from here: add a line to its pg_hba.conf, or present the client certificate it asks for',
  '3D000': 'has no database of this name: create it, or name another in the URL',
  '42501':
    'does not give this user the rights: GRANT CREATE, TEMPORARY ON DATABASE, or make it the owner of the schema',
  '3F000': 'has no schema of this name any more: restart, so that it is made again',
  '42P01': 'has lost tables of the index: restart, so that they are made again',
  '53300': 'has no connection left: raise its max_connections, or use fewer for the index',
  '53100': 'has no disk space left: give it more',
  '53200': 'has no memory left: give it more',
  '57P01': 'is being stopped',
  '57P02': 'has crashed',
  '57P03': 'is starting up or shutting down',
  '57014': 'has taken too long for a statement: raise the statement timeout, or ask for less',
  '25006': 'is read-only, as a standby is: name the primary in the URL',
  '40P01': 'has found a deadlock: the write is tried again',
  '40001': 'could not keep two transactions apart: the write is tried again',
  '55P03': 'has kept a lock for too long: the work is tried again',
};

/** Texts that complete the same sentence, by the code of an error of Node or OpenSSL. */
const ofConnection: Texts = {
  ECONNREFUSED: 'is not reachable, nothing listens there: start it, or correct the address',
  ENOENT: 'is not reachable, there is no such socket: start it, or correct the directory of the socket',
  EACCES: 'is not reachable, its socket may not be opened by this user',
  ENOTFOUND: 'is not reachable, its name is not known: correct the host of the URL',
  EAI_AGAIN: 'is not reachable, its name cannot be looked up now',
  EHOSTUNREACH: 'is not reachable, there is no way to its host',
  ENETUNREACH: 'is not reachable, there is no way to its network',
  ETIMEDOUT: 'is not reachable, it does not answer: check the address and firewalls',
  ECONNRESET: 'has cut the connection',
  EPIPE: 'has cut the connection',
  CERT_HAS_EXPIRED: 'has a certificate that has expired: renew it',
  CERT_NOT_YET_VALID: 'has a certificate that is not valid yet: check the clocks',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    'has a certificate of an authority that is not trusted: name its file with sslrootcert',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    'has a certificate of an authority that is not trusted: name its file with sslrootcert',
  SELF_SIGNED_CERT_IN_CHAIN: 'has a certificate of an authority that is not trusted: name its file with sslrootcert',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'has a certificate that it signed itself: name its file with sslrootcert',
  ERR_TLS_CERT_ALTNAME_INVALID: 'has a certificate of another name: connect by a name that is in it',
};

/**
 * Texts that complete the same sentence, by the end of OpenSSL's error code (its beginning differs between versions) or
 * by pg's error message.
 */
const ofText: readonly (readonly [form: RegExp, text: string])[] = [
  [/ALERT_CERTIFICATE_EXPIRED$/, 'says that our client certificate has expired: renew the files of sslcert and sslkey'],
  [/ALERT_UNKNOWN_CA$/, 'does not trust the authority of our client certificate: use another for sslcert'],
  [/CERTIFICATE_REQUIRED$/, 'asks for a client certificate: give sslcert and sslkey'],
  [/does not support SSL/, 'does not offer TLS: turn it on there, or use sslmode=disable where the network is trusted'],
  [/timeout expired|connection timeout/, 'is not reachable, it does not answer: check the address and firewalls'],
  [/trying to connect/, 'is busy, no connection became free in time'],
  [/Query read timeout/, 'does not answer a statement'],
  [/password must be a/, 'asks for a password: give it in the URL, a password file or the environment'],
  [/Connection terminated|connection error|has been closed|Client was closed/, 'has cut the connection'],
];

/**
 * Texts by the message of a pooler such as PgBouncer. Most of its versions give all their failures one SQLSTATE, those
 * of the server behind it too.
 */
const ofPooler: readonly (readonly [form: RegExp, text: string])[] = [
  [/authentication failed|no such user/, ofServer['28P01']!],
  [/no such database|database ".*" does not exist/, ofServer['3D000']!],
  [/max_client_conn/, 'has no connection left in its pooler: raise max_client_conn there, or use fewer for the index'],
  [
    /query_wait_timeout/,
    'has no connection free in its pooler: raise default_pool_size there, or use fewer for the index',
  ],
  [
    /server login|login failed|cannot connect|client_login_timeout|server conn crashed|server closed/,
    'is not reachable from its pooler: start it, or look into the log of the pooler',
  ],
];
const poolerState = '08P01';

/** Turns a failure of the database into a GatewayError INDEX_UNAVAILABLE. Any other error is returned unchanged. */
export function databaseError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof GatewayError) return error;
  const text = sentenceOf(error);
  return text === undefined ? error : unavailable(text, error);
}

/**
 * The error for a client when the database fails.
 * @param text completes "the database of the index …"
 */
export function unavailable(text: string, cause?: unknown): GatewayError {
  return new GatewayError('INDEX_UNAVAILABLE', `the database of the index ${text}`, { cause });
}

/** The SQLSTATE of a server error; undefined for other errors. */
export function sqlState(error: unknown): string | undefined {
  const code = (error as { readonly code?: unknown } | undefined)?.code;
  return typeof code === 'string' && /^[\dA-Z]{5}$/.test(code) ? code : undefined;
}

function sentenceOf(error: Error): string | undefined {
  // Node tries all addresses of a host name, and collects their errors in an AggregateError. The first error is
  // reported.
  const { code } = (error instanceof AggregateError ? (error.errors[0] as Error) : error) as { readonly code?: string };
  if (code !== undefined) {
    const known = ofServer[code] ?? ofConnection[code];
    if (known !== undefined) return known;
    const pooler = code === poolerState && ofPooler.find(([form]) => form.test(error.message));
    if (pooler) return pooler[1];
    if (sqlState(error) !== undefined) return `has refused a statement (SQLSTATE ${code})`;
    const alert = ofText.find(([form]) => form.test(code));
    if (alert !== undefined) return alert[1];
    if (code.startsWith('ERR_SSL_') || code.startsWith('ERR_OSSL_')) return `cannot be asked over TLS (${code})`;
  }
  return ofText.find(([form]) => form.test(error.message))?.[1];
}
