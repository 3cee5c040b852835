// Names rotated audit files and deletes old ones, by the rules of lumberjack v2.2.1, the library that kube-apiserver
// uses. Unlike there, two rotations within one millisecond get two names, so that the second does not overwrite the
// first file.
import { existsSync } from 'node:fs';
import { readdir, unlink } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';

/** How many rotated files are kept and for how many days; 0 means no limit. */
export interface Retention {
  readonly maxBackups: number;
  readonly maxAgeDays: number;
}

const dayMs = 24 * 3600 * 1000;
const timestampForm = /^(\d{4}-\d{2}-\d{2})T(\d{2})-(\d{2})-(\d{2}\.\d{3})$/;

/** A file name that no file has yet, for rotating `file`: `audit.log` becomes `audit-2026-01-31T13-59-59.123.log`. */
export function backupName(file: string, nowMs: number): string {
  const { folder, prefix, extension } = partsOf(file);
  for (let at = nowMs; ; at++) {
    const timestamp = new Date(at).toISOString().slice(0, -1).replaceAll(':', '-');
    const name = join(folder, `${prefix}${timestamp}${extension}`);
    if (!existsSync(name)) return name;
  }
}

/**
 * Deletes rotated files when there are more than `maxBackups` or they are older than `maxAgeDays`. The age comes from
 * the file name. A file that cannot be deleted is ignored.
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

/**
 * When the file was rotated, from its name, in milliseconds since 1970; NaN when the name is not one of {@link
 * backupName}.
 */
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
