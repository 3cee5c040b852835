// Types and functions that all sections of the configuration share: the report of a fault, the type of settings before
// they are checked, the parsing of lists, and the reading of files.
import { readFileSync } from 'node:fs';
import type { z } from 'zod';
import { ConfigurationError } from '../../lib/configuration-error.ts';

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
 * Reads a text file.
 * @throws ConfigurationError that names the file and the system's error code
 */
export function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new ConfigurationError([
      { file, message: `cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown fault'}` },
    ]);
  }
}

/**
 * Settings as the operator wrote them, before they are checked. `Fields` are the keys that a section of the
 * configuration file may have. As flags, their values are all text.
 */
export type Given<Fields extends z.ZodRawShape> = Readonly<z.input<z.ZodObject<Fields>>>;

/** The flag of a key of the configuration file: `--max-streams` for `maxStreams`. */
export function flagOf(name: string): string {
  return `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/**
 * For a section that is off: calls `fault` for each of its settings that is given nevertheless.
 * @param isOnKey the setting that would switch the section on
 */
export function refuseUnused<Fields extends z.ZodRawShape>(
  given: Given<Fields>,
  fields: Fields,
  isOnKey: keyof Fields & string,
  fault: Fault,
): void {
  for (const key of Object.keys(fields))
    if (key !== isOnKey && (given as Readonly<Record<string, unknown>>)[key] !== undefined)
      fault(flagOf(key), `is only used with ${flagOf(isOnKey)}: add that flag, or remove this one`);
}

/** Where a Lease is on the hub. */
export interface LeaseName {
  readonly namespace: string;
  readonly name: string;
}

/** Reads `NAMESPACE/NAME`, the value of the flag; `fault` is called when it is something else. */
export function readLease(flag: string, text: string, fault: Fault): LeaseName {
  const [namespace = '', name = '', ...rest] = text.split('/');
  if (namespace === '' || name === '' || rest.length > 0) fault(flag, `"${text}" is not NAMESPACE/NAME`);
  return { namespace, name };
}
