// Parses a ManifestWork of OCM's API. All other files use the parsed form.
import { fieldOf, isJsonObject, listAt, textAt, textsAt, type JsonObject } from '../../lib/objects/json-object.ts';
import {
  conditionsOf,
  findCondition,
  generationOf,
  readConditions,
  type Condition,
} from '../../kube/objects/conditions.ts';
import { isDeleting } from '../../kube/objects/objects.ts';
import type { ApiObject } from '../../kube/types.ts';
import { completeType, readWorkConfig, type WorkConfig } from './manifest-config.ts';
import {
  allowPruneAnnotation,
  faultOfMeta,
  metaOf,
  replicaSetLabel,
  workFinalizer,
  type ResourceMeta,
} from './manifest-work.ts';

/** One manifest of a work, and the object that it describes. */
export interface Manifest {
  readonly meta: ResourceMeta;
  /** The manifest; undefined when it is not a JSON object. */
  readonly object: JsonObject | undefined;
  /** Why the manifest does not describe exactly one object; undefined when it does. */
  readonly fault: string | undefined;
}

/** The entry of one manifest in the status of a work (`status.resourceStatus.manifests`). */
export interface ReportedManifest {
  readonly meta: ResourceMeta;
  readonly conditions: readonly Condition[];
  /** `statusFeedback.values`. */
  readonly values: readonly JsonObject[];
}

/** The ServiceAccount that `spec.executor` names, or why `spec.executor` does not name one. */
export type NamedExecutor = { readonly namespace: string; readonly name: string } | { readonly fault: string };

export interface Work extends WorkConfig {
  /** The unparsed ManifestWork as read from the hub, needed for writing to it. */
  readonly object: ApiObject;
  readonly name: string;
  /** The namespace on the hub, which has the name of the cluster. */
  readonly namespace: string;
  readonly uid: string;
  readonly generation: number | undefined;
  readonly isDeleting: boolean;
  /** Whether the work has the gateway's finalizer. Nothing is applied before the finalizer is set. */
  readonly hasFinalizer: boolean;
  /** The manifests, in the order of the spec. */
  readonly manifests: readonly Manifest[];
  /** The executor that `spec.executor` names; undefined when the work has no `spec.executor`. */
  readonly executor: NamedExecutor | undefined;
  /** Whether a person allows this generation to delete any number of objects. */
  readonly allowsPrune: boolean;
  /** Whether a ManifestWorkReplicaSet made the work. */
  readonly isOfReplicaSet: boolean;
  readonly conditions: readonly Condition[];
  /**
   * The entries for the manifests in the work's status. They must not be trusted: anyone who may write the status can
   * forge them.
   */
  readonly reported: readonly ReportedManifest[];
  /**
   * Whether the work is complete: its status has the condition Complete, and one of its condition rules can give this
   * condition. Without such a rule, somebody else wrote the condition.
   */
  readonly isComplete: boolean;
}

/** Parses a ManifestWork. Fields of an unexpected type count as missing. */
export function readWork(object: ApiObject): Work {
  const { name, namespace = '', uid } = object.metadata;
  const conditions = conditionsOf(object);
  const config = readWorkConfig(object['spec']);
  const generation = generationOf(object);
  return {
    ...config,
    ...{ object, name, namespace, uid, generation, conditions },
    isDeleting: isDeleting(object),
    hasFinalizer: textsAt(object, 'metadata', 'finalizers').includes(workFinalizer),
    manifests: listAt(object, 'spec', 'workload', 'manifests').map(readManifest),
    executor: readExecutor(fieldOf(object, 'spec', 'executor')),
    allowsPrune: textAt(object, 'metadata', 'annotations', allowPruneAnnotation) === String(generation),
    isOfReplicaSet: fieldOf(object, 'metadata', 'labels', replicaSetLabel) !== undefined,
    reported: listAt(object, 'status', 'resourceStatus', 'manifests').map(readReported),
    isComplete: config.completes && findCondition(conditions, completeType)?.status === 'True',
  };
}

function readExecutor(executor: unknown): NamedExecutor | undefined {
  if (executor === undefined) return undefined;
  const subject = fieldOf(executor, 'subject');
  if (textAt(subject, 'type') !== 'ServiceAccount')
    return { fault: 'only support ServiceAccount type for the executor' };
  const account = fieldOf(subject, 'serviceAccount');
  if (!isJsonObject(account)) return { fault: 'the executor service account is nil' };
  return { namespace: textAt(account, 'namespace'), name: textAt(account, 'name') };
}

function readManifest(given: unknown, ordinal: number): Manifest {
  const object = isJsonObject(given) ? given : undefined;
  const meta = metaOf(ordinal, object ?? {});
  return { meta, object, fault: object === undefined ? 'the manifest is no object' : faultOfMeta(meta) };
}

function readReported(entry: unknown, index: number): ReportedManifest {
  const meta = fieldOf(entry, 'resourceMeta');
  const ordinal = fieldOf(meta, 'ordinal');
  return {
    meta: {
      ordinal: typeof ordinal === 'number' ? ordinal : index,
      ...{ group: textAt(meta, 'group'), version: textAt(meta, 'version'), kind: textAt(meta, 'kind') },
      ...{ resource: textAt(meta, 'resource'), name: textAt(meta, 'name'), namespace: textAt(meta, 'namespace') },
    },
    conditions: readConditions(fieldOf(entry, 'conditions')),
    values: listAt(entry, 'statusFeedback', 'values') as readonly JsonObject[],
  };
}
