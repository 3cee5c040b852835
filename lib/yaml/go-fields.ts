// Schemas for fields of files and JSON that Go programs read, too. There a field that is missing or null has the zero
// value of its type.
import { z } from 'zod';

/** Undefined when the field is missing or null. */
export function optional<T extends z.ZodType>(schema: T): z.ZodType<z.output<T> | undefined> {
  return schema.nullish().transform((value) => value ?? undefined);
}

/** A text, '' when it is missing or null. */
export const goText = z
  .string()
  .nullish()
  .transform((value) => value ?? '');

/** A boolean, false when it is missing or null. */
export const goFlag = z
  .boolean()
  .nullish()
  .transform((value) => value ?? false);

/** A list, empty when it is missing or null. */
export function goList<Item extends z.ZodType>(item: Item) {
  return z
    .array(item)
    .nullish()
    .transform((items) => items ?? []);
}
