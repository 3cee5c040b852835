// The index in SQLite for several processes of one gateway: all of them read the file, and the one that holds its lock
// writes. When that one ends, the system gives the lock up, and another takes it; what is open in the others goes on.
import { setTimeout as delay } from 'node:timers/promises';

import { GatewayError } from '../../../../cache/model/errors.ts';
import { indexFiles } from '../file.ts';
import { openReaders, startWriter, threadEvents, type SqliteOptions, type SqliteStore } from '../store.ts';
import type { WorkerCalls } from '../threads/worker-call.ts';
import { openSharedFile, WriterLook, type SharedFile } from './shared-file.ts';

/** A store that may or may not write. */
export interface SharedStore extends SqliteStore {
  /** Resolves when this process writes; while it does not, `apply` and `forget` reject. */
  readonly writing: Promise<void>;
}

export interface SharedStoreOptions extends SqliteOptions {
  /** False: this process does not begin to write, and waits for nobody who does. */
  readonly mayWrite: () => boolean;
}

/** How often a process that does not write looks for commits; the answers of a list are never behind. */
const commitsEveryMs = 25;
/** How often it looks whether nobody writes, and whether the file is still the same. */
const lookEveryMs = 250;
const openEveryMs = 50;
/** A writer that has just started makes the file. */
const longestOpenMs = 30_000;

/**
 * Opens the index of a directory, to write if nobody does.
 * @throws GatewayError (rejects) INDEX_UNAVAILABLE when there is none to read for long and another process has the lock
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
      throw new GatewayError('INDEX_UNAVAILABLE', `the index in ${options.directory} cannot be read yet`);
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

/** The calls to a writer that this process may have later. */
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

  /** Begins to write if nobody does; resolves when that is decided. Never rejects. */
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
      // Another process was faster, or the file cannot be written now: the next look tries again.
      if (!(error instanceof GatewayError)) this.#options.onDamage?.(`the index cannot be written: ${String(error)}`);
    }
  }
}
