// The questions of the bench over HTTP. Both sides are asked with the same path, but for the count: Clusterpedia has
// none, and is asked for one row and how many remain behind it, which makes it count.
import type { GeneratedObject } from './generator.ts';

export interface HttpQuestion {
  readonly name: string;
  readonly path: string;
  /** Of Clusterpedia. */
  readonly rivalPath: string;
  /** How many times faster it has to be. */
  readonly atLeast: number;
  /** Rows, or the count, in an answer. */
  readonly counted: (answer: Answer) => number;
}

/** A list of either side, one object, or a count of ours. */
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

/** @param pod one of the first member */
export function httpQuestions({ namespace, name }: GeneratedObject): readonly HttpQuestion[] {
  const counting = ask('count', '/apis/search.portcullis.io/v1alpha1/indexes/default/counts?resource=pods.v1.');
  return [
    ask('first 10', `${pods}?limit=10`, 2),
    ask('get one', `${resources}/clusters/east/api/v1/namespaces/${namespace}/pods/${name}`, 2),
    ask('label, 50', `${pods}?labelSelector=app%3Dweb&limit=50`),
    ask('namespace, 50', `${resources}/api/v1/namespaces/team-10/pods?limit=50`),
    ask('offset 5,000 by creation, 50', `${pods}?orderby=created_at&limit=50&continue=5000`),
    { ...counting, rivalPath: `${pods}?withRemainingCount=true&limit=1`, counted: count },
    ask('all 20,000', pods),
  ];
}

function ask(name: string, path: string, atLeast = 5): HttpQuestion {
  return { name, path, rivalPath: path, atLeast, counted: rows };
}
