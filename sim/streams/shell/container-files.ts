// The files of one pretend container, in memory. Paths are normalised first, so that `..` never leaves the tree and
// `/tmp/` is the same as `/tmp`.
import { posix } from 'node:path';

/** One entry of the tree. Times are Unix milliseconds. */
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

/** What the kernel would say; the message is the text of strerror(3). */
export class FileFault extends Error {
  readonly code: keyof typeof faultTexts;

  constructor(code: keyof typeof faultTexts) {
    super(faultTexts[code]);
    this.name = 'FileFault';
    this.code = code;
  }
}

/** A small file system. Every path is absolute or taken from `/`; methods throw {@link FileFault}. */
export interface ContainerFiles {
  /** The entry, symbolic links followed; undefined when there is none. */
  find(path: string): FileNode | undefined;
  /** The entry itself, also when it is a symbolic link. */
  findLink(path: string): FileNode | undefined;
  /** Names in a directory, sorted. */
  list(path: string): readonly string[];
  read(path: string): Buffer;
  write(path: string, data: Buffer, options?: { readonly mode?: number; readonly modifiedAtMs?: number }): void;
  append(path: string, data: Buffer): void;
  makeDirectory(path: string, options?: { readonly parents?: boolean; readonly mode?: number }): void;
  makeLink(path: string, target: string): void;
  remove(path: string, options?: { readonly recursive?: boolean }): void;
}

/** Joins and normalises; the result starts with `/` and has no trailing one. */
export function resolvePath(workingDirectory: string, path: string): string {
  return posix.resolve('/', workingDirectory, path);
}

/** An empty tree holding at most `capacityBytes` of file data. */
export function createContainerFiles(options: {
  readonly now: () => number;
  readonly capacityBytes?: number;
}): ContainerFiles {
  const capacityBytes = options.capacityBytes ?? 256 * 1024 * 1024;
  const nodes = new Map<string, FileNode>([['/', { kind: 'directory', mode: 0o755, modifiedAtMs: options.now() }]]);
  let usedBytes = 0;

  /** Real path with links followed in every part but, unless asked, the last. */
  function locate(path: string, followLast: boolean, depth = 0): string {
    if (depth > 16) throw new FileFault('ELOOP');
    let at = '/';
    const parts = resolvePath('/', path).split('/').filter(Boolean);
    for (const [i, part] of parts.entries()) {
      const next = posix.join(at, part);
      const node = nodes.get(next);
      const isLast = i === parts.length - 1;
      at =
        node?.kind === 'symlink' && (followLast || !isLast)
          ? locate(posix.resolve(at, node.target), true, depth + 1)
          : next;
    }
    return at;
  }

  function parentOf(path: string): string {
    const parent = posix.dirname(path);
    const node = nodes.get(parent);
    if (node === undefined) throw new FileFault('ENOENT');
    if (node.kind !== 'directory') throw new FileFault('ENOTDIR');
    return parent;
  }

  function put(path: string, node: FileNode): void {
    const before = nodes.get(path);
    const size = (entry: FileNode | undefined): number => (entry?.kind === 'file' ? entry.data.length : 0);
    const grown = usedBytes - size(before) + size(node);
    if (grown > capacityBytes) throw new FileFault('ENOSPC');
    usedBytes = grown;
    nodes.set(path, node);
  }

  function write(
    path: string,
    data: Buffer,
    how: { readonly mode?: number; readonly modifiedAtMs?: number } = {},
  ): void {
    const real = locate(path, true);
    const before = nodes.get(real);
    if (before?.kind === 'directory') throw new FileFault('EISDIR');
    parentOf(real);
    const mode = how.mode ?? before?.mode ?? 0o644;
    put(real, { kind: 'file', data, mode, modifiedAtMs: how.modifiedAtMs ?? options.now() });
  }

  function read(path: string): Buffer {
    const node = nodes.get(locate(path, true));
    if (node === undefined) throw new FileFault('ENOENT');
    if (node.kind !== 'file') throw new FileFault('EISDIR');
    return node.data;
  }

  const files: ContainerFiles = {
    find: (path) => nodes.get(locate(path, true)),
    findLink: (path) => nodes.get(locate(path, false)),
    list(path) {
      const real = locate(path, true);
      const node = nodes.get(real);
      if (node === undefined) throw new FileFault('ENOENT');
      if (node.kind !== 'directory') throw new FileFault('ENOTDIR');
      const names = [...nodes.keys()].filter((key) => key !== '/' && posix.dirname(key) === real);
      return names.map((key) => posix.basename(key)).sort();
    },
    read,
    write,
    append(path, data) {
      const before = files.find(path);
      write(path, before?.kind === 'file' ? Buffer.concat([before.data, data]) : data);
    },
    makeDirectory(path, how = {}) {
      const real = locate(path, true);
      const before = nodes.get(real);
      if (before !== undefined) {
        if (how.parents === true && before.kind === 'directory') return;
        throw new FileFault('EEXIST');
      }
      if (how.parents === true) files.makeDirectory(posix.dirname(real), { parents: true });
      parentOf(real);
      put(real, { kind: 'directory', mode: how.mode ?? 0o755, modifiedAtMs: options.now() });
    },
    makeLink(path, target) {
      const real = locate(path, false);
      parentOf(real);
      if (nodes.get(real)?.kind === 'directory') throw new FileFault('EEXIST');
      put(real, { kind: 'symlink', target, mode: 0o777, modifiedAtMs: options.now() });
    },
    remove(path, how = {}) {
      const real = locate(path, false);
      const node = nodes.get(real);
      if (node === undefined) throw new FileFault('ENOENT');
      const below = [...nodes.keys()].filter((key) => key.startsWith(real === '/' ? '/' : `${real}/`) && key !== '/');
      if (node.kind === 'directory' && how.recursive !== true)
        throw new FileFault(below.length > 0 ? 'ENOTEMPTY' : 'EISDIR');
      for (const key of [...below, real]) {
        const gone = nodes.get(key);
        if (gone?.kind === 'file') usedBytes -= gone.data.length;
        if (key !== '/') nodes.delete(key);
      }
    },
  };
  return files;
}
