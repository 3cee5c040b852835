// The output of a finished run: a table for people, JSON for programs.
import { align } from '../terminal/table.ts';
import { printable } from '../terminal/failure.ts';
import { outcomes } from './cluster/cluster-outcomes.ts';
import type { ClusterReport } from './cluster/cluster-outcomes.ts';
import type { Manifest } from './manifests/manifest.ts';

/** The result of a cluster in one line, such as `failed: REASON; 3 created`, without the cluster's name. */
export function summaryOf(report: ClusterReport): string {
  const counts = countsOf(report);
  const { status, reason } = report;
  const head = status === 'done' ? '' : `${status}${reason === '' ? '' : `: ${reason}`}`;
  return [head, counts].filter((part) => part !== '').join('; ') || 'nothing to do';
}

/** How many objects had which outcome: `3 created, 4 unchanged`. */
function countsOf(report: ClusterReport): string {
  const counted = (['created', 'configured', 'unchanged', 'earlier', 'failed'] as const).flatMap((outcome) => {
    const count = report.count(outcome);
    return count === 0 ? [] : [`${count} ${outcome === 'earlier' ? 'applied before' : outcome}`];
  });
  return [...counted, ...(report.deleted.length === 0 ? [] : [`${report.deleted.length} deleted`])].join(', ');
}

/** The results of a run as a table with one line for each cluster. */
export function reportTable(reports: readonly ClusterReport[]): string {
  const lines = reports.map((report) => [printable(report.cluster.name), report.status, countsOf(report) || '-']);
  return align([['CLUSTER', 'STATUS', 'OBJECTS'], ...lines]);
}

/** Yields the report as JSON in pieces, so that the results of many clusters never have to fit into one string. */
export function* reportJson(
  reports: readonly ClusterReport[],
  manifests: readonly Manifest[],
  isDryRun: boolean,
): Iterable<string> {
  const count = (status: ClusterReport['status']): number => reports.filter((each) => each.status === status).length;
  const summary = {
    clusters: reports.length,
    done: count('done') + count('skipped'),
    failed: count('failed'),
    stopped: count('stopped'),
    notStarted: count('not started'),
  };
  yield `{"dryRun":${isDryRun},"summary":${JSON.stringify(summary)},"clusters":[`;
  for (const [index, report] of reports.entries()) {
    yield `${index === 0 ? '' : ','}\n${JSON.stringify(clusterJson(report, manifests))}`;
  }
  yield '\n]}\n';
}

function clusterJson(report: ClusterReport, manifests: readonly Manifest[]): object {
  const { cluster, status, reason, deleted } = report;
  const isListed = status !== 'skipped' && status !== 'not started';
  const objects = manifests.map(({ apiVersion, kind, namespace, name }, index) => {
    const why = report.reasonOf(index);
    const result = report.outcome(index) satisfies (typeof outcomes)[number];
    return { apiVersion, kind, ...(namespace !== '' && { namespace }), name, result, ...(why && { reason: why }) };
  });
  return { name: cluster.name, status, ...(reason !== '' && { reason }), objects: isListed ? objects : [], deleted };
}
