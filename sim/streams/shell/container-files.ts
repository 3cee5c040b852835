// The files of one simulated container, in memory: what `kubectl cp` has put there and what every container has. Every
// path is normalised first, so that `..` cannot leave the root directory, and `/tmp/` means `/tmp`.
import { posix } from 'node:path';

const noSuchFile = 'No such file or directory';

/** Makes a path absolute and normalises it. The result starts with `/` and does not end with `/`. */
export function resolvePath(workingDirectory: string, path: string): string {
  return posix.resolve('/', workingDirectory, path);
}

/** Directories and files, at first only `/`. The methods throw an Error whose message is the text of strerror(3). */
export class ContainerFiles {
  /** By absolute path; undefined for a directory. */
  readonly #nodes = new Map<string, Buffer | undefined>([['/', undefined]]);

  has(path: string): boolean {
    return this.#nodes.has(resolvePath('/', path));
  }

  isDirectory(path: string): boolean {
    return this.has(path) && this.#nodes.get(resolvePath('/', path)) === undefined;
  }

  /** The names in a directory, sorted. */
  list(path: string): readonly string[] {
    const directory = resolvePath('/', path);
    const names = [...this.#nodes.keys()].filter((key) => key !== '/' && posix.dirname(key) === directory);
    return names.map((key) => posix.basename(key)).sort();
  }

  read(path: string): Buffer {
    const data = this.#nodes.get(resolvePath('/', path));
    if (data === undefined) throw new Error(this.has(path) ? 'Is a directory' : noSuchFile);
    return data;
  }

  /** Writes a file, and makes the directories above it. */
  write(path: string, data: Buffer): void {
    const real = resolvePath('/', path);
    if (this.isDirectory(real)) throw new Error('Is a directory');
    this.makeDirectory(posix.dirname(real));
    this.#nodes.set(real, data);
  }

  /** Makes a directory and those above it, where they are missing. */
  makeDirectory(path: string): void {
    const real = resolvePath('/', path);
    if (this.isDirectory(real)) return;
    if (this.has(real)) throw new Error('Not a directory');
    this.makeDirectory(posix.dirname(real));
    this.#nodes.set(real, undefined);
  }
}
