// The manifests that one pass over a ManifestWork applies, or those of the objects that it only looks at.
import type { ApiObject } from '../../kube/types.ts';
import { fieldOf } from '../../lib/objects/json-object.ts';
import { listAt, textAt } from '../../kube/objects/objects.ts';
import { isJsonObject, type JsonObject } from '../../lib/objects/json-object.ts';
import type { RestMapper } from '../../kube/discovery/rest-mapper.ts';
import { faultOfMeta, manifestsOf, metaOf, type ResourceMeta } from '../work/manifest-work.ts';

/** One manifest of a work, and which object it is of. */
export interface Manifest {
  readonly meta: ResourceMeta;
  /** The manifest; undefined when it is not a JSON object. */
  readonly object: JsonObject | undefined;
}

/** The manifests of a work. */
export function givenManifests(work: ApiObject): readonly Manifest[] {
  return manifestsOf(work).map((given, ordinal) => {
    const object = isJsonObject(given) ? given : undefined;
    return { meta: metaOf(ordinal, object ?? {}), object };
  });
}

/**
 * The objects that the status of a complete ManifestWork lists, in place of its manifests, which may have changed
 * since. Whoever may write the status may have written them, so only those are looked at that the AppliedManifestWork
 * records.
 */
export function toldManifests(work: ApiObject): readonly Manifest[] {
  return listAt(work, 'status', 'resourceStatus', 'manifests').map((entry, index) => {
    const ordinal = fieldOf(entry, 'resourceMeta', 'ordinal');
    const text = (field: string): string => textAt(entry, 'resourceMeta', field);
    const meta = {
      ...{ ordinal: typeof ordinal === 'number' ? ordinal : index, resource: '' },
      ...{ group: text('group'), version: text('version'), kind: text('kind') },
      ...{ name: text('name'), namespace: text('namespace') },
    };
    return { meta, object: undefined };
  });
}

/**
 * The manifests whose object another one further down is of, too, with that one. As with OCM's agent the last one
 * counts; if each were applied, both would be written again and again.
 * @throws as {@link Kinds.find}
 */
export async function repeatedIn(
  manifests: readonly Manifest[],
  kinds: Pick<RestMapper, 'find'>,
): Promise<ReadonlyMap<Manifest, Manifest>> {
  const instead = new Map<Manifest, Manifest>();
  const usable = manifests.filter(({ object, meta }) => object !== undefined && faultOfMeta(meta) === undefined);
  const byName = Map.groupBy(usable, ({ meta: { group, kind, name } }) => [group, kind, name].join('/'));
  for (const [last, ...others] of [...byName.values()].map((each) => each.toReversed())) {
    if (others.length === 0) continue;
    const { group, version, kind } = last!.meta;
    // Only then is the kind asked for: its CustomResourceDefinition may be a manifest that is applied first.
    const namespaced = (await kinds.find(group, version, kind))?.namespaced !== false;
    const lasts = new Map([[namespaced ? last!.meta.namespace : '', last!]]);
    for (const manifest of others) {
      const place = namespaced ? manifest.meta.namespace : '';
      const other = lasts.get(place);
      if (other === undefined) lasts.set(place, manifest);
      else instead.set(manifest, other);
    }
  }
  return instead;
}
