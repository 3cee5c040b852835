// Reads the objects that an AppliedManifestWork records, and finds those that are no longer part of its work.
import { fieldOf } from '../../cache/sources/objects/hub-object.ts';
import type { HubObject } from '../../cache/hub/hub-types.ts';
import { listAt, textAt } from '../../controllers/objects.ts';
import type { ManifestResult } from '../work/manifest-status.ts';
import { objectKey } from '../work/manifest-work.ts';

/** An entry of `status.appliedResources`. */
export interface AppliedResource {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  /** UID of the object; '' in an entry that was recorded before the object was created. */
  readonly uid: string;
}

export function recordedIn(appliedWork: HubObject): readonly AppliedResource[] {
  return listAt(appliedWork, 'status', 'appliedResources').map((each) => ({
    group: textAt(each, 'group'),
    version: textAt(each, 'version'),
    resource: textAt(each, 'resource'),
    namespace: textAt(each, 'namespace'),
    name: textAt(each, 'name'),
    uid: textAt(each, 'uid'),
  }));
}

/** Returns the objects that exist after their manifests were applied. */
export function foundIn(results: readonly ManifestResult[]): readonly AppliedResource[] {
  return results.flatMap(({ meta, seen }) => {
    if (seen.state !== 'present') return [];
    const { group, version, resource, namespace, name } = meta;
    return [{ group, version, resource, namespace, name, uid: seen.uid }];
  });
}

/**
 * Whether every manifest was applied and every object could be read. Only then is a recorded object that is missing in
 * the results surely unwanted.
 */
export function isClean(results: readonly ManifestResult[]): boolean {
  return results.every(
    ({ applied, seen }) => applied === 'done' && (seen.state === 'present' || seen.state === 'absent'),
  );
}

/**
 * Returns the recorded objects that were not found. An object stays the same if only the version of its kind differs.
 */
export function untracked(
  recorded: readonly AppliedResource[],
  found: readonly AppliedResource[],
): readonly AppliedResource[] {
  const tracked = new Set(found.map(objectKey));
  return recorded.filter((each) => !tracked.has(objectKey(each)));
}

/** How many objects may be deleted in one pass in any case. */
const freely = 3;

/** Whether so many objects would be deleted that a person has to confirm it: more than `freely`, and more than half. */
export function isTooMuch(pruned: readonly AppliedResource[], recorded: readonly AppliedResource[]): boolean {
  return pruned.length > freely && pruned.length * 2 > recorded.length;
}

/** Sorts the objects in the order in which OCM's agent writes them. */
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
 * Identifies the state of a work that was applied without failures; an annotation of the AppliedManifestWork holds it.
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
 * Whether the work is older than the state that was applied last, as after the hub was restored from a backup. Then
 * objects that are missing in its manifests may be wanted, since somebody added them after the backup.
 */
export function isOlderThan(work: AppliedSpec, applied: string): boolean {
  const [uid = '', generation = '', hash = ''] = applied.split('/');
  if (uid !== work.uid || !/^\d+$/.test(generation)) return false;
  return work.generation < Number(generation) || (work.generation === Number(generation) && work.hash !== hash);
}

/** When the work was first found missing on the hub; undefined while the AppliedManifestWork has its work. */
export function evictionStart(appliedWork: HubObject): string | undefined {
  const start = fieldOf(appliedWork, 'status', 'evictionStartTime');
  return typeof start === 'string' ? start : undefined;
}
