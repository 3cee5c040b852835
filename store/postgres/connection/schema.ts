// The tables of the index in PostgreSQL. They have a schema of their own; table `form` holds the version of the tables.
//
// Tables that grow with the number of objects have a column `shard`, a hash of the uid of the cluster's record
// (shard.ts). At any time at most one process writes a shard, and unique indexes are unique within a shard only.
//
// - `obj`: a small row for each object. `id` comes from blocks of the sequence `row_id` and is never used again, so an
// object that was recreated (another uid) has another id. `terms` holds the numbers of labels and indexed values in
// ascending order: 64 bits of a digest of type, path and value (../write/terms.ts). `fold` is the name in lower case,
// or NULL when the name is so already. Texts that a cluster can choose are bytea: they sort like UTF-8 bytes, as in
// SQLite, and may contain NUL.
// - `body`: the bytes of each object. They are separate from `obj`, so that a search reads few pages.
// - `term`: path and value of each term, and how many rows of the shard have the term.
// - `counter`: the number of rows by namespace. A counter stays at 0 when the last row of its namespace is gone.
// - `change`: the change log, one row for each change; `sequence` is the time of the change in microseconds. The rows
// are written while the sequencer is locked, so they are small.
// - `change_body`: the body before a change, found by (shard, id, before_at). The body after a change is the body
// before the next change of the same id, or else the current body. Both log tables are partitioned by time, and old
// partitions are dropped as a whole (../feed/partitions.ts).
// - `follow`: what is known about a type in an incarnation, and up to which resourceVersion it was followed. `form` is
// the oldest form of its rows (../../row-form.ts).
// - `shard`: which process holds the lease of a shard and may write it (`owner`), the number of this lease (`epoch`),
// since when it is held (`taken`; without an owner: since when there is none), and which process shall hold it
// (`wanted`, changed at `moved`). `writes` counts the transactions of the owners, who notice by it when some were lost.
// Epochs, stamps and versions of the catalog are taken from the clock. So a value that was lost together with a server
// is not given out again by the next server.
// - `replica`: a row for each process that may follow clusters. Its leases last until `until`, by the database's clock.
// `known` counts its clusters, and `rates` the changes it writes per second, both by shard. `form` is the form in which
// it writes rows (../../row-form.ts).
// - `planner`: one row, locked by the process that decides which process shall hold which lease (`shard.wanted`).
// - `told`: the states of clusters that owners of shards publish. `stamp` is taken from the only row of `told_stamp`.
// That row is locked until the commit is visible, so that whoever sees a stamp also sees all earlier ones.
// - `sequencer`: one row, locked as the last step of each commit with changes. Whoever reads `last` sees all changes up
// to it. `rights` is the time of the newest change of a role or binding. `catalog` grows with each new type,
// incarnation or followed type.
// - `store`: one row with the id of the store, and the time `trimmed`: the log contains all changes after it.
import { newStoreId } from '../../index-version.ts';
import { shardCount } from './shard.ts';

/** Version of the tables that this program writes. Tables of a newer version are refused. */
export const schemaForm = 6;

/**
 * SQLSTATE of a write whose writer has lost the lease of its shard, or for which the database has lost numbers. The
 * detail of the error names the shards, or is {@link numbersLost}.
 */
export const shardsLostState = 'PC001';
export const numbersLost = 'numbers';

/** Comment on the table `form`, by which the program recognises a schema of its own. */
export const schemaMark = 'index of Portcullis';

/** SQL for the server's time in microseconds since 1970. */
export const clockUs = '(extract(epoch FROM clock_timestamp()) * 1000000)::int8';

/** Values of `change.kind`. */
export const changeKind = { added: 0, modified: 1, deleted: 2 } as const;

const partitions = 16;

/** SQL for a table divided into 16 partitions by shard: `name_0` to `name_15`. */
function divided(name: string, columns: string, options = ''): string {
  const parts = Array.from(
    { length: partitions },
    (_, i) =>
      `CREATE TABLE ${name}_${i} PARTITION OF ${name} FOR VALUES WITH (MODULUS ${partitions}, REMAINDER ${i})${options};`,
  );
  return `CREATE TABLE ${name} (${columns}) PARTITION BY HASH (shard);\n${parts.join('\n')}\n`;
}

/** Storage parameters of a small table whose rows change all the time: free space in each page, and frequent vacuum. */
const busy = ' WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 200)';

/** SQL that creates all tables of version 1. @param compression of bodies; `lz4` where the server supports it */
const firstForm = (compression: 'lz4' | 'pglz', startUs: number): string =>
  sharedTables(startUs) + rowTables(compression) + changeTables(compression);

