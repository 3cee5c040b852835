// Makes the object that is sent when a manifest replaces an existing object, as with the update strategy `Update` of a
// ManifestWork: labels and annotations of the manifest are merged into those of the object, fields that the cluster
// owns stay, and everything else is as in the manifest, as with `kubectl replace`.
import { isJsonObject, type JsonObject } from './json-object.ts';
import { withServerFields } from './server-fields.ts';

/**
 * Returns the body of a PUT that gives the object `live` the content of the manifest. The body has the
 * `resourceVersion` of `live`, so that the server refuses the update if the object has changed since it was read.
 */
export function updatedObject(live: JsonObject, manifest: JsonObject): JsonObject {
  const { managedFields: _, ...kept } = fieldsAt(live, 'metadata');
  const { status: _status, ...wanted } = withServerFields(live, manifest);
  const given = fieldsAt(wanted, 'metadata');
  const metadata = {
    ...kept,
    labels: mergeTexts(kept['labels'], given['labels']),
    annotations: mergeTexts(kept['annotations'], given['annotations']),
  };
  const { status } = live;
  return { ...wanted, metadata, ...(status === undefined ? {} : { status }) };
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

function fieldsAt(object: JsonObject, field: string): JsonObject {
  const found = object[field];
  return isJsonObject(found) ? found : {};
}
