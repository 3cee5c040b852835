// Zod schemas for fields of files and JSON that Go programs read as well. In Go, a field that is missing or null has
// the zero value of its type.
import { z } from 'zod';

/** Allows a field to be missing or null, and returns undefined then. */
export function optional<T extends z.ZodType>(schema: T): z.ZodType<z.output<T> | undefined> {
  return schema.nullish().transform((value) => value ?? undefined);
}

/** A string; '' when the field is missing or null. */
export const goText = z
  .string()
  .nullish()
  .transform((value) => value ?? '');

/** A boolean; false when the field is missing or null. */
export const goFlag = z
  .boolean()
  .nullish()
  .transform((value) => value ?? false);

/** A list; empty when the field is missing or null. */
export function goList<Item extends z.ZodType>(item: Item) {
  return z
    .array(item)
    .nullish()
    .transform((items) => items ?? []);
}
