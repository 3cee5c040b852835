// `portcullis apply` and `portcullis diff`: reads the flags, runs over the chosen clusters, prints the report.
import { resolve } from 'node:path';
import { listed } from '../../lib/text/listed.ts';
import { findConnection } from '../connection/connection.ts';
import type { Connection } from '../connection/gateway-connection.ts';
import { Failure, usageFailure } from '../terminal/failure.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { ApplyFlags, RunFlags } from './apply-flags.ts';
import type { ApplyJob, RunListener } from './cluster/apply-job.ts';
import { applySet, partOfLabel } from './cluster/apply-set.ts';
import { checkClusterFlags, chooseClusters } from './cluster/choose-clusters.ts';
import { applyToCluster } from './cluster/cluster-run.ts';
import { ClusterReport } from './cluster/cluster-outcomes.ts';
import { DiffCollection } from './manifests/diff-collection.ts';
import { objectName } from './manifests/manifest.ts';
import { clientLimits, makeMemberClient } from './cluster/member-client.ts';
import type { ClientLimits } from './cluster/member-client.ts';
import { objectDiff } from './manifests/object-diff.ts';
import { makeProgress } from './progress.ts';
import type { Progress } from './progress.ts';
import { readManifests } from './manifests/read-manifests.ts';
import type { Manifests } from './manifests/read-manifests.ts';
import { runClusters } from './run-clusters.ts';
import { reportJson, reportTable } from './run-report.ts';
import { openState, statePath } from './cluster/run-state.ts';
import type { RunState } from './cluster/run-state.ts';

/** What a run needs in addition to its flags: output, and how it is stopped. */
export interface RunSurroundings {
  readonly terminal: Terminal;
  /** When aborted, running requests finish and no further ones begin. */
  readonly stopping: AbortSignal;
  /** Timeouts of requests to clusters, by default {@link clientLimits}; tests use shorter ones. */
  readonly limits?: ClientLimits;
}

/**
 * Applies manifests in the chosen clusters; with the flag `dryRun` the clusters only say what would happen.
 * @throws Failure (rejects) when flags are wrong, or when some cluster failed or was not reached
 */
export async function apply(flags: ApplyFlags, surroundings: RunSurroundings): Promise<void> {
  const { terminal, stopping, limits = clientLimits } = surroundings;
  checkFlags(flags);
  const connection = findConnection(flags, terminal);
  const { namespace = 'default' } = flags;
  const set = flags.set === undefined ? undefined : applySet(flags.set, namespace);
  const manifests = await readManifests(flags, set === undefined ? {} : { [partOfLabel]: set.id }, namespace);
  const chosen = await chooseClusters(connection, flags);
  const texts = new Map<string, string>();
  const reports = chosen.map((cluster) => new ClusterReport(cluster, manifests.objects.length, texts));
  const state = flags.dryRun === true ? undefined : stateOf(flags, connection, manifests, terminal);
  for (const report of reports) if (state?.earlier(report.cluster)?.done === true) report.status = 'skipped';
  const job: ApplyJob = {
    manifests: manifests.objects,
    options: {
      dryRun: flags.dryRun === true,
      force: flags.forceConflicts === true,
      compares: flags.diff === true || flags.dryRun === true,
      setId: set?.id,
    },
    namespace,
    set: set && { set, prunes: flags.prune === true, allowsLargePrune: flags.allowLargePrune === true },
    waitMs: flags.wait === true ? flags.timeout : undefined,
    stopping,
  };
  const progress = makeProgress(terminal, reports);
  const diffs = new DiffCollection();
  const listener = makeListener(progress, job, flags.diff === true ? diffs : undefined);
  await runClusters(reports, { ...limitsOf(flags, reports.length), stopping }, async (report) => {
    progress.begin(report);
    const client = makeMemberClient(connection, report.cluster.name, stopping, limits);
    try {
      await applyToCluster({ job, client, report, state, listener });
    } finally {
      client.close();
    }
    progress.end(report);
  });
  progress.close();
  printResult(terminal, flags, { reports, manifests, diffs });
  finish(reports, state, stopping);
}

/** Refuses flags that contradict each other. @throws Failure (usage) */
function checkFlags(flags: ApplyFlags): void {
  checkClusterFlags(flags);
  const wrong: readonly (readonly [is: boolean, message: string, next: string])[] = [
    [
      flags.prune === true && flags.set === undefined,
      '--prune needs to know which objects belong together',
      'Give the set a name: --set NAME. It prunes what earlier runs with this name applied.',
    ],
    [
      flags.diff === true && flags.output === 'json',
      '--diff and -o json exclude each other',
      'Use --dry-run -o json to see what would change.',
    ],
    [flags.resume === true && flags.dryRun === true, 'a dry run has nothing to resume', 'Leave out --resume.'],
  ];
  for (const [is, message, next] of wrong) if (is) throw usageFailure(message, next);
}

