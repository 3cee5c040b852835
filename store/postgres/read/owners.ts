// Follows owner references downwards: from an owner to the objects it owns, and on to the objects that these own. The
// user must be allowed to see every object in between. A uid identifies an object only together with its cluster,
// because a cluster restored from a backup has the same uids as the original.
import type { OwnerQuery } from '../../../query/list-query.ts';
import { grantAllows, noGrant } from '../../../query/scope/grants.ts';
import { typeKey } from '../../../query/types.ts';
import type { Grants, SingleRow } from './extents.ts';
import type { Snapshot } from './snapshot.ts';
import { bytes, fragment, wholeTexts, type SqlFragment } from './sql.ts';

interface OwnedRow extends SingleRow {
  readonly t: number;
  readonly name: string;
  readonly uid: Buffer;
}

const columns = 'SELECT o.id, o.inc, o.namespace, o.t, o.name, o.uid';

/** The owned rows, of any type. They still include rows that the user may not see. */
export async function ownedRows(snapshot: Snapshot, owner: OwnerQuery, grants: Grants): Promise<readonly SingleRow[]> {
  const isVisible = visibility(snapshot, grants);
  let rows =
    owner.uid === undefined
      ? await children(snapshot, (await namedOwners(snapshot, owner)).filter(isVisible))
      : await read(snapshot, fragment(`${columns} FROM obj o WHERE o.owner = ?`, bytes(owner.uid)));
  for (let step = 0; step < owner.seniority && rows.length > 0; step++) {
    rows = await children(snapshot, rows.filter(isVisible));
  }
  return [...new Map(rows.map((row) => [row.id, row])).values()];
}

async function children(snapshot: Snapshot, owners: readonly OwnedRow[]): Promise<readonly OwnedRow[]> {
  if (owners.length === 0) return [];
  const text = `${columns} FROM (SELECT DISTINCT * FROM unnest(?::int4[], ?::bytea[])) g(inc, uid)
    JOIN obj o ON o.owner = g.uid AND o.inc = g.inc`;
  const incs = owners.map(({ inc }) => inc);
  const uids = owners.map(({ uid }) => uid);
  return read(snapshot, fragment(text, incs, uids));
}

async function namedOwners(snapshot: Snapshot, { name, type, namespaces }: OwnerQuery): Promise<readonly OwnedRow[]> {
  if (name === undefined) return [];
  const { types } = snapshot.catalog;
  const known = type === undefined ? [...types.values()] : [types.get(typeKey(type)) ?? []].flat();
  const where = namespaces === undefined ? '' : 'AND o.namespace = ANY(?::bytea[])';
  const wanted = namespaces === undefined ? [] : [wholeTexts(['', ...namespaces])];
  const text = `${columns} FROM obj o WHERE o.t = ANY(?::int4[]) AND o.name = ? ${where}`;
  return read(snapshot, fragment(text, known, bytes(name), ...wanted));
}

async function read(snapshot: Snapshot, statement: SqlFragment): Promise<readonly OwnedRow[]> {
  const rows = await snapshot.rows<readonly [number, number, Buffer, number, Buffer, Buffer]>(statement);
  return rows.map(([id, inc, namespace, t, name, uid]) => {
    return { id, inc, namespace: namespace.toString(), t, name: name.toString(), uid };
  });
}

function visibility({ catalog }: Snapshot, grants: Grants): (row: OwnedRow) => boolean {
  return ({ t, inc, namespace, name }) => {
    const grant = grants.get(catalog.byNumber.get(inc)!.id)?.get(catalog.typeKeys.get(t)!) ?? noGrant;
    return grantAllows(grant, namespace, name);
  };
}
