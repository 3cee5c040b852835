// Authenticates users by a token file, by kube-apiserver's rules (apiserver:pkg/authentication/token/tokenfile). Error
// messages have file and line but never a token. Tokens are looked up by keyed hashes, so that response times reveal
// nothing about them.
import { hash, randomBytes } from 'node:crypto';
import { GatewayError } from '../../model/errors.ts';
import { readOnce } from '../../http/repeated-headers.ts';
import { makeUser } from '../../model/user.ts';
import type { User } from '../../model/user.ts';
import type { Authenticator } from './authenticate.ts';
import { readBearerToken } from './bearer-token.ts';
import { readCsv } from '../../lib/text/csv.ts';
import type { CsvRecord } from '../../lib/text/csv.ts';
import { refuseOwnNames } from './reserved.ts';
import { readWebSocketToken } from './websocket-token.ts';

/** A token and its user. The token is a secret, so an entry must never be logged. */
export interface TokenEntry {
  readonly token: string;
  readonly user: User;
}

/** The content of a token file without faults. */
export interface TokenFile {
  /** Tokens and users. Of a repeated token only the last record is kept, as in kube-apiserver. */
  readonly entries: readonly TokenEntry[];
  /** Warnings for the operator about blank and repeated tokens, with file and line. */
  readonly warnings: readonly string[];
}

/**
 * Parses `token,user,uid[,"group1,group2"]` records. Further columns are ignored; records with a blank token are
 * skipped.
 * @param text the file, decoded from UTF-8
 * @param file name of the file for messages
 * @throws GatewayError INVALID with all faults, each with file and line, never with a token
 */
export function parseTokenFile(text: string, file: string): TokenFile {
  const entries = new Map<string, TokenEntry>();
  const warnings: string[] = [];
  const faults: string[] = [];
  const { records, fault } = readCsv(text);
  if (text.startsWith('\ufeff')) faults.push(`${file}:1: the file begins with a byte order mark; save it without one`);
  for (const record of records) {
    const where = `${file}:${record.line}`;
    const [token = ''] = record.fields;
    if (record.fields.length < 3) {
      const found = record.fields.length;
      faults.push(`${where}: at least 3 columns are needed (token, user name, user uid), found ${found}`);
    } else if (token === '') {
      warnings.push(`${where}: the token is blank, the record is skipped`);
    } else {
      const entry = readEntry(token, record, where, faults);
      if (entries.has(token)) warnings.push(`${where}: an earlier record has the same token; this record is used`);
      if (entry !== undefined) entries.set(token, entry);
    }
  }
  if (fault !== undefined) faults.push(`${file}:${fault.line}: ${fault.reason}`);
  if (faults.length > 0) throw new GatewayError('INVALID', `the token file is not valid:\n  ${faults.join('\n  ')}`);
  return { entries: [...entries.values()], warnings };
}

function readEntry(token: string, record: CsvRecord, where: string, faults: string[]): TokenEntry | undefined {
  const [, name = '', uid = '', groups = ''] = record.fields;
  if ([token, name, uid, groups].some((field) => field.includes('\ufffd'))) {
    faults.push(`${where}: the record is not valid UTF-8`);
    return undefined;
  }
  if (/[\t\n\v\f\r ]/.test(token)) {
    faults.push(`${where}: the token contains white space, so no client could send it`);
    return undefined;
  }
  try {
    const user = makeUser({ name, uid, groups: groups.split(',') });
    refuseOwnNames(user);
    return { token, user };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    faults.push(`${where}: ${error.message}`);
    return undefined;
  }
}

/** Hashes a token, which is given as a latin1 string: each character stands for one byte. */
type TokenDigest = (token: string) => string;

/**
 * Makes a hash function: SHA-256 with a random secret prefix, so that the time of a look-up reveals nothing about the
 * stored tokens. The hashes never leave the process, so a prefix is enough and the slower HMAC is not needed.
 */
function makeTokenDigest(): TokenDigest {
  const key = randomBytes(32).toString('latin1');
  return (token) => hash('sha256', Buffer.from(key + token, 'latin1'), 'base64');
}

function usersByDigest(entries: readonly TokenEntry[], digest: TokenDigest): ReadonlyMap<string, User> {
  return new Map(entries.map(({ token, user }) => [digest(Buffer.from(token, 'utf8').toString('latin1')), user]));
}

/** An authenticator whose tokens can be replaced at any time. */
export interface StaticTokenAuthenticator {
  readonly authenticate: Authenticator;
  /** Replaces all tokens at once; the next request uses only the new ones. */
  replace(entries: readonly TokenEntry[]): void;
}

/**
 * Makes an authenticator for these tokens. It returns undefined for a request without a token and throws
 * UNAUTHENTICATED for an unknown token.
 */
export function makeStaticTokenAuthenticator(initial: readonly TokenEntry[]): StaticTokenAuthenticator {
  const digest = makeTokenDigest();
  let users = usersByDigest(initial, digest);
  const headerDigest = readOnce((rawHeaders): string | null => {
    const { token } = readBearerToken(rawHeaders);
    return token === undefined ? null : digest(token);
  });
  return {
    authenticate: ({ rawHeaders }) => {
      // As in kube-apiserver, the Authorization header is tried first, then the WebSocket subprotocol; one valid token
      // is enough.
      const digestInHeader = headerDigest(rawHeaders) ?? undefined;
      const user = digestInHeader === undefined ? undefined : users.get(digestInHeader);
      if (user !== undefined) return user;
      const socketToken = readWebSocketToken(rawHeaders);
      if (digestInHeader === undefined && socketToken === undefined) return undefined;
      const socketUser = socketToken === undefined ? undefined : users.get(digest(socketToken));
      if (socketUser === undefined) throw new GatewayError('UNAUTHENTICATED', 'the bearer token is not known');
      return socketUser;
    },
    replace: (entries) => {
      users = usersByDigest(entries, digest);
    },
  };
}
