// Creates the tables of the index, or migrates them to this program's version. When several processes start at once,
// one migrates and the others wait. Tables of other programs, and tables of a newer version, are not touched.
import type { ClientBase } from 'pg';

import { migrations, schemaForm, schemaMark } from './schema.ts';
import { openDatabase, type Database, type DatabaseOptions } from './database.ts';
import { unavailable } from './errors.ts';

/** Key of the advisory lock that is held during a migration. It must be the same in all versions of this program. */
const migrationLock = 0x50436978;

/**
 * Creates or migrates the tables.
 * @throws GatewayError INDEX_UNAVAILABLE (rejects) when the schema belongs to another program or a newer version, or
 *   when Citus distributes its tables
 */
export async function migrate(database: Database): Promise<void> {
  if ((await formOf(database)) === schemaForm) return;
  await database.transaction((client) => bringToForm(database, client), withoutTimeout);
}

/**
 * Tests whether {@link migrate} would succeed: runs the migration and a write in a transaction, then rolls the
 * transaction back.
 * @throws GatewayError INDEX_UNAVAILABLE (rejects) that says why the migration would fail
 */
export async function tryMigration(options: DatabaseOptions): Promise<void> {
  const database = await openDatabase(options);
  const enough = new Error('nothing is kept');
  try {
    await database.transaction(async (client) => {
      await bringToForm(database, client);
      await client.query('UPDATE store SET trimmed = trimmed');
      throw enough;
    }, withoutTimeout);
  } catch (error) {
    if (error !== enough) throw error;
  } finally {
    await database.close();
  }
}

const withoutTimeout = 'SET LOCAL statement_timeout = 0;';

async function bringToForm(database: Database, client: ClientBase): Promise<void> {
  await client.query('SELECT pg_advisory_xact_lock($1)', [migrationLock]);
  // Another process may have migrated the tables while this one waited for the lock.
  const form = await formOf(database, client);
  if (form === schemaForm) return;
  if (form === undefined) {
    // A Citus that is set to distribute new schemas must not distribute this one. PostgreSQL without Citus ignores the
    // setting.
    await client.query('SET LOCAL citus.enable_schema_based_sharding = off');
    await client.query(`CREATE SCHEMA IF NOT EXISTS ${database.schema}`);
    await client.query(`CREATE TABLE form (number int4 NOT NULL); COMMENT ON TABLE form IS '${schemaMark}';
        INSERT INTO form VALUES (0)`);
  }
  const context = await contextOf(client);
  for (let at = form ?? 0; at < schemaForm; at++) await client.query(migrations[at]!(context));
  await client.query('UPDATE form SET number = $1', [schemaForm]);
}

/** The version number of the tables; undefined when there are no tables. */
async function formOf(
  database: Database,
  client: Pick<ClientBase, 'query'> = database.pool,
): Promise<number | undefined> {
  const query = async (text: string): Promise<readonly (readonly unknown[])[]> =>
    client === database.pool ? await database.query(text) : (await client.query({ text, rowMode: 'array' })).rows;
  const schema = database.schema;
  const name = `'${schema.slice(1, -1).replaceAll('""', '"').replaceAll("'", "''")}'`;
  const [found] = await query(
    `SELECT count(*), max(obj_description(c.oid, 'pg_class')) FILTER (WHERE c.relname = 'form'),
      to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ${name}`,
  );
  const [relations, mark, isCitus] = found as [number, string | null, boolean];
  if (relations === 0) return undefined;
  const schemaText = schema.slice(1, -1);
  if (mark !== schemaMark) {
    throw unavailable(`has a schema "${schemaText}" with tables of somebody else: name another schema for the index`);
  }
  if (isCitus) {
    // Citus makes a commit visible on each of its servers at another moment. A reader who has seen the change with time
    // N could then miss changes with earlier times. Tables without a colocation id are only on this server, although
    // Citus lists them.
    const [distributed] = await query(
      `SELECT c.relname FROM pg_catalog.pg_dist_partition d JOIN pg_class c ON c.oid = d.logicalrelid
      JOIN pg_namespace n ON n.oid = c.relnamespace WHERE d.colocationid <> 0 AND n.nspname = ${name}
      ORDER BY c.relname LIMIT 1`,
    );
    if (distributed !== undefined) {
      throw unavailable(
        `has a schema "${schemaText}" that Citus distributes (table "${distributed[0] as string}"), which the index does ` +
          'not support: name another schema for the index, and do not distribute it',
      );
    }
  }
  const [row] = await query(`SELECT number FROM ${schema}.form`);
  const form = Number(row![0]);
  if (form > schemaForm) {
    throw unavailable(
      `was written by a newer version of this program (its schema version is ${form}, this program knows ${schemaForm}): update the program`,
    );
  }
  return form;
}

async function contextOf(client: ClientBase): Promise<Parameters<(typeof migrations)[number]>[0]> {
  const { rows } = await client.query<{ lz4: boolean; now: number }>(
    `SELECT 'lz4' = ANY(enumvals) AS lz4, (extract(epoch FROM clock_timestamp()) * 1000000)::int8 AS now
    FROM pg_settings WHERE name = 'default_toast_compression'`,
  );
  return { compression: rows[0]!.lz4 ? 'lz4' : 'pglz', nowUs: Number(rows[0]!.now) };
}
