// Saves the progress of a run in a file, so that `--resume` can continue the run after Ctrl-C or a crash. Security: the
// file holds names and UIDs of clusters, counts and a hash, but no content of the manifests.
import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { isJsonObject } from '../../../lib/objects/json-object.ts';
import { readIfPresent, replaceFile } from '../../files/atomic-file.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import type { ChosenCluster } from './choose-clusters.ts';

/** The saved progress of one cluster. */
export interface ClusterState {
  readonly uid: string;
  /** How many objects were applied before the first one that failed or was not tried. */
  readonly applied: number;
  /** True when everything in the cluster was done, including waiting and pruning. */
  readonly done: boolean;
}

/** The saved progress of a run. */
export interface RunState {
  readonly path: string;
  /**
   * Returns the saved progress of an earlier run in this cluster; undefined when there is none, or when another cluster
   * has got the name.
   */
  earlier(cluster: ChosenCluster): ClusterState | undefined;
  record(cluster: ChosenCluster, applied: number, done: boolean): void;
  /** Removes the file. To be called when nothing is left to resume. */
  remove(): void;
}

/**
 * Returns the path of the file with a run's progress. Runs with the same `key` (gateway, sources, namespace and set)
 * share a file.
 */
export function statePath(terminal: Pick<Terminal, 'env' | 'homeDir'>, key: readonly unknown[]): string {
  const base = terminal.env['XDG_STATE_HOME'] ?? '';
  const folder = base.startsWith('/') ? base : join(terminal.homeDir, '.local', 'state');
  const name = createHash('sha256').update(JSON.stringify(key)).digest('hex').slice(0, 32);
  return join(folder, 'portcullis', 'apply', `${name}.json`);
}

/**
 * Begins to save the progress of a run.
 * @param manifests hash of the manifests; progress that was saved with another hash is ignored
 * @param resumes false to ignore all saved progress
 */
export function openState(path: string, manifests: string, resumes: boolean): RunState {
  const earlier = resumes ? readState(path, manifests) : new Map<string, ClusterState>();
  const clusters = new Map(earlier);
  return {
    path,
    earlier({ name, uid }) {
      const found = earlier.get(name);
      return found?.uid === uid ? found : undefined;
    },
    record({ name, uid }, applied, done) {
      clusters.set(name, { uid, applied, done });
      replaceFile(path, `${JSON.stringify({ manifests, clusters: Object.fromEntries(clusters) })}\n`);
    },
    remove: () => rmSync(path, { force: true }),
  };
}

/** The clusters in a state file; none when the file is missing or damaged, or belongs to other manifests. */
function readState(path: string, manifests: string): ReadonlyMap<string, ClusterState> {
  const states = new Map<string, ClusterState>();
  let parsed: unknown;
  try {
    parsed = JSON.parse(readIfPresent(path));
  } catch {
    return states;
  }
  if (!isJsonObject(parsed) || parsed['manifests'] !== manifests || !isJsonObject(parsed['clusters'])) return states;
  for (const [name, state] of Object.entries(parsed['clusters'])) {
    if (!isJsonObject(state)) continue;
    const { uid, applied, done } = state;
    if (typeof uid === 'string' && typeof applied === 'number') states.set(name, { uid, applied, done: done === true });
  }
  return states;
}
