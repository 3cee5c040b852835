// Shows one cluster record as a Kubernetes object and as a Table row. Security: nothing here may be secret. Of a
// credential only its kind is shown, and a proxy's URL is shown without user and password.
import type {
  ClusterRecord,
  Condition,
  Endpoint,
  IdentityMode,
  ProxyAddress,
  SourceCondition,
} from '../../model/records.ts';
import { gatewayGroup, groupVersionOf } from '../../request/api-groups.ts';
import { column } from './served-resource.ts';

const apiVersion = groupVersionOf(gatewayGroup);

/**
 * The record as a `Cluster` object of the API group gateway.portcullis.io. api/discovery/openapi-schemas.ts describes
 * its fields.
 */
export function clusterObject(record: ClusterRecord, identity: IdentityMode): object {
  const { spec, status } = record;
  return {
    apiVersion,
    kind: 'Cluster',
    metadata: clusterMetadata(record),
    spec: {
      server: serverUrl(record),
      source: { type: spec.source, detail: spec.sourceDetail },
      originalName: spec.originalName,
      credential: spec.credential?.kind ?? 'none',
      ...(spec.tls.serverName === undefined ? {} : { tlsServerName: spec.tls.serverName }),
      ...(spec.tls.insecure ? { insecureSkipTLSVerify: true } : {}),
      ...(spec.fallbacks === undefined || spec.fallbacks.length === 0
        ? {}
        : { fallbackServers: spec.fallbacks.map(({ endpoint }) => endpointUrl(endpoint)) }),
      ...(spec.proxy === undefined ? {} : { proxyURL: proxyUrl(spec.proxy) }),
    },
    status: {
      identity,
      ...(status.version === '' ? {} : { version: { kubernetes: status.version } }),
      ...(status.latencyMs === undefined ? {} : { latencyMilliseconds: Math.round(status.latencyMs) }),
      conditions: conditionsOf(record),
    },
  };
}

/** `metadata` of a `Cluster`, the same in the full object, in PartialObjectMetadata and in Table rows. */
export function clusterMetadata(record: ClusterRecord): object {
  const { spec } = record;
  return {
    name: spec.name,
    uid: spec.uid,
    resourceVersion: record.resourceVersion,
    creationTimestamp: record.createdAt,
    ...(Object.keys(spec.labels).length === 0 ? {} : { labels: spec.labels }),
  };
}

/**
 * Conditions of a cluster. When the cluster cannot be used, for example because it has no address, the first is
 * `Available: False` with the reason; otherwise the first are those that the health probe found. The condition of the
 * index follows, then those from the cluster's objects on the hub whose type is not in the list yet.
 */
export function conditionsOf(record: ClusterRecord): readonly (Condition | SourceCondition)[] {
  const { problem, conditions = [] } = record.spec;
  const own: readonly Condition[] =
    problem === undefined
      ? record.status.conditions
      : [
          {
            type: 'Available',
            status: 'False',
            reason: problem.reason,
            message: problem.message,
            lastTransitionTime: record.createdAt,
          },
        ];
  const { indexed } = record.status;
  const ours = indexed === undefined ? own : [...own, indexed.condition];
  return [...ours, ...conditions.filter(({ type }) => ours.every((each) => each.type !== type))];
}

/** Address of the cluster's API server as a URL; '' when the record has no address. */
export function serverUrl({ spec }: ClusterRecord): string {
  return spec.endpoint === undefined ? '' : endpointUrl(spec.endpoint);
}

function endpointUrl({ scheme, host, port, basePath }: Endpoint): string {
  return `${scheme}://${bracketed(host)}:${port}${basePath}`;
}

/** URL of the proxy in front of a cluster, without user, password and headers. */
export function proxyUrl({ scheme, host, port, socketPath }: ProxyAddress): string {
  return scheme === 'unix' ? `unix://${socketPath ?? ''}` : `${scheme}://${bracketed(host)}:${port}`;
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

/** Columns of `kubectl get clusters`. Columns of priority 1 appear only with `-o wide`. */
export const clusterColumns = [
  column('Name', 'string', 0, 'Name of the cluster in paths.', 'name'),
  column('Available', 'string', 0, 'Whether the API server answers: True, False or Unknown.'),
  column('Version', 'string', 0, 'Kubernetes version of the cluster.'),
  column('Source', 'string', 0, 'What the gateway knows the cluster from.'),
  column(
    'Identity',
    'string',
    0,
    'As whom requests reach the cluster: the impersonated caller, or the own credential (self).',
  ),
  column('Latency', 'string', 0, 'Round trip of the last probe.'),
  column(
    'Index',
    'string',
    0,
    'How the cluster stands in the index: Synced, Syncing with a share, Forbidden, Stale or -.',
  ),
  column('Age', 'string', 0, 'Time since the gateway knows the cluster.'),
  column('Reason', 'string', 1, 'Why the cluster is not available, or what limits its use.'),
  column('Server', 'string', 1, 'Address of the API server.'),
  column('Credential', 'string', 1, 'Kind of the credential the gateway uses.'),
  column('Original Name', 'string', 1, 'Name as the source wrote it.'),
];

/** Table cells of one cluster, in the order of {@link clusterColumns}. */
export function clusterCells(record: ClusterRecord, identity: IdentityMode, nowMs: number): readonly string[] {
  const { spec, status } = record;
  const conditions = conditionsOf(record);
  const available = conditions.find((condition) => condition.type === 'Available');
  // Finds a condition with status False that limits the use of the cluster. `Indexed` is left out, because it has a
  // table column of its own. `Insecure` is left out, because for it the status False means that all is well.
  const limiting = conditions.find(({ type, status: is }) => !['Insecure', 'Indexed'].includes(type) && is === 'False');
  return [
    spec.name,
    available?.status ?? 'Unknown',
    status.version === '' ? '<unknown>' : status.version,
    spec.source,
    identity,
    status.latencyMs === undefined ? '<unknown>' : `${Math.round(status.latencyMs)}ms`,
    status.indexed?.summary ?? '-',
    ageText(nowMs - Date.parse(record.createdAt)),
    (available?.status === 'True' ? limiting?.reason : available?.reason) ?? '',
    serverUrl(record),
    spec.credential?.kind ?? 'none',
    spec.originalName,
  ];
}

/** An age as kubectl prints it (apimachinery duration.HumanDuration). */
export function ageText(ageMs: number): string {
  const seconds = Math.max(0, Math.floor(ageMs / 1000));
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return seconds % 60 === 0 ? `${minutes}m` : `${minutes}m${seconds % 60}s`;
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return minutes % 60 === 0 ? `${hours}h` : `${hours}h${minutes % 60}m`;
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (days < 8) return hours % 24 === 0 ? `${days}d` : `${days}d${hours % 24}h`;
  if (days < 365 * 2) return `${days}d`;
  const years = Math.floor(days / 365);
  return years < 8 && days % 365 !== 0 ? `${years}y${days % 365}d` : `${years}y`;
}
