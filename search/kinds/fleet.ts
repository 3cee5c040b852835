// Answers `/metrics/fleet`: numbers of pods, deployments and nodes of all clusters, for Prometheus. Security: they are
// numbers of the rows that the caller may list, by the same rights as a list. So two callers may get different numbers,
// and a cluster in which the caller may list nothing is not mentioned.
import { documentPaths, readDocument, readValues } from '../../query/document.ts';
import { allOf } from '../../query/list-query.ts';
import { parsePath } from '../../query/path.ts';
import type { RowScope } from '../../query/scope/scope.ts';
import type { RowRead } from '../../store/store.ts';
import { typeKey } from '../../query/types.ts';
import type { ResourceType } from '../../query/types.ts';
import type { SyncView } from '../../sync/sync-view.ts';
import type { AnswerDependencies, FetchDependencies } from '../api/answer-dependencies.ts';
import type { WholeAnswer } from '../api/answer.ts';
import { notIndexed } from '../catalog/catalog.ts';
import type { Reads } from '../api/current-rights.ts';
import { planOf, visibilityOf } from '../api/plan.ts';
import type { Plan, Visibility } from '../api/plan.ts';
import type { FleetQuestion } from '../api/question.ts';
import type { IndexRequest } from '../request/request.ts';
import type { Asked, Fetched, Planned, Authorized } from '../api/state.ts';
import { aboutRequest } from './plan-types.ts';
import { scopeConcerns } from '../request/visible.ts';
import { expositionFormat, Gauge } from '../api/exposition.ts';

const pods: ResourceType = { group: '', resource: 'pods' };
const deployments: ResourceType = { group: 'apps', resource: 'deployments' };
const nodes: ResourceType = { group: '', resource: 'nodes' };
const counted = [pods, deployments, nodes];

/**
 * The phases that a pod may have (core/v1 PodPhase), as kube-state-metrics counts them. Other phases are not counted:
 * each phase costs a query, and a faulty cluster may report any number of invented ones.
 */
const podPhases = ['Failed', 'Pending', 'Running', 'Succeeded', 'Unknown'];

export function readFleet(request: IndexRequest): FleetQuestion {
  return { kind: 'fleet', format: expositionFormat(request.headers) };
}

export function rightsToFleet(
  { request }: Asked<FleetQuestion>,
  dependencies: AnswerDependencies,
): Promise<Visibility> {
  const types = counted.map((type) => ({ ...type, version: undefined }));
  const ofAll = { clusters: undefined, cluster: undefined, mayBeNone: true };
  return visibilityOf({ user: request.user, verb: 'list', types, ...ofAll }, dependencies);
}

/** Plans the numbers like a list of pods, deployments and nodes. A type that is not indexed only gives a warning. */
export async function planFleet(
  { visibility }: Authorized<FleetQuestion, Visibility>,
  dependencies: AnswerDependencies,
): Promise<Plan> {
  const plan = await planOf(visibility, dependencies);
  const isThere = (type: ResourceType): boolean => plan.views.some((view) => typeKey(view.type) === typeKey(type));
  const missing = counted.filter((type) => !isThere(type)).map((type) => notIndexed(type, undefined).message);
  return { ...plan, warnings: [...aboutRequest(...missing), ...plan.warnings] };
}

/** Counts pods, deployments and nodes in the index, and returns the text of all metrics. */
export async function fetchFleet(
  { plan }: Planned<FleetQuestion, Visibility, Plan>,
  { reads, sync }: FetchDependencies,
): Promise<string> {
  const gauges = [
    clusterGauge(plan, sync),
    await podGauge(reads, plan.scope),
    ...(await deploymentGauges(reads, plan.scope)),
    await nodeGauge(reads, plan.scope),
  ];
  return gauges.map((gauge) => gauge.text()).join('');
}

export function formFleet({
  question: { format },
  plan: { warnings },
  found,
}: Fetched<FleetQuestion, Visibility, Plan, string>): WholeAnswer {
  return { kind: 'whole', body: Buffer.from(found + format.end), warnings, contentType: format.contentType };
}

