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

/**
 * An object that Go's encoding/json reads into a struct: names of fields are matched without regard to case. If two
 * names differ only in case, Go uses the later one; here they are refused, since the author cannot have meant both.
 */
export function goStruct<Shape extends z.ZodRawShape>(shape: Shape) {
  const names = new Map(Object.keys(shape).map((name) => [name.toLowerCase(), name]));
  return z.preprocess((value, context) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    const fields = new Map<string, unknown>();
    for (const [key, given] of Object.entries(value)) {
      const name = names.get(key.toLowerCase());
      if (name === undefined) continue;
      if (fields.has(name)) context.addIssue({ code: 'custom', message: 'stands twice', path: [name] });
      fields.set(name, given);
    }
    return Object.fromEntries(fields);
  }, z.object(shape));
}
