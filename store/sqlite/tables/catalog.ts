// The catalog: types, incarnations (a cluster from its creation until it is recreated) and namespace slots (a namespace
// of an incarnation) with their numbers, in memory. It translates the numbers in rows to names, and grants (which
// namespaces a user may see) to ranges of numbers. Nothing is removed while the index is open, because the change log
// still contains the numbers of deleted types and incarnations.
import type { DatabaseSync } from 'node:sqlite';

import type { TypeKey } from '../../../query/types.ts';
import type { KeyRow } from '../../row-order.ts';
import { compareText } from '../../../lib/text/compare-text.ts';
import { slotsPerIncarnation } from './schema.ts';

export interface IncarnationRecord {
  readonly number: number;
  /** The incarnation's id, `<uid of the cluster record>/<uid of the kube-system Namespace>`. */
  readonly id: string;
  readonly cluster: string;
}

/** A namespace in an incarnation. The slot with namespace '' holds cluster-scoped objects. */
export interface NamespaceSlot {
  readonly number: number;
  readonly incarnation: IncarnationRecord;
  readonly namespace: string;
}

/** The sort keys of a row, with the row's namespace slot. */
export type SlotRow = KeyRow<NamespaceSlot>;

export class Catalog {
  readonly types = new Map<TypeKey, number>();
  readonly typeKeys = new Map<number, TypeKey>();
  readonly incarnations = new Map<string, IncarnationRecord>();
  #byCluster: ReadonlyMap<string, readonly IncarnationRecord[]> | undefined;
  readonly slots = new Map<number, NamespaceSlot>();
  /** The slots by number of their incarnation, then by namespace. */
  readonly slotsOf = new Map<number, Map<string, NamespaceSlot>>();
  readonly #inOrder = new Map<number, readonly NamespaceSlot[]>();
  /**
   * The value of {@link metaKey.catalog} in the file when this catalog was last read from it; -1 before the first time.
   */
  version = -1;

  /**
   * Reads from the file what was added since the last call. When a cluster was renamed, all slots are read again.
   * @param version value of {@link metaKey.catalog} in the file
   */
  refresh(db: DatabaseSync, version: number): void {
    if (version === this.version) return;
    for (const { id, key } of db.prepare('SELECT id, key FROM type').all() as unknown as TypeRow[]) {
      this.types.set(key, id);
      this.typeKeys.set(id, key);
    }
    let since = this.version;
    for (const row of db.prepare('SELECT * FROM incarnation').all() as unknown as IncarnationRow[]) {
      const known = this.incarnations.get(row.incarnation);
      if (known !== undefined && known.cluster === row.cluster) continue;
      if (known !== undefined) since = -1;
      this.addIncarnation({ number: row.id, id: row.incarnation, cluster: row.cluster });
    }
    const byNumber = new Map([...this.incarnations.values()].map((record) => [record.number, record]));
    const added = db.prepare('SELECT id, namespace FROM place INDEXED BY place_added WHERE added > ?').all(since);
    for (const { id, namespace } of added as unknown as PlaceRow[]) {
      const incarnation = byNumber.get(incarnationOf(id));
      if (incarnation !== undefined) this.addSlot({ number: id, incarnation, namespace });
    }
    this.version = version;
  }

  /** The incarnations of the cluster with this name. There are several while a new incarnation replaces an old one. */
  ofCluster(cluster: string): readonly IncarnationRecord[] {
    this.#byCluster ??= Map.groupBy(this.incarnations.values(), (record) => record.cluster);
    return this.#byCluster.get(cluster) ?? [];
  }

  addIncarnation(record: IncarnationRecord): void {
    this.incarnations.set(record.id, record);
    this.#byCluster = undefined;
    if (!this.slotsOf.has(record.number)) this.slotsOf.set(record.number, new Map());
  }

  addSlot(slot: NamespaceSlot): void {
    this.slots.set(slot.number, slot);
    this.slotsOf.get(slot.incarnation.number)!.set(slot.namespace, slot);
    this.#inOrder.delete(slot.incarnation.number);
  }

  /** All slots of one incarnation, sorted by namespace. */
  inOrder(incarnation: number): readonly NamespaceSlot[] {
    let slots = this.#inOrder.get(incarnation);
    if (slots === undefined) {
      slots = [...this.slotsOf.get(incarnation)!.values()].sort(byNamespace);
      this.#inOrder.set(incarnation, slots);
    }
    return slots;
  }

  slot(number: number): NamespaceSlot {
    const slot = this.slots.get(number);
    if (slot === undefined) throw new Error(`the index has no slot ${number}`);
    return slot;
  }
}

function byNamespace({ namespace: one }: NamespaceSlot, { namespace: other }: NamespaceSlot): number {
  return compareText(one, other);
}

interface TypeRow {
  readonly id: number;
  readonly key: string;
}

interface IncarnationRow {
  readonly id: number;
  readonly incarnation: string;
  readonly cluster: string;
}

interface PlaceRow {
  readonly id: number;
  readonly namespace: string;
}

/** The number of the incarnation to which a namespace slot belongs. @param slot the number of the slot */
export function incarnationOf(slot: number): number {
  return Math.floor(slot / slotsPerIncarnation);
}
