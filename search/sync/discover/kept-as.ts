// Makes and reads the `keptAs` text, which says how the rows of a type were stored: row format, searchable paths,
// redaction, filter, pruned fields. The text is stored with the type. When the present one differs from it, the type is
// listed again.
import { rowForm } from '../../stores/row-form.ts';
import type { TypeFilter } from '../sync-types.ts';

/**
 * Returns the `keptAs` text of a type.
 * @param paths the paths that can be searched
 * @param redacts whether the data of Secrets is removed
 * @param pruned fields that are dropped
 * @param form number of the row format. Negative while rows have different formats; its absolute value is then the
 * oldest of these formats
 */
export function keptAsOf(
  paths: readonly string[],
  redacts: boolean,
  filter: TypeFilter,
  pruned: readonly string[],
  form = rowForm,
): string {
  return JSON.stringify([form, paths, redacts, filter, ...(pruned.length === 0 ? [] : [pruned])]);
}

/**
 * Whether rows with this `keptAs` text were stored with this filter and without these fields, in whatever row format.
 */
export function isKeptUnder(keptAs: string, filter: TypeFilter, pruned: readonly string[]): boolean {
  const [, , , kept = {}, without = []] = JSON.parse(keptAs) as readonly unknown[];
  return JSON.stringify([kept, without]) === JSON.stringify([filter, pruned]);
}

/** The row format in a `keptAs` text, as {@link keptAsOf} takes it. Without a text, the present format is assumed. */
export function formOf(keptAs: string | undefined): number {
  return keptAs === undefined ? rowForm : (JSON.parse(keptAs) as readonly [number])[0];
}
