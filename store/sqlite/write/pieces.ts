// Writes a batch that SQLite refuses because of one of its objects, without that object.
import type { Commit } from '../../store.ts';
import { piecesOf, withLeftOut } from '../../left-out.ts';
import { packBatch, unpackRows, type PackedBatch } from '../tables/messages.ts';

/**
 * SQLITE_TOOBIG, SQLITE_MISMATCH and SQLITE_CONSTRAINT_NOTNULL. A violation of another constraint is a sign of a
 * damaged file (`isContradicted` in file.ts).
 */
const ofObject: ReadonlySet<unknown> = new Set([18, 20, 1299]);

/** Whether SQLite refuses a write because of the contents of a row. */
export function isOfObject(error: unknown): boolean {
  return ofObject.has((error as { readonly errcode?: unknown }).errcode);
}

/**
 * Writes the batch in pieces, and leaves out the objects that are refused.
 * @param write commits a piece
 * @param refusal the error with which the whole batch was refused
 * @throws whatever `write` throws for another reason, or `refusal` when the batch is refused without its objects, too
 */
export function writeInPieces(packed: PackedBatch, write: (fragment: PackedBatch) => Commit, refusal: unknown): Commit {
  const { incarnation, type, deletes, position } = packed;
  const fragments = piecesOf({
    ...{ incarnation, type, deletes, upserts: unpackRows(packed) },
    ...(position === undefined ? {} : { position }),
  });
  let total: Commit | undefined;
  const isWritten = (fragment: PackedBatch): boolean => {
    try {
      total = sum(total, write(fragment));
      return true;
    } catch (error) {
      if (isOfObject(error)) return false;
      throw error;
    }
  };
  let next = fragments.next();
  while (next.done !== true) next = fragments.next(isWritten(packBatch(next.value)));
  if (next.value === undefined || total === undefined) throw refusal;
  return withLeftOut(total, next.value);
}

function sum(one: Commit | undefined, other: Commit): Commit {
  if (one === undefined) return other;
  const { written, deleted, leftOut = [] } = one;
  return withLeftOut({ ...other, written: written + other.written, deleted: deleted + other.deleted }, leftOut);
}
