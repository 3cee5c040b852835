// Gives out numbers for types and incarnations, and ids for new rows. Numbers are inserted outside of write
// transactions, so that no writer waits for another one, and they never change. Of an incarnation only the cluster's
// name can change.
import type { ClientBase } from 'pg';

import type { Incarnation, TypeKey } from '../../../types.ts';
import type { Database } from '../connection/database.ts';
import { idBlock } from '../schema.ts';

interface IdRange {
  next: number;
  left: number;
}

export interface ClaimedIds {
  readonly newId: () => number;
  readonly giveBack: () => void;
}

export class Numbers {
  readonly #database: Database;
  readonly #types = new Map<TypeKey, number>();
  readonly #incarnations = new Map<string, { readonly number: number; cluster: string }>();
  /** Ids that this process has claimed and not used yet. */
  readonly #free: IdRange[] = [];

  constructor(database: Database) {
    this.#database = database;
  }

  async ofType(key: TypeKey): Promise<number> {
    let number = this.#types.get(key);
    if (number === undefined) {
      number = await this.#numberOf('type (key)', 'key', [key]);
      this.#types.set(key, number);
    }
    return number;
  }

  /**
   * Finds or gives out the number of an incarnation.
   * @returns the number; `isRenamed` when the table may hold another name for the cluster
   */
  async ofIncarnation({ id, cluster }: Incarnation): Promise<{ readonly number: number; readonly isRenamed: boolean }> {
    let known = this.#incarnations.get(id);
    if (known === undefined) {
      const number = await this.#numberOf('incarnation (incarnation, cluster)', 'incarnation', [id, cluster]);
      const { schema } = this.#database;
      const [row] = await this.#database.query<[string]>(`SELECT cluster FROM ${schema}.incarnation WHERE id = $1`, [
        number,
      ]);
      this.#incarnations.set(id, (known = { number, cluster: row![0] }));
    }
    return { number: known.number, isRenamed: known.cluster !== cluster };
  }

  /** Notes that the new name of a cluster was committed. */
  renamed({ id, cluster }: Incarnation): void {
    const known = this.#incarnations.get(id);
    if (known !== undefined) known.cluster = cluster;
  }

  /** The number of an incarnation that has or had rows; undefined otherwise. */
  async knownIncarnation(id: string): Promise<number | undefined> {
    const known = this.#incarnations.get(id);
    if (known !== undefined) return known.number;
    const { schema } = this.#database;
    const [row] = await this.#database.query<[number]>(`SELECT id FROM ${schema}.incarnation WHERE incarnation = $1`, [
      id,
    ]);
    return row?.[0];
  }

  /** Claims at least `count` row ids that no row ever had, for one transaction. Unused ids must be given back. */
  async claimIds(client: Pick<ClientBase, 'query'>, count: number): Promise<ClaimedIds> {
    const mine: IdRange[] = [];
    let have = 0;
    while (have < count && this.#free.length > 0) {
      mine.push(this.#free.pop()!);
      have += mine.at(-1)!.left;
    }
    if (have < count) {
      const { rows } = await client.query<{ next: number }>(
        `SELECT nextval('row_id') AS next FROM generate_series(1, $1)`,
        [Math.ceil((count - have) / idBlock)],
      );
      for (const { next } of rows) mine.push({ next, left: idBlock });
    }
    return {
      newId: () => {
        while (mine.at(-1)?.left === 0) mine.pop();
        const range = mine.at(-1);
        if (range === undefined) throw new Error('more ids are used than were claimed');
        range.left--;
        return range.next++;
      },
      giveBack: () => void this.#free.push(...mine.filter(({ left }) => left > 0)),
    };
  }

  async #numberOf(into: string, column: string, values: readonly string[]): Promise<number> {
    const [table] = into.split(' ');
    const name = `${this.#database.schema}.${table}`;
    const find = async (): Promise<number | undefined> =>
      (await this.#database.query<[number]>(`SELECT id FROM ${name} WHERE ${column} = $1`, [values[0]]))[0]?.[0];
    const found = await find();
    if (found !== undefined) return found;
    const places = values.map((_, i) => `$${i + 1}`).join();
    await this.#database.query(
      `INSERT INTO ${this.#database.schema}.${into} VALUES (${places}) ON CONFLICT DO NOTHING`,
      [...values],
    );
    return (await find())!;
  }
}