/**
 * SQL for the tables about the store, its resourceVersions and its shards, and for those that number types and
 * clusters.
 */
function sharedTables(startUs: number): string {
  return `
CREATE SEQUENCE row_id INCREMENT BY ${idBlock} MINVALUE 1 START 1;
CREATE TABLE store (one bool PRIMARY KEY CHECK (one), id text NOT NULL, trimmed int8 NOT NULL);
INSERT INTO store VALUES (true, '${newStoreId()}', ${startUs});
CREATE TABLE sequencer (
  one bool PRIMARY KEY CHECK (one), last int8 NOT NULL, rights int8 NOT NULL, catalog int8 NOT NULL
) WITH (fillfactor = 10, autovacuum_vacuum_threshold = 100, autovacuum_vacuum_scale_factor = 0);
INSERT INTO sequencer VALUES (true, ${startUs}, 0, 0);
CREATE TABLE shard (
  id int2 PRIMARY KEY, owner text NOT NULL DEFAULT '', epoch int8 NOT NULL DEFAULT 0, taken timestamptz, until timestamptz
)${busy};
INSERT INTO shard (id) SELECT generate_series(0, ${shardCount - 1});
CREATE TABLE type (id int4 GENERATED ALWAYS AS IDENTITY PRIMARY KEY, key text COLLATE "C" NOT NULL UNIQUE);
CREATE TABLE incarnation (
  id int4 GENERATED ALWAYS AS IDENTITY PRIMARY KEY, incarnation text COLLATE "C" NOT NULL UNIQUE,
  cluster text COLLATE "C" NOT NULL
);
CREATE TABLE follow (
  shard int2 NOT NULL, inc int4 NOT NULL, t int4 NOT NULL, info text NOT NULL, version text NOT NULL DEFAULT '',
  confirmed int8 NOT NULL DEFAULT 0, objects int8 NOT NULL DEFAULT 0, bytes int8 NOT NULL DEFAULT 0,
  PRIMARY KEY (shard, inc, t)
)${busy};
`;
}

/** SQL for the tables of rows, bodies and terms, and for the counters of rows. */
function rowTables(compression: 'lz4' | 'pglz'): string {
  return `
${divided(
  'obj',
  `id int8 NOT NULL, created int8 NOT NULL, t int4 NOT NULL, inc int4 NOT NULL, bytes int4 NOT NULL, shard int2 NOT NULL,
  namespace bytea NOT NULL, name bytea NOT NULL, fold bytea, uid bytea NOT NULL, owner bytea, rv bytea NOT NULL,
  digest bytea NOT NULL, terms int8[] NOT NULL, PRIMARY KEY (shard, id)`,
  ' WITH (fillfactor = 85)',
)}
CREATE UNIQUE INDEX obj_key ON obj (t, inc, namespace, name, shard);
CREATE INDEX obj_name ON obj (t, name);
CREATE INDEX obj_created ON obj (t, created);
CREATE INDEX obj_owner ON obj (owner) WHERE owner IS NOT NULL;
CREATE INDEX obj_uid ON obj (uid);
CREATE INDEX obj_terms ON obj USING gin (terms) WITH (fastupdate = off);
${divided(
  'body',
  `id int8 NOT NULL, shard int2 NOT NULL, raw bytea COMPRESSION ${compression} NOT NULL, PRIMARY KEY (shard, id)`,
  ' WITH (fillfactor = 90)',
)}
${divided(
  'term',
  `id int8 NOT NULL, n int8 NOT NULL, t int4 NOT NULL, shard int2 NOT NULL, path bytea NOT NULL, value bytea NOT NULL,
  path_fold bytea, value_fold bytea, PRIMARY KEY (shard, id)`,
)}
CREATE INDEX term_text ON term (t, substr(path, 1, ${indexedPathBytes}), substr(value, 1, ${indexedValueBytes}));
CREATE TABLE counter (
  shard int2 NOT NULL, inc int4 NOT NULL, t int4 NOT NULL, namespace bytea NOT NULL, n int8 NOT NULL,
  PRIMARY KEY (shard, inc, t, namespace)
)${busy};
CREATE INDEX counter_type ON counter (t, inc);
`;
}

