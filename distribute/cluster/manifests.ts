// The objects of a complete ManifestWork, and the manifests of one that are not applied because others replace them.
import type { RestMapper } from '../../kube/discovery/rest-mapper.ts';
import { faultOfMeta } from '../work/manifest-work.ts';
import type { Manifest, Work } from '../work/work.ts';

/**
 * The objects that the status of a complete ManifestWork lists, in place of its manifests, which may have changed
 * since. Whoever may write the status may have written them, so only those are looked at that the AppliedManifestWork
 * records.
 */
export function reportedManifests({ reported }: Work): readonly Manifest[] {
  // The member says what the plural name of the kind is.
  return reported.map(({ meta }) => ({ meta: { ...meta, resource: '' }, object: undefined }));
}

/**
 * The manifests whose object another one further down is of, too, with that one. As with OCM's agent the last one
 * counts; if each were applied, both would be written again and again.
 * @throws as {@link RestMapper.find}
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
