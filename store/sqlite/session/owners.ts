// Follows owner references downwards: from an owner to the objects it owns, and on to the objects that these own. The
// user must be allowed to see every object in between. A uid identifies an object only together with its cluster,
// because a cluster restored from a backup has the same uids as the original.
import type { OwnerQuery } from '../../../query/list-query.ts';
import type { Grant } from '../../../query/scope/scope.ts';
import { typeKey, type TypeKey } from '../../../query/types.ts';
import { incarnationOf, type Catalog } from '../tables/catalog.ts';
import type { Grants } from './extents.ts';
import type { Sql } from '../tables/sql.ts';

type Row = readonly [id: number, t: number, slot: number, name: string, uid: string];

const columns = 'o.id, o.t, o.place, o.name, o.uid';

/** Row ids of the owned objects, of any type. They still include objects that the user may not see. */
export function ownedIds(sql: Sql, catalog: Catalog, owner: OwnerQuery, grants: Grants): readonly number[] {
  const isVisible = visibility(catalog, grants);
  let rows =
    owner.uid === undefined
      ? children(sql, namedOwners(sql, catalog, owner).filter(isVisible))
      : sql.all<Row>(`SELECT ${columns} FROM obj o INDEXED BY obj_owner WHERE o.owner = ?`, [owner.uid]);
  for (let step = 0; step < owner.seniority && rows.length > 0; step++) rows = children(sql, rows.filter(isVisible));
  return [...new Set(rows.map(([id]) => id))];
}

function children(sql: Sql, owners: readonly Row[]): readonly Row[] {
  const incarnations = new Map<string, Set<number>>();
  for (const [, , slot, , uid] of owners) {
    incarnations.set(uid, (incarnations.get(uid) ?? new Set()).add(incarnationOf(slot)));
  }
  return sql
    .all<readonly [...Row, string]>(
      `SELECT ${columns}, o.owner FROM json_each(?) j CROSS JOIN obj o INDEXED BY obj_owner ON o.owner = j.value`,
      [JSON.stringify([...incarnations.keys()])],
    )
    .filter(([, , slot, , , uid]) => incarnations.get(uid)!.has(incarnationOf(slot)))
    .map(([id, t, slot, name, uid]) => [id, t, slot, name, uid]);
}

function namedOwners(sql: Sql, catalog: Catalog, { name, type, namespaces }: OwnerQuery): readonly Row[] {
  if (name === undefined) return [];
  const types = type === undefined ? [...catalog.types.values()] : [catalog.types.get(typeKey(type))];
  const wanted = namespaces === undefined ? undefined : new Set(['', ...namespaces]);
  return types
    .flatMap((t) =>
      t === undefined
        ? []
        : sql.all<Row>(`SELECT ${columns} FROM obj o INDEXED BY obj_name WHERE o.t = ? AND o.name = ?`, [t, name]),
    )
    .filter(([, , slot]) => wanted === undefined || wanted.has(catalog.slot(slot).namespace));
}

function visibility(catalog: Catalog, grants: Grants): (row: Row) => boolean {
  const tests = new Map<Grant, (namespace: string, name: string) => boolean>();
  return ([, t, slot, name]) => {
    const { incarnation, namespace } = catalog.slot(slot);
    const grant = grants.get(incarnation.id)?.get(catalog.typeKeys.get(t) as TypeKey);
    if (grant === undefined || grant === 'all') return grant === 'all';
    let test = tests.get(grant);
    if (test === undefined) tests.set(grant, (test = grantTest(grant)));
    return test(namespace, name);
  };
}

function grantTest({ namespaces, names }: Exclude<Grant, 'all'>): (namespace: string, name: string) => boolean {
  const whole = new Set(namespaces);
  const single = new Set(names.map((one) => JSON.stringify([one.namespace ?? null, one.name])));
  return (namespace, name) =>
    whole.has(namespace) || single.has(JSON.stringify([namespace, name])) || single.has(JSON.stringify([null, name]));
}
