// The types and incarnations (a cluster from its creation until it is recreated) of the database with their numbers, in
// memory. Nothing is removed, and nothing changes but the cluster name of an incarnation.
import type { TypeKey } from '../../../query/types.ts';
import { shardOfIncarnation } from '../connection/shard.ts';
import { fragment, type SqlFragment } from './sql.ts';

export interface IncarnationRecord {
  readonly number: number;
  /** The incarnation's id, `<uid of the cluster record>/<uid of the kube-system Namespace>`. */
  readonly id: string;
  readonly cluster: string;
  /** The shard that holds the rows of the incarnation. */
  readonly shard: number;
}

/** The types and incarnations that one transaction sees. */
export interface Catalog {
  /** The version of the catalog in the database (`sequencer.catalog`) when this copy was read. */
  readonly version: number;
  readonly types: ReadonlyMap<TypeKey, number>;
  readonly typeKeys: ReadonlyMap<number, TypeKey>;
  readonly incarnations: ReadonlyMap<string, IncarnationRecord>;
  readonly byNumber: ReadonlyMap<number, IncarnationRecord>;
  /** The incarnations by name of their cluster. There are several while a new incarnation replaces an old one. */
  readonly byCluster: ReadonlyMap<string, readonly IncarnationRecord[]>;
  /** The oldest form (../../row-form.ts) in which rows of the database are written; undefined while no row says so. */
  readonly oldestForm: number | undefined;
}

export type RunFragment = <Row extends readonly unknown[]>(statement: SqlFragment) => Promise<readonly Row[]>;

export async function readCatalog(rows: RunFragment, version: number): Promise<Catalog> {
  const types = await rows<readonly [number, string]>(fragment('SELECT id, key FROM type'));
  const records = await rows<readonly [number, string, string]>(
    fragment('SELECT id, incarnation, cluster FROM incarnation'),
  );
  const [oldest] = await rows<readonly [number | null]>(fragment('SELECT min(form) FROM follow'));
  const incarnations = records.map(([number, id, cluster]): IncarnationRecord => {
    return { number, id, cluster, shard: shardOfIncarnation(id) };
  });
  return {
    version,
    types: new Map(types.map(([t, key]) => [key, t])),
    typeKeys: new Map(types),
    incarnations: new Map(incarnations.map((record) => [record.id, record])),
    byNumber: new Map(incarnations.map((record) => [record.number, record])),
    byCluster: Map.groupBy(incarnations, ({ cluster }) => cluster),
    oldestForm: oldest?.[0] ?? undefined,
  };
}
