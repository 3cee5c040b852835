// Finds the kinds that a member serves, by its discovery. Discovery answers are remembered for each group and version.
// A kind that is missing in an answer is looked up again, since a manifest of the same ManifestWork may have just
// created its CustomResourceDefinition.
import { groupVersionPath } from '../../kube/paths.ts';
import { fieldOf } from '../../lib/objects/json-object.ts';
import { listAt, textAt } from '../../kube/objects/objects.ts';
import { isKind, isLabel } from '../../lib/objects/api-names.ts';
import type { MemberClient } from './member-client.ts';
import { jsonOf } from './member-answer.ts';

/** A kind in one version, as the member serves it. */
export interface ServedKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** The plural name, as in API paths. */
  readonly resource: string;
  readonly isNamespaced: boolean;
  readonly isWatchable: boolean;
}

export interface Kinds {
  /**
   * Finds a kind by its name; undefined when the member does not serve it.
   * @throws UnusableName when group or version cannot be one in Kubernetes; GatewayError or MemberRefusal when the
   *   member's discovery cannot be read
   */
  find(group: string, version: string, kind: string): Promise<ServedKind | undefined>;
  /** Finds a kind by its plural name; otherwise like `find`. */
  findResource(group: string, version: string, resource: string): Promise<ServedKind | undefined>;
}

const timeoutMs = 15_000;
/** A discovery answer that is younger than this, in milliseconds, is not read again when it lacks a kind. */
const missingForMs = 1_000;
const maxAgeMs = 600_000;

interface Read {
  readonly kinds: Promise<readonly ServedKind[]>;
  readonly atMs: number;
}

export function makeKinds(client: Pick<MemberClient, 'request'>): Kinds {
  const known = new Map<string, Read>();

  async function read(group: string, version: string): Promise<readonly ServedKind[]> {
    const path = groupVersionPath(group, version);
    const answer = await client.request({ method: 'GET', path, timeoutMs });
    if (answer.status === 404) return [];
    if (answer.status !== 200) throw new Error(`discovery of ${group}/${version} was answered with ${answer.status}`);
    return listAt(jsonOf(answer.body), 'resources')
      .filter((each) => isLabel(textAt(each, 'name')) && isKind(textAt(each, 'kind')))
      .map((each) => ({
        group,
        version,
        kind: textAt(each, 'kind'),
        resource: textAt(each, 'name'),
        isNamespaced: fieldOf(each, 'namespaced') === true,
        isWatchable: listAt(each, 'verbs').includes('watch'),
      }));
  }

  function readOnce(key: string, group: string, version: string): Read {
    const fresh = { kinds: read(group, version), atMs: performance.now() };
    known.set(key, fresh);
    fresh.kinds.catch(() => known.delete(key));
    return fresh;
  }

  async function findBy(
    group: string,
    version: string,
    isIt: (kind: ServedKind) => boolean,
  ): Promise<ServedKind | undefined> {
    const key = `${group}/${version}`;
    const before = known.get(key);
    const isOld = before === undefined || performance.now() - before.atMs > maxAgeMs;
    const first = isOld ? readOnce(key, group, version) : before;
    const found = (await first.kinds).find(isIt);
    if (found !== undefined || performance.now() - first.atMs < missingForMs) return found;
    return (await readOnce(key, group, version).kinds).find(isIt);
  }

  return {
    find: (group, version, kind) => findBy(group, version, (each) => each.kind === kind),
    findResource: (group, version, resource) => findBy(group, version, (each) => each.resource === resource),
  };
}
