// What a run does in every cluster alike, and what it knows of one of them.
import type { ApplyOptions, ObjectResult } from './apply-object.ts';
import type { ApplySet } from './apply-set.ts';
import type { ClusterReport } from './cluster-report.ts';
import type { Kinds, ServedKind } from './kinds.ts';
import type { Manifest } from '../manifests/manifest.ts';
import type { MemberClient } from './member-client.ts';
import type { RunState } from '../run-state.ts';

/** What is done in every cluster alike. */
export interface ApplyJob {
  readonly manifests: readonly Manifest[];
  readonly options: ApplyOptions;
  /** Namespace of objects that name none. */
  readonly namespace: string;
  readonly set: (SetOptions & { readonly set: ApplySet }) | undefined;
  /** Milliseconds to wait until everything is ready; undefined not to wait. */
  readonly waitMs: number | undefined;
  /** Ends the run in good order: requests under way finish, and no further ones begin. */
  readonly stopping: AbortSignal;
}

/** What is done about objects that left a set. */
export interface SetOptions {
  readonly prunes: boolean;
  /** Also when that is more than half of the set, or a Namespace or CustomResourceDefinition. */
  readonly allowsLargePrune: boolean;
}

/** Is told what happens, for people who watch. */
export interface RunListener {
  onObject(report: ClusterReport, manifest: Manifest, result: ObjectResult): void;
  onDeleted(report: ClusterReport, name: string): void;
  /** @param text what the cluster is waiting for */
  onWaiting(report: ClusterReport, text: string): void;
}

/** One cluster of a run. */
export interface ClusterRun {
  readonly job: ApplyJob;
  readonly client: MemberClient;
  readonly report: ClusterReport;
  /** Undefined in a dry run, which there is no need to resume. */
  readonly state: RunState | undefined;
  readonly listener: RunListener;
}

/** What is known of the cluster while it is worked on. */
export interface ClusterKnowledge {
  kinds: Kinds;
  /** Members that the set had before this run. */
  membersBefore: number;
}

/** The namespace of an object in this cluster; '' when its kind has none. */
export function namespaceOf(job: ApplyJob, kind: ServedKind, manifest: Manifest): string {
  if (!kind.isNamespaced) return '';
  return manifest.namespace === '' ? job.namespace : manifest.namespace;
}
