// The program of the writer thread. It opens the file. What arrives during one commit is committed together as the next
// transaction. A write is answered only when it is in the file.
import { workerData } from 'node:worker_threads';

import { GatewayError } from '../../../model/errors.ts';
import type { LogLimits } from '../write/change-log.ts';
import { isContradicted, isDamage, markDamaged, openIndexFile, type IndexFile } from '../write/file.ts';
import type { PackedBatch, WriterState } from '../tables/messages.ts';
import { report, serve } from './worker-port.ts';
import { WriteQueue } from './write-queue.ts';
import { Writer } from '../write/writer.ts';
import type { Commit } from '../../store.ts';

/** The `workerData` with which the writer thread is started. */
export interface WriterData {
  readonly directory: string;
  readonly pathsDigest: string;
  readonly cacheBytes: number;
  readonly maxBytes: number | undefined;
  readonly log: LogLimits;
}

const data = workerData as WriterData;
// Microseconds, because two stores that count milliseconds would often give out the same resourceVersion.
const nowUs = (): number => Date.now() * 1000 + (Math.floor(performance.now() * 1000) % 1000);
const { index, writer } = open() ?? open() ?? fail();
const queue = new WriteQueue(writer, () => setImmediate(turn));

/** Opens the file. Undefined when the file is damaged: then it is marked, so that the next call moves it aside. */
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
  throw new Error('a new index was damaged right after it was made: check the disk');
}

function turn(): void {
  queue.turn();
  // Reported before the writes are answered, and after each transaction of a long deletion.
  report({ kind: 'committed', state: state() });
}

function state(): WriterState {
  return { sequence: writer.sequence, typesVersion: writer.typesVersion };
}

async function answered(commit: Promise<Commit>): Promise<Commit> {
  try {
    return await commit;
  } catch (error) {
    if (isContradicted(index.db, error)) onDamage(error);
    throw error;
  }
}

function onDamage(error: unknown): void {
  const message = (error as Error).message;
  markDamaged(index.file, message);
  report({ kind: 'damaged', message });
}

serve(
  {
    opened: () => ({ file: index.file, storeId: writer.storeId, state: state() }),
    apply: (batch: PackedBatch) => answered(queue.apply(batch)),
    forget: ({ incarnation, type }: { incarnation: string; type: string | undefined }) =>
      answered(queue.forget(incarnation, type)),
    close: () => {
      queue.close(new GatewayError('INDEX_UNAVAILABLE', 'the index has stopped: try again later'));
      index.close();
    },
  },
  onDamage,
);
