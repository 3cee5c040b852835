// One read-only transaction that sees one moment: every statement of an answer runs in it, and none is open while a
// consumer waits.
import type { ClientBase } from 'pg';

import type { Database } from '../connection/database.ts';
import { readCatalog, type Catalog } from './catalog.ts';
import { copyRows, type CopyRow } from './copy-rows.ts';
import { numbered, piece, type Piece } from './sql.ts';

/** A transaction, and what is known of the index at its moment. */
export interface Snapshot {
  readonly catalog: Catalog;
  /** Time of the last commit it sees, microseconds. */
  readonly sequence: number;
  /** Time of the newest change of an RBAC object that it sees; 0 for none. */
  readonly rights: number;
  /** All changes after this time are in the log. */
  readonly trimmed: number;
  /** All rows, each an array of its columns. bytea is a Buffer, int8 a number. */
  rows<Row extends readonly unknown[]>(statement: Piece): Promise<readonly Row[]>;
  /**
   * Rows with their bytes as they are.
   * @param query holds only numbers and names of ours
   */
  copied(query: string): Promise<readonly CopyRow[]>;
  /** A number that no other of this transaction has, for the name of a cursor. */
  newNumber(): number;
}

/** Runs work in a transaction of its own. */
export type InSnapshot = <T>(work: (snapshot: Snapshot) => Promise<T>) => Promise<T>;

const point = piece(
  'SELECT q.last, q.rights, q.catalog, s.trimmed FROM sequencer q CROSS JOIN store s WHERE q.one AND s.one',
);

/** Workers of one question would hold up others. */
const settings = `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY;
  SET LOCAL max_parallel_workers_per_gather = 0;`;

/** @param database whose connections give int8 as a number */
export function snapshotsOf(database: Pick<Database, 'transaction'>): InSnapshot {
  let catalog: Catalog | undefined;
  return (work) =>
    database.transaction(async (client) => {
      const rows = rowsOf(client);
      const [row] = await rows<readonly [number, number, number, number]>(point);
      const [sequence, rights, version, trimmed] = row!;
      if (catalog?.version !== version) catalog = await readCatalog(rows, version);
      let number = 0;
      const copied = (query: string): Promise<readonly CopyRow[]> => copyRows(client, query);
      return work({ catalog, sequence, rights, trimmed, rows, copied, newNumber: () => ++number });
    }, settings);
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