/** SQL for the change log, which watches read, and for the bodies that rows had before a change. */
function changeTables(compression: 'lz4' | 'pglz'): string {
  return `
CREATE TABLE change (
  sequence int8 NOT NULL, id int8 NOT NULL, before_at int8, t int4 NOT NULL, inc int4 NOT NULL, shard int2 NOT NULL,
  kind int2 NOT NULL, namespace bytea NOT NULL, name bytea NOT NULL, uid bytea NOT NULL, PRIMARY KEY (sequence, shard)
) PARTITION BY RANGE (sequence);
CREATE INDEX change_id ON change (id, sequence);
CREATE TABLE change_body (
  before_at int8 NOT NULL, id int8 NOT NULL, shard int2 NOT NULL, raw bytea COMPRESSION ${compression} NOT NULL,
  PRIMARY KEY (shard, id, before_at)
) PARTITION BY RANGE (before_at);
`;
}

/** Version 2: the columns and tables by which several processes divide the clusters among themselves. */
const secondForm = `
ALTER TABLE follow ADD COLUMN resume text NOT NULL DEFAULT '';
ALTER TABLE shard DROP COLUMN until, ADD COLUMN wanted text NOT NULL DEFAULT '', ADD COLUMN moved timestamptz;
CREATE TABLE replica (
  name text PRIMARY KEY, born timestamptz NOT NULL, until timestamptz NOT NULL, weight float8 NOT NULL,
  known int4[], uids text[], rates float8[] NOT NULL
)${busy};
CREATE TABLE planner (one bool PRIMARY KEY CHECK (one), at timestamptz NOT NULL);
INSERT INTO planner VALUES (true, '-infinity');
CREATE TABLE told_stamp (one bool PRIMARY KEY CHECK (one), last int8 NOT NULL)${busy};
INSERT INTO told_stamp VALUES (true, 0);
CREATE TABLE told (
  uid text COLLATE "C" PRIMARY KEY, shard int2 NOT NULL, epoch int8 NOT NULL, stamp int8 NOT NULL,
  info_stamp int8 NOT NULL, info text NOT NULL, numbers int8[] NOT NULL
)${busy};
CREATE INDEX told_by_stamp ON told (stamp);
`;

/**
 * Version 4: a function that raises an error. A write calls it when its writer has lost the lease of the shard. The
 * server then skips the rest of the write, which was sent together with its COMMIT.
 */
const fourthForm = `
CREATE FUNCTION refuse_lost(lost text) RETURNS bool LANGUAGE plpgsql AS $$
  BEGIN RAISE EXCEPTION 'shards are owned by others' USING ERRCODE = '${shardsLostState}', DETAIL = lost; END $$;
`;

/**
 * Version 6: the form in which a replica writes rows, and the oldest form of the rows of a type. This oldest form is
 * the first number of the text `keptAs` in the column `info`; it is negative while rows are of several forms. More of
 * each page of `obj` stays free: a new version of a row that fits into the page of the old version changes no index.
 */
const sixthForm = `
ALTER TABLE replica ADD COLUMN form int4 NOT NULL DEFAULT 0;
ALTER TABLE follow ADD COLUMN form int4
  GENERATED ALWAYS AS (abs(substring(info from '"keptAs":"\\[(-?[0-9]+)')::int4)) STORED;
CREATE INDEX follow_form ON follow (form);
${Array.from({ length: partitions }, (_, i) => `ALTER TABLE obj_${i} SET (fillfactor = 60);`).join('\n')}
`;

/**
 * How many row ids a process claims at a time. Each value of the sequence `row_id` is the first id of a block of this
 * size.
 */
export const idBlock = 1024;

/**
 * Bytes of a term's path that the index `term_text` holds; the next constant is for its value. Only the beginning is
 * held, because entries of an index have a maximum size and texts of clusters have none.
 */
export const indexedPathBytes = 400;
const indexedValueBytes = 200;

/** Properties of the server that a migration needs to know. */
export interface MigrationContext {
  readonly compression: 'lz4' | 'pglz';
  /**
   * The server's time in microseconds since 1970. The change log of a new store starts at this time, so that
   * resourceVersions of an older store are too old.
   */
  readonly nowUs: number;
}

/**
 * SQL that migrates the tables from version `i` to version `i + 1`. A migration cannot be undone, and must not change
 * what an older program still reads.
 */
export const migrations: readonly ((context: MigrationContext) => string)[] = [
  ({ compression, nowUs }) => firstForm(compression, nowUs),
  () => secondForm,
  () => 'CREATE TABLE shared_value (name text PRIMARY KEY, value bytea NOT NULL)',
  () => fourthForm,
  () => 'ALTER TABLE shard ADD COLUMN writes int8 NOT NULL DEFAULT 0',
  () => sixthForm,
];
