// How many write transactions each lease of this process has committed. The database counts them, too. When it has
// fewer, it has lost commits that this process was told of: a standby that was behind has taken over, or the server has
// crashed with synchronous_commit off. Then what was read from the clusters since must be read again.
import type { ShardWriter } from '../../store.ts';

/** Bounds of the number that the database may have, both included. */
export interface WriteBounds {
  /** What the database has acknowledged. */
  readonly least: number;
  /** With the transactions of which it is not known whether they were committed. */
  readonly most: number;
}

export function writerKey({ shard, epoch }: ShardWriter): string {
  return `${shard}/${epoch}`;
}

const anything: WriteBounds = { least: 0, most: Number.MAX_SAFE_INTEGER };

export class LeaseWrites {
  /** The newest lease of each shard. */
  readonly #leases = new Map<number, WriteBounds & { readonly epoch: number }>();

  of({ shard, epoch }: ShardWriter): WriteBounds {
    const known = this.#leases.get(shard);
    return known?.epoch === epoch ? { least: known.least, most: known.most } : anything;
  }

  /** How many each lease has at least, by {@link writerKey}. */
  acknowledged(): ReadonlyMap<string, number> {
    return new Map([...this.#leases].map(([shard, { epoch, least }]) => [writerKey({ shard, epoch }), least]));
  }

  /** A transaction was committed. @param writes the number that the database has from then on */
  committed({ shard, epoch }: ShardWriter, writes: number): void {
    this.#leases.set(shard, { epoch, least: writes, most: writes });
  }

  /** A transaction has failed, perhaps while it was being committed. */
  failed(writer: ShardWriter): void {
    const { least, most } = this.of(writer);
    if (most === anything.most) return;
    this.#leases.set(writer.shard, { epoch: writer.epoch, least, most: most + 1 });
  }
}
