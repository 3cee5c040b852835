// What became of every object in one cluster. With thousands of objects in hundreds of clusters there are millions of
// results, so each is one byte; only refusals have texts, and equal texts are kept once.
import type { ChosenCluster } from './choose-clusters.ts';

/** What became of an object. `earlier`: a run that is resumed had applied it. `untried`: the run did not come to it. */
export const outcomes = ['untried', 'created', 'configured', 'unchanged', 'failed', 'earlier'] as const;

/** One of {@link outcomes}. */
export type Outcome = (typeof outcomes)[number];

/** `skipped`: done by the run that is resumed. `stopped`: by Ctrl-C. `not started`: too many others failed. */
export type ClusterStatus = 'not started' | 'running' | 'done' | 'failed' | 'stopped' | 'skipped';

/** The results of one cluster; changed while the cluster is worked on. */
export class ClusterReport {
  readonly cluster: ChosenCluster;
  status: ClusterStatus = 'not started';
  /** Why the cluster failed as a whole; '' when it did not. */
  reason = '';
  /** Names of the objects that were deleted, or would be in a dry run. */
  readonly deleted: string[] = [];
  readonly #codes: Uint8Array;
  readonly #reasons = new Map<number, string>();
  readonly #texts: Map<string, string>;
  #leading = 0;

  /** @param texts shared by the reports of a run */
  constructor(cluster: ChosenCluster, objects: number, texts: Map<string, string>) {
    this.cluster = cluster;
    this.#codes = new Uint8Array(objects);
    this.#texts = texts;
  }

  set(index: number, outcome: Outcome, reason?: string): void {
    this.#codes[index] = outcomes.indexOf(outcome);
    if (reason !== undefined) {
      this.#texts.set(reason, this.#texts.get(reason) ?? reason);
      this.#reasons.set(index, this.#texts.get(reason)!);
    }
  }

  outcome(index: number): Outcome {
    return outcomes[this.#codes[index]!]!;
  }

  reasonOf(index: number): string | undefined {
    return this.#reasons.get(index);
  }

  count(outcome: Outcome): number {
    const code = outcomes.indexOf(outcome);
    return this.#codes.reduce((sum, each) => (each === code ? sum + 1 : sum), 0);
  }

  /** How many objects, counted from the first, were applied without a fault. */
  leading(): number {
    while (this.#leading < this.#codes.length && !['untried', 'failed'].includes(this.outcome(this.#leading))) {
      this.#leading++;
    }
    return this.#leading;
  }
}
