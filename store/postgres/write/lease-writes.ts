// Counts the write transactions that this process has committed with each lease. The database counts them, too. When
// the database has counted fewer, it has lost commits that it had acknowledged: a standby that was behind has taken
// over, or the server has crashed with synchronous_commit off. Then the lost changes must be read from the clusters
// again.
import type { ShardWriter } from '../../store.ts';

/** The least and the greatest number of committed transactions that the database may have counted for a lease. */
export interface WriteBounds {
  /** The number of transactions whose commit the database has acknowledged. */
  readonly least: number;
  /** `least`, plus the transactions of which it is unknown whether they were committed. */
  readonly most: number;
}

export function writerKey({ shard, epoch }: ShardWriter): string {
  return `${shard}/${epoch}`;
}

const anything: WriteBounds = { least: 0, most: Number.MAX_SAFE_INTEGER };

export class LeaseWrites {
  /**
   * For each shard, the newest lease (right to write the shard) that this process has written with, and its
   * transactions.
   */
  readonly #leases = new Map<number, WriteBounds & { readonly epoch: number }>();

  of({ shard, epoch }: ShardWriter): WriteBounds {
    const known = this.#leases.get(shard);
    return known?.epoch === epoch ? { least: known.least, most: known.most } : anything;
  }

  /** The number of acknowledged transactions of the newest lease of each shard, by {@link writerKey}. */
  acknowledged(): ReadonlyMap<string, number> {
    return new Map([...this.#leases].map(([shard, { epoch, least }]) => [writerKey({ shard, epoch }), least]));
  }

  /**
   * Notes that a transaction was committed.
   * @param writes the number of the lease's transactions, from the database
   */
  committed({ shard, epoch }: ShardWriter, writes: number): void {
    this.#leases.set(shard, { epoch, least: writes, most: writes });
  }

  /** Notes that a transaction has failed. It may have been committed all the same, if the answer to COMMIT was lost. */
  failed(writer: ShardWriter): void {
    const { least, most } = this.of(writer);
    if (most === anything.most) return;
    this.#leases.set(writer.shard, { epoch: writer.epoch, least, most: most + 1 });
  }
}
