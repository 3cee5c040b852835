// What every source of clusters is: objects in, records out. A source reads its objects (files here, watches of a hub
// later), builds the whole list of specs anew at every change and swaps it into the store. Easy to get wrong: a spec
// whose inputs did not change must keep its CredentialSource instance, otherwise plugin caches are lost and every
// reload is a MODIFIED event.
import type { ClusterSpec } from '../model/records.ts';

/** The part of the store a source writes to. */
export interface ClusterSink {
  /** Swaps everything this source contributes. The order decides who keeps a name two ask for. */
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

/** What a source tells while it runs, for logs, metrics and readyz. */
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

/**
 * The shape of a source's start function. It resolves once the first list is in the store.
 * @throws ConfigurationError when what the operator wrote cannot be read at start
 */
export type StartClusterSource<Options> = (
  options: Options & SourceReports & { readonly store: ClusterSink },
) => Promise<ClusterSourceHandle>;

/** Keeps the set of present problems and tells only the changes. */
export interface ProblemBook {
  /** Replaces the whole set. */
  set(problems: readonly SourceProblem[]): void;
  list(): readonly SourceProblem[];
}

/** An empty {@link ProblemBook} that tells changes to `reports`. */
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
