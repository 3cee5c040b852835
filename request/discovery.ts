// Discovery documents of the served API groups, in the legacy and the aggregated form (KEP-3352). They are made once,
// when the gateway starts. They must not depend on a member, the hub or permissions, because kubectl can do nothing
// when discovery fails.
import { gatewayVersion, groupVersionOf } from './api-groups.ts';
import type { ApiGroup } from './api-groups.ts';

/**
 * An API group as discovery documents show it: one of the gateway's own ({@link ApiGroup}), or another group with a
 * version of its own.
 */
export interface ShownGroup {
  readonly name: string;
  /** The group's only version; when undefined, the group has the version of the gateway's own groups. */
  readonly version?: string;
  readonly resources: readonly ShownResource[];
}

interface ShownResource {
  readonly plural: string;
  readonly singular: string;
  readonly kind: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly verbs: readonly string[];
  readonly subresources?: readonly {
    readonly name: string;
    readonly kind: string;
    readonly verbs: readonly string[];
  }[];
}

/** All discovery documents: `root` is `/`, `api` is `/api`, `apis` is `/apis`. */
export interface DiscoveryDocuments {
  readonly root: object;
  readonly api: object;
  readonly apis: object;
  /** APIGroup documents, by the name of the group. */
  readonly groups: ReadonlyMap<string, object>;
  /** APIResourceList documents, by the name of the group. */
  readonly resources: ReadonlyMap<string, object>;
  /** The APIGroupDiscoveryList of `/apis` or `/api`, in `version` v2 or v2beta1. */
  aggregated(document: 'api' | 'apis', version: string): object;
}

/**
 * Makes the discovery documents of `groups` and of `more`. The root document (`/`) does not list the paths of `more`.
 */
export function makeDiscovery(groups: readonly ApiGroup[], more: readonly ShownGroup[] = []): DiscoveryDocuments {
  const all: readonly ShownGroup[] = [...groups, ...more];
  return {
    root: {
      paths: [
        '/apis',
        ...groups.flatMap(({ name }) => [`/apis/${name}`, `/apis/${groupVersionOf(name)}`]),
        '/healthz',
        '/livez',
        '/openapi/v2',
        '/openapi/v3',
        ...groups.map(({ name }) => `/openapi/v3/apis/${groupVersionOf(name)}`),
        '/readyz',
        '/version',
      ],
    },
    api: { kind: 'APIVersions', versions: [], serverAddressByClientCIDRs: [] },
    apis: { kind: 'APIGroupList', apiVersion: 'v1', groups: all.map(groupEntry) },
    groups: new Map(all.map((group) => [group.name, { kind: 'APIGroup', apiVersion: 'v1', ...groupEntry(group) }])),
    resources: new Map(all.map((group) => [group.name, resourceList(group)])),
    aggregated: (document, version) => ({
      kind: 'APIGroupDiscoveryList',
      apiVersion: `apidiscovery.k8s.io/${version}`,
      metadata: {},
      items: document === 'api' ? [] : all.map(aggregatedGroup),
    }),
  };
}

function groupEntry({ name, version = gatewayVersion }: ShownGroup): object {
  const only = { groupVersion: `${name}/${version}`, version };
  return { name, versions: [only], preferredVersion: only };
}

function resourceList({ name, version = gatewayVersion, resources }: ShownGroup): object {
  return {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: `${name}/${version}`,
    resources: resources.flatMap(({ plural, singular, kind, verbs, subresources = [], ...lists }) => [
      { name: plural, singularName: singular, namespaced: false, kind, verbs, ...filled(lists) },
      ...subresources.map((each) => ({ ...each, name: `${plural}/${each.name}`, singularName: '', namespaced: false })),
    ]),
  };
}

function aggregatedGroup({ name, version = gatewayVersion, resources }: ShownGroup): object {
  const responseKind = (kind: string): object => ({ group: name, version, kind });
  return {
    metadata: { name },
    versions: [
      {
        version,
        freshness: 'Current',
        resources: resources.map(({ plural, singular, kind, verbs, subresources = [], ...lists }) => ({
          resource: plural,
          responseKind: responseKind(kind),
          scope: 'Cluster',
          singularResource: singular,
          verbs,
          ...filled({
            ...lists,
            subresources: subresources.map((each) => ({
              subresource: each.name,
              responseKind: responseKind(each.kind),
              verbs: each.verbs,
            })),
          }),
        })),
      },
    ],
  };
}

/** The given lists without the empty ones, which Kubernetes leaves out of discovery documents. */
function filled(lists: Readonly<Record<string, readonly unknown[]>>): object {
  return Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0));
}

/** Content-Type of aggregated discovery in the given version. */
export function aggregatedMediaType(version: string): string {
  return `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
}
