// What an AppliedManifestWork records, and what of it is no longer part of its work.
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
  /** '' before the object was seen: it was about to be made. */
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

/** The objects that were found after their manifests were applied. */
export function foundIn(results: readonly ManifestResult[]): readonly AppliedResource[] {
  return results.flatMap(({ meta, seen }) => {
    if (seen.state !== 'present') return [];
    const { group, version, resource, namespace, name } = meta;
    return [{ group, version, resource, namespace, name, uid: seen.uid }];
  });
}

/** Whether every manifest was applied and every object could be read, so that what is missing is surely not wanted. */
export function isClean(results: readonly ManifestResult[]): boolean {
  return results.every(
    ({ applied, seen }) => applied === 'done' && (seen.state === 'present' || seen.state === 'absent'),
  );
}

/** What is recorded of objects that are not among those found. A new version of a kind is the same object. */
export function untracked(
  recorded: readonly AppliedResource[],
  found: readonly AppliedResource[],
): readonly AppliedResource[] {
  const tracked = new Set(found.map(objectKey));
  return recorded.filter((each) => !tracked.has(objectKey(each)));
}

/** Objects that may be pruned in one pass without a word of somebody. */
const freely = 3;

/** Whether so much would be pruned that somebody has to say that it is meant: more than half, and more than a few. */
export function isTooMuch(pruned: readonly AppliedResource[], recorded: readonly AppliedResource[]): boolean {
  return pruned.length > freely && pruned.length * 2 > recorded.length;
}

/** In the order in which OCM's agent writes them. */
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

/** Generation and content of a work that was applied whole, as an AppliedManifestWork keeps it. */
export interface AppliedSpec {
  readonly uid: string;
  readonly generation: number;
  readonly hash: string;
}

export function textOfSpec({ uid, generation, hash }: AppliedSpec): string {
  return `${uid}/${generation}/${hash}`;
}

/**
 * Whether the work is older than what was applied: the hub was restored from a backup, and objects that are missing in
 * its manifests may have been added since.
 */
export function isOlderThan(work: AppliedSpec, applied: string): boolean {
  const [uid = '', generation = '', hash = ''] = applied.split('/');
  if (uid !== work.uid || !/^\d+$/.test(generation)) return false;
  return work.generation < Number(generation) || (work.generation === Number(generation) && work.hash !== hash);
}

/** When the AppliedManifestWork began to be without its work; undefined while it is not. */
export function evictionStart(appliedWork: HubObject): string | undefined {
  const start = fieldOf(appliedWork, 'status', 'evictionStartTime');
  return typeof start === 'string' ? start : undefined;
}
