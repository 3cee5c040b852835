// Encrypts and decrypts continue tokens, which say after which row a list continues. A token is valid only for the
// query, user and store that it was made for. It is encrypted because it contains the key of a row, which the caller
// may no longer be allowed to see. A token of another replica is refused as expired (410) and not as a bad request
// (400), because clients start the list again after a 410.
import { createCipheriv, createDecipheriv, hash, hkdfSync, randomBytes, randomFillSync } from 'node:crypto';
import { GatewayError } from '../model/errors.ts';
import type { ListQuery } from './list-query.ts';

/**
 * Where a list continues: the sort keys of the last row that was given, as JSON values in the query's order, then the
 * number of rows up to that row.
 */
export type Cursor = readonly (string | number)[];

/** The content of a continue token: where the list continues. */
export interface ContinueState {
  /** The sort keys of the last row that was returned. */
  readonly after: Cursor;
  /**
   * The resourceVersion of page 1, which all pages repeat. '' when the client continued with the token of a 410 answer;
   * then pages show the present resourceVersion.
   */
  readonly resourceVersion: string;
  /** When the token expires, in Unix milliseconds. */
  readonly expiresAtMs: number;
}

/** The content of a decrypted continue token, and the store that made the token. */
export interface OpenedState extends ContinueState {
  /** The id of the index store that the token was made for. */
  readonly store: string;
}

/** The query, user and store that a continue token is valid for. The token is refused when one of them differs. */
export interface ContinueUse {
  /** The digest of the list's query, from {@link queryDigest}. */
  readonly query: string;
  readonly userName: string;
  readonly userUid: string;
  /** The id of the index store that answers this request. */
  readonly store: string;
}

/**
 * Secrets of at least 32 bytes each, shared by the replicas. The first secret encrypts; every secret can decrypt. So a
 * secret is rotated by adding the new one in front.
 */
export type ContinueKeys = readonly [Uint8Array, ...Uint8Array[]];

const prefix = 'p1.';
/** The syntax of a token: `p1.<id of the index store>.<encrypted content>`. */
const tokenForm = /^p1\.([\da-f]{16})\.([\w-]+)$/;
const saltBytes = 16;
const nonceBytes = 12;
const tagBytes = 16;
const sealedBytes = saltBytes + nonceBytes + tagBytes;
const shortestKey = 32;
const longestToken = 64 * 1024;

/** Whether a `continue` parameter looks like a token of this server. Otherwise the caller reads it as an offset. */
export function isContinueToken(text: string): boolean {
  return text.startsWith(prefix);
}

/** Makes a continue token. @throws RangeError when a key is shorter than 32 bytes */
export function sealContinue(keys: ContinueKeys, use: ContinueUse, state: ContinueState): string {
  const { salt, key, nonce } = nextNonce(keys[0]);
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes });
  cipher.setAAD(boundTo(use, use.store));
  const plain = JSON.stringify([state.after, state.resourceVersion, state.expiresAtMs]);
  const sealed = Buffer.concat([salt, nonce, cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return `${prefix}${use.store}.${sealed.toString('base64url')}`;
}

/**
 * Decrypts a token. Does not check whether the token has expired; see {@link isExpired}.
 * @throws GatewayError BAD_REQUEST when the token was changed, or was made for another user or query. The message is
 *   the same in all cases, so that it reveals nothing. EXPIRED when the token names another store and cannot be
 *   decrypted, as with a token of a replica that has other secrets.
 */
export function openContinue(keys: ContinueKeys, use: ContinueUse, token: string): OpenedState {
  const [, store, text] = (token.length <= longestToken ? tokenForm.exec(token) : null) ?? [];
  const sealed = Buffer.from(text ?? '', 'base64url');
  // Several base64url texts can stand for the same bytes. Only the text that this server would write is accepted.
  if (store !== undefined && text === sealed.toString('base64url') && sealed.length > sealedBytes) {
    for (const key of keys) {
      const plain = decrypt(key, boundTo(use, store), sealed);
      if (plain !== undefined) {
        const [after, resourceVersion, expiresAtMs] = JSON.parse(plain) as [Cursor, string, number];
        return { after, resourceVersion, expiresAtMs, store };
      }
    }
    if (store !== use.store) throw new GatewayError('EXPIRED', elsewhereMessage);
  }
  throw new GatewayError(
    'BAD_REQUEST',
    'the continue token is not valid for this list and this user; start again without the continue parameter',
  );
}

function decrypt(secret: Uint8Array, bound: Buffer, sealed: Buffer): string | undefined {
  const nonceAt = saltBytes;
  const textAt = saltBytes + nonceBytes;
  const key = keyOf(secret, sealed.subarray(0, saltBytes));
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(nonceAt, textAt), { authTagLength: tagBytes });
  decipher.setAAD(bound);
  decipher.setAuthTag(sealed.subarray(sealed.length - tagBytes));
  try {
    const plain = decipher.update(sealed.subarray(textAt, sealed.length - tagBytes));
    return Buffer.concat([plain, decipher.final()]).toString('utf8');
  } catch {
    return undefined;
  }
}

