// Opens the index in a database of its own, for tests that do the same with every store.
import { Client, type QueryResultRow } from 'pg';

import type { OpenedStore, OpenStore } from '../../store/conformance/tested-store.fixture.ts';
import { shardOfIncarnation } from '../../store/postgres/connection/shard.ts';
import { openPostgresStore } from '../../store/postgres/store.ts';
import type { PostgresServer } from './postgres.fixture.ts';

/** A way to open empty stores on a server. @param server its `createDatabase` may name a way that leads there */
export function postgresStores(server: () => Pick<PostgresServer, 'createDatabase' | 'run'>): OpenStore {
  let number = 0;
  return async ({ bodyLimits } = {}): Promise<OpenedStore> => {
    const name = `index_${++number}`;
    const url = await server().createDatabase(name);
    const open = () => openPostgresStore({ url, connections: 4, ...(bodyLimits === undefined ? {} : { bodyLimits }) });
    let store = await open();
    return {
      store,
      reopen: async () => {
        await store.close();
        return (store = await open());
      },
      lease: async (incarnation) => {
        const shard = shardOfIncarnation(incarnation);
        const text = 'UPDATE portcullis.shard SET epoch = epoch + 1 WHERE id = $1 RETURNING epoch::int4';
        const [row] = await ask<{ readonly epoch: number }>(url, text, [shard]);
        return { shard, epoch: row!.epoch };
      },
      remove: async () => {
        await store.close();
        await server().run(`DROP DATABASE ${name} WITH (FORCE)`);
      },
    };
  };
}

async function ask<Row extends QueryResultRow>(url: string, text: string, values: unknown[]): Promise<Row[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(text, values)).rows;
  } finally {
    await client.end();
  }
}
