// Finds out which version of a type the hub serves.
import type { ApiClient } from '../../kube/types.ts';
import { makeRestMapper, type RestMapper } from '../../kube/discovery/rest-mapper.ts';
import { check } from '../../kube/objects/object-writer.ts';
import type { ResourceType } from '../../kube/objects/objects.ts';
import { isJsonObject } from '../../lib/objects/json-object.ts';

/** A type as the author of a ClusterImportPolicy writes it; the version may be missing. */
export interface WantedType {
  readonly group: string;
  /** Plural or singular name. */
  readonly resource: string;
  /** Versions that the ClusterImportPolicy accepts. When empty, the version that the hub prefers is used. */
  readonly versions: readonly string[];
}

/** Thrown when the hub does not serve the type, or serves it in none of the wanted versions. */
export class UnservedType extends Error {
  override readonly name = 'UnservedType';
}

const timeoutMs = 15_000;

/**
 * Makes the mapper of the hub's types. Its methods throw HubRefusal or GatewayError HUB_UNAVAILABLE when discovery
 * cannot be read.
 */
export function hubMapper(client: Pick<ApiClient, 'request'>): RestMapper {
  return makeRestMapper(async (path) => {
    const answer = await client.request({ method: 'GET', path, timeoutMs });
    if (answer.status === 404) return undefined;
    check(answer, 'get', { group: '', version: '', resource: path });
    const document: unknown = JSON.parse(answer.body.toString('utf8'));
    return isJsonObject(document) ? document : {};
  });
}

/**
 * Returns the type in the first wanted version, in the hub's order of preference, in which the hub serves the type.
 * @throws UnservedType; what the mapper throws
 */
export async function resolveType(
  mapper: RestMapper,
  { group, resource, versions }: WantedType,
): Promise<ResourceType> {
  const found = await mapper.versionsOf(group, resource);
  const chosen = found.find(({ version }) => versions.length === 0 || versions.includes(version));
  if (chosen !== undefined) return { group, version: chosen.version, resource: chosen.resource };
  // The next call reads discovery again, since it may lag behind a new CustomResourceDefinition.
  mapper.forget(group);
  const name = group === '' ? resource : `${resource}.${group}`;
  if (found.length === 0) throw new UnservedType(`the hub does not serve ${name}`);
  const there = found.map(({ version }) => version).join(', ');
  throw new UnservedType(`the hub serves ${name} in ${there}, and not in ${versions.join(', ')}`);
}
