// Works on many clusters at the same time. Each cluster goes on by itself, so a slow cluster delays only its own work.
import type { ClusterReport } from './cluster/cluster-outcomes.ts';

/** How many clusters are worked on at the same time, and when no further clusters are begun. */
export interface RunLimits {
  readonly parallel: number;
  /** When more clusters than this have failed, no further cluster is begun. */
  readonly maxUnavailable: number;
  readonly stopping: AbortSignal;
}

/**
 * Calls `work` for each report whose status is `not started`. `work` must write an error of its cluster into the report
 * and not reject, because a rejection would end the whole run.
 */
export async function runClusters(
  reports: readonly ClusterReport[],
  { parallel, maxUnavailable, stopping }: RunLimits,
  work: (report: ClusterReport) => Promise<void>,
): Promise<void> {
  const waiting = reports.filter(({ status }) => status === 'not started');
  const mayBegin = (): boolean =>
    !stopping.aborted && reports.filter(({ status }) => status === 'failed').length <= maxUnavailable;
  const drive = async (): Promise<void> => {
    while (mayBegin()) {
      const report = waiting.shift();
      if (report === undefined) return;
      await work(report);
    }
  };
  await Promise.all(Array.from({ length: Math.min(parallel, waiting.length) }, drive));
}
