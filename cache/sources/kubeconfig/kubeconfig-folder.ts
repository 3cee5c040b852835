// Lists the kubeconfig files of a folder, so that `--kubeconfig DIR` notices files that are added or removed. A mounted
// Secret or ConfigMap has a symbolic link for each key, and hidden entries such as `..data`; only the links for keys
// are read.
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { lookAt } from '../../../lib/file-watch.ts';

/** The kubeconfig files that the operator's paths refer to at this moment. */
export interface Listing {
  /**
   * The kubeconfig files as absolute paths, each once, in the order of the operator's paths. Files of one folder are
   * sorted by name.
   */
  readonly files: readonly string[];
  /** The files that are in `files` only because a folder contains them. */
  readonly found: ReadonlySet<string>;
  /** The path of each folder with its signature, for the file watch. */
  readonly folders: ReadonlyMap<string, string>;
  /**
   * Folders that could not be read, with the reason. `files` still contains the files that were listed in these folders
   * before.
   */
  readonly faults: readonly { readonly file: string; readonly message: string }[];
}

/**
 * Replaces each folder by the regular files in it, including links to files, without names that start with a dot. A
 * path that is not a folder, or does not exist, is returned as it is.
 * @param last the previous listing; for a folder that is gone or cannot be read, the files in the previous listing are
 * kept
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
  // A file that the operator named explicitly is not counted as found in a folder.
  for (const path of paths) found.delete(path);
  return { files: [...files], found, folders, faults };
}

/**
 * A text that changes when the path changes, for the file watch: for a folder the sorted names in it, for anything else
 * the result of {@link lookAt}. Names are used because the modification time of a folder may not change when a second
 * file is added within the same clock tick.
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
