// Notices that files changed: written in place, replaced by rename, or behind a symlink that was swapped (Secret
// volumes). Easy to get wrong: notices of the system get lost or come while a file is half written, so a slow poll of
// every file stands behind them and a change counts only once the files have been at rest for a moment.
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
  const pollMs = options.pollMs ?? 400;
  const restMs = options.restMs ?? 100;
  const lookOne = options.look ?? lookAt;
  let known: ReadonlyMap<string, string> = new Map();
  let closed = false;
  let looking = false;
  let noticed = false;
  let generation = 0;
  let noticeTimer: NodeJS.Timeout | undefined;
  const folders = new Map<string, FSWatcher>();
  let names = new Map<string, Set<string>>();

  async function look(): Promise<void> {
    if (looking) {
      noticed = true;
      return;
    }
    looking = true;
    noticed = false;
    try {
      await lookOnce();
    } finally {
      looking = false;
    }
    if (noticed) notice();
  }

  async function lookOnce(): Promise<void> {
    let seen = await lookAtAll(known, lookOne);
    if (sameSignatures(seen, known)) return;
    for (let round = 0; round < 4; round += 1) {
      await pause(restMs);
      const again = await lookAtAll(known, lookOne);
      const atRest = sameSignatures(seen, again);
      seen = again;
      if (atRest) break;
    }
    if (closed) return;
    // The owner calls setFiles with what it read; should it fail to, the same change is not told again.
    known = seen;
    await options.onChange();
  }

  function setFiles(files: ReadonlyMap<string, string>): void {
    known = new Map(files);
    generation += 1;
    if (options.notices !== false) void followFolders(generation);
  }

  /** Watches the folder of every file and of what it links to; a folder that cannot be watched is left to the poll. */
  async function followFolders(of: number): Promise<void> {
    const wanted = new Map<string, Set<string>>();
    for (const file of known.keys()) {
      for (const path of [file, await realpath(file).catch(() => file)]) {
        const files = wanted.get(dirname(path)) ?? new Set();
        wanted.set(dirname(path), files.add(basename(path)));
      }
    }
    if (closed || of !== generation) return;
    names = wanted;
    for (const folder of folders.keys()) if (!wanted.has(folder)) forget(folder);
    for (const folder of wanted.keys()) if (!folders.has(folder)) follow(folder);
  }

  function follow(folder: string): void {
    try {
      const watcher = watchFolder(folder, { persistent: false }, (_, name) => {
        // `..data` is the link a Secret volume swaps. Other files of a busy folder (/tmp) are none of our business.
        if (name === null || name.startsWith('..') || names.get(folder)?.has(name) === true) notice();
      });
      watcher.on('error', () => forget(folder));
      folders.set(folder, watcher);
      // What happened before the system began to watch came without a notice.
      notice();
    } catch {
      // No such folder, or the system's limit of watches is reached.
    }
  }

  function forget(folder: string): void {
    folders.get(folder)?.close();
    folders.delete(folder);
  }

  function notice(): void {
    if (closed) return;
    // Not restarted by later notices, so that a folder that never rests cannot keep us from looking.
    noticeTimer ??= setTimeout(() => {
      noticeTimer = undefined;
      void look();
    }, 10).unref();
  }

  const poll = setInterval(() => void look(), pollMs).unref();

  return {
    setFiles,
    close() {
      closed = true;
      clearInterval(poll);
      clearTimeout(noticeTimer);
      for (const folder of folders.keys()) forget(folder);
    },
  };
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
