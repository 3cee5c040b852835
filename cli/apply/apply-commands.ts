// The commands `apply`, `diff` and `delete` over many clusters: their flags and arguments, and how Ctrl-C stops them.
import type { Command } from 'commander';
import type { Terminal } from '../terminal/terminal.ts';
import { addManifestFlags, addOutputFlag, addRunFlags, parseWait } from './apply-flags.ts';
import type { ApplyFlags } from './apply-flags.ts';
import { apply } from './apply-run.ts';
import type { RunSurroundings } from './apply-run.ts';
import { deleteSets } from './delete-run.ts';
import type { DeleteFlags } from './delete-run.ts';

const applyExamples = `
Examples:
  # see what would change, then change it
  $ portcullis diff -f manifests/ -R --cluster-selector env=prod
  $ portcullis apply -f manifests/ -R --cluster-selector env=prod

  # a chart, in every cluster; stop when more than two fail; delete what the chart no longer has
  $ helm template web ./chart | portcullis apply -f - -n shop --all-clusters --set web --prune --wait --max-unavailable 2

  # go on after Ctrl-C
  $ portcullis apply -f manifests/ -R --cluster-selector env=prod --resume`;

const diffExamples = `
Examples:
  $ portcullis diff -f manifests/ -R --all-clusters
  $ portcullis diff -k overlays/prod --clusters prod-eu,prod-us`;

const deleteExamples = `
Examples:
  $ portcullis delete --set web -n shop --all-clusters --dry-run
  $ portcullis delete --set web -n shop --clusters prod-eu,prod-us`;

/** Adds the commands `apply`, `diff` and `delete` to the program. */
export function addApplyCommands(program: Command, terminal: Terminal): void {
  addOutputFlag(addRunFlags(addManifestFlags(program.command('apply'))))
    .description('apply manifests in many clusters, as yourself, by server-side apply')
    .option('--dry-run', 'let each cluster say what would happen, and change nothing')
    .option('--diff', 'print what changes in each cluster as a unified diff')
    .option('--set <name>', 'the objects belong together under this name (an ApplySet of Kubernetes)')
    .option('--prune', 'delete what earlier runs with the same --set applied and the manifests no longer have')
    .option('--allow-large-prune', 'also when that is more than half of the set, a Namespace or a CRD')
    .option('--wait', 'wait in each cluster until everything applied is ready')
    .option('--timeout <time>', 'how long to wait in each cluster, as in 5m', parseWait, parseWait('5m'))
    .option('--resume', 'go on with a run that was stopped or failed: clusters that are done are left out')
    .addHelpText('after', applyExamples)
    .action((flags: ApplyFlags) => interruptible(terminal, (surroundings) => apply(flags, surroundings)));
  addRunFlags(addManifestFlags(program.command('diff')))
    .description('print what apply would change in many clusters; nothing when they are as the manifests say')
    .option('--set <name>', 'the objects belong together under this name (an ApplySet of Kubernetes)')
    .addHelpText('after', diffExamples)
    .action((flags: ApplyFlags) => {
      const asked = { ...flags, dryRun: true, diff: true, output: 'table' } as const;
      return interruptible(terminal, (surroundings) => apply(asked, surroundings));
    });
  addOutputFlag(addRunFlags(program.command('delete')))
    .description('delete the objects of a set in many clusters')
    .requiredOption('--set <name>', 'name of the set that was given to apply')
    .option('--dry-run', 'let each cluster say what would happen, and change nothing')
    .addHelpText('after', deleteExamples)
    .action((flags: DeleteFlags) => interruptible(terminal, (surroundings) => deleteSets(flags, surroundings)));
}

/**
 * Runs a command that can be interrupted: after a first Ctrl-C running requests finish and no further ones begin; a
 * second Ctrl-C ends the process at once.
 */
async function interruptible(terminal: Terminal, run: (surroundings: RunSurroundings) => Promise<void>): Promise<void> {
  const controller = new AbortController();
  const stop = (): void => {
    terminal.note('\nStopping: what is under way finishes. Ctrl-C again ends at once.\n');
    release();
    controller.abort();
  };
  const release = (): void => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, stop);
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop);
  try {
    await run({ terminal, stopping: controller.signal });
  } finally {
    release();
  }
}
