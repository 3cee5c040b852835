// What every source of clusters does: it reads its objects, builds the whole list of specs anew at every change and
// swaps it into the store. A spec whose inputs did not change keeps its CredentialSource instance; otherwise plugin
// caches would be lost and every reload would be a MODIFIED event.
import type { ClusterSpec } from '../model/records.ts';

/** The part of the store that a source writes to. */
export interface ClusterSink {
  /** Swaps everything this source contributes. When two specs ask for one name, the first keeps it. */
  apply(sourceId: string, specs: readonly ClusterSpec[]): void;
}

/** Something a source could not read or use. Never holds a secret. */
export interface SourceProblem {
  /** Name of the source: `kubeconfig`. */
  readonly source: string;
  /** File (or object) it is about. */
  readonly file: string;
  /** Position, cluster and reason. */
  readonly message: string;
  /** True: an earlier good state is served in its place. False: that cluster is listed as unusable. */
  readonly stale: boolean;
}

/** What a source reports while it runs, for logs, metrics and readyz. */
export interface SourceReports {
  /** Called once when a problem appears. */
  readonly onProblem?: (problem: SourceProblem) => void;
  /** Called once when it is gone. */
  readonly onRecovered?: (problem: SourceProblem) => void;
}

/** A running source. */
export interface ClusterSourceHandle {
  /** Problems that hold now. */
  problems(): readonly SourceProblem[];
  /** Reads everything again now, without waiting for a notice; settled when the store has the result. Never rejects. */
  reload(): Promise<void>;
  /** Ends watches, timers and plugins. What was applied stays in the store. */
  close(): void;
}

/** Keeps the set of present problems and reports only the changes. */
export interface ProblemBook {
  /** Replaces the whole set. */
  set(problems: readonly SourceProblem[]): void;
  list(): readonly SourceProblem[];
}

/** An empty {@link ProblemBook} that gives changes to `reports`. */
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
