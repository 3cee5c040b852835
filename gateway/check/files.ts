// Finds files with secrets, and files that decide who may do what, that other users of the machine can read or change.
// For a symbolic link the mode of its target counts, as in mounted Secrets.
import { statSync } from 'node:fs';
import type { Unread, Weakness } from './weakness.ts';

/**
 * A file that holds a secret, or that decides who may do what; other users of the machine must not read or change it.
 */
export interface WatchedFile {
  readonly file: string;
  readonly holds: 'secret' | 'decision';
  /** What the file is, in words for people, such as `token file`. */
  readonly kind: string;
}

const othersRead = 0o004;
const othersWrite = 0o002;

/**
 * Checks whether other users of the machine can read or change the files. A file whose mode cannot be read is returned
 * in `unread`.
 */
export function fileWeaknesses(files: readonly WatchedFile[]): {
  readonly weaknesses: readonly Weakness[];
  readonly unread: readonly Unread[];
} {
  const weaknesses: Weakness[] = [];
  const unread: Unread[] = [];
  const seen = new Set<string>();
  for (const { file, holds, kind } of files) {
    if (seen.has(file)) continue;
    seen.add(file);
    let mode: number;
    try {
      ({ mode } = statSync(file));
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? 'unknown fault';
      unread.push({ where: file, what: `the ${kind} cannot be read: ${code}` });
      continue;
    }
    if (holds === 'secret' && (mode & othersRead) !== 0) {
      weaknesses.push({
        name: 'WorldReadableSecret',
        severity: 'high',
        where: file,
        what: `every user of this machine can read the ${kind}`,
        fix: `chmod 600 ${file}`,
      });
    }
    if ((mode & othersWrite) !== 0) {
      weaknesses.push({
        name: 'WorldWritableFile',
        severity: 'high',
        where: file,
        what: `every user of this machine can change the ${kind}`,
        fix: `chmod o-w ${file}`,
      });
    }
  }
  return { weaknesses, unread };
}
