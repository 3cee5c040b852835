// The requests of the benchmark over HTTP. Portcullis and Clusterpedia get the same paths, except for the number of
// matching pods. Clusterpedia has no request for this number; so it is asked for one row and for the number of
// remaining rows, which it must count.
import type { GeneratedObject } from '../generator.ts';

export interface HttpQuestion {
  readonly name: string;
  readonly path: string;
  /** The path of the request that Clusterpedia gets. */
  readonly rivalPath: string;
  /** How many times faster than Clusterpedia the gateway must be at least. */
  readonly atLeast: number;
  /** True when the request limits the number of rows in its answer. */
  readonly isPage: boolean;
  /** Returns the number of rows in an answer, or the number that an answer states as its count. */
  readonly counted: (answer: Answer) => number;
}

/** The fields of an answer that are read: an answer is a list, a single object, or a count in Portcullis's form. */
export interface Answer {
  readonly items?: readonly unknown[];
  readonly metadata?: { readonly remainingItemCount?: number };
  readonly count?: number;
}

const resources = '/apis/clusterpedia.io/v1beta1/resources';
const pods = `${resources}/api/v1/pods`;
const rows = ({ items }: Answer): number => items?.length ?? 1;
const count = ({ items, metadata, count: ours }: Answer): number =>
  ours ?? (items?.length ?? 0) + (metadata?.remainingItemCount ?? 0);

/** The name and namespace of a pod, and the cluster it is in. */
export type PodOf = Pick<GeneratedObject, 'namespace' | 'name'> & { readonly cluster: string };

/**
 * Makes the requests to compare.
 * @param last which pods the last request lists: those of all clusters, or those of the given pod's cluster
 */
export function httpQuestions({ namespace, name, cluster }: PodOf, last: 'all' | 'cluster'): readonly HttpQuestion[] {
  const counting = ask('count', '/apis/search.portcullis.io/v1alpha1/indexes/default/counts?resource=pods.v1.');
  return [
    ask('first 10', `${pods}?limit=10`, 2),
    ask('get one', `${resources}/clusters/${cluster}/api/v1/namespaces/${namespace}/pods/${name}`, 2),
    ask('label, 50', `${pods}?labelSelector=app%3Dweb&limit=50`),
    ask('namespace, 50', `${resources}/api/v1/namespaces/team-10/pods?limit=50`),
    ask('offset 5,000 by creation, 50', `${pods}?orderby=created_at&limit=50&continue=5000`),
    { ...counting, rivalPath: `${pods}?withRemainingCount=true&limit=1`, counted: count },
    last === 'all' ? ask('all', pods) : ask('pods of a cluster', `${resources}/clusters/${cluster}/api/v1/pods`),
  ];
}

function ask(name: string, path: string, atLeast = 5): HttpQuestion {
  return { name, path, rivalPath: path, atLeast, isPage: path.includes('limit='), counted: rows };
}
