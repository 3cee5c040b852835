// Finds the terms that a condition on a label or an indexed path matches. The meaning of a condition is defined in
// query/match.ts alone. So this code tests each value with it, unless the condition is a plain comparison for
// equality or existence.
import { compileMatcher } from '../../../query/match.ts';
import { allOf, type FieldRequirement, type LabelRequirement } from '../../../query/list-query.ts';
import { fieldPath, labelPath } from '../../term-paths.ts';
import { indexedPathBytes } from '../connection/schema.ts';
import { termId } from '../write/terms.ts';
import type { Snapshot } from './snapshot.ts';
import { allHold, bytes, piece, type Piece } from './sql.ts';

/** Stands for the rows that have one of these terms or, with `isNegative`, for those that have none of them. */
export interface TermSet {
  /** Numbers of the terms, 64 bits each, as decimal text. */
  readonly ids: readonly string[];
  /**
   * The sum of rows over all terms. It can be more than the number of rows, since a row may have several of the terms.
   */
  readonly postings: number;
  readonly isNegative: boolean;
}

/** What terms are looked up for: a transaction, and the type with the number `t`. */
export interface TermsOf {
  readonly snapshot: Snapshot;
  readonly t: number;
}

/** When a path has more values than this, they are not tested one by one. The bodies of rows are read instead. */
const mostEnumerated = 100_000;

type TermRow = readonly [id: string, n: number, value: Buffer];

/** The terms that match a label requirement. Undefined when the label has too many values to test. */
export async function labelTerms(of: TermsOf, requirement: LabelRequirement): Promise<TermSet | undefined> {
  const path = labelPath(requirement.key);
  switch (requirement.operator) {
    case 'In':
    case 'NotIn':
      return set(await valueTerms(of, path, requirement.values), requirement.operator === 'NotIn');
    case 'Exists':
    case 'DoesNotExist':
      return enumerated(of, path, () => true, requirement.operator === 'DoesNotExist');
    default: {
      const isMatch = compileMatcher({ ...allOf(anyType), labels: [requirement] });
      const labelled = (value: string): unknown => ({ metadata: { labels: { [requirement.key]: value } } });
      return enumerated(of, path, (value) => isMatch(labelled(value), anyRow));
    }
  }
}

/**
 * The terms that match a condition on an indexed path. Undefined when the path has too many values to test.
 * @param path as in indexed-paths.ts; it must be indexed for the type
 */
export async function fieldTerms(
  of: TermsOf,
  path: string,
  requirement: FieldRequirement,
): Promise<TermSet | undefined> {
  const { operator, values } = requirement;
  const term = fieldPath(path);
  switch (operator) {
    case 'Equals':
    case 'In':
      return set(await valueTerms(of, term, values));
    case 'NotEquals':
    case 'NotIn':
      return set(await valueTerms(of, term, values), true);
    case 'Exists':
    case 'DoesNotExist':
      return enumerated(of, term, () => true, operator === 'DoesNotExist');
    case 'Contains':
      return set(await terms(of, [...ofPath(term), piece('position(?::bytea in k.value) > 0', bytes(values[0]!))]));
    default: {
      const isMatch = compileMatcher({
        ...allOf(anyType),
        fields: [{ operator, values, path: [{ kind: 'key', key: 'value' }] }],
      });
      return enumerated(of, term, (value) => isMatch({ value }, anyRow));
    }
  }
}

/** The terms of labels whose key or value contains the text, in upper or lower case. */
export async function textTerms(of: TermsOf, text: string): Promise<TermSet> {
  const lower = bytes(text.toLowerCase());
  const found = `(position(?::bytea in substr(coalesce(k.path_fold, k.path), 3)) > 0
    OR position(?::bytea in coalesce(k.value_fold, k.value)) > 0)`;
  const isLabel = `substr(k.path, 1, ${indexedPathBytes}) >= ? AND substr(k.path, 1, ${indexedPathBytes}) < ?`;
  return set(await terms(of, [piece(isLabel, bytes('l:'), bytes('l;')), piece(found, lower, lower)]));
}

const anyType = { group: '', resource: 'any' };
const anyRow = { cluster: '', type: 'any.', namespace: '', name: '' };

function set(rows: readonly TermRow[], isNegative = false): TermSet {
  return { ids: rows.map(([id]) => id), postings: rows.reduce((sum, [, n]) => sum + n, 0), isNegative };
}

/**
 * SQL conditions for terms `k` of a path. The database index `term_text` holds only the first bytes of a path. So the
 * beginning is compared for the index, and then the whole path.
 */
export function ofPath(path: string): readonly Piece[] {
  const text = bytes(path);
  return [
    piece(`substr(k.path, 1, ${indexedPathBytes}) = ?`, text.subarray(0, indexedPathBytes)),
    piece('k.path = ?', text),
  ];
}

async function valueTerms(of: TermsOf, path: string, values: readonly string[]): Promise<readonly TermRow[]> {
  const { catalog, termCounts } = of.snapshot;
  const type = catalog.typeKeys.get(of.t)!;
  const ids = [...new Set(values)].map((value) => String(termId(type, path, value)));
  const known = ids.map((id) => termCounts.of(id));
  if (known.every((rows) => rows !== undefined)) return ids.map((id, i) => [id, known[i]!, noBytes]);
  const found = await terms(of, [piece('k.id = ANY(?::int8[])', ids)]);
  const rows = new Map(found.map(([id, n]) => [id, n]));
  for (const id of ids) termCounts.note(id, rows.get(id) ?? 0);
  return ids.map((id) => [id, rows.get(id) ?? 0, noBytes]);
}

const noBytes = Buffer.alloc(0);

async function enumerated(
  of: TermsOf,
  path: string,
  isMatch: (value: string) => boolean,
  isNegative = false,
): Promise<TermSet | undefined> {
  const rows = await terms(of, ofPath(path), mostEnumerated + 1);
  if (rows.length > mostEnumerated) return undefined;
  return set(
    rows.filter(([, , value]) => isMatch(value.toString())),
    isNegative,
  );
}

/** Reads the terms that rows have. Every shard counts its own rows, so the numbers of equal terms are added up. */
function terms({ snapshot, t }: TermsOf, where: readonly Piece[], limit?: number): Promise<readonly TermRow[]> {
  const all = allHold([piece('k.t = ?', t), ...where]);
  const text = `SELECT k.id::text, sum(k.n)::int8, k.value FROM term k WHERE ${all.text} GROUP BY k.id, k.value`;
  const cut = limit === undefined ? '' : ` LIMIT ${limit}`;
  return snapshot.rows<TermRow>({ text: `${text}${cut}`, values: all.values });
}
