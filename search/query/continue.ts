// Opaque continue tokens: where a list goes on, encrypted, and bound to the question, to who asked it and to the store whose pages it is for. Easy to get
// wrong: a token is shown to its caller, so its last key (a name of a row the caller may no longer see) must not be readable, and nobody may make or change
// one; but one of another replica is no fault of its caller and must say so, or a client that is sent to and fro gives up.
import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';
import { GatewayError } from '../../cache/errors.ts';
import type { Cursor } from '../stores/store.ts';
import type { ListQuery } from './list-query.ts';

/** Where a list goes on. */
export interface ContinueState {
  /** Key of the last row that was given. */
  readonly after: Cursor;
  /** Page 1's, which every page repeats; '' of a list that was resumed after it expired: then the present one is given. */
  readonly resourceVersion: string;
  /** Unix milliseconds. */
  readonly expiresAtMs: number;
}

/** A state out of a token. */
export interface OpenedState extends ContinueState {
  /** Id of the store that gave it. */
  readonly store: string;
}

/** What a token is good for. */
export interface ContinueUse {
  /** {@link queryDigest} of the list. */
  readonly query: string;
  readonly userName: string;
  readonly userUid: string;
  /** Id of the store. */
  readonly store: string;
}

/** Secrets of at least 32 bytes that replicas share: the first seals, each opens, so that keys can be changed. */
export type ContinueKeys = readonly [Uint8Array, ...Uint8Array[]];

const prefix = 'p1.';
/** `p1.<id of the store>.<sealed>`. */
const tokenForm = /^p1\.([\da-f]{16})\.([\w-]+)$/;
const saltBytes = 16;
const tagBytes = 16;
const shortestKey = 32;
const longestToken = 64 * 1024;

/** Whether a `continue` is one of ours; the other kind is a decimal offset. */
export function isContinueToken(text: string): boolean {
  return text.startsWith(prefix);
}

/** @throws RangeError for a key shorter than 32 bytes */
export function sealContinue(keys: ContinueKeys, use: ContinueUse, state: ContinueState): string {
  const salt = randomBytes(saltBytes);
  const { key, iv } = derive(keys[0], salt);
  const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: tagBytes }).setAAD(boundTo(use, use.store));
  const plain = JSON.stringify([state.after, state.resourceVersion, state.expiresAtMs]);
  const sealed = Buffer.concat([salt, cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return `${prefix}${use.store}.${sealed.toString('base64url')}`;
}

/**
 * Opens a token. Whether it is too old is another question: {@link isExpired}.
 * @throws GatewayError BAD_REQUEST when it was changed, or given to another user or for another query: the same words, so that nothing is learned;
 *   EXPIRED when it names another store and cannot be opened here, as a token of a replica with a key of its own
 */
export function openContinue(keys: ContinueKeys, use: ContinueUse, token: string): OpenedState {
  const [, store, text] = (token.length <= longestToken ? tokenForm.exec(token) : null) ?? [];
  const sealed = Buffer.from(text ?? '', 'base64url');
  // base64url takes more than one spelling of the same bytes; only the one that was given is ours.
  if (store !== undefined && text === sealed.toString('base64url') && sealed.length > saltBytes + tagBytes) {
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
  const { key, iv } = derive(secret, sealed.subarray(0, saltBytes));
  const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: tagBytes }).setAAD(bound);
  decipher.setAuthTag(sealed.subarray(sealed.length - tagBytes));
  try {
    const plain = decipher.update(sealed.subarray(saltBytes, sealed.length - tagBytes));
    return Buffer.concat([plain, decipher.final()]).toString('utf8');
  } catch {
    return undefined;
  }
}

/** A key and nonce of its own for each token: random nonces under one key may not be used more than 2^32 times. */
function derive(secret: Uint8Array, salt: Uint8Array): { readonly key: Buffer; readonly iv: Buffer } {
  if (secret.length < shortestKey) throw new RangeError(`a key of continue tokens has ${shortestKey} bytes or more`);
  const derived = Buffer.from(hkdfSync('sha256', secret, salt, 'continue token', 44));
  return { key: derived.subarray(0, 32), iv: derived.subarray(32) };
}

function boundTo({ query, userName, userUid }: ContinueUse, store: string): Buffer {
  return Buffer.from(JSON.stringify([query, userName, userUid, store]));
}

/** Whether page 1 can no longer be repeated: its time is over, the log no longer reaches back to it, or it was another store's. */
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

/** The state of the fresh token in that 410: it goes on at the same place, without page 1's resourceVersion. */
export function resumed(state: ContinueState, expiresAtMs: number): ContinueState {
  return { after: state.after, resourceVersion: '', expiresAtMs };
}

/** Equal for queries that are written with the same values, in any order of their fields. */
export function queryDigest(query: ListQuery): string {
  return createHash('sha256')
    .update(JSON.stringify(sorted(query)))
    .digest('base64url');
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([, field]) => field !== undefined);
  return entries.sort(([one], [other]) => (one < other ? -1 : 1)).map(([key, field]) => [key, sorted(field)]);
}
