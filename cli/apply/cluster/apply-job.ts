// The types of a run of `apply` or `delete` over many clusters: what is done in every cluster, and the state of one
// cluster.
import type { ApplyOptions, ObjectResult } from './apply-object.ts';
import type { ApplySet } from './apply-set.ts';
import type { ClusterReport } from './cluster-outcomes.ts';
import type { Kinds, ServedKind } from './kinds.ts';
import type { Manifest } from '../manifests/manifest.ts';
import type { MemberClient } from './member-client.ts';
import type { RunState } from './run-state.ts';

/** What a run does in every cluster: the manifests to apply, and how. */
export interface ApplyJob {
  readonly manifests: readonly Manifest[];
  readonly options: ApplyOptions;
  /** Namespace for objects whose manifest names none. */
  readonly namespace: string;
  readonly set: (SetOptions & { readonly set: ApplySet }) | undefined;
  /** Milliseconds to wait until all applied objects are ready; undefined when the run does not wait. */
  readonly waitMs: number | undefined;
  /** When aborted, running requests finish, no further ones begin, and the run ends. */
  readonly stopping: AbortSignal;
}

/** What happens to objects of a set that the manifests no longer contain. */
export interface SetOptions {
  readonly prunes: boolean;
  /**
   * True to delete also more than half of a set, or a Namespace or CustomResourceDefinition. Otherwise such a deletion
   * is refused.
   */
  readonly allowsLargePrune: boolean;
}

/** Functions that a run calls to report its progress to the person who watches it. */
export interface RunListener {
  onObject(report: ClusterReport, manifest: Manifest, result: ObjectResult): void;
  onDeleted(report: ClusterReport, name: string): void;
  /** @param text what the cluster waits for, for example an object that is not ready */
  onWaiting(report: ClusterReport, text: string): void;
}

/** Everything that the functions need that work on one cluster of a run. */
export interface ClusterRun {
  readonly job: ApplyJob;
  readonly client: MemberClient;
  readonly report: ClusterReport;
  /** The saved progress of the run, for `--resume`; undefined in a dry run, which is never resumed. */
  readonly state: RunState | undefined;
  readonly listener: RunListener;
}

/** What a run has found out about one cluster so far. */
export interface ClusterKnowledge {
  kinds: Kinds;
  /**
   * How many objects of the manifests belonged to the set (`--set`) before this run. With `--resume`, the objects that
   * the interrupted run applied count too.
   */
  membersBefore: number;
}

/**
 * The namespace of an object in the cluster: that of its manifest, or else that of the run; '' when its kind has none.
 */
export function namespaceOf(job: ApplyJob, kind: ServedKind, manifest: Manifest): string {
  if (!kind.namespaced) return '';
  return manifest.namespace === '' ? job.namespace : manifest.namespace;
}
