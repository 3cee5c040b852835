// Makes the objects of a ClusterJoin in the member by server-side apply, and reports each object that was made.
import { fieldOf, textAt, type JsonObject } from '../../lib/objects/json-object.ts';
import type { MemberObjects } from '../../distribute/member/member-objects.ts';
import { joinAnnotation, type InstalledObject } from '../object/cluster-join.ts';
import { nameOf } from './access-objects.ts';

export const fieldManager = 'portcullis-join';

/**
 * Returns those of the objects that exist and belong to another ClusterJoin, as `Kind name`. The other ClusterJoin may
 * be of another hub, or one that is deleted and has left its objects behind.
 */
export async function foreignObjects(
  objects: MemberObjects,
  wanted: readonly JsonObject[],
  joinUid: string,
): Promise<readonly string[]> {
  const found = await Promise.all(
    wanted.map(async (each) => {
      const live = await objects.get(nameOf(each));
      if (live === undefined || textAt(live, 'metadata', 'annotations', joinAnnotation) === joinUid) return [];
      return [`${textAt(each, 'kind')} ${textAt(each, 'metadata', 'name')}`];
    }),
  );
  return found.flat();
}

/**
 * Applies the objects, one after the other. A repeated call changes nothing.
 * @param onInstalled called after each object, so that the objects that exist are known even if a later one is refused
 */
export async function install(
  objects: MemberObjects,
  wanted: readonly JsonObject[],
  onInstalled: (object: InstalledObject) => void,
): Promise<void> {
  const uids = new Map<string, string>();
  const apply = async (manifest: JsonObject): Promise<void> => {
    const applied = await objects.patch(nameOf(manifest), {
      type: 'apply',
      fieldManager,
      force: true,
      body: manifest,
    });
    const installed = {
      apiVersion: textAt(manifest, 'apiVersion'),
      kind: textAt(manifest, 'kind'),
      ...(textAt(manifest, 'metadata', 'namespace') === ''
        ? {}
        : { namespace: textAt(manifest, 'metadata', 'namespace') }),
      name: textAt(manifest, 'metadata', 'name'),
      uid: textAt(applied, 'metadata', 'uid'),
    };
    uids.set(`${installed.kind}/${installed.name}`, installed.uid);
    onInstalled(installed);
  };
  for (const manifest of wanted) await apply(manifest);
  for (const manifest of wanted) {
    const owner = ownerOf(manifest, uids);
    if (owner !== undefined)
      await apply({ ...manifest, metadata: { ...(manifest['metadata'] as JsonObject), ownerReferences: [owner] } });
  }
}

/**
 * The owner reference of the objects that the gateway cannot delete itself when the member leaves: after deleting the
 * last ClusterRoleBinding it may not delete that binding's ClusterRole, and after deleting the ServiceAccount it has no
 * access. Kubernetes' garbage collector deletes what these two own.
 */
function ownerOf(manifest: JsonObject, uids: ReadonlyMap<string, string>): JsonObject | undefined {
  const kind = textAt(manifest, 'kind');
  const name = textAt(manifest, 'metadata', 'name');
  if (kind === 'ClusterRole' && name.startsWith('portcullis:leave'))
    return {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      name,
      uid: uids.get(`ClusterRoleBinding/${name}`),
    };
  if (kind !== 'Role' && kind !== 'RoleBinding') return undefined;
  return { apiVersion: 'v1', kind: 'ServiceAccount', name, uid: uids.get(`ServiceAccount/${name}`) };
}

/**
 * Whether the Namespace of the gateway's ServiceAccount is made by this ClusterJoin. True for a Namespace that does not
 * exist yet, since the ClusterJoin then makes it.
 */
export async function ownsNamespace(objects: MemberObjects, namespace: string, joinUid: string): Promise<boolean> {
  const live = await objects.get(nameOf({ kind: 'Namespace', metadata: { name: namespace } }));
  if (live === undefined) return true;
  return fieldOf(live, 'metadata', 'annotations', joinAnnotation) === joinUid;
}
