// Somebody who asks all replicas of a fleet all the time, and keeps what was not as promised: requests to a member that
// did not go through, and answers of the index that cannot all be true.
import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { configMaps, get, listPath, type Fleet } from './fleet-site.ts';

const everyMs = 100;

export interface Witness {
  /** Requests to a member, and lists of the index that were answered with rows. */
  readonly counts: { door: number; lists: number; refused: number };
  /** What may not be. */
  readonly faults: readonly string[];
  /** Ends when all running requests have. */
  close(): Promise<void>;
}

/**
 * Begins. Requests to a member must succeed, and quickly none after the other: they never wait for the database. Lists
 * of the index may be refused with 503; all that have one resourceVersion must have the same rows.
 */
export function startWitness(fleet: Fleet): Witness {
  const counts = { door: 0, lists: 0, refused: 0 };
  const faults: string[] = [];
  const rowsOf = new Map<string, string>();
  const closing = new AbortController();
  const member = fleet.plane.members[0]!.name;
  const knock = async (replica: Fleet['replicas'][number]): Promise<void> => {
    const { status, text } = await get(replica, `/clusters/${member}/proxy${configMaps}`);
    counts.door += 1;
    if (status !== 200) faults.push(`a request to a member: ${status} ${text}`);
  };
  const list = async (replica: Fleet['replicas'][number]): Promise<void> => {
    const { status, text } = await get(replica, listPath);
    if (status !== 200) {
      counts.refused += 1;
      if (status !== 503) faults.push(`a list: ${status} ${text}`);
      return;
    }
    counts.lists += 1;
    const { metadata, items } = JSON.parse(text) as {
      readonly metadata: { readonly resourceVersion: string };
      readonly items: unknown;
    };
    const rows = createHash('sha256').update(JSON.stringify(items)).digest('hex');
    const known = rowsOf.get(metadata.resourceVersion);
    if (known !== undefined && known !== rows) faults.push(`two lists of ${metadata.resourceVersion} differ`);
    rowsOf.set(metadata.resourceVersion, rows);
  };
  const repeat = async (ask: typeof list): Promise<void> => {
    while (!closing.signal.aborted) {
      for (const replica of [...fleet.replicas]) {
        // A replica that a test has just killed answers nothing.
        await ask(replica).catch((error: unknown) => {
          if (fleet.replicas.includes(replica)) faults.push(`a request failed: ${String(error)}`);
        });
      }
      await delay(everyMs);
    }
  };
  const running = Promise.all([repeat(knock), repeat(list)]);
  return {
    counts,
    faults,
    async close() {
      closing.abort();
      await running;
    },
  };
}
