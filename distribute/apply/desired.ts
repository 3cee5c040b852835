// Computes what an object of the member becomes under the update strategy `Update`. The owner in these functions is the
// AppliedManifestWork, the record in the member of what a ManifestWork has applied.
import { fieldOf, objectAt, type JsonObject } from '../../lib/objects/json-object.ts';
import { isDeepStrictEqual } from 'node:util';
import type { OwnerReference } from '../../kube/objects/objects.ts';
import type { MemberObjects, ObjectName } from '../member/member-objects.ts';
import { contentHash } from '../work/content-hash.ts';
import type { UpdateStrategy } from '../work/manifest-config.ts';
import { mergeTexts, updatedObject } from '../../lib/objects/updated-object.ts';
import { ownersIn, withOwner } from './owners.ts';

export interface WantedOwner {
  readonly owner: OwnerReference;
  readonly wanted: boolean;
}

/** One manifest that is to be applied to an object of a member, with all that the update strategies need. */
export interface ApplyTask {
  readonly objects: MemberObjects;
  readonly object: ObjectName;
  /** The manifest without UID and, for kinds without namespaces, without namespace. */
  readonly manifest: JsonObject;
  readonly strategy: UpdateStrategy;
  readonly ownership: WantedOwner;
  /** The `contentHash` of the object after this process last applied the same manifest; undefined if it did not yet. */
  readonly lastContent: string | undefined;
}

/**
 * Returns the body of a create request. A label or annotation whose key ends in `-` asks for its absence, so it is left
 * out.
 */
export function newObject(manifest: JsonObject, { owner, wanted }: WantedOwner): JsonObject {
  const metadata = objectAt(manifest, 'metadata');
  const { labels, annotations, ownerReferences: _, ...rest } = metadata;
  return {
    ...manifest,
    metadata: {
      ...rest,
      ...(labels === undefined ? {} : { labels: mergeTexts({}, labels) }),
      ...(annotations === undefined ? {} : { annotations: mergeTexts({}, annotations) }),
      ...(wanted ? { ownerReferences: [owner] } : {}),
    },
  };
}

/**
 * Returns the body of an update request. The body keeps the `resourceVersion` of `live`, so that the member refuses the
 * update if the object has changed since it was read.
 */
export function changedObject(live: JsonObject, manifest: JsonObject, { owner, wanted }: WantedOwner): JsonObject {
  const owners = withOwner(ownersIn(live), owner, wanted);
  const updated = updatedObject(live, manifest);
  if (owners.length === 0 && fieldOf(live, 'metadata', 'ownerReferences') === undefined) return updated;
  return { ...updated, metadata: { ...objectAt(updated, 'metadata'), ownerReferences: owners } };
}

/** Whether the objects are equal in everything that a manifest can set, so that an update would change nothing. */
export function isAsWanted(live: JsonObject, wanted: JsonObject): boolean {
  const { metadata: before, status: _before, ...is } = live;
  const { metadata: after, status: _after, ...shouldBe } = wanted;
  return isDeepStrictEqual(is, shouldBe) && isSameMetadata(before, after);
}

/**
 * Returns the body of the update request that the object needs; undefined when it needs none. An object that is as the
 * last apply left it differs from the manifest only by defaults that the API server has set.
 */
export function neededUpdate(task: ApplyTask, live: JsonObject): JsonObject | undefined {
  const wanted = changedObject(live, task.manifest, task.ownership);
  if (isAsWanted(live, wanted)) return undefined;
  const isUntouched = task.lastContent !== undefined && task.lastContent === contentHash(live);
  return isUntouched && isSameMetadata(live['metadata'], wanted['metadata']) ? undefined : wanted;
}

/** Whether labels, annotations and owner references of two `metadata` are the same. */
function isSameMetadata(one: unknown, other: unknown): boolean {
  return (
    isDeepStrictEqual(objectAt(one, 'labels'), objectAt(other, 'labels')) &&
    isDeepStrictEqual(objectAt(one, 'annotations'), objectAt(other, 'annotations')) &&
    isDeepStrictEqual(ownersIn({ metadata: one }), ownersIn({ metadata: other }))
  );
}
