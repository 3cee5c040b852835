// Conditions of `whereSQL` that are the same for all rows of a type.
import { columnsIn, compileColumns } from '../../query/match-where.ts';
import type { Predicate } from '../../query/predicate.ts';
import type { TypeKey } from '../../query/types.ts';
import type { SqlFragment } from './sql-fragment.ts';

const columnsOfTypes: ReadonlySet<string> = new Set(['resource', 'group']);

/** SQL for an expression of columns that all rows of the type have in common; undefined for other expressions. */
export function constantSql(predicate: Predicate, type: TypeKey): SqlFragment<never> | undefined {
  if (!columnsIn(predicate).isSubsetOf(columnsOfTypes)) return undefined;
  const isTrue = compileColumns(predicate)({ type, cluster: '', namespace: '', name: '', uid: '', createdAtMs: 0 });
  return { text: isTrue ? '1 = 1' : '1 = 0', values: [] };
}
