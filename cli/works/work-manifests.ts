// The manifests in the spec of a ManifestWork, and the differences between two specs.
import { groupKindOf } from '../../lib/objects/group-kind.ts';
import { isJsonObject, type JsonObject } from '../../lib/objects/json-object.ts';
import { objectDiff } from '../apply/manifests/object-diff.ts';

/** Returns the manifests of a spec, without entries that are no JSON objects. */
export function manifestsIn(spec: JsonObject): readonly JsonObject[] {
  const manifests = isJsonObject(spec['workload']) ? spec['workload']['manifests'] : undefined;
  return Array.isArray(manifests) ? manifests.filter(isJsonObject) : [];
}

/** Returns a key that is the same for all manifests of one object, in whatever API version they are written. */
export function manifestKey(manifest: JsonObject): string {
  const { namespace, name } = metadataOf(manifest);
  return `${groupKindIn(manifest)}/${String(namespace ?? '')}/${String(name)}`;
}

/** Returns a manifest's name as kubectl prints it, with the namespace added: `deployment.apps/shop/web`. */
export function nameOf(manifest: JsonObject): string {
  const { namespace, name } = metadataOf(manifest);
  const within = namespace === undefined ? '' : `${String(namespace)}/`;
  return `${groupKindIn(manifest).toLowerCase()}/${within}${String(name)}`;
}

export function metadataOf(manifest: JsonObject): JsonObject {
  return isJsonObject(manifest['metadata']) ? manifest['metadata'] : {};
}

/**
 * The unified diff between two specs of a ManifestWork: first of each manifest, then of the other fields of the spec;
 * '' when the specs are equal.
 */
export function specDiff(before: JsonObject, after: JsonObject): string {
  const [old, now] = [before, after].map(
    (spec) => new Map(manifestsIn(spec).map((each) => [manifestKey(each), each] as const)),
  );
  const keys = new Set([...old!.keys(), ...now!.keys()]);
  const objects = [...keys].map((key) => {
    const [one, other] = [old!.get(key), now!.get(key)];
    return objectDiff(nameOf((other ?? one)!), one, other);
  });
  return [...objects, objectDiff('settings', settingsOf(before), settingsOf(after))].join('');
}

/** Returns the spec without its manifests. */
function settingsOf({ workload, ...settings }: JsonObject): JsonObject {
  const { manifests: _, ...rest } = isJsonObject(workload) ? workload : {};
  return Object.keys(rest).length === 0 ? settings : { ...settings, workload: rest };
}

function groupKindIn({ apiVersion, kind }: JsonObject): string {
  return groupKindOf({ apiVersion: String(apiVersion), kind: String(kind) });
}
