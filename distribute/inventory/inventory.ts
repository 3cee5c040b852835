// Reads the objects that an AppliedManifestWork records, and finds those that the ManifestWork does not contain any
// more.
import { listAt, textAt, textsAt } from '../../lib/objects/json-object.ts';
import type { ApiObject } from '../../kube/types.ts';
import { isDeleting } from '../../kube/objects/objects.ts';
import type { ManifestResult } from '../work/manifest-status.ts';
import { appliedWorkFinalizer, objectKey, ownPrefix } from '../work/manifest-work.ts';

/** An entry of `status.appliedResources`: an object that was applied for the ManifestWork. */
export interface AppliedResource {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  /** UID of the object; '' in an entry that was written before the object was created. */
  readonly uid: string;
}

/** An AppliedManifestWork, read once. Whoever may write it in the member may have written what it says. */
export interface AppliedWork {
  /** The AppliedManifestWork as the member has it, for what is written to it. */
  readonly object: ApiObject;
  readonly name: string;
  readonly uid: string;
  readonly isDeleting: boolean;
  readonly hasFinalizer: boolean;
  /** Hash of the hub's address. */
  readonly hubHash: string;
  /** Who executes the work. */
  readonly agentId: string;
  /** Name of the ManifestWork on the hub. */
  readonly workName: string;
  /** The executor, the identity that wrote the objects; '' when none is recorded. */
  readonly executor: string;
  /** The state of the work that was last applied without failures, as {@link textOfSpec} writes it; '' for none. */
  readonly appliedSpec: string;
  /** `status.appliedResources`. */
  readonly resources: readonly AppliedResource[];
  /** When the ManifestWork was first found missing on the hub; undefined when it is not, or when that is no time. */
  readonly evictionStart: string | undefined;
}

/**
 * Annotation with the executor, the identity that wrote the objects of the ManifestWork, so that the same identity
 * deletes them.
 */
export const executorAnnotation = `${ownPrefix}executor`;
/**
 * Annotation with the state of the ManifestWork that was last applied without failures, as `textOfSpec` writes it.
 */
export const appliedSpecAnnotation = `${ownPrefix}applied-spec`;

/** What was read of each object: all of them are looked through at each reconcile. */
const known = new WeakMap<ApiObject, AppliedWork>();

/** Reads an AppliedManifestWork, once. What is missing or of another type is read as absent. */
export function readAppliedWork(object: ApiObject): AppliedWork {
  const before = known.get(object);
  if (before !== undefined) return before;
  const read = appliedWorkOf(object);
  known.set(object, read);
  return read;
}

function appliedWorkOf(object: ApiObject): AppliedWork {
  const { name, uid } = object.metadata;
  const start = textAt(object, 'status', 'evictionStartTime');
  return {
    ...{ object, name, uid, isDeleting: isDeleting(object) },
    hasFinalizer: textsAt(object, 'metadata', 'finalizers').includes(appliedWorkFinalizer),
    hubHash: textAt(object, 'spec', 'hubHash'),
    agentId: textAt(object, 'spec', 'agentID'),
    workName: textAt(object, 'spec', 'manifestWorkName'),
    executor: textAt(object, 'metadata', 'annotations', executorAnnotation),
    appliedSpec: textAt(object, 'metadata', 'annotations', appliedSpecAnnotation),
    resources: listAt(object, 'status', 'appliedResources').map(readResource),
    evictionStart: Number.isNaN(Date.parse(start)) ? undefined : start,
  };
}

function readResource(entry: unknown): AppliedResource {
  return {
    group: textAt(entry, 'group'),
    version: textAt(entry, 'version'),
    resource: textAt(entry, 'resource'),
    namespace: textAt(entry, 'namespace'),
    name: textAt(entry, 'name'),
    uid: textAt(entry, 'uid'),
  };
}

/** Returns those objects of the ManifestWork that exist after its manifests were applied. */
export function foundIn(results: readonly ManifestResult[]): readonly AppliedResource[] {
  return results.flatMap(({ meta, seen }) => {
    if (seen.state !== 'present') return [];
    const { group, version, resource, namespace, name } = meta;
    return [{ group, version, resource, namespace, name, uid: seen.uid }];
  });
}

/**
 * Whether every manifest was applied and every object could be read. Only then is it certain that a recorded object
 * which is missing in the results is no longer wanted.
 */
export function isClean(results: readonly ManifestResult[]): boolean {
  return results.every(
    ({ applied, seen }) => applied === 'done' && (seen.state === 'present' || seen.state === 'absent'),
  );
}

/**
 * Returns the recorded objects that are not among `found`. Two entries that differ only in the version of the kind are
 * the same object.
 */
export function untracked(
  recorded: readonly AppliedResource[],
  found: readonly AppliedResource[],
): readonly AppliedResource[] {
  const tracked = new Set(found.map(objectKey));
  return recorded.filter((each) => !tracked.has(objectKey(each)));
}

/** So many objects may be deleted at once without the confirmation of a person, whatever their share. */
const freely = 3;

/**
 * Whether so many objects would be deleted that a person has to confirm it: more than `freely`, and more than half of
 * those that are recorded.
 */
export function isTooMuch(pruned: readonly AppliedResource[], recorded: readonly AppliedResource[]): boolean {
  return pruned.length > freely && pruned.length * 2 > recorded.length;
}

/** Sorts the objects by group, version, resource, namespace and name, as OCM's agent does. */
export function inOrder(resources: readonly AppliedResource[]): readonly AppliedResource[] {
  const keyOf = ({ group, version, resource, namespace, name }: AppliedResource): readonly string[] => [
    group,
    version,
    resource,
    namespace,
    name,
  ];
  return resources.toSorted((one, other) => {
    const [a, b] = [keyOf(one), keyOf(other)];
    const at = a.findIndex((part, index) => part !== b[index]);
    return at < 0 ? 0 : a[at]! < b[at]! ? -1 : 1;
  });
}

/**
 * The state of a ManifestWork that was applied without failures: its UID, its generation and a hash of its spec. It is
 * recorded in an annotation of the AppliedManifestWork.
 */
export interface AppliedSpec {
  readonly uid: string;
  readonly generation: number;
  readonly hash: string;
}

export function textOfSpec({ uid, generation, hash }: AppliedSpec): string {
  return `${uid}/${generation}/${hash}`;
}

/**
 * Whether the ManifestWork is older than the state that was applied last, which happens after the hub was restored from
 * a backup. The objects that this work does not contain may then be wanted: somebody may have added them after the
 * backup.
 */
export function isOlderThan(work: AppliedSpec, applied: string): boolean {
  const [uid = '', generation = '', hash = ''] = applied.split('/');
  if (uid !== work.uid || !/^\d+$/.test(generation)) return false;
  return work.generation < Number(generation) || (work.generation === Number(generation) && work.hash !== hash);
}
