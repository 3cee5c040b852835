// The questions of the bench over HTTP, as a path of ours and as Clusterpedia's SQL. Easy to get wrong: what a question counts is read from either side's
// answer, so the rival's list of one number and our count are told apart by their form.
import type { GeneratedObject } from './generator.ts';

export interface HttpQuestion {
  readonly name: string;
  readonly path: string;
  readonly sql: string;
  /** How many times faster it has to be. */
  readonly atLeast: number;
  /** Rows, or the count, in an answer. */
  readonly counted: (answer: Answer) => number;
}

/** A list of either side, one object, or a count. */
export interface Answer {
  readonly items?: readonly unknown[];
  readonly count?: number;
}

const where = `"group" = '' AND version = 'v1' AND resource = 'pods'`;
const select = `SELECT object FROM resources WHERE ${where}`;
const pods = '/apis/clusterpedia.io/v1beta1/resources/api/v1/pods';
const rows = ({ items }: Answer): number => items?.length ?? 1;
const count = ({ items, count: ours }: Answer): number => ours ?? Number(items?.[0]);

/** @param pod one of the first member */
export function httpQuestions({ namespace, name }: GeneratedObject): readonly HttpQuestion[] {
  const one = `/apis/clusterpedia.io/v1beta1/resources/clusters/east/api/v1/namespaces/${namespace}/pods/${name}`;
  const ofOne = `cluster = 'east' AND namespace = '${namespace}' AND name = '${name}'`;
  const inNamespace = '/apis/clusterpedia.io/v1beta1/resources/api/v1/namespaces/team-10/pods?limit=50';
  return [
    ask('first 10', `${pods}?limit=10`, `${select} LIMIT 10`, 2),
    ask('get one', one, `${select} AND ${ofOne} LIMIT 1`, 2),
    ask(
      'label, 50',
      `${pods}?labelSelector=app%3Dweb&limit=50`,
      `${select} AND object->'metadata'->'labels'->>'app' = 'web' LIMIT 50`,
    ),
    ask('namespace, 50', inNamespace, `${select} AND namespace = 'team-10' LIMIT 50`),
    ask(
      'offset 5,000 by creation, 50',
      `${pods}?orderby=created_at&limit=50&continue=5000`,
      `${select} ORDER BY created_at LIMIT 50 OFFSET 5000`,
    ),
    {
      ...ask(
        'count',
        '/apis/search.portcullis.io/v1alpha1/indexes/default/counts?resource=pods.v1.',
        `SELECT count(*) FROM resources WHERE ${where}`,
      ),
      counted: count,
    },
    ask('all 20,000', pods, select),
  ];
}

function ask(name: string, path: string, sql: string, atLeast = 5): HttpQuestion {
  return { name, path, sql, atLeast, counted: rows };
}
