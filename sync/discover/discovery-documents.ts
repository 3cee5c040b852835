// Reads the discovery of a member cluster: two requests for aggregated discovery (KEP-3352), or one request for each
// group version with older API servers. Easy to get wrong: while the server of an aggregated API is down, its group is
// missing or stale in discovery. That does not mean that its types were removed.
import { groupVersionPath } from '../../kube/paths.ts';
import { MalformedAnswer } from '../../lib/json/json-scan.ts';
import { readWhole } from '../../routing/members/member-call.ts';
import { refusalOf } from '../member/member-faults.ts';
import type { AskMember, SyncTiming } from '../member/sync-types.ts';

/** A resource in one version, as discovery describes it. */
export interface ServedResource {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly kind: string;
  readonly singular: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
}

/** The result of reading a member cluster's discovery. */
export interface Served {
  /**
   * The resources that the cluster serves, in its order of groups. Within a group, resources of the preferred version
   * come first.
   */
  readonly resources: readonly ServedResource[];
  /** API groups whose aggregated server is down, so that their resources cannot be known now. */
  readonly unknownGroups: ReadonlySet<string>;
}

const aggregated = ['v2', 'v2beta1']
  .map((version) => `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`)
  .concat('application/json')
  .join();
const documentBytes = 32 * 1024 * 1024;

type Json = Readonly<Record<string, unknown>>;

/**
 * Reads the discovery of all groups.
 * @throws SyncSetback, GatewayError, MalformedAnswer (rejects) when `/api` or `/apis` cannot be read
 */
export async function readServed(
  ask: AskMember,
  cluster: string,
  timing: Pick<SyncTiming, 'headTimeoutMs'>,
  signal: AbortSignal,
): Promise<Served> {
  const resources: ServedResource[] = [];
  const unknownGroups = new Set<string>();
  const get = async (path: string): Promise<Json> => {
    const answer = await ask({
      path,
      accept: aggregated,
      headTimeoutMs: timing.headTimeoutMs,
      wholeTimeoutMs: timing.headTimeoutMs * 2,
      signal,
    });
    if (answer.status !== 200) throw await refusalOf(answer, cluster, `discovery (${path})`);
    return recordOf(parse((await readWhole(answer, documentBytes)).toString('utf8')));
  };
  for (const root of ['/api', '/apis']) {
    const document = await get(root);
    if (document['kind'] === 'APIGroupDiscoveryList') readAggregated(document, resources, unknownGroups);
    else {
      for (const { group, versions } of groupsOf(document)) {
        for (const version of versions) {
          try {
            readResourceList(await get(groupVersionPath(group, version)), group, version, resources);
          } catch (error) {
            signal.throwIfAborted();
            // The server of one aggregated API may be down and answer 503, or group and version may be no names. All
            // other groups can still be read.
            if (!(error instanceof Error)) throw error;
            unknownGroups.add(group);
          }
        }
      }
    }
  }
  return { resources, unknownGroups };
}

/** Parses an apidiscovery.k8s.io APIGroupDiscoveryList and adds its resources to `resources`. */
function readAggregated(document: Json, resources: ServedResource[], unknownGroups: Set<string>): void {
  for (const item of listOf(document['items']).map(recordOf)) {
    const group = textOf(recordOf(item['metadata'])['name']);
    for (const versionItem of listOf(item['versions']).map(recordOf)) {
      if (versionItem['freshness'] === 'Stale') unknownGroups.add(group);
      for (const each of listOf(versionItem['resources']).map(recordOf)) {
        resources.push({
          group,
          version: textOf(versionItem['version']),
          resource: textOf(each['resource']),
          kind: textOf(recordOf(each['responseKind'])['kind']),
          singular: textOf(each['singularResource']),
          namespaced: each['scope'] === 'Namespaced',
          verbs: textsOf(each['verbs']),
          shortNames: textsOf(each['shortNames']),
          categories: textsOf(each['categories']),
        });
      }
    }
  }
}

/** The groups and versions in a metav1.APIVersions or an APIGroupList, with the preferred version first. */
function groupsOf(document: Json): readonly { readonly group: string; readonly versions: readonly string[] }[] {
  if (document['kind'] === 'APIVersions') return [{ group: '', versions: textsOf(document['versions']) }];
  return listOf(document['groups']).map((value) => {
    const item = recordOf(value);
    const preferred = textOf(recordOf(item['preferredVersion'])['version']);
    const all = listOf(item['versions']).map((version) => textOf(recordOf(version)['version']));
    return { group: textOf(item['name']), versions: [...new Set([preferred, ...all])].filter((one) => one !== '') };
  });
}

/** Parses a metav1.APIResourceList and adds its resources, without subresources, to `resources`. */
function readResourceList(document: Json, group: string, version: string, resources: ServedResource[]): void {
  for (const each of listOf(document['resources']).map(recordOf)) {
    const resource = textOf(each['name']);
    if (resource.includes('/')) continue;
    resources.push({
      group,
      version,
      resource,
      kind: textOf(each['kind']),
      singular: textOf(each['singularName']),
      namespaced: each['namespaced'] === true,
      verbs: textsOf(each['verbs']),
      shortNames: textsOf(each['shortNames']),
      categories: textsOf(each['categories']),
    });
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new MalformedAnswer('text that is not JSON');
  }
}

function recordOf(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function textsOf(value: unknown): readonly string[] {
  return listOf(value).filter((each) => typeof each === 'string');
}
