// Small values that all processes of an index share, such as the key of continue tokens, and what is known about the
// authorizers of clusters. They are in the database, so that no process needs a directory of its own.
import type { Database } from './connection/database.ts';

export class SharedValues {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * The value stored under this name; undefined when there is none.
   * @throws GatewayError (rejects) while the database cannot answer, as every method of this class does
   */
  async read(name: string): Promise<Buffer | undefined> {
    const text = `SELECT value FROM ${this.#database.schema}.shared_value WHERE name = $1`;
    const [row] = await this.#database.query<[Buffer]>(text, [name]);
    return row?.[0];
  }

  /**
   * Stores a value unless the name has one already. Resolves with the value that is then stored, which is the same for
   * every process.
   */
  async keepFirst(name: string, value: Buffer): Promise<Buffer> {
    const kept = await this.read(name);
    if (kept !== undefined) return kept;
    const text = `INSERT INTO ${this.#database.schema}.shared_value VALUES ($1, $2) ON CONFLICT DO NOTHING`;
    await this.#database.query(text, [name, value]);
    return (await this.read(name))!;
  }

  /**
   * Replaces a stored value with the result of `change`. The row is locked, so no other process changes it meanwhile.
   */
  async change(name: string, change: (kept: Buffer) => Buffer): Promise<void> {
    await this.keepFirst(name, Buffer.alloc(0));
    await this.#database.transaction(async (client) => {
      const { rows } = await client.query<{ readonly value: Buffer }>(
        'SELECT value FROM shared_value WHERE name = $1 FOR UPDATE',
        [name],
      );
      await client.query('UPDATE shared_value SET value = $2 WHERE name = $1', [name, change(rows[0]!.value)]);
    });
  }
}
