// Makes the object that is sent when a manifest replaces an existing object, as with the update strategy `Update` of a
// ManifestWork: labels and annotations of the manifest are merged into those of the object, and everything else is as
// in the manifest. For kinds in which the API server fills in immutable fields, fields that the manifest does not have
// are kept from the existing object as well.
import { groupKindOf } from './group-kind.ts';
import { isJsonObject, type JsonObject } from './json-object.ts';

/**
 * Kinds in which the API server or a controller fills in fields that are immutable or that only that program may
 * change.
 */
const filledIn = new Set(
  ['Service', 'ServiceAccount', 'Namespace', 'PersistentVolumeClaim', 'PersistentVolume', 'Pod', 'Job.batch'].concat(
    'APIService.apiregistration.k8s.io',
  ),
);
/**
 * Kinds whose number of replicas stays as it is if the manifest does not set it, since an autoscaler may have set it.
 */
const scaled = new Set(['Deployment.apps', 'StatefulSet.apps', 'ReplicaSet.apps', 'ReplicationController']);

/**
 * Returns the body of a PUT that gives the object `live` the content of the manifest. The body has the
 * `resourceVersion` of `live`, so that the server refuses the update if the object has changed since it was read.
 */
export function updatedObject(live: JsonObject, manifest: JsonObject): JsonObject {
  const { managedFields: _, ...kept } = fieldsAt(live, 'metadata');
  const given = fieldsAt(manifest, 'metadata');
  const metadata = {
    ...kept,
    labels: mergeTexts(kept['labels'], given['labels']),
    annotations: mergeTexts(kept['annotations'], given['annotations']),
  };
  const { status: _status, ...wantedRest } = manifest;
  const { status, ...liveRest } = live;
  const content = filledIn.has(kindOf(live)) ? overlay(liveRest, wantedRest) : withReplicas(live, wantedRest);
  return { ...(content as JsonObject), metadata, ...(status === undefined ? {} : { status }) };
}

/** Merges labels or annotations. A key in `over` that ends in `-` removes the key of that name without the `-`. */
export function mergeTexts(under: unknown, over: unknown): JsonObject {
  const merged: Record<string, unknown> = isJsonObject(under) ? { ...under } : {};
  for (const [key, value] of Object.entries(isJsonObject(over) ? over : {})) {
    if (key.endsWith('-')) delete merged[key.slice(0, -1)];
    else merged[key] = value;
  }
  return merged;
}

function withReplicas(live: JsonObject, manifest: JsonObject): JsonObject {
  const { replicas } = fieldsAt(live, 'spec');
  const spec = fieldsAt(manifest, 'spec');
  if (!scaled.has(kindOf(live)) || replicas === undefined || spec['replicas'] !== undefined) return manifest;
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

function kindOf({ apiVersion, kind }: JsonObject): string {
  return groupKindOf({ apiVersion: String(apiVersion), kind: String(kind) });
}

function fieldsAt(object: JsonObject, field: string): JsonObject {
  const found = object[field];
  return isJsonObject(found) ? found : {};
}
