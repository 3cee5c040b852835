// Finds the kubeconfig files that a folder holds now, so that `--kubeconfig DIR` follows files that come and go. A
// mounted Secret or ConfigMap shows its keys as links beside `..data` and hidden folders; only the keys are read.
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { lookAt } from '../../../lib/file-watch.ts';

/** The files that the operator's paths mean now. */
export interface Listing {
  /** Absolute, in the order of the paths, those of a folder by name; each once. */
  readonly files: readonly string[];
  /** Those that were found in a folder and not named. */
  readonly found: ReadonlySet<string>;
  /** The signature of every folder, for the watch. */
  readonly folders: ReadonlyMap<string, string>;
  /** Folders that cannot be read now; what they held before is still among `files`. */
  readonly faults: readonly { readonly file: string; readonly message: string }[];
}

/**
 * Replaces folders by the regular files in them (links to such files included), names that start with a dot left out. A
 * path that is no folder, or does not exist, stays as it is.
 * @param last the listing before: a folder that is gone or cannot be read keeps the files it had
 */
export async function listKubeconfigs(paths: readonly string[], last?: Listing): Promise<Listing> {
  const files = new Set<string>();
  const found = new Set<string>();
  const folders = new Map<string, string>();
  const faults: { readonly file: string; readonly message: string }[] = [];
  for (const path of paths) {
    const wasFolder = last?.folders.has(path) === true;
    if (!wasFolder && !(await isFolder(path))) {
      files.add(path);
      continue;
    }
    folders.set(path, await lookAtEither(path));
    try {
      for (const file of await filesIn(path)) {
        if (!files.has(file)) found.add(file);
        files.add(file);
      }
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? 'UNKNOWN';
      faults.push({ file: path, message: `the folder cannot be read (${code})` });
      for (const file of last?.found ?? []) {
        if (!file.startsWith(`${path}/`)) continue;
        files.add(file);
        found.add(file);
      }
    }
  }
  // A file that the operator also named counts as named.
  for (const path of paths) found.delete(path);
  return { files: [...files], found, folders, faults };
}

/**
 * The names in a folder, or {@link lookAt} of anything else: two files that come within one tick of the folder's clock
 * are both seen.
 */
export async function lookAtEither(path: string): Promise<string> {
  try {
    return JSON.stringify((await readdir(path)).toSorted());
  } catch {
    return lookAt(path);
  }
}

async function filesIn(folder: string): Promise<readonly string[]> {
  const names = (await readdir(folder)).filter((name) => !name.startsWith('.')).toSorted();
  const regular = await Promise.all(
    names.map((name) =>
      stat(join(folder, name))
        .then((stats) => stats.isFile())
        .catch(() => false),
    ),
  );
  return names.filter((_, index) => regular[index]).map((name) => join(folder, name));
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path)
    .then((stats) => stats.isDirectory())
    .catch(() => false);
}
