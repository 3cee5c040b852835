// Discovery documents of the served API groups, in the legacy and the aggregated form (KEP-3352). They are made once,
// when the gateway starts. They must not depend on a member, the hub or permissions, because kubectl can do nothing
// when discovery fails.
import { gatewayVersion, groupVersionOf } from './api-groups.ts';
import type { ApiGroup, ApiResource } from './api-groups.ts';

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
 * Makes the discovery documents of `groups`. `more` and `moreAggregated` describe further groups, which other files
 * define, in legacy and in aggregated form.
 */
export function makeDiscovery(
  groups: readonly ApiGroup[],
  more: readonly object[] = [],
  moreAggregated: readonly object[] = [],
): DiscoveryDocuments {
  const entries = groups.map(({ name }) => groupEntry(name));
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
    apis: { kind: 'APIGroupList', apiVersion: 'v1', groups: [...entries, ...more] },
    groups: new Map(groups.map(({ name }, i) => [name, { kind: 'APIGroup', apiVersion: 'v1', ...entries[i] }])),
    resources: new Map(groups.map((group) => [group.name, resourceList(group)])),
    aggregated: (document, version) => ({
      kind: 'APIGroupDiscoveryList',
      apiVersion: `apidiscovery.k8s.io/${version}`,
      metadata: {},
      items: document === 'api' ? [] : [...groups.map(aggregatedGroup), ...moreAggregated],
    }),
  };
}

function groupEntry(name: string): object {
  const version = { groupVersion: groupVersionOf(name), version: gatewayVersion };
  return { name, versions: [version], preferredVersion: version };
}

function resourceList({ name, resources }: ApiGroup): object {
  return {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: groupVersionOf(name),
    resources: resources.flatMap((resource) => [
      {
        name: resource.plural,
        singularName: resource.singular,
        namespaced: false,
        kind: resource.kind,
        verbs: resource.verbs,
        ...listsOf(resource),
      },
      ...resource.subresources.map((each) => ({
        name: `${resource.plural}/${each.name}`,
        singularName: '',
        namespaced: false,
        kind: each.kind,
        verbs: each.verbs,
      })),
    ]),
  };
}

function aggregatedGroup({ name, resources }: ApiGroup): object {
  const responseKind = (kind: string): object => ({ group: name, version: gatewayVersion, kind });
  return {
    metadata: { name },
    versions: [
      {
        version: gatewayVersion,
        freshness: 'Current',
        resources: resources.map((resource) => ({
          resource: resource.plural,
          responseKind: responseKind(resource.kind),
          scope: 'Cluster',
          singularResource: resource.singular,
          verbs: resource.verbs,
          ...listsOf(resource),
          ...(resource.subresources.length === 0
            ? {}
            : {
                subresources: resource.subresources.map((each) => ({
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

function listsOf({ shortNames, categories }: ApiResource): object {
  return { ...(shortNames.length === 0 ? {} : { shortNames }), ...(categories.length === 0 ? {} : { categories }) };
}

/** Content-Type of aggregated discovery in the given version. */
export function aggregatedMediaType(version: string): string {
  return `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
}
