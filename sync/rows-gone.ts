// Waits until the rows of a removed cluster are deleted. The process that follows the cluster deletes them, which may
// be another one that shares the store. So the store is asked, and not the followers of this process.
import { setTimeout as delay } from 'node:timers/promises';
import type { StoredTypes } from '../store/stored-types.ts';
import type { Incarnation } from '../query/types.ts';

const lookEveryMs = 200;

/** The options of {@link rowsGone}. */
export interface RowsGoneOptions {
  readonly types: StoredTypes;
  /** Returns false for a cluster whose record is gone. */
  readonly isRegistered: (incarnation: Incarnation) => boolean;
  /** Aborted when the index ends. */
  readonly closed: AbortSignal;
}

/**
 * Resolves when the store has no type of a cluster that had this name and whose record is gone.
 * @throws Error (rejects) AbortError when the index ends, GatewayError as the store does
 */
export async function rowsGone(cluster: string, { types, isRegistered, closed }: RowsGoneOptions): Promise<void> {
  for (;;) {
    const stored = await types();
    if (!stored.some(({ incarnation }) => incarnation.cluster === cluster && !isRegistered(incarnation))) return;
    await delay(lookEveryMs, undefined, { signal: closed, ref: false });
  }
}
