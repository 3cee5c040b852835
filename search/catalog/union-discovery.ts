// Makes discovery documents for the types that the caller may see, as if one API server had them all, in the form of
// one document for each group and version, and in the aggregated form (KEP-3352). Nothing of a cluster that the caller
// may not reach may be visible, not even a version or a short name.
import type { StoredType } from '../../store/store.ts';
import { typeKey } from '../../query/types.ts';
import type { LiveType, TypeInfo, TypeKey } from '../../query/types.ts';
import { apiVersionOf } from './catalog.ts';

/** A type in one of the versions in which it is offered. */
interface Offered {
  readonly type: TypeInfo;
  readonly version: string;
}

/** Types by group and version. Versions are in the order of preference. */
export interface Union {
  readonly groups: ReadonlyMap<string, ReadonlyMap<string, readonly TypeInfo[]>>;
}

/**
 * Joins the types of several clusters.
 * @param types the types that the caller may see
 * @param everyVersion true for discovery of a single cluster: versions that the index does not store are included,
 * because such requests are passed on to the cluster
 */
export function unionOf(types: readonly Pick<StoredType, 'type'>[], everyVersion: boolean): Union {
  const seen = new Map<string, Map<string, Map<TypeKey, TypeInfo>>>();
  for (const { type, version } of types.flatMap(({ type: each }) => offers(each, everyVersion))) {
    let versions = seen.get(type.group);
    if (versions === undefined) seen.set(type.group, (versions = new Map()));
    let byKey = versions.get(version);
    if (byKey === undefined) versions.set(version, (byKey = new Map()));
    const known = byKey.get(typeKey(type));
    byKey.set(typeKey(type), known === undefined ? type : joinedType(known, type));
  }
  const groups = [...seen].toSorted(([one], [other]) => (one < other ? -1 : 1));
  return {
    groups: new Map(
      groups.map(([group, versions]) => [
        group,
        new Map(
          [...versions]
            .toSorted(([one], [other]) => compareVersions(one, other))
            .map(([version, byKey]) => [
              version,
              [...byKey.values()].toSorted((one, other) => (one.resource < other.resource ? -1 : 1)),
            ]),
        ),
      ]),
    ),
  };
}

function offers(type: TypeInfo, everyVersion: boolean): readonly Offered[] {
  const versions = everyVersion || type.convertible ? type.versions : [type.version];
  return versions.map((version) => ({ type, version }));
}

/** Joins two descriptions of one type: the result has the short names and categories of both. */
function joinedType(one: TypeInfo, other: TypeInfo): TypeInfo {
  const both = (a: readonly string[], b: readonly string[]): readonly string[] => [...new Set([...a, ...b])];
  return {
    ...one,
    shortNames: both(one.shortNames, other.shortNames),
    categories: both(one.categories, other.categories),
  };
}

const kubeVersion = /^v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?$/;
const stability: Readonly<Record<string, number>> = { alpha: 0, beta: 1 };

/**
 * Compares versions so that the preferred one is sorted first (apimachinery version.CompareKubeAwareVersionStrings).
 */
export function compareVersions(one: string, other: string): number {
  const [a, b] = [kubeVersion.exec(one), kubeVersion.exec(other)];
  if (a === null || b === null) return a === b ? (one < other ? -1 : 1) : a === null ? 1 : -1;
  const rank = (match: RegExpExecArray): readonly number[] => [
    match[2] === undefined ? 2 : stability[match[2]]!,
    Number(match[1]),
    Number(match[3] ?? 0),
  ];
  const [ranks, others] = [rank(a), rank(b)];
  for (const [i, value] of ranks.entries()) if (value !== others[i]) return others[i]! - value;
  return 0;
}

const verbs = ['get', 'list', 'watch'];

function verbsOf(type: TypeInfo & Partial<LiveType>): readonly string[] {
  return type.verbs ?? verbs;
}

function groupEntry(group: string, versions: ReadonlyMap<string, unknown>): object {
  const entries = [...versions.keys()].map((version) => ({ groupVersion: apiVersionOf(group, version), version }));
  return { name: group, versions: entries, preferredVersion: entries[0] };
}

/** The documents `/api`, `/apis` and `/`. */
export function groupLists({ groups }: Union): Readonly<Record<'root' | 'api' | 'apis', object>> {
  const named = [...groups].filter(([group]) => group !== '');
  const paths = [...groups].flatMap(([group, versions]) =>
    [...versions.keys()].map((version) => (group === '' ? `/api/${version}` : `/apis/${group}/${version}`)),
  );
  return {
    root: { paths: ['/api', '/apis', ...paths, '/openapi/v3', '/version'] },
    api: { kind: 'APIVersions', versions: [...(groups.get('')?.keys() ?? [])], serverAddressByClientCIDRs: [] },
    apis: {
      kind: 'APIGroupList',
      apiVersion: 'v1',
      groups: named.map(([group, versions]) => groupEntry(group, versions)),
    },
  };
}

/** The APIGroup document of a group; undefined when there is no such group. */
export function groupDocument({ groups }: Union, group: string): object | undefined {
  const versions = groups.get(group);
  return versions && { kind: 'APIGroup', apiVersion: 'v1', ...groupEntry(group, versions) };
}

/** The APIResourceList of a group and version; undefined when there is none. */
export function resourceList({ groups }: Union, group: string, version: string): object | undefined {
  const types = groups.get(group)?.get(version);
  return (
    types && {
      kind: 'APIResourceList',
      apiVersion: 'v1',
      groupVersion: apiVersionOf(group, version),
      resources: types.map((type) => ({
        name: type.resource,
        singularName: type.singular,
        namespaced: type.namespaced,
        kind: type.kind,
        verbs: verbsOf(type),
        ...listsOf(type),
      })),
    }
  );
}

function listsOf({ shortNames, categories }: TypeInfo): object {
  return { ...(shortNames.length === 0 ? {} : { shortNames }), ...(categories.length === 0 ? {} : { categories }) };
}

/** The APIGroupDiscoveryList of `/api` or `/apis`. */
export function aggregatedList({ groups }: Union, document: 'api' | 'apis', version: string): object {
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: `apidiscovery.k8s.io/${version}`,
    metadata: {},
    items: [...groups]
      .filter(([group]) => (group === '') === (document === 'api'))
      .map(([group, versions]) => ({
        metadata: group === '' ? {} : { name: group },
        versions: [...versions].map(([name, types]) => ({
          version: name,
          freshness: 'Current',
          resources: types.map((type) => ({
            resource: type.resource,
            responseKind: { group, version: name, kind: type.kind },
            scope: type.namespaced ? 'Namespaced' : 'Cluster',
            singularResource: type.singular,
            verbs: verbsOf(type),
            ...listsOf(type),
          })),
        })),
      })),
  };
}

/**
 * The document `/openapi/v3`, which lists the paths of all groups and versions. The URLs begin at the root, because
 * clients put their own prefix in front (client-go pkg openapi).
 */
export function openapiRoot({ groups }: Union): object {
  const paths = [...groups].flatMap(([group, versions]) =>
    [...versions.keys()].map((version) => (group === '' ? `api/${version}` : `apis/${group}/${version}`)),
  );
  return { paths: Object.fromEntries(paths.map((path) => [path, { serverRelativeURL: `/openapi/v3/${path}` }])) };
}
