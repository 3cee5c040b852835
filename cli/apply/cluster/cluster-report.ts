// The results for all objects in one cluster. With thousands of objects in hundreds of clusters there are millions of
// results, so each is one byte; only refusals have texts, and equal texts are kept once.
import type { ChosenCluster } from './choose-clusters.ts';

/**
 * The possible results for one object. `earlier`: the run that is being resumed had applied it. `untried`: the run has
 * not reached it yet.
 */
export const outcomes = ['untried', 'created', 'configured', 'unchanged', 'failed', 'earlier'] as const;

/** The result for one object: one of {@link outcomes}. */
export type Outcome = (typeof outcomes)[number];

/**
 * The state of a cluster in a run. `skipped`: the run that is being resumed had done everything. `stopped`: ended by
 * Ctrl-C. `not started`: not reached, for example because too many other clusters failed.
 */
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

  /** @param texts the texts of refusals, which all reports of a run share so that equal texts are kept once */
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

  /** Number of objects, counted from the first, that were applied without a fault. */
  leading(): number {
    while (this.#leading < this.#codes.length && !['untried', 'failed'].includes(this.outcome(this.#leading))) {
      this.#leading++;
    }
    return this.#leading;
  }
}
