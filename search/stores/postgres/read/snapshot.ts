// A read-only transaction that sees the database at one moment. Every statement of an answer runs in it. No transaction
// stays open while a consumer is waited for.
import type { ClientBase } from 'pg';

import type { Database } from '../connection/database.ts';
import { readCatalog, type Catalog } from './catalog.ts';
import { copyRows, type CopyRow } from './copy-rows.ts';
import { numbered, type Piece } from './sql.ts';

/** A transaction, and the state of the index that it sees. */
export interface Snapshot {
  readonly catalog: Catalog;
  /** Time of the last commit that the transaction sees, in microseconds. */
  readonly sequence: number;
  /** Time of the newest change of an RBAC object that the transaction sees, in microseconds; 0 when there is none. */
  readonly rights: number;
  /** The log contains all changes after this time, in microseconds. */
  readonly trimmed: number;
  /** Runs a statement. Each row is an array of its columns; bytea is a Buffer and int8 a number. */
  rows<Row extends readonly unknown[]>(statement: Piece): Promise<readonly Row[]>;
  /**
   * Runs a query through COPY, which gives bytes without conversion.
   * @param query may contain only numbers and names that this program has made
   */
  copied(query: string): Promise<readonly CopyRow[]>;
  /** A number that is unique in this transaction, for the name of a cursor. */
  newNumber(): number;
}

/** Runs `work` in its own transaction. */
export type InSnapshot = <T>(work: (snapshot: Snapshot) => Promise<T>) => Promise<T>;

const point = 'SELECT q.last, q.rights, q.catalog, s.trimmed FROM sequencer q CROSS JOIN store s WHERE q.one AND s.one';

/**
 * Settings of the transaction. Parallel workers are off, because the workers of one question would slow down others.
 */
const settings = `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY;
  SET LOCAL max_parallel_workers_per_gather = 0;`;

/**
 * Makes the function that runs work in a read-only transaction.
 * @param database its connections must read int8 as a number
 */
export function snapshotsOf(database: Pick<Database, 'reading'>): InSnapshot {
  let catalog: Catalog | undefined;
  return (work) =>
    database.reading(settings, point, async (client, [row]) => {
      const rows = rowsOf(client);
      const [sequence, rights, version, trimmed] = row as readonly [number, number, number, number];
      if (catalog?.version !== version) catalog = await readCatalog(rows, version);
      let number = 0;
      const copied = (query: string): Promise<readonly CopyRow[]> => copyRows(client, query);
      return work({ catalog, sequence, rights, trimmed, rows, copied, newNumber: () => ++number });
    });
}

function rowsOf(client: ClientBase): Snapshot['rows'] {
  return async <Row extends readonly unknown[]>({ text, values }: Piece) => {
    const { rows } = await client.query<Row & unknown[]>({
      text: numbered(text),
      values: [...values],
      rowMode: 'array',
    });
    return rows;
  };
}
