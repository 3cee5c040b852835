// The table of terms, as the writer uses it. A term is a label or the value of an indexed path, and has a number; each
// row stores the numbers of its terms. A term that no row has any more is deleted, so its number must not be kept after
// the transaction.
import type { DatabaseSync, StatementSync } from 'node:sqlite';

import type { RowWrite } from '../../store.ts';
import { fieldPath, labelPath } from '../../sql/term-paths.ts';

const mostRemembered = 200_000;

/**
 * The numbers of terms (labels and indexed values) as bytes, in the form of `obj.terms`: each as four bytes, ascending.
 */
export function packTerms(ids: Iterable<number>): Uint8Array {
  const sorted = Int32Array.from(new Set(ids)).toSorted();
  return new Uint8Array(sorted.buffer, sorted.byteOffset, sorted.byteLength);
}

export function unpackTerms(packed: Uint8Array): Int32Array {
  if (packed.byteOffset % 4 === 0) return new Int32Array(packed.buffer, packed.byteOffset, packed.byteLength / 4);
  return new Int32Array(packed.slice().buffer);
}

export class TermDictionary {
  readonly #select: StatementSync;
  readonly #insert: StatementSync;
  readonly #count: StatementSync;
  readonly #delete: StatementSync;
  readonly #remembered = new Map<string, number>();
  readonly #added = new Map<number, number>();
  /** Numbers of the terms that were added in this transaction. Those that no row uses in the end are deleted again. */
  readonly #new = new Set<number>();

  constructor(db: DatabaseSync) {
    this.#select = db.prepare('SELECT id FROM term INDEXED BY term_key WHERE t = ? AND path = ? AND value = ?');
    this.#insert = db.prepare('INSERT INTO term (t, path, value, n) VALUES (?, ?, ?, 0)');
    this.#count = db.prepare('UPDATE term SET n = n + ? WHERE id = ? RETURNING n');
    this.#delete = db.prepare('DELETE FROM term WHERE id = ? RETURNING t, path, value');
  }

  /** The numbers of a row's labels and indexed values, packed. Terms that are new get a number. */
  packedTermsOf(t: number, { labels, terms }: RowWrite): Uint8Array {
    const ids: number[] = [];
    for (const [key, value] of labels) ids.push(this.#idOf(t, labelPath(key), value));
    for (const [path, value] of terms) ids.push(this.#idOf(t, fieldPath(path), value));
    return packTerms(ids);
  }

  /** Notes that one row more (1) or one row fewer (-1) has the term. */
  count(id: number, change: 1 | -1): void {
    this.#added.set(id, (this.#added.get(id) ?? 0) + change);
  }

  /** Writes the changed counts to the file, and deletes terms without rows. To be called before a commit. */
  flush(): void {
    for (const [id, added] of this.#added) {
      if (added === 0 && !this.#new.has(id)) continue;
      const row = this.#count.get(added, id) as { n: number } | undefined;
      if (row === undefined || row.n > 0) continue;
      const gone = this.#delete.get(id) as { t: number; path: string; value: string } | undefined;
      if (gone !== undefined) this.#remembered.delete(textOf(gone.t, gone.path, gone.value));
    }
    this.#added.clear();
    this.#new.clear();
    if (this.#remembered.size > mostRemembered) this.#remembered.clear();
  }

  /** Forgets all terms in memory after a rollback, because some may not be in the file. */
  reset(): void {
    this.#added.clear();
    this.#new.clear();
    this.#remembered.clear();
  }

  #idOf(t: number, path: string, value: string): number {
    const text = textOf(t, path, value);
    const known = this.#remembered.get(text);
    if (known !== undefined) return known;
    const row = this.#select.get(t, path, value) as { id: number } | undefined;
    let id = row?.id;
    if (id === undefined) {
      id = Number(this.#insert.run(t, path, value).lastInsertRowid);
      this.#new.add(id);
    }
    this.#remembered.set(text, id);
    return id;
  }
}

function textOf(t: number, path: string, value: string): string {
  return `${t}\0${path}\0${value}`;
}
