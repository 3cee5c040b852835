// Statements that update what is stored about rows together: the number of rows by namespace, the number of rows by
// term (label or indexed value), and up to which resourceVersion the types of clusters were copied.
import { byteas, int2s, int4s, int8s, texts } from './arrays.ts';
import { targetArrays } from './find.ts';
import type { Statement } from './pipeline.ts';
import { folded, type NamespaceCount, type TermCount, type WriteSet } from './write-set.ts';

/**
 * Statements that update the number of rows by namespace. A counter stays at 0 when the last row of its namespace is
 * gone, so that the namespace remains known.
 */
export function countRows({ counts }: WriteSet): readonly Statement[] {
  const changed = [...counts.values()].filter(({ n }) => n !== 0).sort(byNamespace);
  if (changed.length === 0) return [];
  const text = `INSERT INTO counter (shard, inc, t, namespace, n)
    SELECT * FROM unnest($1::int2[], $2::int4[], $3::int4[], $4::bytea[], $5::int8[])
    ON CONFLICT (shard, inc, t, namespace) DO UPDATE SET n = counter.n + excluded.n`;
  const targets = targetArrays(changed.map(({ target }) => target));
  return [
    {
      text,
      values: [...targets, byteas(changed.map(({ namespace }) => namespace)), int8s(changed.map(({ n }) => n))],
    },
  ];
}

/** Statements that update how many rows of a shard have each term. */
export function countTerms({ terms }: WriteSet): readonly Statement[] {
  const changed = [...terms.values()].filter(({ n }) => n !== 0).sort(byTerm);
  const gained = changed.filter((count): count is Required<TermCount> => count.n > 0 && count.term !== undefined);
  const lost = Map.groupBy(
    changed.filter(({ n }) => n < 0),
    ({ shard }) => shard,
  );
  return [
    ...(gained.length > 0 ? [gainTerms(gained)] : []),
    ...[...lost].flatMap(([shard, some]) => loseTerms(shard, some)),
  ];
}

function gainTerms(gained: readonly Required<TermCount>[]): Statement {
  return {
    text: `INSERT INTO term (shard, t, id, n, path, value, path_fold, value_fold)
      SELECT * FROM unnest($1::int2[], $2::int4[], $3::int8[], $4::int8[], $5::bytea[], $6::bytea[], $7::bytea[], $8::bytea[])
      ON CONFLICT (shard, id) DO UPDATE SET n = term.n + excluded.n`,
    values: [
      int2s(gained.map(({ shard }) => shard)),
      int4s(gained.map(({ t }) => t)),
      int8s(gained.map(({ id }) => id)),
      int8s(gained.map(({ n }) => n)),
      byteas(gained.map(({ term }) => Buffer.from(term.path))),
      byteas(gained.map(({ term }) => Buffer.from(term.value))),
      byteas(gained.map(({ term }) => folded(term.path))),
      byteas(gained.map(({ term }) => folded(term.value))),
    ],
  };
}

/** Statements that lower the number of rows of each term, and delete terms that no row has any more. */
function loseTerms(shard: number, some: readonly TermCount[]): readonly Statement[] {
  const ids = int8s(some.map(({ id }) => id));
  return [
    {
      text: `UPDATE term SET n = term.n + l.n FROM unnest($2::int8[], $3::int8[]) AS l (id, n)
        WHERE term.shard = $1::int2 AND term.id = l.id`,
      values: [String(shard), ids, int8s(some.map(({ n }) => n))],
    },
    {
      text: 'DELETE FROM term WHERE shard = $1::int2 AND id = ANY($2::int8[]) AND n <= 0',
      values: [String(shard), ids],
    },
  ];
}

/** Statements that write the rows of table `follow`, which says up to where each type of a cluster was copied. */
export function writeFollows({ follows }: WriteSet): readonly Statement[] {
  const changes = [...follows.values()];
  if (changes.length === 0) return [];
  const text = `INSERT INTO follow (shard, inc, t, info, version, confirmed, resume, objects, bytes)
    SELECT * FROM unnest($1::int2[], $2::int4[], $3::int4[], $4::text[], $5::text[], $6::int8[], $7::text[], $8::int8[],
      $9::int8[])
    ON CONFLICT (shard, inc, t) DO UPDATE SET info = excluded.info, version = excluded.version,
      confirmed = excluded.confirmed, resume = excluded.resume, objects = follow.objects + excluded.objects,
      bytes = follow.bytes + excluded.bytes`;
  const values = [
    ...targetArrays(changes.map(({ target }) => target)),
    texts(changes.map(({ info }) => info)),
    texts(changes.map(({ version }) => version)),
    int8s(changes.map(({ confirmedMs }) => confirmedMs)),
    texts(changes.map(({ resume }) => resume)),
    int8s(changes.map(({ objects }) => objects)),
    int8s(changes.map(({ bytes }) => bytes)),
  ];
  return [{ text, values }];
}

/** All writers update counters in this order. With different orders, two writers of one shard could deadlock. */
function byNamespace(one: NamespaceCount, other: NamespaceCount): number {
  return one.target.inc - other.target.inc || one.target.t - other.target.t || one.namespace.compare(other.namespace);
}

function byTerm(one: TermCount, other: TermCount): number {
  return one.shard - other.shard || (one.id < other.id ? -1 : one.id > other.id ? 1 : 0);
}
