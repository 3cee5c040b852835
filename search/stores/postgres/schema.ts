// Tables of the index in PostgreSQL. All live in one schema of their own, and `form` says which form they have.
//
// Everything that grows with objects is keyed by `shard`, which is a hash of the uid of the cluster's record
// (../shard.ts): one process at a time writes a shard, and nothing is unique beyond one. `obj` is a narrow row per
// object and `body` its bytes, apart, so that a search reads few pages. `obj.id` is given by the writer out of the
// blocks of `row_id` and never given again: an object of another uid has another id. Texts that a member can choose are
// bytea: their order is that of UTF-8 bytes, as in SQLite, and a NUL is as good as any character. `obj.terms` holds the
// numbers of labels and indexed values, ascending: 64 bits of a digest of type, path and value (terms.ts), so that no
// dictionary is shared; `term` keeps their texts and how many rows of the shard have them. `fold` columns hold the
// lower-cased text where it differs. `counter` counts rows by namespace and stays at 0 when the last is gone.
//
// `change` is the log, one row a change, `sequence` its time in microseconds; `change_body` is the body before it,
// found by (shard, id, before_at), as `change` is written while the sequencer is locked and must be small. What
// followed a change is the body before the next change of the same id, or the object's body of now. Both are divided by
// time: old partitions are dropped whole (feed/partitions.ts). `follow` has what is known of a type of an incarnation,
// and up to where it was followed. `shard` says who may write a shard and until when; times are those of the database's
// clock.
//
// `sequencer` is one row, locked last by each commit that changed something: whoever reads `last` sees all changes up
// to it. `rights` is the newest change of an RBAC object, `catalog` grows with each new type, incarnation or followed
// type. `store` is one row: the id of the store, and `trimmed`, after which all changes are in the log.
import { newStoreId } from '../index-version.ts';
import { shardCount } from './shard.ts';

/** The form of the tables this program writes; it refuses a newer one. */
export const schemaForm = 1;

/** SQLSTATE of a write whose leases are lost; the detail names them. */
export const shardsLostState = 'PC001';

/** Comment of the table `form`, by which a schema of this program is known. */
export const schemaMark = 'index of Portcullis';

/** Kind of a row of `change`. */
export const changeKind = { added: 0, modified: 1, deleted: 2 } as const;

const partitions = 16;

/** A table divided by shard: `name_0` to `name_15`. */
function divided(name: string, columns: string, options = ''): string {
  const parts = Array.from(
    { length: partitions },
    (_, i) =>
      `CREATE TABLE ${name}_${i} PARTITION OF ${name} FOR VALUES WITH (MODULUS ${partitions}, REMAINDER ${i})${options};`,
  );
  return `CREATE TABLE ${name} (${columns}) PARTITION BY HASH (shard);\n${parts.join('\n')}\n`;
}

/** Of a table with few rows that change all the time: room in each page, and vacuum long before the rows are many. */
const busy = ' WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 200)';

/**
 * Statements of the first form.
 * @param compression of bodies: `lz4` where the server has it
 */
function firstForm(compression: 'lz4' | 'pglz', startUs: number): string {
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
CREATE FUNCTION refuse_lost(lost text) RETURNS bool LANGUAGE plpgsql AS $$
  BEGIN RAISE EXCEPTION 'leases of shards are lost' USING ERRCODE = '${shardsLostState}', DETAIL = lost; END $$;
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

/** Ids a process takes at a time: each value of `row_id` is the first of so many. */
export const idBlock = 1024;

/** Index entries end somewhere, texts of members need not: only so many bytes of a term are in `term_text`. */
export const indexedPathBytes = 400;
export const indexedValueBytes = 200;

/** What a step to the next form is told of the server. */
export interface MigrationContext {
  readonly compression: 'lz4' | 'pglz';
  /** Time of the server in microseconds since 1970: versions of an older store are older than this one's log. */
  readonly nowUs: number;
}

/**
 * Statements that lead from form `i` to form `i + 1`, run in the schema. Forms only go forward, and a step leaves
 * alone what an older program still reads.
 */
export const migrations: readonly ((context: MigrationContext) => string)[] = [
  ({ compression, nowUs }) => firstForm(compression, nowUs),
];