function stateOf(flags: ApplyFlags, { root }: Connection, { hash }: Manifests, terminal: Terminal): RunState {
  const files = (flags.filename ?? []).map((path) => (path === '-' ? path : resolve(path)));
  const folder = flags.kustomize === undefined ? '' : resolve(flags.kustomize);
  const key = [root, files, folder, flags.namespace ?? '', flags.set ?? ''];
  return openState(statePath(terminal, key), hash, flags.resume === true);
}

/**
 * How many clusters are worked on at the same time, and how many may fail before no further ones are begun. A share
 * such as `10%` of all clusters is rounded down, as Kubernetes does for maxUnavailable.
 */
export function limitsOf(
  { parallel, maxUnavailable }: Pick<RunFlags, 'parallel' | 'maxUnavailable'>,
  clusters: number,
): { readonly parallel: number; readonly maxUnavailable: number } {
  if (maxUnavailable === undefined) return { parallel, maxUnavailable: Infinity };
  const share = /^(\d+)%$/.exec(maxUnavailable)?.[1];
  return {
    parallel,
    maxUnavailable: share === undefined ? Number(maxUnavailable) : Math.floor((Number(share) * clusters) / 100),
  };
}

function makeListener(progress: Progress, { options }: ApplyJob, diffs: DiffCollection | undefined): RunListener {
  const dry = options.dryRun ? ' (server dry run)' : '';
  return {
    onObject(report, manifest, result) {
      const name = objectName(manifest);
      const where = manifest.namespace === '' ? name : `${name} -n ${manifest.namespace}`;
      if (result.outcome === 'failed') {
        return progress.line(`${report.cluster.name}: ${where}: ${result.reason.replaceAll('\n', ' ')}`);
      }
      diffs?.add(report.cluster.name, objectDiff(name, result.before, result.after));
      const text = `${where} serverside-applied (${result.outcome})${dry}`;
      if (result.outcome === 'unchanged') progress.state(report, text);
      else progress.step(report, text);
    },
    onDeleted: (report, name) => progress.step(report, `${name} pruned${dry}`),
    onWaiting: (report, text) => progress.state(report, text),
  };
}

interface RunResult {
  readonly reports: readonly ClusterReport[];
  readonly manifests: Manifests;
  readonly diffs: DiffCollection;
}

function printResult(terminal: Terminal, flags: ApplyFlags, { reports, manifests, diffs }: RunResult): void {
  if (flags.output === 'json') {
    for (const piece of reportJson(reports, manifests.objects, flags.dryRun === true)) terminal.print(piece);
    return;
  }
  for (const piece of diffs.print()) terminal.print(piece);
  if (diffs.leftOut > 0) terminal.note(`${diffs.leftOut} diffs were left out; choose fewer clusters\n`);
  // With --diff, standard output holds only the diffs, so that it is empty when nothing differs.
  const show = flags.diff === true ? terminal.note : terminal.print;
  show(reportTable(reports));
  if (flags.dryRun === true) terminal.note('This was a dry run: nothing was changed.\n');
}

/**
 * Ends a run: removes its saved progress when every cluster is done.
 * @throws Failure when a cluster failed or was not reached
 */
export function finish(reports: readonly ClusterReport[], state: RunState | undefined, stopping: AbortSignal): void {
  const named = (...wanted: readonly ClusterReport['status'][]): readonly string[] =>
    reports.filter(({ status }) => wanted.includes(status)).map(({ cluster }) => cluster.name);
  const failed = named('failed');
  const unfinished = named('stopped', 'not started');
  if (failed.length === 0 && unfinished.length === 0) return state?.remove();
  const again = state === undefined ? 'Run the same command again.' : 'Run the same command again with --resume.';
  if (stopping.aborted) {
    throw new Failure(`stopped: ${unfinished.length} of ${reports.length} clusters are not done`, again);
  }
  const rest = unfinished.length === 0 ? '' : `; ${unfinished.length} were not begun (--max-unavailable)`;
  throw new Failure(
    `${failed.length} of ${reports.length} clusters failed: ${listed(failed, 10)}${rest}`,
    `The reasons stand above. ${again}`,
  );
}
