// Rows of pods, and of types that select or hold pods. Easy to get wrong: the STATUS column is not a field of a pod. It
// is computed from phase, reason, the containers from last to first, and the deletion timestamp. Rows and column
// descriptions follow pkg/printers/internalversion of Kubernetes v1.36 (Apache-2.0).
import { labelsText, templateCells, type PodTemplate } from './cells.ts';
import { printer, type Ages, type Cell, type KubeObject, type Printers, type RowCondition } from './printer.ts';

interface ContainerState {
  readonly waiting?: { readonly reason?: string };
  readonly running?: object;
  readonly terminated?: {
    readonly reason?: string;
    readonly exitCode?: number;
    readonly signal?: number;
    readonly finishedAt?: string | null;
  };
}

interface ContainerStatus {
  readonly name?: string;
  readonly ready?: boolean;
  readonly started?: boolean;
  readonly restartCount?: number;
  readonly state?: ContainerState;
  readonly lastState?: ContainerState;
}

interface Pod extends KubeObject {
  readonly spec?: {
    readonly containers?: readonly object[];
    readonly initContainers?: readonly { readonly name?: string; readonly restartPolicy?: string }[];
    readonly nodeName?: string;
    readonly readinessGates?: readonly { readonly conditionType?: string }[];
  };
  readonly status?: {
    readonly phase?: string;
    readonly reason?: string;
    readonly conditions?: readonly { readonly type?: string; readonly status?: string; readonly reason?: string }[];
    readonly initContainerStatuses?: readonly ContainerStatus[];
    readonly containerStatuses?: readonly ContainerStatus[];
    readonly podIPs?: readonly { readonly ip?: string }[];
    readonly podIP?: string;
    readonly nominatedNodeName?: string;
  };
}

/**
 * What has been found so far while the containers of a pod are read: its STATUS, and counts of ready containers and
 * restarts.
 */
interface Progress {
  reason: string;
  ready: number;
  restarts: number;
  /**
   * When a container of the pod last ended before a restart, in Unix milliseconds; 0 when no container has restarted.
   */
  lastRestartMs: number;
}

function podCells(pod: Pod, ages: Ages): readonly Cell[] {
  const { spec = {}, status = {} } = pod;
  const sidecars = new Set(
    (spec.initContainers ?? []).filter((c) => c.restartPolicy === 'Always').map(({ name }) => name),
  );
  const total = (spec.containers?.length ?? 0) + sidecars.size;
  const progress = readProgress(pod, sidecars);
  return [
    pod.metadata?.name ?? '',
    `${progress.ready}/${total}`,
    endingReason(pod) ?? progress.reason,
    restartsCell(progress, ages),
    ages.of(pod),
    status.podIPs?.[0]?.ip || status.podIP || '<none>',
    spec.nodeName || '<none>',
    status.nominatedNodeName || '<none>',
    gatesCell(pod),
  ];
}

function readProgress(pod: Pod, sidecars: ReadonlySet<string | undefined>): Progress {
  const progress: Progress = { reason: startReason(pod.status ?? {}), ready: 0, restarts: 0, lastRestartMs: 0 };
  const ofSidecars: Progress = { ...progress };
  const isInitializing = readInitContainers(pod, sidecars, progress, ofSidecars);
  if (!isInitializing || condition(pod, 'Initialized')?.status === 'True') {
    progress.restarts = ofSidecars.restarts;
    progress.lastRestartMs = ofSidecars.lastRestartMs;
    readContainers(pod, progress);
  }
  return progress;
}

/** The STATUS of a pod that is being deleted; undefined when its STATUS does not depend on the deletion. */
function endingReason({ metadata, status }: Pod): string | undefined {
  if (!metadata?.deletionTimestamp) return undefined;
  if (status?.reason === 'NodeLost') return 'Unknown';
  return status?.phase === 'Succeeded' || status?.phase === 'Failed' ? undefined : 'Terminating';
}

