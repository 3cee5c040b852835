// Types, incarnations and places (an incarnation's namespace) by number, in memory: what turns rows of numbers into
// names and scopes into ranges. Easy to get wrong: it only grows while the index is open; numbers of what is gone stay
// valid for the log.
import type { DatabaseSync } from 'node:sqlite';

import type { TypeKey } from '../../types.ts';
import { compareText } from './text-order.ts';
import { placesPerIncarnation } from './schema.ts';

export interface IncarnationRecord {
  readonly number: number;
  /** The incarnation's id. */
  readonly id: string;
  readonly cluster: string;
}

/** A namespace of an incarnation; '' holds its cluster-scoped objects. */
export interface Place {
  readonly number: number;
  readonly incarnation: IncarnationRecord;
  readonly namespace: string;
}

export class Catalog {
  readonly types = new Map<TypeKey, number>();
  readonly typeKeys = new Map<number, TypeKey>();
  readonly incarnations = new Map<string, IncarnationRecord>();
  #byCluster: ReadonlyMap<string, readonly IncarnationRecord[]> | undefined;
  readonly places = new Map<number, Place>();
  /** By number of the incarnation, then by namespace. */
  readonly placesOf = new Map<number, Map<string, Place>>();
  readonly #inOrder = new Map<number, readonly Place[]>();
  /** {@link metaKey.catalog} it was read at. */
  version = -1;

  /** Reads what was added since; everything after a cluster has changed its name. */
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
      if (incarnation !== undefined) this.addPlace({ number: id, incarnation, namespace });
    }
    this.version = version;
  }

  /** Incarnations of a cluster by its name: more than one while one replaces the other. */
  ofCluster(cluster: string): readonly IncarnationRecord[] {
    this.#byCluster ??= Map.groupBy(this.incarnations.values(), (record) => record.cluster);
    return this.#byCluster.get(cluster) ?? [];
  }

  addIncarnation(record: IncarnationRecord): void {
    this.incarnations.set(record.id, record);
    this.#byCluster = undefined;
    if (!this.placesOf.has(record.number)) this.placesOf.set(record.number, new Map());
  }

  addPlace(place: Place): void {
    this.places.set(place.number, place);
    this.placesOf.get(place.incarnation.number)!.set(place.namespace, place);
    this.#inOrder.delete(place.incarnation.number);
  }

  /** All places of one incarnation, sorted by namespace. */
  inOrder(incarnation: number): readonly Place[] {
    let places = this.#inOrder.get(incarnation);
    if (places === undefined) {
      places = [...this.placesOf.get(incarnation)!.values()].sort(byNamespace);
      this.#inOrder.set(incarnation, places);
    }
    return places;
  }

  place(number: number): Place {
    const place = this.places.get(number);
    if (place === undefined) throw new Error(`the index has no place ${number}`);
    return place;
  }
}

function byNamespace({ namespace: one }: Place, { namespace: other }: Place): number {
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

/** Number of the incarnation a place belongs to. */
export function incarnationOf(place: number): number {
  return Math.floor(place / placesPerIncarnation);
}
