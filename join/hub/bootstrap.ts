// The bootstrap Secret of a ClusterJoin: it holds a kubeconfig with which the gateway reaches the member before it has
// a ServiceAccount there.
import type { ApiClient, ApiObject } from '../../kube/types.ts';
import { clusterApiSecret, nameLabel } from '../../cache/sources/objects/cluster-api.ts';
import { fieldOf } from '../../lib/objects/json-object.ts';
import { secretText, trimLineEnd } from '../../cache/sources/objects/hub-object.ts';
import type { Access } from '../../cache/sources/objects/registration.ts';
import { readSecretKubeconfig } from '../../cache/sources/objects/secret-kubeconfig.ts';
import type { ObjectWriter } from '../../kube/objects/object-writer.ts';
import { ownersOf } from '../../kube/objects/objects.ts';
import type { JoinSpec } from '../object/cluster-join.ts';
import { readSecret, secrets } from './cluster-secret.ts';

export interface Bootstrap {
  readonly secret: ApiObject;
  readonly access: Access;
}

/**
 * Reads the bootstrap Secret; undefined when it does not exist.
 * @throws HubRefusal; GatewayError CLUSTER_UNUSABLE when its kubeconfig cannot be used
 */
export async function readBootstrap(
  client: Pick<ApiClient, 'request'>,
  { namespace, name, key }: JoinSpec['bootstrap'],
): Promise<Bootstrap | undefined> {
  const secret = await readSecret(client, namespace, name);
  if (secret === undefined) return undefined;
  const text = trimLineEnd(secretText(secret, key) ?? '');
  return { secret, access: readSecretKubeconfig(`data["${key}"] of the Secret ${namespace}/${name}`, text) };
}

/**
 * Deletes the bootstrap Secret, unless it has another owner: it has Cluster API's type or label, or an owner reference.
 */
export async function deleteBootstrap(writer: ObjectWriter, { secret }: Bootstrap): Promise<void> {
  const isClusterApis =
    fieldOf(secret, 'type') === clusterApiSecret || fieldOf(secret, 'metadata', 'labels', nameLabel) !== undefined;
  if (!isClusterApis && ownersOf(secret).length === 0) await writer.remove(secrets, secret);
}
