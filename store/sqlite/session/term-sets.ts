// Finds the terms that a condition on a label or an indexed path matches. The meaning of a condition is defined in
// query/match.ts alone. So this code tests each value with it, unless the condition is a plain comparison for
// equality or existence.
import { compileMatcher } from '../../../query/match.ts';
import { allOf, type FieldRequirement, type LabelRequirement } from '../../../query/list-query.ts';
import type { Sql } from '../tables/sql.ts';
import { fieldPath, labelPath } from '../../term-paths.ts';

/** Stands for the rows that have one of these terms or, with `isNegative`, for those that have none of them. */
export interface TermSet {
  readonly ids: readonly number[];
  /**
   * The sum of rows over all terms. It can be more than the number of rows, since a row may have several of the terms.
   */
  readonly postings: number;
  readonly isNegative: boolean;
}

/** When a path has more values than this, they are not tested one by one. The bodies of rows are read instead. */
const mostEnumerated = 100_000;

type TermRow = readonly [id: number, n: number, value: string];

export function labelTerms(sql: Sql, t: number, requirement: LabelRequirement): TermSet | undefined {
  const path = labelPath(requirement.key);
  switch (requirement.operator) {
    case 'In':
    case 'NotIn':
      return set(valueTerms(sql, t, path, requirement.values), requirement.operator === 'NotIn');
    case 'Exists':
    case 'DoesNotExist': {
      const rows = allTerms(sql, t, path);
      return rows && set(rows, requirement.operator === 'DoesNotExist');
    }
    default: {
      const isMatch = compileMatcher({ ...allOf(anyType), labels: [requirement] });
      const rows = allTerms(sql, t, path);
      return rows && set(rows.filter(([, , value]) => isMatch(labelled(requirement.key, value), anyRow)));
    }
  }
}

/**
 * The terms that match a condition on an indexed path. Undefined when the path has too many values to test.
 * @param path as in indexed-paths.ts; it must be indexed for the type
 */
export function fieldTerms(sql: Sql, t: number, path: string, requirement: FieldRequirement): TermSet | undefined {
  const { operator, values } = requirement;
  const term = fieldPath(path);
  switch (operator) {
    case 'Equals':
    case 'In':
      return set(valueTerms(sql, t, term, values));
    case 'NotEquals':
    case 'NotIn':
      return set(valueTerms(sql, t, term, values), true);
    case 'Exists':
    case 'DoesNotExist': {
      const rows = allTerms(sql, t, term);
      return rows && set(rows, operator === 'DoesNotExist');
    }
    case 'Contains':
      return set(
        sql.all<TermRow>(
          'SELECT id, n, value FROM term INDEXED BY term_key WHERE t = ? AND path = ? AND instr(value, ?) > 0',
          [t, term, values[0]!],
        ),
      );
    default: {
      const isMatch = compileMatcher({
        ...allOf(anyType),
        fields: [{ operator, values, path: [{ kind: 'key', key: 'value' }] }],
      });
      const rows = allTerms(sql, t, term);
      return rows && set(rows.filter(([, , value]) => isMatch({ value }, anyRow)));
    }
  }
}

/** The terms of labels whose key or value contains the text, in upper or lower case. */
export function textTerms(sql: Sql, t: number, text: string): TermSet {
  const lower = text.toLowerCase();
  return set(
    sql.all<TermRow>(
      `SELECT id, n, value FROM term INDEXED BY term_key
      WHERE t = ? AND path >= 'l:' AND path < 'l;' AND (instr(lower(substr(path, 3)), ?) > 0 OR instr(lower(value), ?) > 0)`,
      [t, lower, lower],
    ),
  );
}

const anyType = { group: '', resource: 'any' };
const anyRow = { cluster: '', type: 'any.', namespace: '', name: '' };

function labelled(key: string, value: string): unknown {
  return { metadata: { labels: { [key]: value } } };
}

function set(rows: readonly TermRow[], isNegative = false): TermSet {
  return { ids: rows.map(([id]) => id), postings: rows.reduce((sum, [, n]) => sum + n, 0), isNegative };
}

function valueTerms(sql: Sql, t: number, path: string, values: readonly string[]): readonly TermRow[] {
  return [...new Set(values)].flatMap((value) => {
    const row = sql.first<TermRow>(
      'SELECT id, n, value FROM term INDEXED BY term_key WHERE t = ? AND path = ? AND value = ?',
      [t, path, value],
    );
    return row === undefined ? [] : [row];
  });
}

function allTerms(sql: Sql, t: number, path: string): readonly TermRow[] | undefined {
  const rows = sql.all<TermRow>('SELECT id, n, value FROM term INDEXED BY term_key WHERE t = ? AND path = ? LIMIT ?', [
    t,
    path,
    mostEnumerated + 1,
  ]);
  return rows.length > mostEnumerated ? undefined : rows;
}
