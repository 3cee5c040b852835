// Looks up the terms (labels and values of indexed paths) that a condition matches.
import { mostEnumerated, termSet, type TermLookup, type TermSet } from '../../sql/term-lookups.ts';
import { indexedPathBytes } from '../connection/schema.ts';
import { termId } from '../write/terms.ts';
import type { Snapshot } from './snapshot.ts';
import { allHold, bytes, fragment, type SqlFragment } from './sql.ts';

/** A transaction, and the number `t` of the type whose terms are looked up. */
export interface TermsOf {
  readonly snapshot: Snapshot;
  readonly t: number;
}

type TermRow = readonly [id: string, n: number, value: Buffer];

/** Looks up the terms of a condition. Undefined when the path has too many values to test each of them. */
export async function lookUpTerms(of: TermsOf, lookup: TermLookup): Promise<TermSet<string> | undefined> {
  if ('text' in lookup) return textTerms(of, lookup.text);
  const { path, values, isNegative } = lookup;
  if (typeof values === 'function') {
    const rows = await terms(of, ofPath(path), mostEnumerated + 1);
    if (rows.length > mostEnumerated) return undefined;
    return termSet(
      rows.filter(([, , value]) => values(value.toString())),
      isNegative,
    );
  }
  if ('part' in values)
    return termSet(
      await terms(of, [...ofPath(path), fragment('position(?::bytea in k.value) > 0', bytes(values.part))]),
    );
  return termSet(await valueTerms(of, path, values), isNegative);
}

/** The terms of labels whose key or value contains the text, in upper or lower case. */
async function textTerms(of: TermsOf, text: string): Promise<TermSet<string>> {
  const lower = bytes(text.toLowerCase());
  const found = `(position(?::bytea in substr(coalesce(k.path_fold, k.path), 3)) > 0
    OR position(?::bytea in coalesce(k.value_fold, k.value)) > 0)`;
  const isLabel = `substr(k.path, 1, ${indexedPathBytes}) >= ? AND substr(k.path, 1, ${indexedPathBytes}) < ?`;
  return termSet(await terms(of, [fragment(isLabel, bytes('l:'), bytes('l;')), fragment(found, lower, lower)]));
}

/**
 * SQL conditions for terms `k` of a path. The database index `term_text` holds only the first bytes of a path. So the
 * beginning is compared for the index, and then the whole path.
 */
export function ofPath(path: string): readonly SqlFragment[] {
  const text = bytes(path);
  return [
    fragment(`substr(k.path, 1, ${indexedPathBytes}) = ?`, text.subarray(0, indexedPathBytes)),
    fragment('k.path = ?', text),
  ];
}

async function valueTerms(of: TermsOf, path: string, values: readonly string[]): Promise<readonly TermRow[]> {
  const { catalog, termCounts } = of.snapshot;
  const type = catalog.typeKeys.get(of.t)!;
  const ids = [...new Set(values)].map((value) => String(termId(type, path, value)));
  const known = ids.map((id) => termCounts.of(id));
  if (known.every((rows) => rows !== undefined)) return ids.map((id, i) => [id, known[i]!, noBytes]);
  const found = await terms(of, [fragment('k.id = ANY(?::int8[])', ids)]);
  const rows = new Map(found.map(([id, n]) => [id, n]));
  for (const id of ids) termCounts.note(id, rows.get(id) ?? 0);
  return ids.map((id) => [id, rows.get(id) ?? 0, noBytes]);
}

const noBytes = Buffer.alloc(0);

/** Reads the terms that rows have. Every shard counts its own rows, so the numbers of equal terms are added up. */
function terms({ snapshot, t }: TermsOf, where: readonly SqlFragment[], limit?: number): Promise<readonly TermRow[]> {
  const all = allHold([fragment('k.t = ?', t), ...where]);
  const text = `SELECT k.id::text, sum(k.n)::int8, k.value FROM term k WHERE ${all.text} GROUP BY k.id, k.value`;
  const cut = limit === undefined ? '' : ` LIMIT ${limit}`;
  return snapshot.rows<TermRow>({ text: `${text}${cut}`, values: all.values });
}
