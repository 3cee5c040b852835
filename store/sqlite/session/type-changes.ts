// The changes of a type since a point in time, from the change log. The structures in memory apply these changes to be
// up to date. When the log does not reach back to the point in time, a structure must be built again.
import { oldestSequence } from './change-reader.ts';
import { changeKind } from '../tables/schema.ts';
import type { Transaction } from '../tables/transaction.ts';

/** The fields of a change log entry that the structures in memory need. */
export interface TypeChange {
  /** One of the values of {@link changeKind}. */
  readonly kind: number;
  readonly slot: number;
  readonly name: string;
  readonly id: number;
}

/** The most changes that are read. With more changes it is cheaper to read all rows again. */
const mostChanges = 5000;

/** Limits which changes of a type are read from the log, and how many. */
export interface ChangesWanted {
  readonly most?: number;
  /** True for additions and deletions only. For names these suffice, since the name of an object never changes. */
  readonly isOfNames?: boolean;
}

/**
 * The changes of a type after a time, oldest first. Undefined when there are too many, or some are no longer in the
 * log.
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
