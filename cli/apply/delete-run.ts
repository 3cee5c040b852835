// `portcullis delete`: deletes the objects of a set, and then the set's parent Secret, in the chosen clusters.
import { findConnection } from '../connection/connection.ts';
import type { RunFlags } from './apply-flags.ts';
import { finish, limitsOf } from './apply-run.ts';
import type { RunSurroundings } from './apply-run.ts';
import { applySet, deleteMember, deleteSet, listMembers, readSet } from './cluster/apply-set.ts';
import type { ApplySet } from './cluster/apply-set.ts';
import { checkClusterFlags, chooseClusters } from './cluster/choose-clusters.ts';
import { ClusterReport } from './cluster/cluster-outcomes.ts';
import { discoverKinds } from './cluster/kinds.ts';
import { objectName } from './manifests/manifest.ts';
import { clientLimits, makeMemberClient, reasonOf } from './cluster/member-client.ts';
import type { MemberClient } from './cluster/member-client.ts';
import { makeProgress } from './progress.ts';
import { runClusters } from './run-clusters.ts';
import { reportJson, reportTable } from './run-report.ts';

/** Flags of `portcullis delete`. */
export interface DeleteFlags extends RunFlags {
  readonly set: string;
}

/**
 * Deletes a set in the chosen clusters. A cluster that does not have the set counts as done.
 * @throws Failure (rejects) when flags are wrong, or when some cluster failed or was not reached
 */
export async function deleteSets(flags: DeleteFlags, surroundings: RunSurroundings): Promise<void> {
  const { terminal, stopping, limits = clientLimits } = surroundings;
  checkClusterFlags(flags);
  const connection = findConnection(flags, terminal);
  const set = applySet(flags.set, flags.namespace ?? 'default');
  const chosen = await chooseClusters(connection, flags);
  const reports = chosen.map((cluster) => new ClusterReport(cluster, 0, new Map()));
  const progress = makeProgress(terminal, reports);
  const isDryRun = flags.dryRun === true;
  await runClusters(reports, { ...limitsOf(flags, reports.length), stopping }, async (report) => {
    report.status = 'running';
    progress.begin(report);
    const client = makeMemberClient(connection, report.cluster.name, stopping, limits);
    const onDeleted = (name: string): void => {
      report.deleted.push(name);
      progress.step(report, `${name} deleted${isDryRun ? ' (server dry run)' : ''}`);
    };
    const failure = await deleteInCluster(client, set, { isDryRun, stopping, onDeleted }).catch(reasonOf);
    client.close();
    report.status = stopping.aborted ? 'stopped' : failure === undefined ? 'done' : 'failed';
    if (report.status === 'failed') report.reason = failure!;
    progress.end(report);
  });
  progress.close();
  if (flags.output === 'json') for (const piece of reportJson(reports, [], isDryRun)) terminal.print(piece);
  else terminal.print(reportTable(reports));
  finish(reports, undefined, stopping);
}

interface Deletion {
  readonly isDryRun: boolean;
  readonly stopping: AbortSignal;
  readonly onDeleted: (name: string) => void;
}

/**
 * Deletes a set in one cluster.
 * @returns what could not be deleted; undefined when the set is gone, or would be gone after a dry run
 */
async function deleteInCluster(
  client: MemberClient,
  set: ApplySet,
  { isDryRun, stopping, onDeleted }: Deletion,
): Promise<string | undefined> {
  const contents = await readSet(client, set);
  if (contents === undefined) return undefined;
  const refusals: string[] = [];
  for (const member of await listMembers(client, await discoverKinds(client), set, contents)) {
    if (stopping.aborted) return undefined;
    const name = objectName({ ...member.kind, name: member.name });
    const refused = await deleteMember(client, member, isDryRun);
    if (refused === undefined) onDeleted(name);
    else refusals.push(`${name}: ${refused}`);
  }
  if (refusals.length > 0) return `${refusals.length} objects could not be deleted, such as ${refusals[0]}`;
  // The parent Secret is deleted last, because it lists the kinds and namespaces by which the members are found.
  if (!isDryRun) await deleteSet(client, set);
  return undefined;
}
