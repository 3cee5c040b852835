// What all sources of clusters have in common. At every change a source builds the whole list of its specs anew and
// gives it to the cluster store. A spec whose inputs did not change must keep its CredentialSource instance. Otherwise
// the cached results of exec plugins would be lost, and every reload would count as a change of the cluster.
import type { ClusterSpec } from '../../model/records.ts';

/** The part of the cluster store that a source may use. */
export interface ClusterSink {
  /**
   * Replaces all specs of this source. A cluster that has a name already keeps it, even if an older cluster asks for
   * it.
   */
  apply(sourceId: string, specs: readonly ClusterSpec[]): void;
  /**
   * Replaces the specs of sources that are read for the first time. Unlike in `apply`, an older cluster takes its name
   * from a younger cluster that has the name already.
   */
  applyFirst(readings: ReadonlyMap<string, readonly ClusterSpec[]>): void;
}

/** Something that a source could not read or use. Contains no secret. */
export interface SourceProblem {
  /** Name of the source, such as `kubeconfig`. */
  readonly source: string;
  /** The file or hub object that the problem is about. */
  readonly file: string;
  /** Where the problem is and why, in words for the operator. */
  readonly message: string;
  /**
   * True when what was read before the problem is still used. False when there is nothing to use: the clusters are
   * unusable or not known.
   */
  readonly stale: boolean;
}

/** How a source reports problems while it runs, for logs, metrics and readyz. */
export interface SourceReports {
  /** Called once when a problem appears that was not there before. */
  readonly onProblem?: (problem: SourceProblem) => void;
  /** Called once when a reported problem has gone. */
  readonly onRecovered?: (problem: SourceProblem) => void;
}

/** A source of clusters that is running. */
export interface ClusterSourceHandle {
  /** The problems that this source has now. Empty when all is well. */
  problems(): readonly SourceProblem[];
  /** Reads everything again now. Resolves when the result is in the cluster store. Never rejects. */
  reload(): Promise<void>;
  /** Ends watches, timers and exec plugins. The clusters stay in the cluster store. */
  close(): void;
}

/** Keeps the problems that a source has now, and reports a problem only when it appears and when it has gone. */
export interface ProblemBook {
  /** Replaces all present problems. Reports those that are new, and those that have gone. */
  set(problems: readonly SourceProblem[]): void;
  list(): readonly SourceProblem[];
}

/** Makes an empty {@link ProblemBook} that reports changes to `reports`. */
export function createProblemBook(reports: SourceReports): ProblemBook {
  let present = new Map<string, SourceProblem>();
  return {
    set(problems) {
      const before = present;
      present = new Map(problems.map((problem) => [JSON.stringify(problem), problem]));
      for (const [key, problem] of before) if (!present.has(key)) reports.onRecovered?.(problem);
      for (const [key, problem] of present) if (!before.has(key)) reports.onProblem?.(problem);
    },
    list: () => [...present.values()],
  };
}
