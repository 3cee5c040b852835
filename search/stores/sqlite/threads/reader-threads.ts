// The threads that read one index: questions go to the one with the fewest open, and one that has died is started anew
// after a while, under another number.
import { totalmem } from 'node:os';

import type { ReaderOperations } from '../read/reader.ts';
import type { WorkerEvent } from './messages.ts';
import type { ReaderData } from './reader-worker.ts';
import { startWorker, type WorkerCalls } from './worker-call.ts';

/** What an operation of a reader answers. */
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
 * Holds the narrow rows of some 700,000 objects and what is read between them; with less, a page of them reads most of
 * its rows from the file.
 */
const mostCacheBytes = 256 << 20;
/** Of the memory this process may use, or the machine has. */
const cacheShare = 1 / 8;

/** The default page cache of one reader. */
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

  /** @param inputFor makes the input for the reader of that number; numbers never come again */
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
