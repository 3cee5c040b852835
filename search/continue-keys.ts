// The secret that seals continue tokens. Processes that answer for one another must share it, or each refuses the
// tokens of the other. It lies beside the index, whose pages the tokens are for.
import { randomBytes } from 'node:crypto';
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ContinueKeys } from './query/continue.ts';

const keyBytes = 32;

/**
 * Reads the key of a folder, or makes one there (mode 0600). @throws Error with the system's code when the folder
 * cannot be written
 */
export function readContinueKeys(folder: string): ContinueKeys {
  const file = join(folder, 'continue.key');
  const known = readIfThere(file);
  if (known !== undefined && known.length === keyBytes) return [known];
  if (known !== undefined) rmSync(file, { force: true });
  const made = randomBytes(keyBytes);
  const partial = `${file}.${process.pid}.new`;
  writeFileSync(partial, made, { mode: 0o600 });
  try {
    // Not a rename, which would replace the key that another process has just made.
    linkSync(partial, file);
    return [made];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return [readFileSync(file)];
  } finally {
    rmSync(partial);
  }
}

function readIfThere(file: string): Buffer | undefined {
  try {
    return readFileSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
