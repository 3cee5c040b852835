// The tables of the index in PostgreSQL. They have a schema of their own; table `form` holds the version of the tables.
//
// Tables that grow with the number of objects have a column `shard`, a hash of the uid of the cluster's record
// (../shard.ts). At any time one process writes a shard, and unique indexes hold within a shard only.
//
// - `obj`: a small row for each object. `id` comes from blocks of the sequence `row_id` and is never used again, so an
// object that was recreated (another uid) has another id. `terms` holds the numbers of labels and indexed values in
// ascending order: 64 bits of a digest of type, path and value (terms.ts). `fold` is the name in lower case, where that
// differs. Texts that a cluster can choose are bytea: they sort like UTF-8 bytes, as in SQLite, and may contain NUL.
// - `body`: the bytes of each object. They are separate from `obj`, so that a search reads few pages.
// - `term`: the texts of each term, and how many rows of the shard have it.
// - `counter`: the number of rows by namespace. It stays at 0 when the last row is gone.
// - `change`: the log, one row for each change; `sequence` is its time in microseconds. It is written while the
// sequencer is locked, so its rows are small.
// - `change_body`: the body before a change, found by (shard, id, before_at). The body after a change is the body
// before the next change of the same id, or else the current body. Both log tables are partitioned by time, and old
// partitions are dropped as a whole (feed/partitions.ts).
// - `follow`: what is known about a type in an incarnation, and up to which resourceVersion it was followed.
// - `shard`: which process may write a shard (`owner`), in which term (`epoch`) and since when (`taken`; without an
// owner: since when it has had none), and which process shall write it (`wanted`, changed at `moved`). `writes` counts
// the transactions of its owners, who notice by it when some were lost. Epochs, stamps and versions of the catalog are
// taken from the clock, so a value that was lost together with a server is not given out again by the next server.
// - `replica`: a row for each process that may follow clusters. Its leases hold until `until`, by the database's clock.
// `known` counts its clusters, and `rates` the changes it writes per second, both by shard.
// - `planner`: locked by the process that decides about `wanted`.
// - `told`: the states of clusters that owners of shards publish. `stamp` is taken from the only row of `told_stamp`,
// which is locked until the commit is visible, so that whoever sees a stamp sees all before it.
// - `sequencer`: one row, locked as the last step of each commit with changes. Whoever reads `last` sees all changes up
// to it. `rights` is the newest change of an RBAC object. `catalog` grows with each new type, incarnation or followed
// type.
// - `store`: one row with the id of the store, and `trimmed`: the log contains all changes after that time.
import { newStoreId } from '../index-version.ts';
import { shardCount } from './shard.ts';

/** Version of the tables that this program writes. It refuses tables of a newer version. */
export const schemaForm = 5;

/**
 * SQLSTATE of a write whose writer no longer owns its shard, or whose numbers were lost. The detail of the error names
 * the shards, or is {@link numbersLost}.
 */
export const shardsLostState = 'PC001';
export const numbersLost = 'numbers';

/** Comment on the table `form`. It shows that a schema belongs to this program. */
export const schemaMark = 'index of Portcullis';

/** SQL for the server's time in microseconds. */
export const clockUs = '(extract(epoch FROM clock_timestamp()) * 1000000)::int8';

/** Values of `change.kind`. */
export const changeKind = { added: 0, modified: 1, deleted: 2 } as const;

const partitions = 16;

/** SQL for a table divided into partitions by shard: `name_0` to `name_15`. */
function divided(name: string, columns: string, options = ''): string {
  const parts = Array.from(
    { length: partitions },
    (_, i) =>
      `CREATE TABLE ${name}_${i} PARTITION OF ${name} FOR VALUES WITH (MODULUS ${partitions}, REMAINDER ${i})${options};`,
  );
  return `CREATE TABLE ${name} (${columns}) PARTITION BY HASH (shard);\n${parts.join('\n')}\n`;
}

/** Storage parameters of a small table that changes all the time: free space in each page, and frequent vacuum. */
const busy = ' WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 200)';

/** SQL that creates all tables of version 1. @param compression of bodies; `lz4` where the server supports it */
const firstForm = (compression: 'lz4' | 'pglz', startUs: number): string =>
  sharedTables(startUs) + rowTables(compression) + changeTables(compression);

/** The store itself, its resourceVersions, its shards, and the types and clusters that rows refer to by number. */
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

/** Rows, their bodies and terms, and how many rows there are. */
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

/** The change log that watches read, and the bodies that rows had before a change. */
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

/** Version 2: the columns and tables with which several processes share the clusters among them. */
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
 * Version 4: a function that raises an error. A write calls it when its writer no longer owns the shard: the server
 * then skips the rest of the write, which was sent together with its COMMIT.
 */
const fourthForm = `
CREATE FUNCTION refuse_lost(lost text) RETURNS bool LANGUAGE plpgsql AS $$
  BEGIN RAISE EXCEPTION 'shards are owned by others' USING ERRCODE = '${shardsLostState}', DETAIL = lost; END $$;
`;

/**
 * How many row ids a process claims at a time: each value of the sequence `row_id` is the first of a block of this
 * size.
 */
export const idBlock = 1024;

/**
 * Only the first bytes of a term are in the index `term_text`: index entries have a maximum size, texts of clusters do
 * not.
 */
export const indexedPathBytes = 400;
const indexedValueBytes = 200;

/** Facts about the server that a migration needs. */
export interface MigrationContext {
  readonly compression: 'lz4' | 'pglz';
  /**
   * The server's time in microseconds since 1970. The log of a new store starts here, so resourceVersions of an older
   * store lie before it.
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
];
