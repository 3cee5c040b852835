// Temporary folders of tests, as `TempDir` of Go's testing package gives them: a test makes one and forgets it.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const made: string[] = [];

/**
 * Makes an empty folder, which is removed with all that is in it when the process ends. By then everything that a test
 * has opened in the folder is closed, in whichever order its hooks ran.
 * @param name part of the folder's name, for who looks at what a killed test has left
 */
export function tempDir(name: string): string {
  if (made.length === 0) process.once('exit', removeAll);
  const folder = mkdtempSync(join(tmpdir(), `portcullis-${name}-`));
  made.push(folder);
  return folder;
}

function removeAll(): void {
  for (const folder of made) rmSync(folder, { recursive: true, force: true });
}