function restartsCell({ restarts, lastRestartMs }: Progress, ages: Ages): string {
  if (restarts === 0) return '0';
  return lastRestartMs === 0
    ? String(restarts)
    : `${restarts} (${ages.since(new Date(lastRestartMs).toISOString())} ago)`;
}

function startReason(status: NonNullable<Pod['status']>): string {
  const gated = (status.conditions ?? []).some((c) => c.type === 'PodScheduled' && c.reason === 'SchedulingGated');
  return gated ? 'SchedulingGated' : status.reason || (status.phase ?? '');
}

function condition(pod: Pod, type: string): { readonly status?: string } | undefined {
  return pod.status?.conditions?.find((candidate) => candidate.type === type);
}

function countRestarts(progress: Progress, { restartCount = 0, lastState }: ContainerStatus): void {
  progress.restarts += restartCount;
  const finishedMs = Date.parse(lastState?.terminated?.finishedAt ?? '');
  if (finishedMs > progress.lastRestartMs) progress.lastRestartMs = finishedMs;
}

/**
 * Reads the statuses of init containers in order, up to the first container that has not completed. A sidecar counts as
 * completed once it has started. Returns true when some init container has not completed.
 */
function readInitContainers(
  pod: Pod,
  sidecars: ReadonlySet<string | undefined>,
  progress: Progress,
  ofSidecars: Progress,
): boolean {
  for (const [i, container] of (pod.status?.initContainerStatuses ?? []).entries()) {
    const isSidecar = sidecars.has(container.name);
    countRestarts(progress, container);
    if (isSidecar) countRestarts(ofSidecars, container);
    const { terminated, waiting } = container.state ?? {};
    if (terminated !== undefined && (terminated.exitCode ?? 0) === 0) continue;
    if (isSidecar && container.started === true) {
      if (container.ready === true) progress.ready++;
      continue;
    }
    if (terminated !== undefined) progress.reason = `Init:${endReason(terminated)}`;
    else if (waiting?.reason && waiting.reason !== 'PodInitializing') progress.reason = `Init:${waiting.reason}`;
    else progress.reason = `Init:${i}/${pod.spec?.initContainers?.length ?? 0}`;
    return true;
  }
  return false;
}

function endReason({ reason, signal, exitCode }: NonNullable<ContainerState['terminated']>): string {
  return reason || (signal ? `Signal:${signal}` : `ExitCode:${exitCode ?? 0}`);
}

function readContainers(pod: Pod, progress: Progress): void {
  let hasRunning = false;
  let errorReason = '';
  for (const container of (pod.status?.containerStatuses ?? []).toReversed()) {
    countRestarts(progress, container);
    const { waiting, terminated, running } = container.state ?? {};
    if (waiting?.reason) progress.reason = waiting.reason;
    else if (terminated !== undefined) {
      progress.reason = endReason(terminated);
      if ((terminated.exitCode ?? 0) !== 0) errorReason = progress.reason;
    } else if (container.ready === true && running !== undefined) {
      hasRunning = true;
      progress.ready++;
    }
  }
  if (progress.reason !== 'Completed') return;
  // Some container has completed, but as in kube-apiserver the pod counts as running when it is ready and another
  // container runs.
  if (hasRunning && (pod.status?.conditions ?? []).some((c) => c.type === 'Ready' && c.status === 'True'))
    progress.reason = 'Running';
  else if (errorReason !== '') progress.reason = errorReason;
  else if (hasRunning) progress.reason = 'NotReady';
}

function gatesCell(pod: Pod): string {
  const gates = pod.spec?.readinessGates ?? [];
  if (gates.length === 0) return '<none>';
  const held = gates.filter(({ conditionType }) => condition(pod, conditionType ?? '')?.status === 'True');
  return `${held.length}/${gates.length}`;
}

const completed: Readonly<Record<string, RowCondition>> = {
  Succeeded: { type: 'Completed', status: 'True', reason: 'Succeeded', message: 'The pod has completed successfully.' },
  Failed: { type: 'Completed', status: 'True', reason: 'Failed', message: 'The pod failed.' },
};

