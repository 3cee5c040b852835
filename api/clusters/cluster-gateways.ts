// Serves `clustergateways.cluster.core.oam.dev` as the project cluster-gateway does, but without credentials. Security:
// annotations of a Secret are never copied into answers, because `kubectl apply` stores the whole Secret in one of
// them. Only the two health annotations are read.
import { groupVersionOf, clusterGatewayGroup } from '../../request/api-groups.ts';
import type { ClusterGatewayView, ClusterRecord } from '../../model/records.ts';
import { serverUrl, proxyUrl } from './cluster-object.ts';
import { column } from './served-resource.ts';
import type { ServedObject, ServedResource } from './served-resource.ts';

/**
 * The two annotations in which cluster-gateway keeps the health of a cluster (its source file
 * clustergateway_types_secret.go).
 */
export const healthyAnnotation = 'status.cluster.core.oam.dev/healthy';
export const healthyReasonAnnotation = 'status.cluster.core.oam.dev/healthy-reason';

/**
 * Columns of `kubectl get clustergateways`, with the names that cluster-gateway gives them (its source file
 * printer.go).
 */
const columns = [
  column('Name', 'string', 0, 'Name of the cluster.', 'name'),
  column('Provider', 'string', 0, 'Provider of the cluster; always empty.'),
  column('Credential-Type', 'string', 0, 'Kind of the credential the gateway uses.'),
  column('Endpoint-Type', 'string', 0, 'How the cluster is reached: Const or ClusterProxy.'),
  column('Healthy', 'string', 0, 'What was last written to the health subresource.'),
];

/**
 * The resource `clustergateways`. It holds the clusters that the project cluster-gateway itself would show: those from
 * its own Secrets and from OCM's ManagedClusters.
 */
export const clusterGatewaysResource: ServedResource = {
  group: clusterGatewayGroup,
  plural: 'clustergateways',
  kind: 'ClusterGateway',
  columns,
  fixed: [],
  showsProbe: false,
  of(record) {
    const view = shownView(record);
    return view && servedGateway(record, view);
  },
};

/**
 * What `clustergateways` shows of a cluster; undefined when the cluster is not shown. Two kinds of clusters are not
 * shown: one whose name belongs to a cluster of another source, because a request by that name would reach the other
 * cluster, and a ManagedCluster without an address.
 */
export function shownView({ spec }: ClusterRecord): ClusterGatewayView | undefined {
  const { problem, clusterGateway: view } = spec;
  if (problem?.reason === 'NameConflict') return undefined;
  return problem?.reason === 'NoAddress' && view?.secret === undefined ? undefined : view;
}

function servedGateway(record: ClusterRecord, view: ClusterGatewayView): ServedObject {
  const { creationTimestamp, labels } = view.metadata;
  const status = healthOf(view);
  const credentialType = view.credentialType === '' ? undefined : view.credentialType;
  return {
    name: record.spec.name,
    labels,
    resourceVersion: record.resourceVersion,
    createdAt: secondsOf(creationTimestamp),
    metadata: () => gatewayMetadata(record, view),
    whole: () => ({
      apiVersion: groupVersionOf(clusterGatewayGroup),
      kind: 'ClusterGateway',
      metadata: gatewayMetadata(record, view),
      spec: {
        provider: '',
        access: {
          endpoint: endpointOf(record, view),
          ...(credentialType && { credential: { type: credentialType } }),
        },
      },
      status,
    }),
    cells: () => [record.spec.name, '', credentialType ?? '<none>', view.endpointType, String(status.healthy ?? false)],
  };
}

function gatewayMetadata({ spec, resourceVersion }: ClusterRecord, view: ClusterGatewayView): object {
  const { uid, creationTimestamp, labels } = view.metadata;
  return {
    name: spec.name,
    uid,
    resourceVersion,
    creationTimestamp,
    ...(Object.keys(labels).length === 0 ? {} : { labels }),
  };
}

function endpointOf(record: ClusterRecord, { endpointType }: ClusterGatewayView): object {
  if (endpointType === 'ClusterProxy') return { type: endpointType };
  const { tls, proxy } = record.spec;
  return {
    type: endpointType,
    const: {
      address: serverUrl(record),
      ...(tls.insecure ? { insecure: true } : {}),
      ...(proxy === undefined ? {} : { 'proxy-url': proxyUrl(proxy) }),
    },
  };
}

/**
 * `status` of a ClusterGateway object, from the annotations on the hub. False and '' are left out, as Go's omitempty
 * does.
 */
export function healthOf({ metadata }: ClusterGatewayView): { healthy?: true; healthyReason?: string } {
  const healthyReason = metadata.annotations[healthyReasonAnnotation] ?? '';
  return {
    ...(goTrue.has(metadata.annotations[healthyAnnotation] ?? '') ? { healthy: true as const } : {}),
    ...(healthyReason === '' ? {} : { healthyReason }),
  };
}

/** The strings that Go's strconv.ParseBool reads as true. */
const goTrue: ReadonlySet<string> = new Set(['1', 't', 'T', 'true', 'TRUE', 'True']);

/** An RFC 3339 time as seconds since 1970; 0 when it cannot be read. */
export function secondsOf(time: string): number {
  const parsed = Date.parse(time);
  return Number.isNaN(parsed) ? 0 : parsed / 1000;
}
