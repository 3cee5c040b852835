// The files of one simulated container, in memory. Every path is normalised first, so that `..` cannot leave the root
// directory, and `/tmp/` means `/tmp`.
import { posix } from 'node:path';

/** A file, directory or symbolic link. Times are Unix milliseconds. */
export type FileNode =
  | { readonly kind: 'file'; readonly data: Buffer; readonly mode: number; readonly modifiedAtMs: number }
  | { readonly kind: 'directory'; readonly mode: number; readonly modifiedAtMs: number }
  | { readonly kind: 'symlink'; readonly target: string; readonly mode: number; readonly modifiedAtMs: number };

const faultTexts = {
  ENOENT: 'No such file or directory',
  ENOTDIR: 'Not a directory',
  EISDIR: 'Is a directory',
  EEXIST: 'File exists',
  ENOTEMPTY: 'Directory not empty',
  ENOSPC: 'No space left on device',
  ELOOP: 'Too many levels of symbolic links',
} as const;

/** An error of the file system. The message is the text of strerror(3). */
export class FileFault extends Error {
  readonly code: keyof typeof faultTexts;

  constructor(code: keyof typeof faultTexts) {
    super(faultTexts[code]);
    this.name = 'FileFault';
    this.code = code;
  }
}

/** Makes a path absolute and normalises it. The result starts with `/` and does not end with `/`. */
export function resolvePath(workingDirectory: string, path: string): string {
  return posix.resolve('/', workingDirectory, path);
}

/** Permission bits and modification time of a file that is written; absent fields keep or get defaults. */
interface FileDetails {
  readonly mode?: number;
  readonly modifiedAtMs?: number;
}

/** A small file system, empty at first. Relative paths start at `/`. The methods throw {@link FileFault}. */
export class ContainerFiles {
  readonly #now: () => number;
  readonly #capacityBytes: number;
  readonly #nodes: Map<string, FileNode>;
  #usedBytes = 0;

  /**
   * Makes an empty file system. `capacityBytes` limits the size of all files together; a write beyond it fails with
   * ENOSPC.
   */
  constructor(now: () => number, capacityBytes = 256 * 1024 * 1024) {
    this.#now = now;
    this.#capacityBytes = capacityBytes;
    this.#nodes = new Map([['/', { kind: 'directory', mode: 0o755, modifiedAtMs: now() }]]);
  }

  /** Returns the file or directory at a path, following symbolic links; undefined when nothing is there. */
  find(path: string): FileNode | undefined {
    return this.#nodes.get(this.#locate(path, true));
  }

  /** The same as `find`, but a symbolic link at the end of the path is returned and not followed. */
  findLink(path: string): FileNode | undefined {
    return this.#nodes.get(this.#locate(path, false));
  }

  /** The names in a directory, sorted. */
  list(path: string): readonly string[] {
    const real = this.#locate(path, true);
    const node = this.#nodes.get(real);
    if (node === undefined) throw new FileFault('ENOENT');
    if (node.kind !== 'directory') throw new FileFault('ENOTDIR');
    const names = [...this.#nodes.keys()].filter((key) => key !== '/' && posix.dirname(key) === real);
    return names.map((key) => posix.basename(key)).sort();
  }

  read(path: string): Buffer {
    const node = this.find(path);
    if (node === undefined) throw new FileFault('ENOENT');
    if (node.kind !== 'file') throw new FileFault('EISDIR');
    return node.data;
  }

  write(path: string, data: Buffer, how: FileDetails = {}): void {
    const real = this.#locate(path, true);
    const before = this.#nodes.get(real);
    if (before?.kind === 'directory') throw new FileFault('EISDIR');
    this.#checkParent(real);
    const mode = how.mode ?? before?.mode ?? 0o644;
    this.#put(real, { kind: 'file', data, mode, modifiedAtMs: how.modifiedAtMs ?? this.#now() });
  }

  append(path: string, data: Buffer): void {
    const before = this.find(path);
    this.write(path, before?.kind === 'file' ? Buffer.concat([before.data, data]) : data);
  }

  makeDirectory(path: string, how: { readonly parents?: boolean } = {}): void {
    const real = this.#locate(path, true);
    const before = this.#nodes.get(real);
    if (before !== undefined) {
      if (how.parents === true && before.kind === 'directory') return;
      throw new FileFault('EEXIST');
    }
    if (how.parents === true) this.makeDirectory(posix.dirname(real), { parents: true });
    this.#checkParent(real);
    this.#put(real, { kind: 'directory', mode: 0o755, modifiedAtMs: this.#now() });
  }

  makeLink(path: string, target: string): void {
    const real = this.#locate(path, false);
    this.#checkParent(real);
    if (this.#nodes.get(real)?.kind === 'directory') throw new FileFault('EEXIST');
    this.#put(real, { kind: 'symlink', target, mode: 0o777, modifiedAtMs: this.#now() });
  }

  remove(path: string, how: { readonly recursive?: boolean } = {}): void {
    const real = this.#locate(path, false);
    const node = this.#nodes.get(real);
    if (node === undefined) throw new FileFault('ENOENT');
    const prefix = real === '/' ? '/' : `${real}/`;
    const below = [...this.#nodes.keys()].filter((key) => key.startsWith(prefix) && key !== '/');
    if (node.kind === 'directory' && how.recursive !== true)
      throw new FileFault(below.length > 0 ? 'ENOTEMPTY' : 'EISDIR');
    for (const key of [...below, real]) {
      const gone = this.#nodes.get(key);
      if (gone?.kind === 'file') this.#usedBytes -= gone.data.length;
      if (key !== '/') this.#nodes.delete(key);
    }
  }

  /**
   * The absolute path after following symbolic links. A link in the last part of the path is followed only if
   * `followLast` is true.
   */
  #locate(path: string, followLast: boolean, depth = 0): string {
    if (depth > 16) throw new FileFault('ELOOP');
    let at = '/';
    const parts = resolvePath('/', path).split('/').filter(Boolean);
    for (const [i, part] of parts.entries()) {
      const next = posix.join(at, part);
      const node = this.#nodes.get(next);
      const isLast = i === parts.length - 1;
      at =
        node?.kind === 'symlink' && (followLast || !isLast)
          ? this.#locate(posix.resolve(at, node.target), true, depth + 1)
          : next;
    }
    return at;
  }

  #checkParent(path: string): void {
    const node = this.#nodes.get(posix.dirname(path));
    if (node === undefined) throw new FileFault('ENOENT');
    if (node.kind !== 'directory') throw new FileFault('ENOTDIR');
  }

  #put(path: string, node: FileNode): void {
    const before = this.#nodes.get(path);
    const size = (entry: FileNode | undefined): number => (entry?.kind === 'file' ? entry.data.length : 0);
    const grown = this.#usedBytes - size(before) + size(node);
    if (grown > this.#capacityBytes) throw new FileFault('ENOSPC');
    this.#usedBytes = grown;
    this.#nodes.set(path, node);
  }
}
