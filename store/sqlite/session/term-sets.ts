// Looks up the terms (labels and values of indexed paths) that a condition matches.
import { mostEnumerated, termSet, type TermLookup, type TermSet } from '../../sql/term-lookups.ts';
import type { Sql } from '../tables/sql.ts';

type TermRow = readonly [id: number, n: number, value: string];

/** Looks up terms of the type with the number `t`. Undefined when the path has too many values to test. */
export function lookUpTerms(sql: Sql, t: number, lookup: TermLookup): TermSet<number> | undefined {
  if ('text' in lookup) return textTerms(sql, t, lookup.text);
  const { path, values, isNegative } = lookup;
  if (typeof values === 'function') {
    const rows = sql.all<TermRow>(
      'SELECT id, n, value FROM term INDEXED BY term_key WHERE t = ? AND path = ? LIMIT ?',
      [t, path, mostEnumerated + 1],
    );
    if (rows.length > mostEnumerated) return undefined;
    return termSet(
      rows.filter(([, , value]) => values(value)),
      isNegative,
    );
  }
  if ('part' in values) {
    return termSet(
      sql.all<TermRow>(
        'SELECT id, n, value FROM term INDEXED BY term_key WHERE t = ? AND path = ? AND instr(value, ?) > 0',
        [t, path, values.part],
      ),
    );
  }
  return termSet(valueTerms(sql, t, path, values), isNegative);
}

/** The terms of labels whose key or value contains the text, in upper or lower case. */
function textTerms(sql: Sql, t: number, text: string): TermSet<number> {
  const lower = text.toLowerCase();
  return termSet(
    sql.all<TermRow>(
      `SELECT id, n, value FROM term INDEXED BY term_key
      WHERE t = ? AND path >= 'l:' AND path < 'l;' AND (instr(lower(substr(path, 3)), ?) > 0 OR instr(lower(value), ?) > 0)`,
      [t, lower, lower],
    ),
  );
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
