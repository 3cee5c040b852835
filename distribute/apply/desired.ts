// What an object of the member is to become under the strategy Update: labels, annotations and owners are merged into
// those that are there, finalizers stay, and everything else is as the manifest says. Of kinds whose servers fill in
// fields that may not be taken out again, the fields that the manifest does not have stay, too.
import { isDeepStrictEqual } from 'node:util';
import type { OwnerReference } from '../../controllers/objects.ts';
import { groupKindIn, objectAt } from '../work/manifest-work.ts';
import { isJsonObject, type JsonObject } from '../../lib/objects/json-object.ts';
import { ownersIn, withOwner } from './owners.ts';

export interface WantedOwner {
  readonly owner: OwnerReference;
  readonly wanted: boolean;
}

/** Kinds of which a server or a controller fills in fields that are immutable or its own. */
const filledIn = new Set(
  ['Service', 'ServiceAccount', 'Namespace', 'PersistentVolumeClaim', 'PersistentVolume', 'Pod', 'Job.batch'].concat(
    'APIService.apiregistration.k8s.io',
  ),
);
/** Kinds whose number of replicas an autoscaler may own, where the manifest does not say it. */
const scaled = new Set(['Deployment.apps', 'StatefulSet.apps', 'ReplicaSet.apps', 'ReplicationController']);

/** The body of a create: keys that end in `-` mean that there must be no such label or annotation. */
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

/** The body of an update, with the `resourceVersion` of `live`. */
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

/** Whether an update would change nothing that the manifest can say. */
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

/** The fields of `over` in place of those of `under`, at every depth; lists of the same length item by item. */
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

/** Adds keys; one that ends in `-` removes the key before it. */
function mergeTexts(under: unknown, over: unknown): JsonObject {
  const merged: Record<string, unknown> = isJsonObject(under) ? { ...under } : {};
  for (const [key, value] of Object.entries(isJsonObject(over) ? over : {})) {
    if (key.endsWith('-')) delete merged[key.slice(0, -1)];
    else merged[key] = value;
  }
  return merged;
}