/** Makes the metric that says for each counted cluster whether its numbers are up to date: 0 if a warning names it. */
function clusterGauge({ scope, warnings }: Plan, sync: SyncView): Gauge {
  const gauge = new Gauge(
    'portcullis_fleet_cluster_current',
    'Whether all that is counted of the cluster is in the index and up to date.',
  );
  const named = new Set(warnings.flatMap(({ cluster }) => cluster ?? []));
  const seen = sync
    .state()
    .filter(({ incarnation }) => counted.some((type) => scopeConcerns(scope, incarnation?.id ?? '', typeKey(type))))
    .map(({ cluster }) => cluster);
  for (const cluster of [...new Set([...seen, ...named])].toSorted())
    gauge.add({ cluster }, named.has(cluster) ? 0 : 1);
  return gauge;
}

async function podGauge(reads: Reads, scope: RowScope): Promise<Gauge> {
  const gauge = new Gauge('kube_pod_status_phase', 'Pods of a namespace by phase.');
  const path = parsePath('status.phase', true);
  for (const phase of podPhases) {
    const fields = [{ path, operator: 'Equals' as const, values: [phase] }];
    const found = await reads.facets({ ...allOf(pods), fields }, scope, 'cluster/namespace', Infinity);
    for (const { value, count } of found.counts) {
      const [cluster, namespace] = value.split('/') as [string, string];
      gauge.add({ cluster, namespace, phase }, count);
    }
  }
  return gauge;
}

async function deploymentGauges(reads: Reads, scope: RowScope): Promise<readonly Gauge[]> {
  const wanted = new Gauge('kube_deployment_spec_replicas', 'Replicas that a deployment wants.');
  const ready = new Gauge('kube_deployment_status_replicas_ready', 'Replicas of a deployment that are ready.');
  const paths = documentPaths([parsePath('spec.replicas', true), parsePath('status.readyReplicas', true)]);
  await eachRow(reads, deployments, scope, ({ cluster, namespace, name, raw }) => {
    const [replicas, readyReplicas] = readDocument(raw, paths);
    const labels = { cluster, namespace, deployment: name };
    // kube-apiserver always sets `spec.replicas`, and omits `status.readyReplicas` while no replica is ready.
    wanted.add(labels, Number(replicas?.[0] ?? 1));
    ready.add(labels, Number(readyReplicas?.[0] ?? 0));
  });
  return [wanted, ready];
}

async function nodeGauge(reads: Reads, scope: RowScope): Promise<Gauge> {
  const gauge = new Gauge('kube_node_status_condition', 'Nodes by the status of their condition Ready.');
  const counts = new Map<string, Record<ReadyStatus, number>>();
  const paths = documentPaths([parsePath('status.conditions', true)]);
  await eachRow(reads, nodes, scope, ({ cluster, raw }) => {
    const ofCluster = counts.get(cluster) ?? { true: 0, false: 0, unknown: 0 };
    ofCluster[readyStatus(readValues(raw, paths)[0]?.[0])] += 1;
    counts.set(cluster, ofCluster);
  });
  for (const [cluster, statuses] of counts) {
    for (const [status, n] of Object.entries(statuses)) gauge.add({ cluster, condition: 'Ready', status }, n);
  }
  return gauge;
}

type ReadyStatus = 'true' | 'false' | 'unknown';

/** The status of the condition Ready among `status.conditions`, in the spelling of kube-state-metrics. */
function readyStatus(conditions: unknown): ReadyStatus {
  const list = Array.isArray(conditions)
    ? (conditions as readonly ({ type?: unknown; status?: unknown } | null)[])
    : [];
  const status = list.find((condition) => condition?.type === 'Ready')?.status;
  return status === 'True' ? 'true' : status === 'False' ? 'false' : 'unknown';
}

/** Calls `visit` for each row of a type that the caller may see. Between chunks of rows, other requests can run. */
async function eachRow(
  reads: Reads,
  type: ResourceType,
  scope: RowScope,
  visit: (row: RowRead) => void,
): Promise<void> {
  const page = await reads.list(allOf(type), scope, {});
  try {
    for await (const rows of page.chunks) for (const row of rows) visit(row);
  } finally {
    page.release?.();
  }
}
