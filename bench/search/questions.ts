// The queries for both stores: each as a query of the index and as the SQL that Clusterpedia sends. Both forms must
// find the same rows, so the benchmark compares the numbers of rows before it measures.
import { allOf, type ListQuery } from '../../query/list-query.ts';
import { parsePath } from '../../query/path.ts';
import type { FacetBy, PageRequest } from '../../store/store.ts';
import { clusterName } from './generator.ts';

export interface Question {
  readonly name: string;
  readonly query: ListQuery;
  /** What is asked for: a page of rows, the number of rows, or the number of rows for each value of a field. */
  readonly ask: PageRequest | 'count' | { readonly facet: FacetBy };
  readonly sql: string;
  /** How many times faster than PostgreSQL the index must be at least. */
  readonly atLeast: number;
}

export const pods = allOf({ group: '', resource: 'pods' });
const where = `"group" = '' AND version = 'v1' AND resource = 'pods'`;
const select = `SELECT object FROM resources WHERE ${where}`;
const count = `SELECT count(*) FROM resources WHERE ${where}`;
const app = `object->'metadata'->'labels'->>'app' = 'web'`;
const env = `object->'metadata'->'labels'->>'env' IN ('prod', 'staging')`;
export const webLabels: ListQuery['labels'] = [
  { key: 'app', operator: 'In', values: ['web'] },
  { key: 'env', operator: 'In', values: ['prod', 'staging'] },
];
const field = (path: string, operator: 'Equals' | 'Contains', value: string): ListQuery => ({
  ...pods,
  fields: [{ path: parsePath(path), operator, values: [value] }],
});
const orderByName: ListQuery['order'] = [{ by: 'name', descending: false }];
const page = { limit: 50 };
export const webByName: ListQuery = { ...pods, labels: webLabels, order: orderByName };
/** Finds all pods, the newest first. */
export const newest: ListQuery = { ...pods, order: [{ by: 'created_at', descending: true }] };

/**
 * Makes the queries to compare.
 * @param owner UID of a Deployment in the first cluster
 * @param pod a pod of the first cluster
 */
export function questions(
  owner: string,
  pod: { readonly namespace: string; readonly name: string },
): readonly Question[] {
  const first = clusterName(0);
  const inFirst = { ...pods, clusters: [first] };
  const one = { ...inFirst, namespaces: [pod.namespace], names: [pod.name] };
  const image = `EXISTS (SELECT 1 FROM jsonb_array_elements(object->'spec'->'containers') c WHERE c->>'image' LIKE '%redis%')`;
  const owned = `owner_uid IN (SELECT uid FROM resources WHERE cluster = '${first}' AND owner_uid = '${owner}')`;
  return [
    ask('a namespace, 50', { ...pods, namespaces: ['team-10'] }, page, `${select} AND namespace = 'team-10' LIMIT 50`),
    ask('b two labels by name, 50', webByName, page, `${select} AND ${app} AND ${env} ORDER BY name LIMIT 50`),
    ask('b count', { ...pods, labels: webLabels }, 'count', `${count} AND ${app} AND ${env}`),
    ask(
      'c part of the name, 50',
      { ...pods, nameContains: ['api'] },
      page,
      `${select} AND name LIKE '%api%' LIMIT 50`,
      3,
    ),
    ask('c count', { ...pods, nameContains: ['api'] }, 'count', `${count} AND name LIKE '%api%'`, 3),
    ask(
      'c rare part, count',
      { ...pods, nameContains: ['pay-sync-12'] },
      'count',
      `${count} AND name LIKE '%pay-sync-12%'`,
      3,
    ),
    ask(
      'd owner of the owner',
      { ...inFirst, owner: { uid: owner, seniority: 1 } },
      {},
      `${select} AND cluster = '${first}' AND ${owned}`,
    ),
    ask(
      'e phase, 50',
      field('status.phase', 'Equals', 'Failed'),
      page,
      `${select} AND object->'status'->>'phase' = 'Failed' LIMIT 50`,
    ),
    ask(
      'e node, all',
      field('spec.nodeName', 'Equals', 'node-7'),
      'count',
      `${count} AND object->'spec'->>'nodeName' = 'node-7'`,
    ),
    ask('f image, count', field('spec.containers[].image', 'Contains', 'redis'), 'count', `${count} AND ${image}`),
    ask(
      'g newest, offset 10,000',
      newest,
      { limit: 50, offset: 10_000 },
      `${select} ORDER BY created_at DESC LIMIT 50 OFFSET 10000`,
    ),
    ask(
      'h by cluster',
      pods,
      { facet: 'cluster' },
      `SELECT cluster, count(*) FROM resources WHERE ${where} GROUP BY cluster`,
    ),
    ask(
      'h by namespace',
      pods,
      { facet: 'namespace' },
      `SELECT namespace, count(*) FROM resources WHERE ${where} GROUP BY namespace`,
    ),
    ask(
      'i one',
      one,
      page,
      `${select} AND cluster = '${first}' AND namespace = '${pod.namespace}' AND name = '${pod.name}' LIMIT 1`,
    ),
    ask('j pods of a cluster', inFirst, {}, `${select} AND cluster = '${first}'`),
  ];
}

function ask(name: string, query: ListQuery, what: Question['ask'], sql: string, atLeast = 5): Question {
  return { name, query, ask: what, sql, atLeast };
}
