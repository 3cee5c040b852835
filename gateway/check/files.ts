// Who else may read or change the files that hold secrets and decisions. Easy to get wrong: the mode of the file a link
// points to counts, which is what mounted Secrets are made of.
import { statSync } from 'node:fs';
import type { Unread, Weakness } from './weakness.ts';

/** A file and what is in it: something secret, or something that decides who may do what. */
export interface WatchedFile {
  readonly file: string;
  readonly holds: 'secret' | 'decision';
  /** For people: `token file`. */
  readonly kind: string;
}

const othersRead = 0o004;
const othersWrite = 0o002;

/** Looks at the modes of files; one that cannot be looked at is unread. */
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
