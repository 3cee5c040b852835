// Random expressions of `whereSQL` select the same rows in both stores as PostgreSQL itself selects from a table like
// Clusterpedia's. PORTCULLIS_STORE_QUESTIONS asks for more expressions, PORTCULLIS_STORE_SEED for others.
// Landing tier: whereSQL selects what PostgreSQL selects.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import * as fc from 'fast-check';
import { Client } from 'pg';

import { label } from '../../../../store/conformance/model.fixture.ts';
import { everything, types } from '../../../../store/conformance/random.fixture.ts';
import { rowsOf, TestedStore } from '../../../../store/conformance/tested-store.fixture.ts';
import { whereArbitrary, whereRows, type WhereText } from '../../../../store/conformance/where.fixture.ts';
import { urlParameters } from '../../../../query/parameters.ts';
import { readQuery } from '../../../../query/read/read-query.ts';
import { openSqliteStore } from '../../../../store/sqlite/store.ts';
import { tempDir } from '../../../pretend/temp-dir.ts';
import { postgresStores } from '../../../site/postgres-store.fixture.ts';
import { needsPostgres, startPostgresServer, type PostgresServer } from '../../../site/postgres.fixture.ts';

const expressions = Number(process.env.PORTCULLIS_STORE_QUESTIONS ?? 1000);
const seed = Number(process.env.PORTCULLIS_STORE_SEED ?? 1);

describe('whereSQL', needsPostgres, () => {
  const directory = tempDir('where');
  const { rows, batches } = whereRows(seed);
  let server: PostgresServer;
  let client: Client;
  let stores: readonly TestedStore[];
  before(async () => {
    server = await startPostgresServer();
    const sqlite = await TestedStore.open(async () => {
      const store = await openSqliteStore({ directory, onDamage: assert.fail });
      return { store, reopen: () => assert.fail(), remove: () => store.close() };
    });
    const postgres = await TestedStore.open(postgresStores(() => server));
    stores = [sqlite, postgres];
    for (const store of stores) await store.fill(batches);
    client = new Client(server.url);
    await client.connect();
    await fillTable();
  });
  after(async () => {
    await client.end();
    for (const store of stores) await store.remove();
    await server.stop();
  });

  const fillTable = async (): Promise<void> => {
    await client.query(`SET timezone = 'UTC'; CREATE TABLE resources (label text, cluster text, namespace text, name text,
      "group" text, version text, resource text, kind text, uid text, owner_uid text, created_at timestamptz, object jsonb)`);
    for (const row of rows) {
      const { group, version, resource, kind } = row.type;
      const key = [label(row), row.cluster, row.namespace, row.name, group, version, resource, kind];
      const values = [...key, row.uid, row.ownerUid, new Date(row.createdAtMs), row.json];
      const places = values.map((_, i) => `$${i + 1}`).join();
      await client.query(`INSERT INTO resources VALUES (${places})`, values);
    }
  };

  const selected = async ({ text, sql }: WhereText): Promise<readonly string[]> => {
    const answer = await client.query<{ label: string }>(`SELECT label FROM resources WHERE ${sql}`);
    const expected = answer.rows.map((row) => row.label).toSorted();
    const parameters = urlParameters(`whereSQL=${encodeURIComponent(text)}`);
    const { query } = readQuery(parameters, { types }, true);
    for (const { store } of stores) {
      const found = await rowsOf(await store.list(query, everything, {}));
      assert.deepEqual(found.map(label).toSorted(), expected, text);
      assert.equal((await store.count(query, everything)).count, expected.length, text);
    }
    return expected;
  };

  test('selects the rows that PostgreSQL selects, in both stores', async (t) => {
    let some = 0;
    const property = fc.asyncProperty(whereArbitrary, async (where) => {
      const found = (await selected(where)).length;
      if (found > 0 && found < rows.length) some += 1;
    });
    await fc.assert(property, { numRuns: expressions, seed });
    t.diagnostic(`${expressions} expressions, ${some} of them select some of ${rows.length} rows`);
    assert.ok(some > expressions / 5);
  });
});
