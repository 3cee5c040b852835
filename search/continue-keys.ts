// The secret key that encrypts continue tokens. All processes that answer from one index must share the key, otherwise
// each refuses the tokens of the others. For an index in SQLite it is stored in the folder of the index; for one in
// PostgreSQL, opened-store.ts stores a key in the database.
import { randomBytes } from 'node:crypto';
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ContinueKeys } from '../query/continue.ts';

const keyBytes = 32;

/**
 * Reads the key from the folder, or creates it there (mode 0600).
 * @throws Error with the system's code when the folder cannot be written
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
    // A link and not a rename: a rename would replace a key that another process has just created.
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