/**
 * What one thread encrypts tokens with: a key derived from the shared secret and a random salt, a supply of random
 * nonces, and the number of tokens that were encrypted with the key (`sealed`).
 */
interface Sealer {
  readonly salt: Buffer;
  readonly key: Buffer;
  readonly nonces: Buffer;
  sealed: number;
}

const sealers = new WeakMap<Uint8Array, Sealer>();
/**
 * The number of tokens that are encrypted with one key; then a new key is derived. NIST SP 800-38D section 8.3 permits
 * up to 2^32 random nonces for one key.
 */
const mostSealed = 2 ** 24;
const noncesAtOnce = 256;

function nextNonce(secret: Uint8Array): { readonly salt: Buffer; readonly key: Buffer; readonly nonce: Buffer } {
  let sealer = sealers.get(secret);
  if (sealer === undefined || sealer.sealed >= mostSealed) {
    const salt = randomBytes(saltBytes);
    sealer = { salt, key: derive(secret, salt), nonces: Buffer.alloc(nonceBytes * noncesAtOnce), sealed: 0 };
    sealers.set(secret, sealer);
  }
  const { salt, key, nonces } = sealer;
  const at = (sealer.sealed++ % noncesAtOnce) * nonceBytes;
  if (at === 0) randomFillSync(nonces);
  return { salt, key, nonce: nonces.subarray(at, at + nonceBytes) };
}

/** Returns the key for a token's salt. The key for tokens of this thread is kept in memory. */
function keyOf(secret: Uint8Array, salt: Buffer): Buffer {
  const own = sealers.get(secret);
  return own?.salt.equals(salt) === true ? own.key : derive(secret, salt);
}

/**
 * Derives an encryption key from the shared secret and a salt.
 * @throws RangeError when the secret is shorter than 32 bytes
 */
function derive(secret: Uint8Array, salt: Uint8Array): Buffer {
  if (secret.length < shortestKey)
    throw new RangeError(`a key for continue tokens must have at least ${shortestKey} bytes`);
  return Buffer.from(hkdfSync('sha256', secret, salt, 'continue token', 32));
}

function boundTo({ query, userName, userUid }: ContinueUse, store: string): Buffer {
  return Buffer.from(JSON.stringify([query, userName, userUid, store]));
}

/**
 * Whether a list can no longer continue with the rows as they were at page 1: the token has expired, was made by
 * another store, or the change log does not contain the resourceVersion of page 1, because old entries were deleted, or
 * because the store has lost its newest changes.
 *
 * `isInLog` says whether the change log reaches back to the resourceVersion of page 1.
 */
export function isExpired(
  state: OpenedState,
  { nowMs, isInLog, store }: { nowMs: number; isInLog: boolean; store: string },
): boolean {
  if (state.expiresAtMs <= nowMs || state.store !== store) return true;
  return state.resourceVersion !== '' && !isInLog;
}

/** Message of the 410 answer for a token of another replica or of a rebuilt index, which cannot be decrypted here. */
const elsewhereMessage =
  'the continue token is of another replica of the index, or of an index that was rebuilt since; start again without the continue parameter';

/** Message of the 410 answer for an expired token, in kube-apiserver's words (apiserver/pkg/storage/etcd3/store.go). */
export const expiredMessage =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, ' +
  'or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an ' +
  'inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in ' +
  'the list.';

/**
 * The content of the new token that a 410 answer offers: the list continues after the same row, but with the present
 * objects.
 */
export function resumed(state: ContinueState, expiresAtMs: number): ContinueState {
  return { after: state.after, resourceVersion: '', expiresAtMs };
}

/** A digest of the query. Equal queries have the same digest, whatever the order of their properties. */
export function queryDigest(query: ListQuery): string {
  return hash('sha256', JSON.stringify(sorted(query)), 'base64url');
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([, field]) => field !== undefined);
  return entries.sort(([one], [other]) => (one < other ? -1 : 1)).map(([key, field]) => [key, sorted(field)]);
}
