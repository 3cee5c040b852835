// Makes and reads the `keptAs` text, which says how the rows of a type were stored: row format, searchable paths,
// redaction, filter, pruned fields. The text is stored with the type. When the present one differs from it, the type is
// listed again.
import { rowForm } from '../../store/row-form.ts';
import type { TypeFilter } from '../member/sync-types.ts';

/**
 * Stands for the filter in a `keptAs` text while a list rewrites the rows because the filter, the pruned fields or the
 * version of the type have changed. Some rows then still match the old filter, so that neither the old nor the new
 * filter describes all rows.
 */
export const mixedOptions = null;

/**
 * Returns the `keptAs` text of a type.
 * @param paths the paths that can be searched
 * @param redacts whether the data of Secrets is removed
 * @param filter the filter under which all rows were stored, or {@link mixedOptions}
 * @param pruned fields that are dropped
 * @param form number of the row format. Negative while rows have different formats; its absolute value is then the
 * oldest of these formats
 */
export function keptAsOf(
  paths: readonly string[],
  redacts: boolean,
  filter: TypeFilter | typeof mixedOptions,
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

/**
 * The number of the row format in a `keptAs` text, negative while rows have different formats. Without a text, the
 * present format is assumed.
 */
export function formOf(keptAs: string | undefined): number {
  return keptAs === undefined ? rowForm : (JSON.parse(keptAs) as readonly [number])[0];
}

/**
 * Whether rows of this form, as {@link formOf} returns it, may have been written by a newer version of Portcullis: all,
 * or some while rows have different forms.
 */
export function mayBeNewer(form: number): boolean {
  return form > rowForm || -form >= rowForm;
}
