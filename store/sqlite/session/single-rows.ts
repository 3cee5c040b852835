// The objects that were granted by name: found once, then kept up to date from the change log. For users with 1,000
// granted names this shortens a page of 50 rows from 6.0 to 0.2 ms, the 50 newest from 9.6 to 0.6, and a count from 4.7
// to 0.02 (docs/performance.md). An object in a namespace that is granted as a whole is left out, because it is already
// among the rows of its namespace.
import type { NamespaceSlot, SlotRow } from '../tables/catalog.ts';
import type { RowOrder } from '../../row-order.ts';
import { changeKind } from '../tables/schema.ts';
import type { Transaction } from '../tables/transaction.ts';
import { changesOfType, type TypeChange } from './type-changes.ts';

/**
 * Which objects of one type (`t`, its number) are granted by name: in one namespace slot (`named`), or in every
 * namespace of some incarnations (`namedAnywhere`, from the name to the numbers of the incarnations).
 */
export interface SingleNames {
  readonly t: number;
  readonly type: string;
  readonly named: readonly (readonly [slot: number, name: string])[];
  readonly namedAnywhere: ReadonlyMap<string, ReadonlySet<number>>;
  /** Whether objects in this slot are left out: the whole slot is granted, or the query excludes its namespace. */
  readonly isLeftOut: (slot: NamespaceSlot) => boolean;
}

/** Those of the granted objects that exist. The list never changes; when an object changes, a new list is made. */
export class SingleList {
  readonly rows: readonly SlotRow[];
  readonly ids: readonly number[];
  /** {@link SingleList.ids} as JSON. */
  readonly idsJson: string;
  readonly #sorted = new Map<string, readonly SlotRow[]>();
  /** The packed terms of objects by row id, as far as they were read. */
  readonly #terms: Map<number, Uint8Array>;

  constructor(rows: readonly SlotRow[], terms = new Map<number, Uint8Array>()) {
    this.rows = rows;
    this.#terms = terms;
    this.ids = rows.map(({ id }) => id);
    this.idsJson = JSON.stringify(this.ids);
  }

  /**
   * The objects sorted.
   * @param order must compare neither paths nor resourceVersions, because the rows here do not have them
   */
  inOrder(order: RowOrder): readonly SlotRow[] {
    const key = JSON.stringify(order.keys);
    let sorted = this.#sorted.get(key);
    if (sorted === undefined) this.#sorted.set(key, (sorted = this.rows.toSorted(order.compare)));
    return sorted;
  }

  /**
   * The terms (labels and indexed values) of each object as bytes, in the order of `ids`. They are read from the file
   * once.
   * @param session the transaction from which this list was made
   */
  terms({ sql }: Transaction): readonly Uint8Array[] {
    const missing = this.ids.filter((id) => !this.#terms.has(id));
    if (missing.length > 0) {
      const text = `SELECT o.id, o.terms FROM json_each(?) j CROSS JOIN obj o NOT INDEXED ON o.id = j.value`;
      for (const [id, terms] of sql.all<[number, Uint8Array]>(text, [JSON.stringify(missing)])) {
        this.#terms.set(id, terms);
      }
    }
    return this.ids.map((id) => this.#terms.get(id)!);
  }

  /** Makes a new list without the objects whose ids are in `changed`, and with `rows` in their place. */
  replaced(changed: { readonly has: (id: number) => boolean }, rows: readonly SlotRow[]): SingleList {
    const terms = new Map([...this.#terms].filter(([id]) => !changed.has(id)));
    return new SingleList([...this.rows.filter(({ id }) => !changed.has(id)), ...rows], terms);
  }
}

const none = new SingleList([]);

export class SingleRows {
  readonly #names: SingleNames;
  readonly #slots: ReadonlySet<string>;
  #list: SingleList | undefined;
  #sequence = 0;

  constructor(names: SingleNames) {
    this.#names = names;
    this.#slots = new Set(names.named.map(([slot, name]) => `${slot}/${name}`));
  }

  /** The granted objects as the session's transaction sees them. */
  list(session: Transaction): SingleList {
    if (this.#slots.size === 0 && this.#names.namedAnywhere.size === 0) return none;
    const changes = this.#list && changesOfType(session, this.#names.t, this.#sequence);
    this.#list = changes === undefined ? new SingleList(this.#find(session)) : this.#changed(session, changes);
    this.#sequence = session.sequence;
    return this.#list;
  }

  #changed(session: Transaction, changes: readonly TypeChange[]): SingleList {
    const touched = new Map<number, TypeChange>();
    for (const change of changes) {
      if (this.#isNamed(session.catalog.slot(change.slot), change.name)) touched.set(change.id, change);
    }
    if (touched.size === 0) return this.#list!;
    const there = [...touched.values()].filter(({ kind }) => kind !== changeKind.deleted).map(({ id }) => id);
    const text = 'json_each(?) j CROSS JOIN obj o NOT INDEXED ON o.id = j.value';
    return this.#list!.replaced(touched, this.#rowsOf(session, text, [JSON.stringify(there)]));
  }

  #isNamed(slot: NamespaceSlot, name: string): boolean {
    const isAnywhere = this.#names.namedAnywhere.get(name)?.has(slot.incarnation.number) === true;
    return (isAnywhere || this.#slots.has(`${slot.number}/${name}`)) && !this.#names.isLeftOut(slot);
  }

  #find(session: Transaction): readonly SlotRow[] {
    const { t, named, namedAnywhere } = this.#names;
    const found = new Map<number, SlotRow>();
    const add = (from: string, values: readonly (string | number)[]): void => {
      for (const row of this.#rowsOf(session, from, values)) {
        if (this.#isNamed(row.slot, row.name)) found.set(row.id, row);
      }
    };
    if (named.length > 0) {
      const from = `json_each(?) j CROSS JOIN obj o INDEXED BY obj_key
        ON o.t = ? AND o.place = j.value ->> 0 AND o.name = j.value ->> 1`;
      add(from, [JSON.stringify(named), t]);
    }
    if (namedAnywhere.size > 0) {
      const from = 'json_each(?) j CROSS JOIN obj o INDEXED BY obj_name ON o.t = ? AND o.name = j.value';
      add(from, [JSON.stringify([...namedAnywhere.keys()]), t]);
    }
    return [...found.values()];
  }

  #rowsOf({ sql, catalog }: Transaction, from: string, values: readonly (string | number)[]): readonly SlotRow[] {
    return sql
      .all<[number, number, string, number]>(`SELECT o.id, o.place, o.name, o.created FROM ${from}`, values)
      .map(([id, slot, name, created]) => {
        return { id, type: this.#names.type, slot: catalog.slot(slot), name, created, rv: '', sort: [] };
      });
  }
}
