// After a work was applied, records its objects in the AppliedManifestWork, and deletes recorded objects that are no
// longer part of the work. Nothing is deleted unless every manifest was applied and every object read.
import type { HubObject } from '../../cache/hub/hub-types.ts';
import { isDeepStrictEqual } from 'node:util';
import { conditionsOf, findCondition, generationOf, type Finding } from '../../controllers/conditions.ts';
import { textAt } from '../../controllers/objects.ts';
import { hashOf } from '../apply/content-hash.ts';
import type { ManifestResult } from '../work/manifest-status.ts';
import type { Kinds } from '../member/kinds.ts';
import { isJsonObject } from '../../lib/objects/json-object.ts';
import { manifestsOf, metaOf, objectKey, ownPrefix } from '../work/manifest-work.ts';
import { appliedSpecAnnotation, type AppliedWorks } from './applied-works.ts';
import {
  foundIn,
  inOrder,
  isClean,
  isOlderThan,
  isTooMuch,
  recordedIn,
  textOfSpec,
  untracked,
  type AppliedResource,
  type AppliedSpec,
} from './inventory.ts';
import { removeObjects, type RemoveParts } from './remove-objects.ts';

export interface KeepInventoryParts extends RemoveParts {
  readonly appliedWorks: AppliedWorks;
  readonly appliedWork: HubObject;
  readonly work: HubObject;
}

/**
 * Records the objects that are about to be created, without their UIDs, so that none is forgotten if the process ends
 * before it has recorded them.
 * @returns the AppliedManifestWork as it is afterwards
 * @throws HubRefusal, GatewayError
 */
export async function announceObjects(
  appliedWorks: AppliedWorks,
  appliedWork: HubObject,
  work: HubObject,
  kinds: Kinds,
): Promise<HubObject> {
  if (textAt(appliedWork, 'metadata', 'annotations', appliedSpecAnnotation) === textOfSpec(specOf(work)))
    return appliedWork;
  const recorded = recordedIn(appliedWork);
  const known = new Set(recorded.map(objectKey));
  const announced: AppliedResource[] = [];
  for (const [ordinal, manifest] of manifestsOf(work).entries()) {
    if (!isJsonObject(manifest)) continue;
    const { group, version, kind, name, namespace } = metaOf(ordinal, manifest);
    const served = await kinds.find(group, version, kind);
    if (served === undefined) continue;
    const { resource } = served;
    const object = { group, version, resource, namespace: served.isNamespaced ? namespace : '', name, uid: '' };
    if (!known.has(objectKey(object))) announced.push(object);
  }
  if (announced.length === 0) return appliedWork;
  await appliedWorks.writeStatus(appliedWork, { appliedResources: inOrder([...recorded, ...announced]) });
  return appliedWorks.get(appliedWork.metadata.name) ?? appliedWork;
}

export interface KeptInventory {
  /**
   * A condition with the reason why objects that are no longer part of the work were kept; undefined when none were.
   */
  readonly held: Finding | undefined;
  /** Whether objects are still being deleted, or have to be looked at again soon. */
  readonly isPending: boolean;
}

/**
 * Annotation by which a person allows that any number of objects is deleted. Its value is the generation of the work
 * for which that holds.
 */
const allowAnnotation = `${ownPrefix}allow-prune`;

/** Records and deletes the objects of a work. @throws HubRefusal, GatewayError */
export async function keepInventory(
  parts: KeepInventoryParts,
  results: readonly ManifestResult[],
): Promise<KeptInventory> {
  const { appliedWorks, appliedWork, work } = parts;
  const recorded = recordedIn(appliedWork);
  const found = foundIn(results);
  const gone = untracked(recorded, found);
  const record = async (kept: readonly AppliedResource[]): Promise<void> => {
    const appliedResources = inOrder([...found, ...kept]);
    if (!isDeepStrictEqual(appliedResources, recorded))
      await appliedWorks.writeStatus(appliedWork, { appliedResources });
  };
  const obstacle = isClean(results) ? obstacleTo(parts, gone, recorded) : notYet;
  if (obstacle !== undefined) {
    await record(gone);
    return { held: obstacle.held, isPending: obstacle.isPending && gone.length > 0 };
  }
  const left = gone.length === 0 ? { resources: [], faults: [] } : await removeObjects(parts, gone);
  await record(left.resources);
  const applied = textOfSpec(specOf(work));
  if (textAt(appliedWork, 'metadata', 'annotations', appliedSpecAnnotation) !== applied)
    await appliedWorks.annotate(appliedWorks.get(appliedWork.metadata.name) ?? appliedWork, {
      [appliedSpecAnnotation]: applied,
    });
  const held = left.faults.length === 0 ? undefined : heldBecause('DeletionFailed', left.faults.join('; '));
  return { held, isPending: left.resources.length > 0 };
}

interface Obstacle {
  readonly held: Finding | undefined;
  readonly isPending: boolean;
}

/** Nothing is deleted in this pass: failed manifests are tried again anyway, and the next pass decides again. */
const notYet: Obstacle = { held: undefined, isPending: false };

function obstacleTo(
  { work, appliedWork }: KeepInventoryParts,
  gone: readonly AppliedResource[],
  recorded: readonly AppliedResource[],
): Obstacle | undefined {
  // Before the work has the condition Applied, it may belong to another hub, or to one that was restored or lost its
  // state.
  if (findCondition(conditionsOf(work), 'Applied') === undefined) return { held: undefined, isPending: true };
  if (textAt(work, 'metadata', 'annotations', allowAnnotation) === String(generationOf(work))) return undefined;
  const allow = `set the annotation ${allowAnnotation}: "${generationOf(work)}" if they are to go`;
  if (isOlderThan(specOf(work), textAt(appliedWork, 'metadata', 'annotations', appliedSpecAnnotation))) {
    if (gone.length === 0) return { held: undefined, isPending: false };
    const message = `the work is older than what was applied before, so that ${gone.length} objects that it does not have are kept: ${allow}`;
    return { held: heldBecause('WorkIsOlder', message), isPending: false };
  }
  if (!isTooMuch(gone, recorded)) return undefined;
  const message = `${gone.length} of ${recorded.length} objects are no longer part of the work and are kept: ${allow}`;
  return { held: heldBecause('TooMuchAtOnce', message), isPending: false };
}

function heldBecause(reason: string, message: string): Finding {
  return { type: `${ownPrefix}PruneHeld`, status: 'True', reason, message };
}

function specOf(work: HubObject): AppliedSpec {
  return { uid: work.metadata.uid, generation: generationOf(work) ?? 0, hash: hashOf(work['spec']) };
}
