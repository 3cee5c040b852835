// Objects that a store cannot keep. They are left out one by one and named, because a refused batch would be repeated
// for ever, and nothing of its type and cluster would be written any more. An older version of such an object is
// deleted: a role or binding that has changed since could grant what the cluster does not grant any more.
import type { ObjectKey } from '../query/types.ts';
import type { Commit, LeftOut, RowWrite, WriteBatch } from './store.ts';

/**
 * The most bytes of a name, namespace, uid or resourceVersion. Kubernetes allows 253 for most names, but does not limit
 * names of RBAC objects and uids of owners. An entry of a database index of PostgreSQL holds some 2,700 bytes for all
 * its columns. In SQLite the limit is the same, so that both stores have the same rows and continue tokens fit into a
 * request.
 */
export const mostTextBytes = 512;
/** The most bytes of one body. PostgreSQL could take a gigabyte, but keeps several copies of it in memory. */
const mostBodyBytes = 256 << 20;

/** Why no store can keep an object, as a clause; undefined when it can be kept. */
export function whyLeftOut(row: RowWrite): string | undefined {
  const { namespace, name, uid, ownerUid, resourceVersion, createdAtMs, raw } = row;
  return (
    faultOf('its name', name) ??
    faultOf('its namespace', namespace) ??
    faultOf('its uid', uid) ??
    faultOf('the uid of its owner', ownerUid) ??
    (isWordKept(resourceVersion) ? undefined : 'its resourceVersion is none of an API server') ??
    (Number.isSafeInteger(createdAtMs) ? undefined : 'its time of creation is out of range') ??
    (raw.byteLength <= mostBodyBytes ? undefined : `it has more than ${mostBodyBytes} bytes`)
  );
}

/**
 * Whether every store can keep a text that only API servers make: a resourceVersion, or the uid of a cluster. Positions
 * and clusters are stored with such texts, and PostgreSQL has no text with NUL.
 */
export function isWordKept(text: string): boolean {
  return !text.includes('\0') && faultOf('it', text) === undefined;
}

function faultOf(what: string, text: string): string | undefined {
  // Most texts are so short that their bytes need not be counted.
  const bytes = text.length <= mostTextBytes / 4 ? 0 : Buffer.byteLength(text);
  if (bytes > mostTextBytes) return `${what} has ${bytes} bytes, more than ${mostTextBytes}`;
  // In UTF-8 all lone surrogates are the same character, so two names would become one key.
  return text.isWellFormed() ? undefined : `${what} is not valid Unicode`;
}

/** Splits a batch into what can be written, and the objects that cannot be kept. The batch then deletes the latter. */
export function leaveOut(batch: WriteBatch): { readonly kept: WriteBatch; readonly leftOut: readonly LeftOut[] } {
  if (batch.upserts.every((row) => whyLeftOut(row) === undefined)) return { kept: batch, leftOut: [] };
  const upserts: RowWrite[] = [];
  const leftOut: LeftOut[] = [];
  for (const row of lastOfEach(batch.upserts)) {
    const reason = whyLeftOut(row);
    if (reason === undefined) upserts.push(row);
    else leftOut.push({ namespace: row.namespace, name: row.name, reason });
  }
  return { kept: { ...batch, upserts, deletes: [...batch.deletes, ...keysOf(leftOut)] }, leftOut };
}

/** The result of a commit, with the objects that were left out of it. */
export function withLeftOut(commit: Commit, leftOut: readonly LeftOut[]): Commit {
  const all = [...leftOut, ...(commit.leftOut ?? [])];
  return all.length === 0 ? commit : { ...commit, leftOut: all };
}

/** Why the database has refused an object that {@link whyLeftOut} has accepted. */
const refusedByDatabase = 'the database of the index refuses it';

/**
 * Finds the objects for which a database refuses a batch, by writing it in ever smaller pieces. Yields each piece; the
 * caller writes it, and passes to `next` whether it was written (true) or refused because of its contents (false). The
 * deletions come first, so that no old right outlives a batch that fails on the way, and the position comes last.
 * @returns the objects that were refused; undefined when the batch is refused even without its objects
 */
export function* piecesOf(batch: WriteBatch): Generator<WriteBatch, readonly LeftOut[] | undefined, boolean> {
  const { incarnation, type, deletes, position } = batch;
  const fragment = { incarnation, type, upserts: [], deletes: [] };
  if (!(yield { ...fragment, deletes })) return undefined;
  const leftOut: LeftOut[] = [];
  const waiting = [lastOfEach(batch.upserts)];
  for (let rows = waiting.pop(); rows !== undefined; rows = waiting.pop()) {
    if (rows.length === 0 || (yield { ...fragment, upserts: rows })) continue;
    const half = rows.length >> 1;
    if (half > 0) waiting.push(rows.slice(half), rows.slice(0, half));
    else leftOut.push({ namespace: rows[0]!.namespace, name: rows[0]!.name, reason: refusedByDatabase });
  }
  const end = { ...fragment, deletes: keysOf(leftOut), ...(position === undefined ? {} : { position }) };
  return (yield end) ? leftOut : undefined;
}

/** The rows without those that a later row of the same object replaces. */
function lastOfEach(rows: readonly RowWrite[]): readonly RowWrite[] {
  return [...new Map(rows.map((row) => [`${row.namespace}\0${row.name}`, row])).values()];
}

function keysOf(leftOut: readonly LeftOut[]): readonly ObjectKey[] {
  return leftOut.map(({ namespace, name }) => ({ namespace, name }));
}
