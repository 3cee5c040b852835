// The API groups that the gateway serves, as data for discovery and for the routes. Karmada's group cluster.karmada.io
// is not served, because a hub with Karmada serves it already. Of that group, the gateway has only the proxy path.

/** The API group of Portcullis itself. */
export const gatewayGroup = 'gateway.portcullis.io';
/**
 * The API group of the project cluster-gateway, served for its clients (oam-dev/cluster-gateway
 * pkg/apis/cluster/v1alpha1).
 */
export const clusterGatewayGroup = 'cluster.core.oam.dev';
/** Karmada's API group. The gateway serves only its proxy paths, for Karmada's clients. */
export const karmadaGroup = 'cluster.karmada.io';
/** The version of all API groups in this file. */
export const gatewayVersion = 'v1alpha1';

/** The API groups whose objects and OpenAPI documents the gateway serves itself. */
export type ServedGroup = typeof gatewayGroup | typeof clusterGatewayGroup;
/** Plural names of the resources that the gateway serves. */
export type ServedPlural = 'clusters' | 'statistics' | 'clustergateways' | 'virtualclusters';
/** Subresources that the gateway answers itself. `proxy` is not one of them: it goes to the member cluster. */
export type ServedSubresource = 'status' | 'health';

/** One resource as it appears in API discovery. */
export interface ApiResource {
  readonly plural: ServedPlural;
  readonly singular: string;
  readonly kind: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly verbs: readonly string[];
  readonly subresources: readonly ApiSubresource[];
}

export interface ApiSubresource {
  readonly name: 'proxy' | ServedSubresource;
  readonly kind: string;
  readonly verbs: readonly string[];
}

/** One API group with its resources. */
export interface ApiGroup {
  readonly name: ServedGroup;
  readonly resources: readonly ApiResource[];
}

const readVerbs = ['get', 'list', 'watch'];
/** The verbs that kube-apiserver lists in discovery for pods/proxy. */
const connectVerbs = ['create', 'delete', 'get', 'patch', 'update'];

/** All API groups that the gateway serves; Portcullis's own is the first. */
export const apiGroups: readonly ApiGroup[] = [
  {
    name: gatewayGroup,
    resources: [
      {
        plural: 'clusters',
        singular: 'cluster',
        kind: 'Cluster',
        shortNames: ['pcl'],
        categories: ['portcullis'],
        verbs: readVerbs,
        subresources: [
          { name: 'proxy', kind: 'Cluster', verbs: connectVerbs },
          { name: 'status', kind: 'Cluster', verbs: ['get'] },
        ],
      },
      {
        plural: 'statistics',
        singular: 'clusterstatistics',
        kind: 'ClusterStatistics',
        shortNames: [],
        categories: [],
        verbs: ['get', 'list'],
        subresources: [],
      },
    ],
  },
  {
    name: clusterGatewayGroup,
    resources: [
      {
        plural: 'clustergateways',
        singular: 'clustergateway',
        kind: 'ClusterGateway',
        shortNames: [],
        categories: [],
        verbs: readVerbs,
        subresources: [
          { name: 'health', kind: 'ClusterGateway', verbs: ['get', 'update'] },
          { name: 'proxy', kind: 'ClusterGatewayProxyOptions', verbs: connectVerbs },
        ],
      },
      {
        plural: 'virtualclusters',
        singular: 'virtualcluster',
        kind: 'VirtualCluster',
        shortNames: ['vc', 'vcluster', 'vclusters', 'virtual-cluster', 'virtual-clusters'],
        categories: [],
        verbs: readVerbs,
        subresources: [],
      },
    ],
  },
];

/** For each API group: the resource whose `proxy` subresource leads to member clusters. */
export const proxyResources: ReadonlyMap<string, string> = new Map([
  [gatewayGroup, 'clusters'],
  [clusterGatewayGroup, 'clustergateways'],
  [karmadaGroup, 'clusters'],
]);

/** Group and version as in paths and `apiVersion` fields, for example `gateway.portcullis.io/v1alpha1`. */
export function groupVersionOf(group: string): string {
  return `${group}/${gatewayVersion}`;
}
