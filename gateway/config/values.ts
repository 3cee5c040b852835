// What all sections of the configuration share: the report of a fault, and the parsing of lists.

/** Reports that a flag, or the key of the same name in the configuration file, is wrong. */
export type Fault = (flag: string, message: string) => void;

/** The elements of a comma-separated list, without duplicates. */
export function listOf(names: string | undefined): readonly string[] {
  return [...new Set((names ?? '').split(',').map((name) => name.trim()))].filter((name) => name !== '');
}

/** The object without the fields that are undefined. */
export function definedOf<T extends object>(input: T): T {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined)) as T;
}
