// Opaque continue tokens: where a list goes on, encrypted, and bound to the question, the user and the store. Nobody
// can make, change or read one: its last key may name a row the caller may no longer see. A token of another replica is
// refused as expired, not as a bad request, so that a client starts its list again.
import { createCipheriv, createDecipheriv, hash, hkdfSync, randomBytes, randomFillSync } from 'node:crypto';
import { GatewayError } from '../../cache/model/errors.ts';
import type { Cursor } from '../stores/store.ts';
import type { ListQuery } from './list-query.ts';

/** Where a list goes on. */
export interface ContinueState {
  /** Key of the last row that was given. */
  readonly after: Cursor;
  /**
   * Page 1's, which every page repeats; '' for a list that was resumed after it expired, which gets the current one.
   */
  readonly resourceVersion: string;
  /** Unix milliseconds. */
  readonly expiresAtMs: number;
}

/** The state that a token held. */
export interface OpenedState extends ContinueState {
  /** Id of the store that gave it. */
  readonly store: string;
}

/** What a token is bound to. */
export interface ContinueUse {
  /** {@link queryDigest} of the list. */
  readonly query: string;
  readonly userName: string;
  readonly userUid: string;
  /** Id of the store. */
  readonly store: string;
}

/** Secrets of at least 32 bytes that replicas share: the first seals, all of them open, so that keys can be rotated. */
export type ContinueKeys = readonly [Uint8Array, ...Uint8Array[]];

const prefix = 'p1.';
/** `p1.<id of the store>.<sealed>`. */
const tokenForm = /^p1\.([\da-f]{16})\.([\w-]+)$/;
const saltBytes = 16;
const nonceBytes = 12;
const tagBytes = 16;
const sealedBytes = saltBytes + nonceBytes + tagBytes;
const shortestKey = 32;
const longestToken = 64 * 1024;

/** Whether a `continue` is one of ours; the other kind is a decimal offset. */
export function isContinueToken(text: string): boolean {
  return text.startsWith(prefix);
}

/** @throws RangeError for a key shorter than 32 bytes */
export function sealContinue(keys: ContinueKeys, use: ContinueUse, state: ContinueState): string {
  const { salt, key, nonce } = nextNonce(keys[0]);
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes });
  cipher.setAAD(boundTo(use, use.store));
  const plain = JSON.stringify([state.after, state.resourceVersion, state.expiresAtMs]);
  const sealed = Buffer.concat([salt, nonce, cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return `${prefix}${use.store}.${sealed.toString('base64url')}`;
}

/**
 * Opens a token. Whether it is too old is another question: {@link isExpired}.
 * @throws GatewayError BAD_REQUEST when it was changed, or given to another user or for another query: the same words,
 *   so that nothing is learned; EXPIRED when it names another store and cannot be opened here, as a token of a replica
 *   with a key of its own
 */
export function openContinue(keys: ContinueKeys, use: ContinueUse, token: string): OpenedState {
  const [, store, text] = (token.length <= longestToken ? tokenForm.exec(token) : null) ?? [];
  const sealed = Buffer.from(text ?? '', 'base64url');
  // base64url has several spellings of the same bytes; only the one we issue is accepted.
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
 * What seals the tokens of one thread: a key of its own out of a secret that replicas share, and nonces drawn many at a
 * time.
 */
interface Sealer {
  readonly salt: Buffer;
  readonly key: Buffer;
  readonly nonces: Buffer;
  sealed: number;
}

const sealers = new WeakMap<Uint8Array, Sealer>();
/** A key may have fewer than 2^32 random nonces (NIST SP 800-38D section 8.3); this is far below. */
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

/** Keeps the key of this thread's own tokens, which are most. */
function keyOf(secret: Uint8Array, salt: Buffer): Buffer {
  const own = sealers.get(secret);
  return own?.salt.equals(salt) === true ? own.key : derive(secret, salt);
}

/** @throws RangeError for a secret that is too short */
function derive(secret: Uint8Array, salt: Uint8Array): Buffer {
  if (secret.length < shortestKey) throw new RangeError(`a key of continue tokens has ${shortestKey} bytes or more`);
  return Buffer.from(hkdfSync('sha256', secret, salt, 'continue token', 32));
}

function boundTo({ query, userName, userUid }: ContinueUse, store: string): Buffer {
  return Buffer.from(JSON.stringify([query, userName, userUid, store]));
}

/**
 * Whether a list can no longer go on as of its page 1: the token is too old, the log no longer reaches back to it, or
 * it is another store's.
 */
export function isExpired(
  state: OpenedState,
  { nowMs, oldestResourceVersion, store }: { nowMs: number; oldestResourceVersion: string; store: string },
): boolean {
  if (state.expiresAtMs <= nowMs || state.store !== store) return true;
  // 19 digits each: the order of texts is the order of numbers.
  return state.resourceVersion !== '' && state.resourceVersion < oldestResourceVersion;
}

/** Message of the 410 for a token that cannot be opened because of where it is from. */
const elsewhereMessage =
  'the continue token is of another replica of the index, or of an index that was rebuilt since; start again without the continue parameter';

/** Message of the 410 for such a token, in kube-apiserver's words (apiserver/pkg/storage/etcd3/store.go). */
export const expiredMessage =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, ' +
  'or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an ' +
  'inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in ' +
  'the list.';

/** The state of the fresh token in that 410: it goes on after the same row, without page 1's resourceVersion. */
export function resumed(state: ContinueState, expiresAtMs: number): ContinueState {
  return { after: state.after, resourceVersion: '', expiresAtMs };
}

/** Equal for queries that are written with the same values, in any order of their fields. */
export function queryDigest(query: ListQuery): string {
  return hash('sha256', JSON.stringify(sorted(query)), 'base64url');
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([, field]) => field !== undefined);
  return entries.sort(([one], [other]) => (one < other ? -1 : 1)).map(([key, field]) => [key, sorted(field)]);
}
