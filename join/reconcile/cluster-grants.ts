// The rights that TenantBindings and ClusterPermissions have granted in a cluster that leaves. They are removed before
// the gateway gives up its access. The controller of the room `tenants` removes them when it sees a label on the
// cluster's Secret.
import { listAt, textAt } from '../../lib/objects/json-object.ts';
import { collectionPath } from '../../kube/paths.ts';
import type { ApiClient, ApiObject } from '../../kube/types.ts';
import { check } from '../../kube/objects/object-writer.ts';
import type { ResourceType } from '../../kube/objects/objects.ts';
import { leavingLabel } from '../../tenants/hub/selection.ts';
import type { GrantKind } from '../../tenants/object/grant.ts';
import { clusterPermissions } from '../../tenants/object/cluster-permission.ts';
import { tenantBindings } from '../../tenants/object/tenant-binding.ts';
import { isMadeFor } from '../object/cluster-join.ts';
import type { JoinParts } from './join-parts.ts';
import { readSecret, secrets } from '../hub/cluster-secret.ts';
import { parseExact } from '../../lib/json/exact-json.ts';

/**
 * Sets the label on the cluster's Secret. From then on no rights are granted in the cluster, and existing ones are
 * removed. @throws HubRefusal, GatewayError
 */
export async function markLeaving({ client, writer, secretNamespace }: JoinParts, join: ApiObject): Promise<void> {
  const secret = await readSecret(client, secretNamespace, join.metadata.name);
  if (secret === undefined || !isMadeFor(secret, join)) return;
  if (textAt(secret, 'metadata', 'labels', leavingLabel) === 'true') return;
  await writer.patch(secrets, secret, { metadata: { labels: { [leavingLabel]: 'true' } } });
}

/**
 * The TenantBindings and ClusterPermissions that still have objects in the cluster, as `resource name`; empty when none
 * has. @throws HubRefusal
 */
export async function grantsIn(client: Pick<ApiClient, 'request'>, cluster: string): Promise<readonly string[]> {
  const found = [tenantBindings, clusterPermissions].map(async (kind) =>
    (await listOf(client, kind.type))
      .flatMap((object) => (hasObjectsIn(kind, object, cluster) ? [object] : []))
      .map(({ metadata: { name } }) => `${kind.type.resource} ${name}`),
  );
  return (await Promise.all(found)).flat();
}

function hasObjectsIn(kind: GrantKind, object: ApiObject, cluster: string): boolean {
  return (kind.resultsOf(object).get(cluster)?.objects.length ?? 0) > 0;
}

/** Lists the objects; empty when the hub does not have the type, or the gateway may not read it. */
async function listOf(client: Pick<ApiClient, 'request'>, type: ResourceType): Promise<readonly ApiObject[]> {
  const answer = await client.request({ method: 'GET', path: collectionPath(type, {}), timeoutMs: 15_000 });
  if (answer.status === 404 || answer.status === 403) return [];
  check(answer, 'list', type);
  return listAt(parseExact(answer.body), 'items') as readonly ApiObject[];
}
