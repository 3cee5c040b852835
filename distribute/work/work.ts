// A ManifestWork of OCM's API, read once: every step of handling it works with what is read here.
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
import { completeType, readConfigs, readDeleteOption, type ConfigEntry, type DeleteOption } from './manifest-config.ts';
import { metaOf, workFinalizer, type ResourceMeta } from './manifest-work.ts';

/** One manifest of a work, and which object it is of. */
export interface Manifest {
  readonly meta: ResourceMeta;
  /** The manifest; undefined when it is not a JSON object. */
  readonly object: JsonObject | undefined;
}

/** What the status of a work says of one manifest: an entry of `status.resourceStatus.manifests`. */
export interface ReportedManifest {
  readonly meta: ResourceMeta;
  readonly conditions: readonly Condition[];
  /** `statusFeedback.values`. */
  readonly values: readonly JsonObject[];
}

export interface Work {
  /** The ManifestWork as the hub has it, for what is written to it. */
  readonly object: ApiObject;
  readonly name: string;
  /** The namespace on the hub, which has the name of the cluster. */
  readonly namespace: string;
  readonly uid: string;
  readonly generation: number | undefined;
  readonly isDeleting: boolean;
  /** Whether it has the finalizer without which nothing is applied. */
  readonly hasFinalizer: boolean;
  /** The manifests, in the order of the spec. */
  readonly manifests: readonly Manifest[];
  readonly configs: readonly ConfigEntry[];
  readonly deleteOption: DeleteOption;
  readonly conditions: readonly Condition[];
  /** What the status says of the manifests. Whoever may write the status may have written it. */
  readonly reported: readonly ReportedManifest[];
  /**
   * Whether the work is complete: its status says so, and its rules ask for it. Without such rules somebody else wrote
   * the condition.
   */
  readonly isComplete: boolean;
}

/** Reads a ManifestWork. What is missing or of another type is read as absent. */
export function readWork(object: ApiObject): Work {
  const { name, namespace = '', uid } = object.metadata;
  const conditions = conditionsOf(object);
  const configs = readConfigs(listAt(object, 'spec', 'manifestConfigs'));
  return {
    ...{ object, name, namespace, uid, conditions, configs },
    generation: generationOf(object),
    isDeleting: isDeleting(object),
    hasFinalizer: textsAt(object, 'metadata', 'finalizers').includes(workFinalizer),
    manifests: listAt(object, 'spec', 'workload', 'manifests').map(readManifest),
    deleteOption: readDeleteOption(fieldOf(object, 'spec', 'deleteOption')),
    reported: listAt(object, 'status', 'resourceStatus', 'manifests').map(readReported),
    isComplete:
      configs.some(({ completes }) => completes) && findCondition(conditions, completeType)?.status === 'True',
  };
}

function readManifest(given: unknown, ordinal: number): Manifest {
  const object = isJsonObject(given) ? given : undefined;
  return { meta: metaOf(ordinal, object ?? {}), object };
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
