// Copies the index of a database into tables of an older version, as an older program would have left them: the tables
// are made by the migrations up to that version, and get the columns that they have.
import type { Client } from 'pg';

import { migrations, schemaMark } from '../../store/postgres/connection/schema.ts';

/** The schema of a present index, and that of its copy. */
const present = 'portcullis';
export const olderSchema = (form: number): string => `form_${form}`;

/**
 * Copies the tables of the schema `portcullis` into a schema of its own.
 * @param form version of the tables to make, from 1
 */
export async function copyAsOlder(client: Client, form: number): Promise<void> {
  const schema = olderSchema(form);
  await client.query(`CREATE SCHEMA ${schema}; SET search_path = ${schema}`);
  await client.query(`CREATE TABLE form (number int4 NOT NULL); COMMENT ON TABLE form IS '${schemaMark}';
    INSERT INTO form VALUES (${form})`);
  for (const migration of migrations.slice(0, form)) await client.query(migration({ compression: 'pglz', nowUs: 1 }));
  await copyPartitions(client, schema);
  const { rows: tables } = await client.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind IN ('r', 'p')
      AND NOT relispartition AND relname <> 'form'`,
    [schema],
  );
  for (const { name } of tables) await copyTable(client, schema, name);
  await client.query(`SELECT setval('row_id', (SELECT last_value FROM ${present}.row_id))`);
}

/** The partitions of the change log, which a running program makes. */
async function copyPartitions(client: Client, schema: string): Promise<void> {
  const { rows } = await client.query<{ name: string; parent: string; bound: string }>(
    `SELECT c.relname AS name, p.relname AS parent, pg_get_expr(c.relpartbound, c.oid) AS bound
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_class p ON p.oid = i.inhparent
    WHERE c.relnamespace = $1::regnamespace AND p.relname IN ('change', 'change_body')`,
    [present],
  );
  for (const { name, parent, bound } of rows)
    await client.query(`CREATE TABLE ${schema}.${name} PARTITION OF ${schema}.${parent} ${bound}`);
}

async function copyTable(client: Client, schema: string, table: string): Promise<void> {
  const { rows } = await client.query<{ name: string; identity: boolean }>(
    `SELECT o.attname AS name, o.attidentity <> '' AS identity
    FROM pg_attribute o JOIN pg_attribute n ON n.attname = o.attname AND n.attrelid = $2::regclass
    WHERE o.attrelid = $1::regclass AND o.attnum > 0 AND NOT o.attisdropped`,
    [`${schema}.${table}`, `${present}.${table}`],
  );
  const columns = rows.map(({ name }) => name).join(', ');
  await client.query(`DELETE FROM ${schema}.${table};
    INSERT INTO ${schema}.${table} (${columns}) OVERRIDING SYSTEM VALUE SELECT ${columns} FROM ${present}.${table}`);
  for (const { name } of rows.filter(({ identity }) => identity))
    await client.query(`SELECT setval(pg_get_serial_sequence('${schema}.${table}', '${name}'), max(${name}))
      FROM ${schema}.${table}`);
}
