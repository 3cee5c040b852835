// What all sections of the configuration share: how a fault is reported, and how lists are written.

/** Reports a fault of one flag, or of the key with the same name. */
export type Fault = (flag: string, message: string) => void;

/** The names of a comma-separated list, each once. */
export function listOf(names: string | undefined): readonly string[] {
  return [...new Set((names ?? '').split(',').map((name) => name.trim()))].filter((name) => name !== '');
}

/** The settings that were given. */
export function definedOf<T extends object>(input: T): T {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined)) as T;
}
