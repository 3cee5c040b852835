// The model that stores are compared with: rows in an array, where each question looks at all of them. It shares only
// the matcher with the stores, which defines what a condition means.
import { matches } from '../../query/match.ts';
import type { ListQuery, OrderKey, OwnerQuery } from '../../query/list-query.ts';
import type { RowScope } from '../../query/scope/scope.ts';
import { typeKey, type TypeInfo } from '../../query/types.ts';
import { indexedPaths } from '../indexed-paths.ts';
import type { RowRead, RowWrite } from '../store.ts';

/** An object before it is turned into a row. */
export interface ModelRow {
  readonly cluster: string;
  readonly incarnation: string;
  readonly type: TypeInfo;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly ownerUid: string;
  readonly createdAtMs: number;
  readonly resourceVersion: string;
  readonly labels: Readonly<Record<string, string>>;
  /** All other fields of the object, such as `spec` and `status`. */
  readonly rest: Readonly<Record<string, unknown>>;
}

export function typeInfo(group: string, resource: string, namespaced = true): TypeInfo {
  const kind = resource.slice(0, 1).toUpperCase() + resource.slice(1, -1);
  const names = { singular: resource.slice(0, -1), shortNames: [], categories: [] };
  return { group, resource, version: 'v1', versions: ['v1'], kind, namespaced, convertible: false, ...names };
}

export function documentOf(row: ModelRow): unknown {
  const owner = { apiVersion: 'v1', kind: 'X', name: 'x', uid: row.ownerUid, controller: true };
  return {
    apiVersion: row.type.group === '' ? 'v1' : `${row.type.group}/v1`,
    kind: row.type.kind,
    metadata: {
      name: row.name,
      ...(row.namespace === '' ? {} : { namespace: row.namespace }),
      uid: row.uid,
      resourceVersion: row.resourceVersion,
      creationTimestamp: new Date(row.createdAtMs).toISOString().replace('.000Z', 'Z'),
      labels: row.labels,
      ...(row.ownerUid === '' ? {} : { ownerReferences: [owner] }),
    },
    ...row.rest,
  };
}

/** The row that the sync would write for this object. */
export function rowWrite(row: ModelRow): RowWrite {
  const { namespace, name, uid, resourceVersion, ownerUid, createdAtMs } = row;
  const terms = indexedPaths(row.type).flatMap((path) =>
    valuesAt(row.rest, path.split('.')).map((value) => [path, String(value)] as const),
  );
  const raw = Buffer.from(JSON.stringify(documentOf(row)));
  return {
    namespace,
    name,
    uid,
    resourceVersion,
    ownerUid,
    createdAtMs,
    labels: Object.entries(row.labels),
    terms,
    raw,
  };
}

function valuesAt(value: unknown, [step, ...rest]: readonly string[]): readonly unknown[] {
  if (step === undefined) return value === undefined || value === null ? [] : [value];
  const inner = (value as Readonly<Record<string, unknown>> | undefined)?.[step.replace('[]', '')];
  if (step.endsWith('[]')) return ((inner ?? []) as unknown[]).flatMap((element) => valuesAt(element, rest));
  return valuesAt(inner, rest);
}

/** The rows that the query matches and the scope allows, in the query's order. */
export function listModel(rows: readonly ModelRow[], query: ListQuery, scope: RowScope): readonly ModelRow[] {
  const owned = query.owner === undefined ? undefined : ownedRows(rows, query.owner, scope);
  return rows
    .filter((row) => {
      if (!isGranted(row, scope) || (owned !== undefined && !owned.has(row))) return false;
      const key = { cluster: row.cluster, type: typeKey(row.type), namespace: row.namespace, name: row.name };
      return matches(query, Buffer.from(JSON.stringify(documentOf(row))), key, () => true);
    })
    .sort(compareBy(query.order));
}

export function isGranted({ incarnation, type, namespace, name }: ModelRow, { grants }: RowScope): boolean {
  const grant = grants.get(incarnation)?.get(typeKey(type));
  if (grant === undefined || grant === 'all') return grant === 'all';
  if (grant.namespaces.includes(namespace)) return true;
  return grant.names.some((one) => one.name === name && (one.namespace ?? namespace) === namespace);
}

function ownedRows(rows: readonly ModelRow[], owner: OwnerQuery, scope: RowScope): ReadonlySet<ModelRow> {
  const ownedBy = (owners: readonly ModelRow[]): ModelRow[] =>
    rows.filter((row) => owners.some((one) => one.incarnation === row.incarnation && one.uid === row.ownerUid));
  const visible = (some: readonly ModelRow[]): ModelRow[] => some.filter((row) => isGranted(row, scope));
  let found: ModelRow[];
  if (owner.uid === undefined) {
    const named = rows.filter(
      ({ name, namespace, type }) =>
        name === owner.name &&
        (owner.type === undefined || typeKey(type) === typeKey(owner.type)) &&
        (owner.namespaces === undefined || namespace === '' || owner.namespaces.includes(namespace)),
    );
    found = ownedBy(visible(named));
  } else {
    found = rows.filter(({ ownerUid }) => ownerUid === owner.uid);
  }
  for (let step = 0; step < owner.seniority; step++) found = ownedBy(visible(found));
  return new Set(found);
}

function compareBy(order: readonly OrderKey[]): (one: ModelRow, other: ModelRow) => number {
  const keys: readonly OrderKey[] = [
    ...order,
    ...(['cluster', 'namespace', 'name'] as const).map((by) => ({ by, descending: false })),
  ];
  return (one, other) => {
    for (const { by, descending } of keys) {
      const result = compareKey(by, one, other);
      if (result !== 0) return descending ? -result : result;
    }
    return bytes(typeKey(one.type), typeKey(other.type));
  };
}

function compareKey(by: OrderKey['by'], one: ModelRow, other: ModelRow): number {
  switch (by) {
    case 'cluster':
      return bytes(one.cluster, other.cluster);
    case 'namespace':
      return bytes(one.namespace, other.namespace);
    case 'name':
      return bytes(one.name, other.name);
    case 'created_at':
      return one.createdAtMs - other.createdAtMs;
    case 'resource_version':
      return Number(BigInt(one.resourceVersion) - BigInt(other.resourceVersion));
    default: {
      const path = by.map((step) => (step.kind === 'key' ? step.key : ''));
      const [a] = valuesAt(documentOf(one), path);
      const [b] = valuesAt(documentOf(other), path);
      // A missing value comes last.
      if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
      return bytes(String(a), String(b));
    }
  }
}

function bytes(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}

/** A text that identifies a row of the model or of a store. */
export function label(row: ModelRow | RowRead): string {
  const type = typeof row.type === 'string' ? row.type : typeKey(row.type);
  return [row.cluster, row.namespace, row.name, type, row.uid].join('/');
}
