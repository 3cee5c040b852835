// The reader threads of one index. A question goes to the thread with the fewest questions that it has not answered. A
// thread that ended is replaced after a second, by one with a new number.
import { totalmem } from 'node:os';

import type { ReaderOperations } from '../read/reader.ts';
import type { WorkerEvent } from '../tables/messages.ts';
import type { ReaderData } from './reader-worker.ts';
import { startWorker, type WorkerCalls } from './worker-call.ts';

/** The answer of a reader's operation. */
export type ReaderOutput<Name extends keyof ReaderOperations> = Awaited<ReturnType<ReaderOperations[Name]>>;

interface ReaderThread {
  readonly number: number;
  readonly calls: WorkerCalls;
}

export interface ReaderThreadsOptions {
  readonly count: number;
  readonly data: ReaderData;
  readonly onEvent: (event: WorkerEvent) => void;
  readonly onDeath: (error: unknown) => void;
}

const restartAfterMs = 1000;
/**
 * Bytes; the default page cache is no larger. This size holds the table rows of some 700,000 objects and the index
 * pages read with them. With a smaller cache, a page of so many objects would be read from the file.
 */
const mostCacheBytes = 256 << 20;
/** The default page cache as a share of the memory that this process may use. */
const cacheShare = 1 / 8;

/** The default page cache of a reader thread in bytes. */
export function readerCacheBytes(): number {
  const limit = process.constrainedMemory();
  const memory = limit > 0 ? Math.min(limit, totalmem()) : totalmem();
  return Math.min(mostCacheBytes, Math.floor(memory * cacheShare));
}

export class ReaderThreads {
  readonly #options: ReaderThreadsOptions;
  readonly #threads: ReaderThread[] = [];
  #lastNumber = 0;
  #isClosed = false;

  constructor(options: ReaderThreadsOptions) {
    this.#options = options;
    for (let at = 0; at < options.count; at++) this.#start(at);
  }

  /**
   * Sends a question to the least busy reader thread.
   * @param inputFor makes the input for the thread with the given number; a new thread never gets a number used before
   */
  ask<Name extends keyof ReaderOperations>(
    operation: Name,
    inputFor: (reader: number) => unknown,
  ): Promise<ReaderOutput<Name>> {
    const { number, calls } = this.#threads.reduce((best, one) =>
      one.calls.pending() < best.calls.pending() ? one : best,
    );
    return calls.call(operation, inputFor(number)) as Promise<ReaderOutput<Name>>;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#threads.map(({ calls }) => calls.close()));
  }

  #start(at: number): void {
    const { data, onEvent, onDeath } = this.#options;
    const calls = startWorker({
      name: 'reader-worker',
      data,
      onEvent,
      onDeath: (error) => {
        onDeath(error);
        setTimeout(() => this.#isClosed || this.#start(at), restartAfterMs).unref();
      },
    });
    this.#threads[at] = { number: ++this.#lastNumber, calls };
  }
}
