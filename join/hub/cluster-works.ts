// The ManifestWorks and add-ons of a cluster that leaves. They are deleted before the gateway gives up its access, in
// the order that OCM's own clean-up has: add-ons first, then works by their annotation `cleanup-priority`, lowest
// first. Works of one priority are deleted only when all works of lower priority are gone.
import { listAt } from '../../lib/objects/json-object.ts';
import type { ApiClient, ApiObject } from '../../kube/types.ts';
import { annotationOf } from '../../cache/sources/objects/hub-object.ts';
import { collectionPath } from '../../kube/paths.ts';
import { check, type ObjectWriter } from '../../kube/objects/object-writer.ts';
import { isDeleting, type ResourceType } from '../../kube/objects/objects.ts';
import { parseExact } from '../../lib/json/exact-json.ts';

export const manifestWorks: ResourceType = {
  group: 'work.open-cluster-management.io',
  version: 'v1',
  resource: 'manifestworks',
};
const addOns: ResourceType = {
  group: 'addon.open-cluster-management.io',
  version: 'v1alpha1',
  resource: 'managedclusteraddons',
};
const priorityAnnotation = 'open-cluster-management.io/cleanup-priority';

/**
 * Deletes the add-ons and ManifestWorks whose turn it is.
 * @returns what still exists, as `resource name`; empty when nothing does
 * @throws HubRefusal, GatewayError
 */
export async function deleteNextWorks(
  client: Pick<ApiClient, 'request'>,
  writer: ObjectWriter,
  namespace: string,
): Promise<readonly string[]> {
  const levels = [
    { type: addOns, objects: await listIn(client, addOns, namespace) },
    ...byPriority(await listIn(client, manifestWorks, namespace)).map((objects) => ({ type: manifestWorks, objects })),
  ].filter(({ objects }) => objects.length > 0);
  const [first] = levels;
  for (const object of first?.objects ?? []) if (!isDeleting(object)) await writer.remove(first!.type, object);
  return levels.flatMap(({ type, objects }) => objects.map(({ metadata: { name } }) => `${type.resource} ${name}`));
}

/**
 * Deletes the cluster's add-ons and ManifestWorks although the cluster cannot be reached. Their finalizers are removed
 * too, since the clean-up in the cluster for which they wait is no longer possible.
 */
export async function dropWorks(
  client: Pick<ApiClient, 'request'>,
  writer: ObjectWriter,
  namespace: string,
): Promise<void> {
  for (const type of [addOns, manifestWorks]) {
    for (const object of await listIn(client, type, namespace)) await writer.remove(type, object);
    for (const object of await listIn(client, type, namespace)) {
      const { resourceVersion } = object.metadata;
      await writer.patch(type, object, { metadata: { resourceVersion, finalizers: [] } });
    }
  }
}

/** ManifestWorks in groups of equal priority, the lowest first. A work without the annotation has priority 0. */
export function byPriority(works: readonly ApiObject[]): readonly (readonly ApiObject[])[] {
  const levels = new Map<number, ApiObject[]>();
  for (const work of works) {
    const written = annotationOf(work, priorityAnnotation) ?? '';
    const priority = /^\d{1,3}$/.test(written) ? Math.min(100, Number(written)) : 0;
    const level = levels.get(priority) ?? [];
    levels.set(priority, level);
    level.push(work);
  }
  return [...levels].toSorted(([one], [other]) => one - other).map(([, level]) => level);
}

/** Lists the objects of a namespace; empty when the hub does not have the type. */
async function listIn(
  client: Pick<ApiClient, 'request'>,
  type: ResourceType,
  namespace: string,
): Promise<readonly ApiObject[]> {
  const answer = await client.request({
    method: 'GET',
    path: collectionPath({ ...type, namespace }, {}),
    timeoutMs: 15_000,
  });
  if (answer.status === 404) return [];
  check(answer, 'list', type);
  return listAt(parseExact(answer.body), 'items') as readonly ApiObject[];
}
