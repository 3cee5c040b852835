// Flags of `apply`, `diff` and `delete`, and the functions that parse their values.
import { InvalidArgumentError, Option } from 'commander';
import type { Command } from 'commander';
import { longestTimerMs, parseDuration } from '../../lib/duration.ts';
import { addConnectionFlags } from '../connection/connection-flags.ts';
import type { ConnectionFlags, KubeconfigFlags } from '../connection/connection.ts';
import type { ClusterFlags } from './cluster/choose-clusters.ts';
import type { ManifestSources } from './manifests/read-manifests.ts';

/** Flags of every command that works on many clusters, as commander parses them. */
export interface RunFlags extends ConnectionFlags, KubeconfigFlags, ClusterFlags {
  readonly namespace?: string;
  readonly dryRun?: boolean;
  /** Maximum number of clusters that are worked on at the same time. */
  readonly parallel: number;
  /**
   * A number of clusters, or a share of them such as `10%`. When more clusters than this have failed, no further
   * cluster is begun.
   */
  readonly maxUnavailable?: string;
  readonly output: 'table' | 'json';
}

/** Flags of `portcullis apply`; `diff` has only some of them. */
export interface ApplyFlags extends RunFlags, ManifestSources {
  readonly diff?: boolean;
  readonly set?: string;
  readonly prune?: boolean;
  readonly allowLargePrune?: boolean;
  readonly wait?: boolean;
  /**
   * Milliseconds to wait in each cluster until all applied objects are ready (`--timeout`). The cluster fails when they
   * are not ready by then.
   */
  readonly timeout: number;
  readonly forceConflicts?: boolean;
  readonly resume?: boolean;
}

/** Adds the flags of {@link RunFlags} to a command, except `--output`. */
export function addRunFlags(command: Command): Command {
  return addConnectionFlags(command)
    .option('--clusters <names>', 'these clusters, separated by commas')
    .option('--cluster-selector <selector>', 'the clusters with these labels in the gateway, such as env=prod')
    .option('--all-clusters', 'every cluster that you may see')
    .option('-n, --namespace <name>', 'namespace of objects that name none, and of the set (default: default)')
    .addOption(new Option('--parallel <number>', 'clusters at a time').default(10).argParser(parseCount))
    .addOption(
      new Option(
        '--max-unavailable <number>',
        'begin no further cluster when more than this number, or this share as in 10%, have failed',
      ).argParser(parseShare),
    );
}

/** Adds the flags that name the manifests to apply. */
export function addManifestFlags(command: Command): Command {
  return command
    .option('-f, --filename <file>', 'manifests: a file, a folder, or - for standard input; repeatable', append)
    .option('-R, --recursive', 'read the folders below, too')
    .option('-k, --kustomize <dir>', 'a folder for "kubectl kustomize"')
    .option('--force-conflicts', 'take over fields that others manage');
}

/** Adds the flag `--output` with the two formats of a report: table and JSON. */
export function addOutputFlag(command: Command): Command {
  const option = new Option('-o, --output <format>', 'how to print the report');
  return command.addOption(option.choices(['table', 'json']).default('table'));
}

/**
 * Parses a waiting time such as `5m` or `1m30s`, and returns it in milliseconds. @throws InvalidArgumentError for an
 * invalid duration, for zero, and for more than a timer of Node can wait
 */
export function parseWait(text: string): number {
  const waitMs = parseDuration(text) ?? 0;
  if (waitMs > 0 && waitMs <= longestTimerMs) return waitMs;
  throw new InvalidArgumentError('It must be a time such as 5m or 90s, of 24 days at most.');
}

function parseCount(text: string): number {
  if (!/^[1-9]\d{0,2}$/.test(text)) throw new InvalidArgumentError('It must be a number from 1 to 999.');
  return Number(text);
}

function parseShare(text: string): string {
  if (!/^\d{1,5}$|^(?:\d{1,2}|100)%$/.test(text)) throw new InvalidArgumentError('It must be a number, or as in 10%.');
  return text;
}

function append(value: string, earlier: readonly string[] | undefined): readonly string[] {
  return [...(earlier ?? []), value];
}
