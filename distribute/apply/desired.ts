// Computes what an object of the member becomes under the update strategy `Update`: labels, annotations and owners of
// the manifest are merged into those of the object, finalizers stay, and everything else is as in the manifest. For
// kinds whose servers fill in immutable fields, fields that the manifest does not have stay as well.
import { isDeepStrictEqual } from 'node:util';
import type { OwnerReference } from '../../controllers/objects.ts';
import { groupKindIn, objectAt } from '../work/manifest-work.ts';
import { isJsonObject, type JsonObject } from '../../lib/objects/json-object.ts';
import { ownersIn, withOwner } from './owners.ts';

export interface WantedOwner {
  readonly owner: OwnerReference;
  readonly wanted: boolean;
}

/** Kinds in which a server or a controller fills in fields that are immutable or that it alone may change. */
const filledIn = new Set(
  ['Service', 'ServiceAccount', 'Namespace', 'PersistentVolumeClaim', 'PersistentVolume', 'Pod', 'Job.batch'].concat(
    'APIService.apiregistration.k8s.io',
  ),
);
/** Kinds whose number of replicas stays as it is if the manifest does not set it, since an autoscaler may own it. */
const scaled = new Set(['Deployment.apps', 'StatefulSet.apps', 'ReplicaSet.apps', 'ReplicationController']);

/** Returns the body of a create. A key that ends in `-` asks for a label or annotation to be absent and is left out. */
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
 * Returns the body of an update. It keeps the `resourceVersion` of `live`, so that the member refuses the update if the
 * object has changed since it was read.
 */
export function changedObject(live: JsonObject, manifest: JsonObject, { owner, wanted }: WantedOwner): JsonObject {
  const before = objectAt(live, 'metadata');
  const given = objectAt(manifest, 'metadata');
  const owners = withOwner(ownersIn(live), owner, wanted);
  const { managedFields: _, ...kept } = before;
  const metadata = {
    ...kept,
    labels: mergeTexts(before['labels'], given['labels']),
    annotations: mergeTexts(before['annotations'], given['annotations']),
    ...(owners.length === 0 && before['ownerReferences'] === undefined ? {} : { ownerReferences: owners }),
  };
  const { status: _status, ...wantedRest } = manifest;
  const { status, ...liveRest } = live;
  const content = filledIn.has(groupKindIn(live)) ? overlay(liveRest, wantedRest) : withReplicas(live, wantedRest);
  return { ...(content as JsonObject), metadata, ...(status === undefined ? {} : { status }) };
}

/** Whether an update from `live` to `wanted` would change nothing that a manifest can set. */
export function isAsWanted(live: JsonObject, wanted: JsonObject): boolean {
  const { metadata: before, status: _before, ...is } = live;
  const { metadata: after, status: _after, ...shouldBe } = wanted;
  return isDeepStrictEqual(is, shouldBe) && isSameMetadata(before, after);
}

/** Whether labels, annotations and owners are the same. */
export function isSameMetadata(one: unknown, other: unknown): boolean {
  return (
    isDeepStrictEqual(objectAt(one, 'labels'), objectAt(other, 'labels')) &&
    isDeepStrictEqual(objectAt(one, 'annotations'), objectAt(other, 'annotations')) &&
    isDeepStrictEqual(ownersIn({ metadata: one }), ownersIn({ metadata: other }))
  );
}

function withReplicas(live: JsonObject, manifest: JsonObject): JsonObject {
  const { replicas } = objectAt(live, 'spec');
  const spec = objectAt(manifest, 'spec');
  if (!scaled.has(groupKindIn(live)) || replicas === undefined || spec['replicas'] !== undefined) return manifest;
  return { ...manifest, spec: { ...spec, replicas } };
}

/**
 * Merges the fields of `over` over those of `under` at every depth. Lists of the same length are merged item by item.
 */
function overlay(under: unknown, over: unknown): unknown {
  if (isJsonObject(under) && isJsonObject(over)) {
    const merged: Record<string, unknown> = { ...under };
    for (const [key, value] of Object.entries(over)) merged[key] = overlay(under[key], value);
    return merged;
  }
  if (Array.isArray(under) && Array.isArray(over) && under.length === over.length)
    return over.map((value, index) => overlay(under[index], value));
  return over;
}

/** Merges labels or annotations. A key in `over` that ends in `-` removes the key of that name without the `-`. */
function mergeTexts(under: unknown, over: unknown): JsonObject {
  const merged: Record<string, unknown> = isJsonObject(under) ? { ...under } : {};
  for (const [key, value] of Object.entries(isJsonObject(over) ? over : {})) {
    if (key.endsWith('-')) delete merged[key.slice(0, -1)];
    else merged[key] = value;
  }
  return merged;
}
