// The Secret on the hub with the address and the token by which the gateway reaches a member that has joined. It has
// the keys and labels of cluster-gateway's Secrets, which the gateway already reads as a source of clusters.
import type { Access } from '../../cache/sources/objects/registration.ts';
import {
  credentialTypeLabel,
  endpointTypeLabel,
  insecureAnnotation,
  secretRegistration,
  serverNameAnnotation,
} from '../../cache/sources/objects/cluster-gateway-secret.ts';
import type { ProxyAddress } from '../../model/records.ts';
import { tokenPlan } from '../../cache/sources/objects/hub-credential.ts';
import { objectPath } from '../../kube/paths.ts';
import type { ApiClient, ApiObject } from '../../kube/types.ts';
import { check, type ObjectWriter } from '../../kube/objects/object-writer.ts';
import type { ResourceType } from '../../kube/objects/objects.ts';
import { isMadeFor, markOf } from '../object/cluster-join.ts';
import { parseExact } from '../../lib/json/exact-json.ts';

export const secrets: ResourceType = { group: '', version: 'v1', resource: 'secrets' };
const timeoutMs = 15_000;

/** Reads a Secret of the hub; undefined when it does not exist. @throws HubRefusal, GatewayError, UnusableName */
export async function readSecret(
  client: Pick<ApiClient, 'request'>,
  namespace: string,
  name: string,
): Promise<ApiObject | undefined> {
  const path = objectPath({ ...secrets, namespace }, name);
  const answer = await client.request({ method: 'GET', path, timeoutMs });
  if (answer.status === 404) return undefined;
  check(answer, 'get', secrets);
  return parseExact(answer.body) as ApiObject;
}

/** Returns `access` with the same address and the same trusted authorities, but with a token as credential. */
export function withToken(access: Access, token: string): Access {
  const { endpoint, tls, proxy } = access;
  return { endpoint, tls, proxy, plan: tokenPlan('token', token) };
}

/** The URL `https://host:port/path` of the API server. */
export function addressOf({ endpoint: { scheme, host, port, basePath } }: Access): string {
  return `${scheme}://${bracketed(host)}:${port}${basePath}`;
}

/**
 * Creates the Secret, or replaces its contents. @throws Error when a Secret of that name was made by somebody else;
 * HubRefusal
 */
export async function storeSecret(
  client: Pick<ApiClient, 'request'>,
  writer: ObjectWriter,
  join: ApiObject,
  namespace: string,
  access: Access,
  token: string,
): Promise<void> {
  const { labels, annotations } = markOf(join);
  const { tls, proxy } = access;
  const metadata = {
    name: join.metadata.name,
    namespace,
    labels: { ...labels, [credentialTypeLabel]: 'ServiceAccountToken', [endpointTypeLabel]: 'Const' },
  };
  const trust = { [insecureAnnotation]: tls.insecure ? 'true' : undefined, [serverNameAnnotation]: tls.serverName };
  const texts = {
    endpoint: addressOf(access),
    'ca.crt': tls.ca,
    token,
    'proxy-url': proxy === undefined ? undefined : proxyUrl(proxy),
  };
  const before = await readSecret(client, namespace, join.metadata.name);
  if (before === undefined) {
    const made = { ...metadata, annotations: { ...annotations, ...trust } };
    await writer.create(secrets, {
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'Opaque',
      metadata: made,
      data: encoded(texts),
    });
    return;
  }
  if (!isMadeFor(before, join))
    throw new TakenName(`the Secret ${namespace}/${join.metadata.name} is not of this join`);
  // Security: what an earlier access needed has to go, or the cluster would stay unverified or behind the old proxy. A
  // merge patch removes only what it names as null. With the resourceVersion, the hub refuses the write if another
  // client has changed the Secret since the read, and the next reconcile reads it again.
  const { resourceVersion } = before.metadata;
  await writer.patch(secrets, before, {
    metadata: { ...metadata, resourceVersion, annotations: { ...annotations, ...absentAsNull(trust) } },
    data: { ...absentAsNull(texts), ...encoded(texts) },
  });
}

function absentAsNull(texts: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string | null>> {
  return Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, text ?? null]));
}

function proxyUrl({ scheme, host, port, userinfo }: ProxyAddress): string {
  const user =
    userinfo === undefined ? '' : `${encodeURIComponent(userinfo.username)}:${encodeURIComponent(userinfo.password)}@`;
  return `${scheme}://${user}${bracketed(host)}:${port}`;
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

function encoded(texts: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(texts).flatMap(([key, text]) =>
      text === undefined ? [] : [[key, Buffer.from(text).toString('base64')]],
    ),
  );
}

/** Replaces some keys of the Secret, such as the token; the others stay. @throws HubRefusal, GatewayError */
export async function replaceKeys(
  writer: ObjectWriter,
  secret: ApiObject,
  keys: Readonly<Record<string, string>>,
): Promise<void> {
  await writer.patch(secrets, secret, { data: encoded(keys) });
}

/**
 * Returns how the member is reached with the address and the credential in the Secret.
 * @throws GatewayError CLUSTER_UNUSABLE when the Secret cannot be used
 */
export function accessIn(secret: ApiObject): Access {
  return secretRegistration(secret, { clusterProxy: undefined, allowExec: [], allowExecEnv: [] }).access();
}

/** Thrown when a cluster of this name is registered already by a Secret that was not made for this ClusterJoin. */
export class TakenName extends Error {
  override readonly name = 'TakenName';
}
