// Gives numbers to types and incarnations, and ids to new rows. Numbers are inserted outside of write transactions, so
// that no writer waits for another one. The database can lose inserted numbers when a standby server that was behind
// takes over, so each write checks the numbers that it uses (seal.ts). The id of an incarnation never changes, but the
// name of its cluster can.
import type { ClientBase } from 'pg';

import type { Incarnation, TypeKey } from '../../../query/types.ts';
import type { Database } from '../connection/database.ts';
import { idBlock } from '../connection/schema.ts';

export class Numbers {
  readonly #database: Database;
  readonly #types = new Map<TypeKey, number>();
  readonly #incarnations = new Map<string, { readonly number: number; cluster: string }>();

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
   * Finds the number of an incarnation (a cluster from its creation until it is recreated), or gives it one.
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

  /** To be called after a transaction that stored the new name of a cluster was committed. */
  renamed({ id, cluster }: Incarnation): void {
    const known = this.#incarnations.get(id);
    if (known !== undefined) known.cluster = cluster;
  }

  /** The number of an incarnation; undefined when it never had one, so that it has no rows. */
  async knownIncarnation(id: string): Promise<number | undefined> {
    const known = this.#incarnations.get(id);
    if (known !== undefined) return known.number;
    const { schema } = this.#database;
    const [row] = await this.#database.query<[number]>(`SELECT id FROM ${schema}.incarnation WHERE incarnation = $1`, [
      id,
    ]);
    return row?.[0];
  }

  /**
   * Drops all numbers from memory. Called when a write has failed, because the database may have lost numbers that it
   * had given out, for example when a standby that was behind has taken over.
   */
  forget(): void {
    this.#types.clear();
    this.#incarnations.clear();
  }

  /**
   * Claims row ids that no row ever had.
   * @param client of the transaction that uses the ids: a database that loses the claim has then lost the rows, too
   * @returns a function that gives another id at each call, at most `count` in all
   */
  async claimIds(client: Pick<ClientBase, 'query'>, count: number): Promise<() => number> {
    const { rows: blocks } =
      count === 0
        ? { rows: [] }
        : await client.query<{ next: number }>(`SELECT nextval('row_id') AS next FROM generate_series(1, $1)`, [
            Math.ceil(count / idBlock),
          ]);
    let used = 0;
    return () => {
      if (used === count) throw new Error('more ids are used than were claimed');
      const id = blocks[Math.floor(used / idBlock)]!.next + (used % idBlock);
      used += 1;
      return id;
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
