// The text that says how the rows of a type are kept. It is stored with the type: rows with another text are read anew.
import type { TypeFilter } from '../sync-types.ts';

/**
 * The version of the form in which document.ts stores objects. To be increased when that form changes; all rows are
 * then written again.
 */
const documentForm = 1;

/**
 * Returns the text that is stored with a type and says how its rows are kept.
 * @param paths the paths that can be searched
 * @param pruned fields that are dropped
 */
export function keptAsOf(
  paths: readonly string[],
  redacts: boolean,
  filter: TypeFilter,
  pruned: readonly string[],
): string {
  return JSON.stringify([documentForm, paths, redacts, filter, ...(pruned.length === 0 ? [] : [pruned])]);
}

/** Whether rows were kept with this filter and without these fields. The version of their form does not matter. */
export function isKeptUnder(keptAs: string, filter: TypeFilter, pruned: readonly string[]): boolean {
  const [, , , kept = {}, without = []] = JSON.parse(keptAs) as readonly unknown[];
  return JSON.stringify([kept, without]) === JSON.stringify([filter, pruned]);
}
