// Decides from a member cluster's discovery which types can be indexed, and in which API version. All rows of a type
// are stored in one version: the CRD's storage version, or else the version that the member prefers.
import { refusalOf } from '../member/member-faults.ts';
import { Pages } from '../../kube/pages.ts';
import { readListItems } from '../follow/list-items.ts';
import type { CustomTypes } from './custom-resources.ts';
import type { ServedResource } from '../../kube/discovery/documents.ts';
import { readServed, type Served } from './discovery-documents.ts';
import { measuredTypes, resourceMetricsGroup } from './resource-metrics.ts';
import type { AskMember, SyncTiming } from '../member/sync-types.ts';
import { typeKey, type LiveType, type TypeInfo, type TypeKey } from '../../query/types.ts';

/** The types of a member cluster that can be indexed. */
export interface MemberTypes {
  readonly types: ReadonlyMap<TypeKey, TypeInfo>;
  /**
   * API groups whose aggregated server is down. Types of these groups that were known before count as still present.
   */
  readonly unknownGroups: ReadonlySet<string>;
  /** The types whose objects can be listed, whether they can be indexed or not. */
  readonly listed: readonly LiveType[];
}

export const crdType = { group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions' } as const;
const crdPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/**
 * Most types of one cluster; further ones are ignored. It is a limit against faulty or hostile discovery: no real
 * cluster has so many types.
 */
const maxTypes = 10_000;

/**
 * Reads the member cluster's discovery and returns its types.
 * @throws SyncSetback, GatewayError, MalformedAnswer (rejects)
 */
export async function discoverTypes(
  ask: AskMember,
  cluster: string,
  customTypes: CustomTypes,
  timing: Pick<SyncTiming, 'headTimeoutMs'>,
  signal: AbortSignal,
): Promise<MemberTypes> {
  const served = await readServed(ask, cluster, timing, signal);
  return {
    types: followedTypes(served, customTypes),
    unknownGroups: served.unknownGroups,
    listed: listedTypes(served),
  };
}

/** The types that support list and watch, in the member cluster's order. */
export function followedTypes(
  { resources }: Pick<Served, 'resources'>,
  customTypes: Pick<CustomTypes, 'get'>,
): ReadonlyMap<TypeKey, TypeInfo> {
  const versions = versionsOf(resources, ['list', 'watch']);
  return new Map([...versions].map(([key, of]) => [key, typeOf(of, customTypes.get(key))]));
}

/** The types that support list. Clusters answer requests for them in every version that they serve. */
function listedTypes(served: Served): readonly LiveType[] {
  const listed = [...versionsOf(served.resources, ['list']).values()].map((of) => {
    const verbs = readVerbs.filter((verb) => of[0]!.verbs.includes(verb));
    return Object.freeze({ ...typeOf(of, undefined), convertible: true, verbs });
  });
  return [...listed.filter(({ group }) => group !== resourceMetricsGroup), ...measuredTypes(served)];
}

const readVerbs = ['get', 'list', 'watch'];

/** The usable resources that have these verbs, by type, each with one element for each version. */
function versionsOf(
  resources: readonly ServedResource[],
  verbs: readonly string[],
): ReadonlyMap<TypeKey, readonly ServedResource[]> {
  const versions = new Map<TypeKey, ServedResource[]>();
  for (const resource of resources) {
    if (resource.kind === '' || !verbs.every((verb) => resource.verbs.includes(verb))) continue;
    const key = typeKey(resource);
    const of = versions.get(key);
    if (of !== undefined) of.push(resource);
    else if (versions.size < maxTypes) versions.set(key, [resource]);
  }
  return versions;
}

function typeOf(served: readonly ServedResource[], custom: ReturnType<CustomTypes['get']>): TypeInfo {
  const kept = served.find(({ version }) => version === custom?.storageVersion) ?? served[0]!;
  const { group, resource, version, kind, singular, shortNames, categories, namespaced } = kept;
  return Object.freeze({
    group,
    resource,
    version,
    versions: served.map((each) => each.version),
    kind,
    singular: singular === '' ? kind.toLowerCase() : singular,
    shortNames,
    categories,
    namespaced,
    convertible: custom?.convertible ?? false,
    ...(custom === undefined ? {} : { printerColumns: custom.printerColumns }),
  });
}

/**
 * Applies the versions that a configuration asks for (Clusterpedia's `versions`) to a type.
 * @returns the type with only these versions, and with the version to store rows in; or, when the cluster serves none
 * of these versions, a text that says so
 */
export function negotiateVersions(type: TypeInfo, requested: readonly string[]): TypeInfo | string {
  // Built-in types are stored in the version that the member cluster prefers; `versions` only applies to custom
  // resources.
  if (type.printerColumns === undefined || requested.length === 0 || requested.includes('*')) return type;
  const versions = type.versions.filter((version) => requested.includes(version));
  if (versions.length === 0) {
    return `${typeKey(type)} is served as ${type.versions.join(', ')}, not as ${requested.join(', ')}`;
  }
  const version = versions.includes(type.version) ? type.version : versions[0]!;
  return Object.freeze({ ...type, version, versions });
}

/**
 * Reads all CRDs of a member cluster into `customTypes`. A member without CRDs (404) is not an error.
 * @throws SyncSetback, GatewayError, MalformedAnswer (rejects)
 */
export async function readCustomTypes(
  ask: AskMember,
  cluster: string,
  customTypes: CustomTypes,
  timing: Pick<SyncTiming, 'headTimeoutMs' | 'listTimeoutMs'>,
  signal: AbortSignal,
): Promise<void> {
  let continueToken = '';
  const pages = new Pages();
  do {
    const query = new URLSearchParams({ limit: '100', ...(continueToken === '' ? {} : { continue: continueToken }) });
    const answer = await ask({
      path: `${crdPath}?${query.toString()}`,
      headTimeoutMs: timing.headTimeoutMs,
      wholeTimeoutMs: timing.listTimeoutMs,
      signal,
    });
    if (answer.status === 404) {
      answer.cancel();
      return;
    }
    if (answer.status !== 200) throw await refusalOf(answer, cluster, 'list of CustomResourceDefinitions');
    const items = readListItems(answer.chunks);
    for (;;) {
      const next = await items.next();
      if (next.done === true) {
        ({ continueToken } = next.value);
        if (continueToken !== '') pages.follow(continueToken);
        break;
      }
      customTypes.put(next.value);
    }
  } while (continueToken !== '');
}
