// The program of a reader thread, with its own connection. Buffers with bodies (the JSON of objects) are transferred
// and not copied, so they must not be used after they were sent.
import { workerData } from 'node:worker_threads';

import type { BodyChunk } from '../read/bodies.ts';
import type { BodyLimits } from '../../body-budget.ts';
import { markDamaged } from '../write/file.ts';
import { openReader } from '../read/reader.ts';
import { Handover, report, serve } from './worker-port.ts';

/** The `workerData` with which a reader thread is started. */
export interface ReaderData {
  readonly file: string;
  readonly cacheBytes: number;
  readonly bodyLimits: BodyLimits | undefined;
}

const { file, cacheBytes, bodyLimits } = workerData as ReaderData;
const { operations, close } = openReader(file, cacheBytes, undefined, bodyLimits);

const buffersOf = (chunk: BodyChunk): readonly ArrayBuffer[] => [chunk.bodies.buffer as ArrayBuffer];

serve(
  {
    ...operations,
    list: async (input: Parameters<typeof operations.list>[0]) => {
      const page = await operations.list(input);
      const { first, left } = page;
      return new Handover(
        page,
        left === undefined ? buffersOf(first) : [...buffersOf(first), left.buffer as ArrayBuffer],
      );
    },
    bodies: (input: Parameters<typeof operations.bodies>[0]) => {
      const chunk = operations.bodies(input);
      return new Handover(chunk, buffersOf(chunk));
    },
    close,
  },
  (error) => {
    const message = (error as Error).message;
    markDamaged(file, message);
    report({ kind: 'damaged', message });
  },
);