export const podPrinters: Printers = {
  'pods.': printer<Pod>(
    `Name:string:name | @name
Ready:string | The aggregate readiness state of this pod for accepting traffic.
Status:string | The aggregate status of the containers in this pod.
Restarts:string | The number of times the containers in this pod have been restarted and when the last container in this pod has restarted.
Age:string | @age
IP:string::1 | podIP address allocated to the pod. Routable at least within the cluster. Empty if not yet allocated.
Node:string::1 | NodeName indicates in which node this pod is scheduled. If empty, this pod is a candidate for scheduling by the scheduler defined in schedulerName. Once this field is set, the kubelet for this node becomes responsible for the lifecycle of this pod. This field should not be used to express a desire for the pod to be scheduled on a specific node. https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#nodename
Nominated Node:string::1 | nominatedNodeName is set only when this pod preempts other pods on the node, but it cannot be scheduled right away as preemption victims receive their graceful termination periods. This field does not guarantee that the pod will be scheduled on this node. Scheduler may decide to place the pod elsewhere if other nodes become available sooner. Scheduler may also decide to give the resources on this node to a higher priority pod that is created after preemption. As a result, this field may be different than PodSpec.nodeName when the pod is scheduled.
Readiness Gates:string::1 | If specified, all readiness gates will be evaluated for pod readiness. A pod is ready when all its containers are ready AND all conditions specified in the readiness gates have status equal to "True" More info: https://git.k8s.io/enhancements/keps/sig-network/580-pod-readiness-gates`,
    podCells,
    (pod) => {
      const end = completed[pod.status?.phase ?? ''];
      return end === undefined ? [] : [end];
    },
  ),
  'podtemplates.': printer<{ readonly template?: PodTemplate }>(
    `Name:string:name | @name
Containers:string | Names of each container in the template.
Images:string | Images referenced by each container in the template.
Pod Labels:string | The labels for the pod template.`,
    {
      ...templateCells(({ template }) => template),
      'Pod Labels': ({ template }) => labelsText(template?.metadata?.labels),
    },
  ),
  'replicationcontrollers.': printer<{
    readonly spec?: { readonly selector?: Readonly<Record<string, string>>; readonly template?: PodTemplate };
  }>(
    `Name:string:name | @name
Desired:integer = spec.replicas ?? 0 | Replicas is the number of desired replicas. This is a pointer to distinguish between explicit zero and unspecified. Defaults to 1. More info: https://kubernetes.io/docs/concepts/workloads/controllers/replicationcontroller#what-is-a-replicationcontroller
Current:integer = status.replicas ?? 0 | Replicas is the most recently observed number of replicas. More info: https://kubernetes.io/docs/concepts/workloads/controllers/replicationcontroller#what-is-a-replicationcontroller
Ready:integer = status.readyReplicas ?? 0 | The number of ready replicas for this replication controller.
Age:string | @age
Containers:string::1 | Names of each container in the template.
Images:string::1 | Images referenced by each container in the template.
Selector:string::1 | Selector is a label query over pods that should match the Replicas count. If Selector is empty, it is defaulted to the labels present on the Pod template. Label keys and values that must match in order to be controlled by this replication controller, if empty defaulted to labels on Pod template. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors`,
    { ...templateCells(({ spec }) => spec?.template), Selector: ({ spec }) => labelsText(spec?.selector) },
  ),
  'poddisruptionbudgets.policy': printer<{
    readonly spec?: { readonly minAvailable?: number | string; readonly maxUnavailable?: number | string };
  }>(
    `Name:string:name | @name
Min Available:string | The minimum number of pods that must be available.
Max Unavailable:string | The maximum number of pods that may be unavailable.
Allowed Disruptions:integer = status.disruptionsAllowed ?? 0 | Calculated number of pods that may be disrupted at this time.
Age:string | @age`,
    {
      'Min Available': ({ spec }) => String(spec?.minAvailable ?? 'N/A'),
      'Max Unavailable': ({ spec }) => String(spec?.maxUnavailable ?? 'N/A'),
    },
  ),
};
