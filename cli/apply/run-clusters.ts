// Works on many clusters at the same time. Each goes at its own speed: a slow cluster delays no other.
import type { ClusterReport } from './cluster/cluster-report.ts';

/** How many clusters are worked on at the same time, and when no further ones are begun. */
export interface RunLimits {
  readonly parallel: number;
  /** When more than so many clusters have failed, no further cluster is begun. */
  readonly maxUnavailable: number;
  readonly stopping: AbortSignal;
}

/**
 * Runs `work` for each report whose status is `not started`. `work` must not reject because of an error in its cluster.
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
