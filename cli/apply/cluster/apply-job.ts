// The types of a run: the work that is the same in every cluster, and the state of one cluster.
import type { ApplyOptions, ObjectResult } from './apply-object.ts';
import type { ApplySet } from './apply-set.ts';
import type { ClusterReport } from './cluster-report.ts';
import type { Kinds, ServedKind } from './kinds.ts';
import type { Manifest } from '../manifests/manifest.ts';
import type { MemberClient } from './member-client.ts';
import type { RunState } from '../run-state.ts';

/** The work of a run, which is the same in every cluster. */
export interface ApplyJob {
  readonly manifests: readonly Manifest[];
  readonly options: ApplyOptions;
  /** Namespace for objects whose manifest names none. */
  readonly namespace: string;
  readonly set: (SetOptions & { readonly set: ApplySet }) | undefined;
  /** Milliseconds to wait until all applied objects are ready; undefined when the run does not wait. */
  readonly waitMs: number | undefined;
  /** When aborted, the run ends in good order: running requests finish, and no further ones begin. */
  readonly stopping: AbortSignal;
}

/** Options for objects of a set that the manifests no longer contain. */
export interface SetOptions {
  readonly prunes: boolean;
  /** True to delete more than half of a set, or a Namespace or CustomResourceDefinition, without refusing. */
  readonly allowsLargePrune: boolean;
}

/** Callbacks by which a run reports its progress to the person who watches it. */
export interface RunListener {
  onObject(report: ClusterReport, manifest: Manifest, result: ObjectResult): void;
  onDeleted(report: ClusterReport, name: string): void;
  /** @param text what the cluster is waiting for */
  onWaiting(report: ClusterReport, text: string): void;
}

/** The work on one cluster of a run. */
export interface ClusterRun {
  readonly job: ApplyJob;
  readonly client: MemberClient;
  readonly report: ClusterReport;
  /** The saved progress of the run; undefined in a dry run, which is never resumed. */
  readonly state: RunState | undefined;
  readonly listener: RunListener;
}

/** The knowledge about a cluster that a run has gathered so far. */
export interface ClusterKnowledge {
  kinds: Kinds;
  /** Number of objects in the set before this run. */
  membersBefore: number;
}

/** The namespace of an object in this cluster; '' when its kind has none. */
export function namespaceOf(job: ApplyJob, kind: ServedKind, manifest: Manifest): string {
  if (!kind.isNamespaced) return '';
  return manifest.namespace === '' ? job.namespace : manifest.namespace;
}
