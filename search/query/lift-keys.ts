// Turns conditions on `metadata.name`, `metadata.namespace`, `metadata.uid` and the cluster's annotation into
// conditions on keys, which a store answers without reading bodies. Only positive conditions narrow, and an object
// without a namespace has no such field.
import { clusterAnnotation } from '../types.ts';
import type { PathStep } from '../../lib/json/path-step.ts';
import type { FieldRequirement, ListQuery } from './list-query.ts';
import { printPath } from './path.ts';

const keyFields = {
  name: ['names', 'notNames'],
  namespace: ['namespaces', 'notNamespaces'],
  uid: ['uids', undefined],
  cluster: ['clusters', 'notClusters'],
} as const;

/** The same question with such conditions among the keys. */
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
