// The changes of a type since a point in time, from the change log. They bring the structures in memory up to date.
// When the log no longer reaches back that far, a structure must be built again.
import { oldestSequence } from '../read/change-reader.ts';
import { changeKind } from '../schema.ts';
import type { Transaction } from '../transaction.ts';

/** The fields of a log entry that structures in memory need. */
export interface TypeChange {
  /** One of the values of {@link changeKind}. */
  readonly kind: number;
  readonly slot: number;
  readonly name: string;
  readonly id: number;
}

/** With more changes than this it is cheaper to read everything again. */
const mostChanges = 5000;

/** Limits which changes of a type are read from the log. */
export interface ChangesWanted {
  readonly most?: number;
  /** True for additions and deletions only. They suffice for names, since the name of an object never changes. */
  readonly isOfNames?: boolean;
}

/**
 * The changes after a time, oldest first. Undefined when there are too many, or some of them are no longer in the log.
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
