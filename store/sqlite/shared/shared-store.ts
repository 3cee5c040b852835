// The index in SQLite for several processes of one gateway. All of them read the file, and the process that holds the
// lock of the index writes it. When the writer ends, the operating system releases the lock and another process takes
// over; the other processes keep their connections open.
import { setTimeout as delay } from 'node:timers/promises';

import { GatewayError } from '../../../model/errors.ts';
import { indexFiles } from '../write/file.ts';
import { openReaders, startWriter, threadEvents, type SqliteOptions, type SqliteStore } from '../store.ts';
import type { WorkerCalls } from '../threads/worker-call.ts';
import { openSharedFile, WriterLook, type SharedFile } from './shared-file.ts';

/** A store that this process can read, and may become able to write. */
export interface SharedStore extends SqliteStore {
  /** Resolves when this process becomes the writer. Before that, `apply` and `forget` reject. */
  readonly writing: Promise<void>;
}

export interface SharedStoreOptions extends SqliteOptions {
  /**
   * While this returns false, this process does not become the writer, and opening does not wait for a writer either.
   */
  readonly mayWrite: () => boolean;
}

/**
 * Milliseconds between two checks for commits in a process that only reads. The checks only serve to call listeners;
 * answers are up to date without them.
 */
const commitsEveryMs = 25;
/** Milliseconds between two checks whether there is no writer, and whether the file was replaced. */
const lookEveryMs = 250;
const openEveryMs = 50;
/** Milliseconds that opening waits for a writer that is just creating the file. Then opening fails. */
const longestOpenMs = 30_000;

/**
 * Opens the index of a directory for reading, and for writing when no other process does.
 * @throws GatewayError (rejects) with code INDEX_UNAVAILABLE when there is nothing to read for a long time while
 *   another process holds the lock
 */
export async function openSharedStore(options: SharedStoreOptions): Promise<SharedStore> {
  const { file, lock } = indexFiles(options.directory);
  const events = threadEvents(options);
  const writer = new LateWriter(options, events, new WriterLook(lock));
  const untilMs = performance.now() + longestOpenMs;
  for (;;) {
    await writer.look();
    const shared = openSharedFile(file);
    if (shared !== undefined) return watched(options, writer, shared, events);
    if (performance.now() > untilMs || !options.mayWrite()) {
      await writer.close();
      throw new GatewayError(
        'INDEX_UNAVAILABLE',
        `the index in ${options.directory} cannot be read yet: try again in a few seconds`,
      );
    }
    await delay(openEveryMs);
  }
}

function watched(
  options: SharedStoreOptions,
  writer: LateWriter,
  shared: SharedFile,
  events: ReturnType<typeof threadEvents>,
): SharedStore {
  const store = openReaders(options, events, { writer, opened: shared.opened, newest: () => shared.newest() });
  const look = (): void => {
    if (shared.isGone()) options.onBroken?.();
    else void writer.look();
  };
  const timers = [setInterval(() => store.noticeCommits(), commitsEveryMs), setInterval(look, lookEveryMs)];
  for (const timer of timers) timer.unref();
  const closeStore = store.close.bind(store);
  return Object.assign(store, {
    writing: writer.writing,
    close: async () => {
      for (const timer of timers) clearInterval(timer);
      await closeStore();
      shared.close();
    },
  });
}

/** Calls to the writer thread. This process has no such thread at first, and starts one when it becomes the writer. */
class LateWriter implements WorkerCalls {
  readonly writing: Promise<void>;
  readonly #options: SharedStoreOptions;
  readonly #events: ReturnType<typeof threadEvents>;
  readonly #look: WriterLook;
  readonly #started = Promise.withResolvers<void>();
  #calls: WorkerCalls | undefined;
  #starting: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: SharedStoreOptions, events: ReturnType<typeof threadEvents>, look: WriterLook) {
    this.#options = options;
    this.#events = events;
    this.#look = look;
    this.writing = this.#started.promise;
  }

  /** Starts the writer thread if no process writes. Resolves when the thread runs or was not started; never rejects. */
  async look(): Promise<void> {
    if (this.#calls !== undefined || this.#isClosed || !this.#options.mayWrite() || !this.#look.isFree()) return;
    this.#starting ??= this.#start().finally(() => (this.#starting = undefined));
    await this.#starting;
  }

  readonly call: WorkerCalls['call'] = (operation, input, buffers) =>
    this.#calls === undefined
      ? Promise.reject(new GatewayError('INDEX_UNAVAILABLE', 'another process writes the index'))
      : this.#calls.call(operation, input, buffers);

  readonly pending = (): number => this.#calls?.pending() ?? 0;

  readonly close = async (): Promise<void> => {
    this.#isClosed = true;
    await this.#starting;
    this.#look.close();
    await this.#calls?.close();
  };

  async #start(): Promise<void> {
    try {
      const { writer } = await startWriter(this.#options, this.#events);
      this.#calls = writer;
      this.#started.resolve();
    } catch (error) {
      // Another process was faster, or the file cannot be written now. The next call of `look` tries again.
      if (!(error instanceof GatewayError)) this.#options.onDamage?.(`the index cannot be written: ${String(error)}`);
    }
  }
}
