// Finds the kinds and resources that an API server serves, as client-go's RESTMapper does. It asks for one group or one
// version of a group at a time and remembers the answers. A kind that is missing in an older answer is looked up again:
// its CustomResourceDefinition may have just been created.
import { isGroup } from '../../lib/objects/api-names.ts';
import type { JsonObject } from '../../lib/objects/json-object.ts';
import { groupVersionPath } from '../paths.ts';
import { groupsIn, isSubresource, listedResources, type ServedResource } from './documents.ts';

/**
 * Reads a discovery document, such as `/apis/apps/v1`; undefined when the server answers 404. Its errors are passed on
 * by the methods of {@link RestMapper}.
 */
export type ReadDocument = (path: string) => Promise<JsonObject | undefined>;

export interface RestMapper {
  /**
   * Finds a kind by its name; undefined when the server does not serve it. '' is the core group.
   * @throws UnusableName when group or version cannot be one in Kubernetes
   */
  find(group: string, version: string, kind: string): Promise<ServedResource | undefined>;
  /** Finds a resource by its plural name; otherwise like `find`. */
  findResource(group: string, version: string, resource: string): Promise<ServedResource | undefined>;
  /** Finds a resource by its plural or singular name in every version that has it, the preferred one first. */
  versionsOf(group: string, resource: string): Promise<readonly ServedResource[]>;
  /** Drops the cached answers about a group. To be called when a CustomResourceDefinition of the group changed. */
  forget(group: string): void;
}

/** An answer that is younger than this, in milliseconds, is not read again when it lacks a kind. */
const missingForMs = 1_000;
const maxAgeMs = 600_000;

/** A document that was read from one path, and when the request began. */
interface Read<Value> {
  readonly value: Promise<Value>;
  readonly atMs: number;
}

export function makeRestMapper(readDocument: ReadDocument): RestMapper {
  const versions = new Map<string, Read<readonly string[]>>();
  const resources = new Map<string, Read<readonly ServedResource[]>>();

  const readVersions = async (group: string): Promise<readonly string[]> => {
    const document = await readDocument(group === '' ? '/api' : `/apis/${group}`);
    return document === undefined ? [] : groupsIn(document).flatMap((each) => each.versions);
  };
  const readResources = async (group: string, version: string): Promise<readonly ServedResource[]> => {
    const document = await readDocument(groupVersionPath(group, version));
    return document === undefined
      ? []
      : listedResources(document, group, version).filter((each) => !isSubresource(each));
  };
  const resourcesOf = (group: string, version: string): Read<readonly ServedResource[]> =>
    remembered(resources, `${group}/${version}`, () => readResources(group, version));

  async function findBy(
    group: string,
    version: string,
    isIt: (resource: ServedResource) => boolean,
  ): Promise<ServedResource | undefined> {
    const first = resourcesOf(group, version);
    const found = (await first.value).find(isIt);
    if (found !== undefined || performance.now() - first.atMs < missingForMs) return found;
    resources.delete(`${group}/${version}`);
    return (await resourcesOf(group, version).value).find(isIt);
  }

  return {
    find: (group, version, kind) => findBy(group, version, (each) => each.kind === kind),
    findResource: (group, version, resource) => findBy(group, version, (each) => each.resource === resource),
    async versionsOf(group, resource) {
      if (!isGroup(group)) return [];
      const all = await remembered(versions, group, () => readVersions(group)).value;
      const served = await Promise.all(all.map((version) => resourcesOf(group, version).value));
      const isIt = (each: ServedResource): boolean => each.resource === resource || each.singular === resource;
      return served.flatMap((each) => each.filter(isIt).slice(0, 1));
    },
    forget(group) {
      versions.delete(group);
      for (const key of resources.keys()) if (key.startsWith(`${group}/`)) resources.delete(key);
    },
  };
}

/** Returns the cached answer for the key, or calls `read` and caches its answer. A failed answer is not cached. */
function remembered<Value>(known: Map<string, Read<Value>>, key: string, read: () => Promise<Value>): Read<Value> {
  const before = known.get(key);
  if (before !== undefined && performance.now() - before.atMs <= maxAgeMs) return before;
  const fresh = { value: read(), atMs: performance.now() };
  known.set(key, fresh);
  fresh.value.catch(() => known.get(key) === fresh && known.delete(key));
  return fresh;
}
