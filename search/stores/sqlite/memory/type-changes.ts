// The changes of a type since a moment, from the log: keeps current what a reader remembers. Where the log no longer
// reaches back, the memory has to be built again.
import { oldestSequence } from '../read/change-reader.ts';
import { changeKind } from '../schema.ts';
import type { Transaction } from '../transaction.ts';

/** An entry of the log, as far as what is remembered needs it. */
export interface TypeChange {
  /** As in {@link changeKind}. */
  readonly kind: number;
  readonly slot: number;
  readonly name: string;
  readonly id: number;
}

/** With more changes than this it is cheaper to read anew. */
const mostChanges = 5000;

/** Which changes are wanted. */
export interface ChangesWanted {
  readonly most?: number;
  /** Objects that came or went: a name does not change. */
  readonly isOfNames?: boolean;
}

/**
 * Changes after a time, oldest first; undefined when they are too many, or when some of them are gone.
 * @param sinceUs {@link Transaction.sequence} of an earlier transaction
 */
export function changesOfType(
  session: Transaction,
  t: number,
  sinceUs: number,
  { most = mostChanges, isOfNames = false }: ChangesWanted = {},
): readonly TypeChange[] | undefined {
  if (sinceUs === session.sequence) return [];
  if (sinceUs < oldestSequence(session)) return undefined;
  const comings = isOfNames ? `AND kind <> ${changeKind.modified}` : '';
  const rows = session.sql.all<[number, number, string, number]>(
    `SELECT kind, place, name, id FROM change WHERE sequence > ? AND t = ? ${comings} ORDER BY sequence LIMIT ?`,
    [sinceUs, t, most + 1],
  );
  if (rows.length > most) return undefined;
  return rows.map(([kind, slot, name, id]) => ({ kind, slot, name, id }));
}
