// The API groups the gateway serves, as data for discovery and for the routes. Karmada's group is not among them: a hub
// with Karmada serves it already, so it only has a proxy path on the direct listener.

/** Our own API group. */
export const gatewayGroup = 'gateway.portcullis.io';
/** cluster-gateway's group, for its clients (oam-dev/cluster-gateway pkg/apis/cluster/v1alpha1). */
export const clusterGatewayGroup = 'cluster.core.oam.dev';
/** Karmada's group, for the paths of its clients. */
export const karmadaGroup = 'cluster.karmada.io';
/** The one version of every group here. */
export const gatewayVersion = 'v1alpha1';

/** A group whose objects and OpenAPI documents the gateway serves itself. */
export type ServedGroup = typeof gatewayGroup | typeof clusterGatewayGroup;
/** Plural names of the resources that can be listed. */
export type ServedPlural = 'clusters' | 'clustergateways' | 'virtualclusters';
/** A subresource that is answered here; `proxy` goes to the member. */
export type ServedSubresource = 'status' | 'health';

/** One resource as discovery shows it. */
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

/** One group with its resources, sorted by name. */
export interface ApiGroup {
  readonly name: ServedGroup;
  readonly resources: readonly ApiResource[];
}

const readVerbs = ['get', 'list', 'watch'];
/** As kube-apiserver lists them for pods/proxy. */
const connectVerbs = ['create', 'delete', 'get', 'patch', 'update'];

/** Every group, ours first. */
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

/** The resource whose `proxy` subresource leads to members, by group. */
export const proxyResources: ReadonlyMap<string, string> = new Map([
  [gatewayGroup, 'clusters'],
  [clusterGatewayGroup, 'clustergateways'],
  [karmadaGroup, 'clusters'],
]);

/** Group and version as in paths and apiVersion fields. */
export function groupVersionOf(group: string): string {
  return `${group}/${gatewayVersion}`;
}
