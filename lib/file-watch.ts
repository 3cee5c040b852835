// Watches files for changes: written in place, replaced by rename, or behind a symlink that now points elsewhere
// (Secret volumes). Easy to get wrong: the system loses some change events and sends others while a file is only half
// written. So all files are also polled, and a change is reported only after the files have stopped changing for a
// moment.
import { watch as watchFolder, type FSWatcher } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import type { BigIntStats } from 'node:fs';

export interface FileWatchOptions {
  /**
   * Called after a change. It is not called again before its promise has settled; changes in between are reported
   * afterwards. The promise must not reject.
   */
  readonly onChange: () => Promise<void>;
  /**
   * Milliseconds between two polls of all files, 400 by default. This time, `restMs` and the time that `onChange` takes
   * should together stay below a second.
   */
  readonly pollMs?: number;
  /**
   * Milliseconds without a further change before a change is reported, 100 by default. Files that keep changing are
   * reported after four times as long.
   */
  readonly restMs?: number;
  /** Whether the system's change events are used besides polling; false only polls. Default true. */
  readonly notices?: boolean;
  /** Replaces {@link lookAt} in tests. */
  readonly look?: (file: string) => Promise<string>;
}

/** A text that changes whenever the file changes: device, inode, size and times. */
export function signatureOf(stats: BigIntStats): string {
  return [stats.dev, stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(':');
}

/**
 * The current {@link signatureOf} of a file, with symlinks followed; the error code, such as ENOENT, when the file
 * cannot be examined.
 */
export async function lookAt(file: string): Promise<string> {
  try {
    return signatureOf(await stat(file, { bigint: true }));
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'UNKNOWN';
  }
}

/** Starts a watch of no files yet; setFiles() says which to watch. */
export function watchFiles(options: FileWatchOptions): FileWatch {
  return new PolledFileWatch(options);
}

/** A running file watch. Its timers do not keep the process alive. */
export type FileWatch = Pick<PolledFileWatch, keyof PolledFileWatch>;

class PolledFileWatch {
  readonly #options: FileWatchOptions;
  readonly #restMs: number;
  readonly #lookOne: (file: string) => Promise<string>;
  readonly #poll: NodeJS.Timeout;
  readonly #folders = new Map<string, FSWatcher>();
  /** The names of the watched files in each watched folder. */
  #names: ReadonlyMap<string, ReadonlySet<string>> = new Map();
  #known: ReadonlyMap<string, string> = new Map();
  /** Counts calls of setFiles(), so that an older call that is slower cannot overwrite the result of a newer one. */
  #generation = 0;
  #looking = false;
  #noticed = false;
  #noticeTimer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: FileWatchOptions) {
    this.#options = options;
    this.#restMs = options.restMs ?? 100;
    this.#lookOne = options.look ?? lookAt;
    this.#poll = setInterval(() => void this.#look(), options.pollMs ?? 400).unref();
  }

  /**
   * Replaces the set of watched files.
   * @param files absolute path → the {@link signatureOf} of the content that the caller has read
   */
  setFiles(files: ReadonlyMap<string, string>): void {
    this.#known = new Map(files);
    this.#generation += 1;
    if (this.#options.notices !== false) void this.#followFolders(this.#generation);
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#poll);
    clearTimeout(this.#noticeTimer);
    for (const folder of this.#folders.keys()) this.#forget(folder);
  }

  async #look(): Promise<void> {
    if (this.#looking) {
      this.#noticed = true;
      return;
    }
    this.#looking = true;
    this.#noticed = false;
    try {
      await this.#lookOnce();
    } finally {
      this.#looking = false;
    }
    if (this.#noticed) this.#notice();
  }

  async #lookOnce(): Promise<void> {
    let seen = await lookAtAll(this.#known, this.#lookOne);
    if (sameSignatures(seen, this.#known)) return;
    for (let round = 0; round < 4; round += 1) {
      await pause(this.#restMs);
      const again = await lookAtAll(this.#known, this.#lookOne);
      const atRest = sameSignatures(seen, again);
      seen = again;
      if (atRest) break;
    }
    if (this.#closed) return;
    // `onChange` normally calls setFiles() with the signatures of the content that it read. If it does not, this
    // assignment keeps the change from being reported again.
    this.#known = seen;
    await this.#options.onChange();
  }

  /** Watches the folder of each file and of the file it links to. Folders that cannot be watched are only polled. */
  async #followFolders(generation: number): Promise<void> {
    const wanted = new Map<string, Set<string>>();
    for (const file of this.#known.keys()) {
      for (const path of [file, await realpath(file).catch(() => file)]) {
        const files = wanted.get(dirname(path)) ?? new Set();
        wanted.set(dirname(path), files.add(basename(path)));
      }
    }
    if (this.#closed || generation !== this.#generation) return;
    this.#names = wanted;
    for (const folder of this.#folders.keys()) if (!wanted.has(folder)) this.#forget(folder);
    for (const folder of wanted.keys()) if (!this.#folders.has(folder)) this.#follow(folder);
  }

  #follow(folder: string): void {
    try {
      const watcher = watchFolder(folder, { persistent: false }, (_, name) => {
        // `..data` is the symlink that changes in a Secret volume. Other files of a busy folder such as /tmp are
        // ignored.
        if (name === null || name.startsWith('..') || this.#names.get(folder)?.has(name) === true) this.#notice();
      });
      watcher.on('error', () => this.#forget(folder));
      this.#folders.set(folder, watcher);
      // Changes made before this watch began caused no event, so the files are checked once.
      this.#notice();
    } catch {
      // The folder does not exist, or the system's limit of watches is reached. Polling still covers its files.
    }
  }

  #forget(folder: string): void {
    this.#folders.get(folder)?.close();
    this.#folders.delete(folder);
  }

  #notice(): void {
    if (this.#closed) return;
    // Later events do not restart the timer. Otherwise a folder that changes all the time would delay the check for
    // ever.
    this.#noticeTimer ??= setTimeout(() => {
      this.#noticeTimer = undefined;
      void this.#look();
    }, 10).unref();
  }
}

async function lookAtAll(
  files: ReadonlyMap<string, string>,
  look: (file: string) => Promise<string>,
): Promise<ReadonlyMap<string, string>> {
  return new Map(await Promise.all([...files.keys()].map(async (file) => [file, await look(file)] as const)));
}

function sameSignatures(a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): boolean {
  return a.size === b.size && [...a].every(([file, signature]) => b.get(file) === signature);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
