// One TenantBinding or ClusterPermission as this replica holds it: the results and tasks of its clusters.
import type { ApiObject } from '../kube/types.ts';
import type { Author } from '../distribute/stamp/authors.ts';
import type { Task } from './cluster-grants.ts';
import type { ClusterResult, GrantKind } from './object/grant.ts';

/** One TenantBinding or ClusterPermission, with what is known of its clusters. */
export interface Held {
  readonly kind: GrantKind;
  readonly results: Map<string, ClusterResult>;
  /**
   * What is to be done in each cluster, by the cluster's name. Clusters in which there is nothing to do are missing.
   */
  readonly tasks: Map<string, Task>;
  /**
   * The task that each cluster was given last, as a text. When the text of the present task differs, the cluster gets
   * the new task.
   */
  readonly given: Map<string, string>;
  /** Functions that are called once the present results are written to the hub. */
  waiting: (() => void)[];
  /** Generation of the object to which the results belong. */
  generation: number | undefined;
  /** The object as the hub returned it after the last write, for as long as the watch still shows the older `base`. */
  written: { readonly base: ApiObject; readonly now: ApiObject } | undefined;
}

export function makeHeld(kind: GrantKind, object: ApiObject): Held {
  const results = new Map(kind.resultsOf(object));
  return { kind, results, tasks: new Map(), given: new Map(), waiting: [], generation: undefined, written: undefined };
}

/** When the object has a new generation, drops the results of clusters from which everything was removed. */
export function forgetRemoved(held: Held, generation: number | undefined): void {
  const { results } = held;
  if (held.generation !== generation)
    for (const [name, { phase }] of results) if (phase === 'Removed') results.delete(name);
  held.generation = generation;
}

/**
 * Gives clusters that are no longer chosen the task to remove their objects. @param removal this task; undefined when
 * the objects stay in the clusters, whose results are then dropped
 */
export function leave(
  { tasks, results }: Held,
  left: readonly [string, ClusterResult][],
  removal: Task | undefined,
): void {
  for (const [name, { objects }] of left) {
    if (objects.length === 0) continue;
    if (removal === undefined) results.delete(name);
    else tasks.set(name, removal);
  }
}

/**
 * Stores the result of a cluster. @param author the user as whom the objects are written; undefined keeps the recorded
 * one
 */
export function keep(
  { results }: Held,
  cluster: string,
  outcome: Omit<ClusterResult, 'since' | 'writer'>,
  author?: Author,
): void {
  const before = results.get(cluster);
  const { phase, reason, message, objects } = outcome;
  const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  const since = before?.phase === phase && before.since !== '' ? before.since : now;
  const writer = author?.modifier ?? (objects.length === 0 ? undefined : before?.writer);
  results.set(cluster, { phase, reason, message, since, objects, writer });
}
