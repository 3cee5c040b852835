// The thread that writes: opens the file, then commits what has arrived during the last commit as one transaction. A
// commit is answered only when it is in the file.
import { workerData } from 'node:worker_threads';

import type { LogLimits } from '../write/change-log.ts';
import { isContradicted, isDamage, markDamaged, openIndexFile, type IndexFile } from '../file.ts';
import type { PackedBatch, WriterState } from './messages.ts';
import { report, serve } from './worker-port.ts';
import { Writer } from '../write/writer.ts';
import type { Commit } from '../../store.ts';

/** What the thread is started with. */
export interface WriterData {
  readonly directory: string;
  readonly pathsDigest: string;
  readonly cacheBytes: number;
  readonly maxBytes: number | undefined;
  readonly log: LogLimits;
}

interface Waiting {
  readonly batch: PackedBatch;
  readonly resolve: (commit: Commit) => void;
  readonly reject: (error: unknown) => void;
}

/** Bytes of one transaction; the writer stops earlier after some time. */
const mostBytes = 64 << 20;

const data = workerData as WriterData;
// Microseconds make it unlikely that two stores issue the same version in one millisecond.
const nowUs = (): number => Date.now() * 1000 + (Math.floor(performance.now() * 1000) % 1000);
const { index, writer } = open() ?? open() ?? fail();
let queue: Waiting[] = [];
let isScheduled = false;

/**
 * Undefined when the file is damaged; it is marked, so that the next opening sets it aside.
 */
function open(): { readonly index: IndexFile; readonly writer: Writer } | undefined {
  const index = openIndexFile({ ...data, nowUs, onSetAside: (message) => report({ kind: 'set-aside', message }) });
  try {
    const writer = new Writer(index.db, index.file, {
      log: data.log,
      maxBytes: data.maxBytes,
      nowUs,
      onStopped: (types) => report({ kind: 'stopped', types }),
      onTrouble: (message) => report({ kind: 'trouble', message }),
    });
    return { index, writer };
  } catch (error) {
    if (isDamage(error)) markDamaged(index.file, (error as Error).message);
    index.close();
    if (isDamage(error)) return undefined;
    throw error;
  }
}

function fail(): never {
  throw new Error('a new index is damaged as soon as it is made: the disk cannot be trusted');
}

function apply(batch: PackedBatch): Promise<Commit> {
  return new Promise((resolve, reject) => {
    queue.push({ batch, resolve, reject });
    schedule();
  });
}

function schedule(): void {
  if (isScheduled) return;
  isScheduled = true;
  setImmediate(commit);
}

function commit(): void {
  isScheduled = false;
  const count = countOfNext();
  let results: ReturnType<Writer['apply']>;
  try {
    results = writer.apply(queue.slice(0, count).map(({ batch }) => batch));
  } catch (error) {
    // The file is so damaged that not even a rollback works: each batch fails, which marks the file.
    results = queue.slice(0, count).map(() => ({ error }));
  }
  const now = queue.splice(0, results.length);
  for (const [i, result] of results.entries()) {
    const { resolve, reject } = now[i]!;
    if ('commit' in result) resolve(result.commit);
    else {
      if (isContradicted(index.db, result.error)) onDamage(result.error);
      reject(result.error);
    }
  }
  if (queue.length > 0) schedule();
}

function onDamage(error: unknown): void {
  const message = (error as Error).message;
  markDamaged(index.file, message);
  report({ kind: 'damaged', message });
}

function countOfNext(): number {
  let bytes = 0;
  const at = queue.findIndex(({ batch }, i) => {
    bytes += batch.bodies.byteLength;
    return i > 0 && bytes > mostBytes;
  });
  return at < 0 ? queue.length : at;
}

const state = (): WriterState => ({ sequence: writer.sequence, typesVersion: writer.typesVersion });

serve(
  {
    opened: () => ({ file: index.file, storeId: writer.storeId, state: state() }),
    apply: async (batch: PackedBatch) => ({ commit: await apply(batch), state: state() }),
    forget: ({ incarnation, type }: { incarnation: string; type: string | undefined }) => ({
      ...writer.forget(incarnation, type),
      state: state(),
    }),
    close: () => {
      while (queue.length > 0) commit();
      index.close();
    },
  },
  onDamage,
);
