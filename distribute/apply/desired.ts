// Computes what an object of the member becomes under the update strategy `Update`. The owner in these functions is the
// AppliedManifestWork, the record in the member of what a ManifestWork has applied.
import { fieldOf, objectAt, type JsonObject } from '../../lib/objects/json-object.ts';
import { isDeepStrictEqual } from 'node:util';
import type { OwnerReference } from '../../kube/objects/objects.ts';
import { mergeTexts, updatedObject } from '../../lib/objects/updated-object.ts';
import { ownersIn, withOwner } from './owners.ts';

export interface WantedOwner {
  readonly owner: OwnerReference;
  readonly wanted: boolean;
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

/** Whether labels, annotations and owner references of two `metadata` are the same. */
export function isSameMetadata(one: unknown, other: unknown): boolean {
  return (
    isDeepStrictEqual(objectAt(one, 'labels'), objectAt(other, 'labels')) &&
    isDeepStrictEqual(objectAt(one, 'annotations'), objectAt(other, 'annotations')) &&
    isDeepStrictEqual(ownersIn({ metadata: one }), ownersIn({ metadata: other }))
  );
}
