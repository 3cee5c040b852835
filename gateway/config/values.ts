// What all sections of the configuration share: the report of a fault, the type of what was written, and the parsing
// of lists.
import type { z } from 'zod';

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

/**
 * Settings as the operator wrote them, before they are checked: those that a section of the configuration file may
 * have. In flags they are all text.
 */
export type Given<Fields extends z.ZodRawShape> = Readonly<z.input<z.ZodObject<Fields>>>;

/** The flag of a key of the configuration file: `--max-streams` for `maxStreams`. */
export function flagOf(name: string): string {
  return `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
