// Reads a file that the configuration names.
import { readFileSync } from 'node:fs';
import { ConfigurationError } from '../../lib/configuration-error.ts';

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
