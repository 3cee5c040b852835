// Reads and writes ManifestWorks on the hub for `portcullis works`, with the rights of the person who runs the command.
import { isAboutObject, statusMessage } from '../connection/explain.ts';
import type { Connection } from '../connection/gateway-connection.ts';
import { send } from '../connection/http.ts';
import { Failure, usageFailure } from '../terminal/failure.ts';
import { isJsonObject, type JsonObject } from '../../lib/objects/json-object.ts';
import { patchCall } from '../../kube/objects/object-calls.ts';
import { collectionPath, objectPath } from '../../kube/paths.ts';
import type { ApiAnswer, WatchedResource } from '../../kube/types.ts';
import { jsonIn } from '../../lib/json/exact-json.ts';

const manifestWorks = { group: 'work.open-cluster-management.io', version: 'v1', resource: 'manifestworks' };

/**
 * A ManifestWork as the hub answers it. Only the names in its metadata are known to be there; other fields must be
 * checked.
 */
export interface Work extends JsonObject {
  readonly metadata: JsonObject & {
    readonly name: string;
    /**
     * Name of the cluster in which the ManifestWork is executed: on the hub, each cluster has a namespace of its name.
     */
    readonly namespace: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly labels?: Readonly<Record<string, string>>;
    readonly generation?: number;
  };
}

/** The cluster and name of a ManifestWork, which people write as `CLUSTER/NAME`. */
export interface WorkName {
  readonly cluster: string;
  readonly name: string;
}

/** Reads and writes ManifestWorks. Every method rejects with a Failure when the hub cannot be reached or refuses. */
export interface HubWorks {
  /** Returns the ManifestWorks of these clusters, or of all clusters when undefined, sorted by cluster and name. */
  list(clusters: readonly string[] | undefined): Promise<readonly Work[]>;
  get(work: WorkName): Promise<Work>;
  /**
   * Replaces the spec of the ManifestWork.
   * @param work the object as it was read, with its resourceVersion
   * @returns the ManifestWork as the hub has it afterwards; `changed` when somebody else changed it since it was read
   */
  replaceSpec(work: Work, spec: JsonObject, dryRun: boolean): Promise<Work | 'changed'>;
}

const pageSize = 500;

export function hubWorks(connection: Connection): HubWorks {
  const get = async (path: string, what: string): Promise<JsonObject> => {
    const answer = await send(connection, { method: 'GET', path });
    if (answer.status !== 200) throw refusalOf(answer, connection, what);
    return objectIn(answer, connection);
  };

  async function listAll(collection: WatchedResource, what: string): Promise<readonly Work[]> {
    const works: Work[] = [];
    let next = '';
    do {
      const page = next === '' ? '' : `&continue=${encodeURIComponent(next)}`;
      const path = `${collectionPath(collection, { limit: String(pageSize) })}${page}`;
      const { items, metadata } = await get(path, what);
      if (Array.isArray(items)) works.push(...items.filter(isWork));
      next = isJsonObject(metadata) && typeof metadata['continue'] === 'string' ? metadata['continue'] : '';
    } while (next !== '');
    return works;
  }

  return {
    async list(clusters) {
      if (clusters === undefined) return byName(await listAll(manifestWorks, 'list all ManifestWorks'));
      const lists = clusters.map((cluster) => listAll(worksOf(cluster), `list the ManifestWorks of ${cluster}`));
      return byName((await Promise.all(lists)).flat());
    },
    async get(name) {
      const work = await get(pathOf(name), `get the ManifestWork ${textOf(name)}`);
      if (isWork(work)) return work;
      throw noObject(connection);
    },
    async replaceSpec({ metadata }, spec, dryRun) {
      const name = { cluster: metadata.namespace, name: metadata.name };
      const operations = [
        // With the resourceVersion that was read, the hub answers 409 if the ManifestWork was changed meanwhile.
        { op: 'replace', path: '/metadata/resourceVersion', value: metadata['resourceVersion'] },
        { op: 'replace', path: '/spec', value: spec },
      ];
      const patch = { type: 'json', fieldManager: 'portcullis', dryRun, body: operations } as const;
      const answer = await send(connection, patchCall(pathOf(name), patch));
      if (answer.status === 409) return 'changed';
      if (answer.status !== 200) throw refusalOf(answer, connection, `change the ManifestWork ${textOf(name)}`);
      const changed = objectIn(answer, connection);
      if (isWork(changed)) return changed;
      throw noObject(connection);
    },
  };
}

/** Reads `CLUSTER/NAME`. @throws Failure (usage) for anything else */
export function readWorkName(text: string): WorkName {
  const [cluster = '', name = '', ...rest] = text.split('/');
  const isName = (part: string): boolean => /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(part);
  if (rest.length === 0 && isName(cluster) && isName(name)) return { cluster, name };
  throw usageFailure(`"${text}" does not name a work`, 'Give CLUSTER/NAME, as in m1/hello; see: portcullis works list');
}

export function textOf({ cluster, name }: WorkName): string {
  return `${cluster}/${name}`;
}

function worksOf(cluster: string): WatchedResource {
  return { ...manifestWorks, namespace: cluster };
}

function pathOf({ cluster, name }: WorkName): string {
  return objectPath(worksOf(cluster), name);
}

function byName(works: readonly Work[]): readonly Work[] {
  const keyOf = ({ metadata: { namespace, name } }: Work): string => `${namespace}/${name}`;
  return works.toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
}

function isWork(value: unknown): value is Work {
  const metadata = isJsonObject(value) ? value['metadata'] : undefined;
  return isJsonObject(metadata) && typeof metadata['name'] === 'string' && typeof metadata['namespace'] === 'string';
}

function objectIn({ body }: ApiAnswer, connection: Connection): JsonObject {
  const parsed = jsonIn(body);
  if (isJsonObject(parsed)) return parsed;
  throw noObject(connection);
}

function noObject({ root }: Connection): Failure {
  return new Failure(
    `${root} answered something that is no ManifestWork`,
    'Choose the hub with --kubeconfig and --context.',
  );
}

function refusalOf({ status, body }: ApiAnswer, { root }: Connection, what: string): Failure {
  const said = statusMessage(body);
  const reason = said === undefined ? '' : `: ${said}`;
  if (status === 404 && isAboutObject(body))
    return new Failure(said ?? 'not found', 'See what is there: portcullis works list');
  if (status === 404)
    return new Failure(
      `${root} does not serve ManifestWorks (404)`,
      'Choose the hub, where the objects of Open Cluster Management are, with --kubeconfig and --context.',
    );
  if (status === 403)
    return new Failure(
      `${root} does not let you ${what} (403)${reason}`,
      what.startsWith('list all')
        ? 'Ask for clusters whose works you may list: --clusters m1,m2'
        : 'Ask an administrator of the hub, or choose another context with --context.',
    );
  return new Failure(`${root} did not ${what} (${status})${reason}`, '');
}
