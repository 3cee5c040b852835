// Finds out which version of a type the hub serves. Answers are remembered for each group until the group changes or
// `maxAgeMs` have passed, since a ClusterImportPolicy needs its types at each change of its source objects.
import type { ApiClient } from '../../kube/types.ts';
import { fieldOf } from '../../lib/objects/json-object.ts';
import { check } from '../../kube/objects/object-writer.ts';
import { type ResourceType } from '../../kube/objects/objects.ts';
import { isGroup, isLabel } from '../../lib/objects/api-names.ts';

/** A type as a ClusterImportPolicy names it; the policy may leave out the version. */
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

export interface Discovery {
  /**
   * Returns the type in the first wanted version, in the hub's order of preference, in which the hub serves the type.
   * @throws UnservedType; HubRefusal or GatewayError HUB_UNAVAILABLE when discovery cannot be read
   */
  resolve(wanted: WantedType): Promise<ResourceType>;
  /** Forgets what discovery said about a group. To be called when a CustomResourceDefinition of the group changed. */
  forget(group: string): void;
}

interface Served {
  readonly version: string;
  readonly resources: readonly unknown[];
}

const timeoutMs = 15_000;
const maxAgeMs = 600_000;

export function makeDiscovery(client: Pick<ApiClient, 'request'>): Discovery {
  const groups = new Map<string, { readonly served: Promise<readonly Served[]>; readonly untilMs: number }>();

  async function get(path: string): Promise<unknown> {
    const answer = await client.request({ method: 'GET', path, timeoutMs });
    if (answer.status === 404) return undefined;
    check(answer, 'get', { group: '', version: '', resource: path });
    return JSON.parse(answer.body.toString('utf8'));
  }

  async function read(group: string): Promise<readonly Served[]> {
    if (!isGroup(group)) return [];
    const root = group === '' ? '/api' : `/apis/${group}`;
    return await Promise.all(
      versionsIn(await get(root)).map(async (version) => {
        const resources = fieldOf(await get(`${root}/${version}`), 'resources');
        return { version, resources: Array.isArray(resources) ? resources : [] };
      }),
    );
  }

  function servedOf(group: string): Promise<readonly Served[]> {
    const known = groups.get(group);
    if (known !== undefined && performance.now() < known.untilMs) return known.served;
    const served = read(group);
    groups.set(group, { served, untilMs: performance.now() + maxAgeMs });
    served.catch(() => groups.delete(group));
    return served;
  }

  return {
    async resolve({ group, resource, versions }) {
      const served = await servedOf(group);
      const found = served.flatMap(({ version, resources }) => {
        const plural = pluralOf(resources, resource);
        return plural === undefined ? [] : [{ group, version, resource: plural }];
      });
      const chosen = found.find(({ version }) => versions.length === 0 || versions.includes(version));
      if (chosen !== undefined) return chosen;
      // The next call reads discovery again, since it may lag behind a new CustomResourceDefinition.
      groups.delete(group);
      const name = group === '' ? resource : `${resource}.${group}`;
      if (found.length === 0) throw new UnservedType(`the hub does not serve ${name}`);
      const there = found.map(({ version }) => version).join(', ');
      throw new UnservedType(`the hub serves ${name} in ${there}, and not in ${versions.join(', ')}`);
    },
    forget: (group) => void groups.delete(group),
  };
}

/** Returns the versions in an APIGroup or APIVersions document, the preferred one first. */
function versionsIn(document: unknown): readonly string[] {
  const listed = fieldOf(document, 'versions');
  const versions = (Array.isArray(listed) ? listed : [])
    .map((each: unknown) => (typeof each === 'string' ? each : fieldOf(each, 'version')))
    .filter((each): each is string => typeof each === 'string' && isLabel(each));
  const preferred = fieldOf(document, 'preferredVersion', 'version');
  return typeof preferred === 'string' && isLabel(preferred)
    ? [preferred, ...versions.filter((each) => each !== preferred)]
    : versions;
}

function pluralOf(resources: readonly unknown[], wanted: string): string | undefined {
  for (const each of resources) {
    const name = fieldOf(each, 'name');
    if (typeof name === 'string' && isLabel(name) && (name === wanted || fieldOf(each, 'singularName') === wanted))
      return name;
  }
  return undefined;
}
