// Stores the results for all objects in one cluster. Thousands of objects in hundreds of clusters give millions of
// results, so each result takes one byte. Only refusals have texts, and equal texts are stored once.
import type { ChosenCluster } from './choose-clusters.ts';

/**
 * The possible results for one object. `configured`: it existed and was changed. `earlier`: the run that is being
 * resumed had applied it already. `untried`: the run has not come to it yet.
 */
export const outcomes = ['untried', 'created', 'configured', 'unchanged', 'failed', 'earlier'] as const;

/** The result for one object: one of {@link outcomes}. */
export type Outcome = (typeof outcomes)[number];

/**
 * The state of a cluster in a run. `skipped`: the run that is being resumed had completed the cluster. `stopped`: ended
 * by Ctrl-C. `not started`: the run did not come to the cluster, for example because too many other clusters failed.
 */
export type ClusterStatus = 'not started' | 'running' | 'done' | 'failed' | 'stopped' | 'skipped';

/** The results of one cluster. They change while the run works on the cluster. */
export class ClusterReport {
  readonly cluster: ChosenCluster;
  status: ClusterStatus = 'not started';
  /** Why the cluster failed as a whole; '' when it did not fail. */
  reason = '';
  /** Names of the objects that were deleted, or that would be deleted in a dry run. */
  readonly deleted: string[] = [];
  readonly #codes: Uint8Array;
  readonly #reasons = new Map<number, string>();
  readonly #texts: Map<string, string>;
  #leading = 0;

  /** @param texts the texts of refusals. All reports of a run share this map, so that equal texts are stored once */
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

  /** Number of objects that were applied before the first one that failed or was not tried. */
  leading(): number {
    while (this.#leading < this.#codes.length && !['untried', 'failed'].includes(this.outcome(this.#leading))) {
      this.#leading++;
    }
    return this.#leading;
  }
}
