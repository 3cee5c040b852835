// Turns conditions on `metadata.name`, `metadata.namespace`, `metadata.uid` and the cluster annotation into lists such
// as `names`, which a store checks without reading objects. A condition on an empty value is left as it is, because
// field and list differ there: a cluster-scoped object has no field `metadata.namespace`, while its row has the
// namespace ''.
import { clusterAnnotation } from './types.ts';
import type { PathStep } from '../lib/json/raw-json.ts';
import type { FieldRequirement, ListQuery } from './list-query.ts';
import { printPath } from './path.ts';

const keyFields = {
  name: ['names', 'notNames'],
  namespace: ['namespaces', 'notNamespaces'],
  uid: ['uids', undefined],
  cluster: ['clusters', 'notClusters'],
} as const;

/**
 * Moves conditions on name, namespace, uid and cluster from `fields` to the lists `names`, `notNames`, `namespaces` and
 * so on. The returned query matches the same rows.
 */
export function liftKeyConditions(query: ListQuery): ListQuery {
  const lifted: { -readonly [Key in keyof ListQuery]?: ListQuery[Key] } = {};
  const fields = query.fields.filter((requirement) => {
    const target = keyTarget(requirement);
    if (target === undefined) return true;
    const known = lifted[target.field] ?? query[target.field];
    const { values } = requirement;
    if (target.isNegative) lifted[target.field] = [...(known ?? []), ...values];
    else
      lifted[target.field] =
        known === undefined ? [...new Set(values)] : known.filter((value) => values.includes(value));
    return false;
  });
  return { ...query, ...lifted, fields };
}

type ListField = 'clusters' | 'notClusters' | 'names' | 'namespaces' | 'uids' | 'notNames' | 'notNamespaces';

function keyTarget({
  path,
  operator,
  values,
}: FieldRequirement): { field: ListField; isNegative: boolean } | undefined {
  const key = metadataKey(path);
  if (key === undefined || values.includes('')) return undefined;
  const [positive, negative] = keyFields[key];
  if (operator === 'Equals' || operator === 'In') return { field: positive, isNegative: false };
  if (negative !== undefined && (operator === 'NotEquals' || operator === 'NotIn'))
    return { field: negative, isNegative: true };
  return undefined;
}

const keyPaths: ReadonlyMap<string, keyof typeof keyFields> = new Map([
  ['metadata.name', 'name'],
  ['metadata.namespace', 'namespace'],
  ['metadata.uid', 'uid'],
  [`metadata.annotations['${clusterAnnotation}']`, 'cluster'],
]);

function metadataKey(path: readonly PathStep[]): keyof typeof keyFields | undefined {
  return path.length > 3 ? undefined : keyPaths.get(printPath(path));
}
