// What a store must be able to write as SQL, so that conditions.ts and where-sql.ts can compile a query for it.
import type { Predicate } from '../../query/predicate.ts';
import type { TypeKey } from '../../query/types.ts';
import type { SqlFragment } from './sql-fragment.ts';
import type { TermLookup, TermSet } from './term-lookups.ts';

/** SQL for a condition on columns of `o`. */
export interface ConditionPiece<Value, Id> extends SqlFragment<Value> {
  /** The terms that the SQL tests for; absent when it tests something else. */
  readonly terms?: TermSet<Id>;
}

export type TextColumn = 'o.name' | 'o.uid';

/** The SQL of single conditions in a store. */
export interface ConditionSql<Value, Id> {
  readonly isOneOf: (column: TextColumn, texts: readonly string[]) => SqlFragment<Value>;
  readonly isNoneOf: (column: TextColumn, texts: readonly string[]) => SqlFragment<Value>;
  readonly contains: (column: TextColumn, part: string) => SqlFragment<Value>;
  readonly isCreated: (operator: '>=' | '<', ms: number) => SqlFragment<Value>;
  /** SQL that is true when the name contains the text in upper or lower case, or when the row satisfies `orTerms`. */
  readonly nameContains: (lower: string, orTerms: SqlFragment<Value>) => SqlFragment<Value>;
  readonly hasTerms: (terms: TermSet<Id>) => SqlFragment<Value>;
  /**
   * SQL for an expression of columns alone (see match-where.ts); undefined when the store cannot write it as SQL. The
   * expression has few comparisons, and no pattern that is searched character by character.
   */
  readonly columnsHold: (predicate: Predicate, type: TypeKey) => SqlFragment<Value> | undefined;
}

/**
 * Compiles a query to SQL. Yields each lookup of terms (labels and indexed values) that it needs, and is resumed with
 * the terms that were found, or with undefined when the path has too many values to test.
 */
export type Lookups<Id, Result> = Generator<TermLookup, Result, TermSet<Id> | undefined>;
