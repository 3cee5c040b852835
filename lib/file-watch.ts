// Notices that files changed: written in place, replaced by rename, or behind a symlink that was swapped (Secret
// volumes). Easy to get wrong: the system loses notices, or sends them while a file is half written. So every file is
// polled, too, and a change counts only once the files have been at rest for a moment.
import { watch as watchFolder, type FSWatcher } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import type { BigIntStats } from 'node:fs';

export interface FileWatchOptions {
  /** Called after a change, never twice at a time; changes during the call are noticed after it. Must not reject. */
  readonly onChange: () => Promise<void>;
  /** Between two looks at all files. A change is in use within a second: this, the rest and the reload together. */
  readonly pollMs?: number;
  /** A change counts once nothing changed for this long, but at most four times as long after it was seen. */
  readonly restMs?: number;
  /** False turns the system's notices off and leaves the poll. */
  readonly notices?: boolean;
  /** In place of {@link lookAt}, for tests. */
  readonly look?: (file: string) => Promise<string>;
}

/** A running watch. Its timers do not keep the process alive. */
export interface FileWatch {
  /** Replaces the set of watched files: absolute path → {@link signatureOf} the state that was read. */
  setFiles(files: ReadonlyMap<string, string>): void;
  close(): void;
}

/**
 * Says whether a file is the one we read: device, inode, size and times; the error code when it cannot be looked at.
 */
export function signatureOf(stats: BigIntStats): string {
  return [stats.dev, stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(':');
}

/** The present {@link signatureOf} of a path, symlinks followed. */
export async function lookAt(file: string): Promise<string> {
  try {
    return signatureOf(await stat(file, { bigint: true }));
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'UNKNOWN';
  }
}

/** Starts with no files. */
export function watchFiles(options: FileWatchOptions): FileWatch {
  return new PolledFileWatch(options);
}

class PolledFileWatch implements FileWatch {
  readonly #options: FileWatchOptions;
  readonly #restMs: number;
  readonly #lookOne: (file: string) => Promise<string>;
  readonly #poll: NodeJS.Timeout;
  readonly #folders = new Map<string, FSWatcher>();
  /** Of each watched folder, the names of files that matter. */
  #names: ReadonlyMap<string, ReadonlySet<string>> = new Map();
  #known: ReadonlyMap<string, string> = new Map();
  /** Counts calls of setFiles, so that a slow one does not undo a later one. */
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
    // The owner calls setFiles with what it read. If it does not, the same change is still reported only once.
    this.#known = seen;
    await this.#options.onChange();
  }

  /** Watches the folder of every file and of what it links to; the poll alone covers folders that cannot be watched. */
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
        // `..data` is the link a Secret volume swaps. Other files of a busy folder (/tmp) do not matter.
        if (name === null || name.startsWith('..') || this.#names.get(folder)?.has(name) === true) this.#notice();
      });
      watcher.on('error', () => this.#forget(folder));
      this.#folders.set(folder, watcher);
      // Changes before the system began to watch came without a notice.
      this.#notice();
    } catch {
      // No such folder, or the system's limit of watches is reached.
    }
  }

  #forget(folder: string): void {
    this.#folders.get(folder)?.close();
    this.#folders.delete(folder);
  }

  #notice(): void {
    if (this.#closed) return;
    // Later notices do not restart the timer, so a folder that never rests cannot put off the look.
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
