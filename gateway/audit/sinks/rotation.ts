// Names rotated audit files and deletes old ones, by the rules of lumberjack v2.2.1, which kube-apiserver uses. Two
// rotations within a millisecond get two names, so that the second does not replace the first file.
import { existsSync } from 'node:fs';
import { readdir, unlink } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';

/** How many old files are kept, and for how long; 0 means no limit. */
export interface Retention {
  readonly maxBackups: number;
  readonly maxAgeDays: number;
}

const dayMs = 24 * 3600 * 1000;
const timestampForm = /^(\d{4}-\d{2}-\d{2})T(\d{2})-(\d{2})-(\d{2}\.\d{3})$/;

/** `audit.log` becomes `audit-2026-01-31T13-59-59.123.log`; returns a name no file has. */
export function backupName(file: string, nowMs: number): string {
  const { folder, prefix, extension } = partsOf(file);
  for (let at = nowMs; ; at++) {
    const timestamp = new Date(at).toISOString().slice(0, -1).replaceAll(':', '-');
    const name = join(folder, `${prefix}${timestamp}${extension}`);
    if (!existsSync(name)) return name;
  }
}

/**
 * Deletes rotated files beyond the number or age to keep. The age is that of their name; a failed delete is ignored.
 */
export async function deleteOldFiles(
  file: string,
  { maxBackups, maxAgeDays }: Retention,
  nowMs: number,
): Promise<void> {
  if (maxBackups === 0 && maxAgeDays === 0) return;
  const { folder } = partsOf(file);
  const names = await readdir(folder).catch((): string[] => []);
  const old = names
    .map((name) => ({ name, rotatedAtMs: rotationTime(file, name) }))
    .filter(({ rotatedAtMs }) => !Number.isNaN(rotatedAtMs))
    .toSorted((a, b) => b.rotatedAtMs - a.rotatedAtMs);
  const oldestMs = maxAgeDays === 0 ? -Infinity : nowMs - maxAgeDays * dayMs;
  const kept = maxBackups === 0 ? old.length : maxBackups;
  const surplus = old.filter(({ rotatedAtMs }, i) => i >= kept || rotatedAtMs < oldestMs);
  await Promise.allSettled(surplus.map(({ name }) => unlink(join(folder, name))));
}

/** When the file was rotated, Unix milliseconds; NaN for other files. */
function rotationTime(file: string, name: string): number {
  const { prefix, extension } = partsOf(file);
  if (!name.startsWith(prefix) || !name.endsWith(extension)) return Number.NaN;
  const parts = timestampForm.exec(name.slice(prefix.length, name.length - extension.length));
  return parts === null ? Number.NaN : Date.parse(`${parts[1]}T${parts[2]}:${parts[3]}:${parts[4]}Z`);
}

function partsOf(file: string): { readonly folder: string; readonly prefix: string; readonly extension: string } {
  const extension = extname(file);
  return { folder: dirname(file), prefix: `${basename(file, extension)}-`, extension };
}
