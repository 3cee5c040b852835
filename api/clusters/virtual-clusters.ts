// Serves `virtualclusters.cluster.core.oam.dev` as the project cluster-gateway does: first the hub itself, called
// `local`, then clusters from Secrets and ManagedClusters. Like cluster-gateway, the answers add a control-plane label
// that no object on the hub has, and hide cluster-gateway's other labels.
import type { ClusterGatewayView, ClusterRecord } from '../../model/records.ts';
import { clusterGatewayGroup, groupVersionOf } from '../../request/api-groups.ts';
import { secondsOf, shownView } from './cluster-gateways.ts';
import { serverUrl } from './cluster-object.ts';
import { column } from './served-resource.ts';
import type { ServedObject, ServedResource } from './served-resource.ts';

const aliasAnnotation = 'cluster.core.oam.dev/cluster-alias';
const endpointTypeLabel = 'cluster.core.oam.dev/cluster-endpoint-type';
const controlPlaneLabel = 'cluster.core.oam.dev/control-plane';
const localName = 'local';

/**
 * Columns of `kubectl get virtualclusters`, with the names that the project cluster-gateway gives them
 * (virtualcluster_types.go).
 */
const columns = [
  column('Name', 'string', 0, 'Name of the cluster.', 'name'),
  column('Alias', 'string', 0, 'Another name for people.'),
  column('Credential_Type', 'string', 0, 'Kind of the credential, or where it comes from.'),
  column('Endpoint', 'string', 0, 'How the cluster is reached.'),
  column('Accepted', 'boolean', 0, 'Whether the hub accepts the cluster.'),
  column('Labels', 'string', 0, 'Labels of the cluster.'),
  column('Creation_Timestamp', 'dateTime', 10, 'When the object of the cluster was made.'),
];

/**
 * The resource `virtualclusters`.
 * @param startVersion resourceVersion of the cluster store when the process started. The object `local` always has this
 * resourceVersion, since it never changes
 */
export function virtualClustersResource(startVersion: string): ServedResource {
  return {
    group: clusterGatewayGroup,
    plural: 'virtualclusters',
    kind: 'VirtualCluster',
    columns,
    fixed: [localCluster(startVersion)],
    // `local` first, then the newest cluster first, as cluster-gateway's List sorts them.
    compare: (a, b) =>
      Number(b.name === localName) - Number(a.name === localName) ||
      b.createdAt - a.createdAt ||
      (a.name < b.name ? -1 : 1),
    showsProbe: false,
    of(record) {
      const view = shownView(record);
      return view && servedVirtualCluster(record, view);
    },
  };
}

interface Spec {
  readonly alias: string;
  readonly accepted: boolean;
  readonly endpoint: string;
  readonly credentialType: string;
}

function localCluster(resourceVersion: string): ServedObject {
  const metadata = { name: localName, resourceVersion, labels: { [controlPlaneLabel]: 'true' } };
  return served(metadata, undefined, {
    alias: '',
    accepted: true,
    endpoint: '-',
    credentialType: 'Internal',
  });
}

function servedVirtualCluster(record: ClusterRecord, view: ClusterGatewayView): ServedObject {
  const { uid, creationTimestamp, labels, annotations } = view.metadata;
  const shown = Object.entries(labels).filter(([name]) => !name.startsWith(clusterGatewayGroup));
  const metadata = {
    name: record.spec.name,
    uid,
    resourceVersion: record.resourceVersion,
    creationTimestamp,
    labels: { ...Object.fromEntries(shown), [controlPlaneLabel]: 'false' },
  };
  return served(metadata, creationTimestamp, {
    alias: annotations[aliasAnnotation] ?? '',
    // A cluster without a Secret comes from OCM. Its endpoint is not shown, and its column `Accepted` says whether the
    // hub accepts the cluster.
    ...(view.secret === undefined
      ? { accepted: isAccepted(record), endpoint: '-', credentialType: 'ManagedCluster' }
      : {
          accepted: true,
          endpoint: labels[endpointTypeLabel] ?? serverUrl(record),
          credentialType: view.credentialType,
        }),
  });
}

/**
 * Whether the hub accepts the cluster: `spec.hubAcceptsClient` of the ManagedCluster, which the cluster record has as
 * the condition `HubAccepted`.
 */
function isAccepted({ spec }: ClusterRecord): boolean {
  return !(spec.conditions ?? []).some(({ type, status }) => type === 'HubAccepted' && status === 'False');
}

function served(
  metadata: {
    readonly name: string;
    readonly resourceVersion: string;
    readonly labels: Readonly<Record<string, string>>;
  },
  creationTimestamp: string | undefined,
  { alias, accepted, endpoint, credentialType }: Spec,
): ServedObject {
  const { name, resourceVersion, labels } = metadata;
  return {
    name,
    labels,
    resourceVersion,
    createdAt: secondsOf(creationTimestamp ?? ''),
    metadata: () => metadata,
    whole: () => ({
      apiVersion: groupVersionOf(clusterGatewayGroup),
      kind: 'VirtualCluster',
      metadata,
      spec: {
        ...(alias === '' ? {} : { alias }),
        ...(accepted ? { accepted } : {}),
        endpoint,
        'credential-type': credentialType,
      },
    }),
    cells: () => [
      name,
      alias,
      credentialType,
      endpoint,
      accepted,
      Object.entries(labels)
        .map(([label, value]) => `${label}=${value}`)
        .toSorted()
        .join(','),
      creationTimestamp ?? null,
    ],
  };
}
