// Rows of the workload types in apps, batch and autoscaling. As in kube-apiserver, a missing selector gives an empty
// cell for a deployment, and `<none>` for the other types. Follows pkg/printers/internalversion of Kubernetes v1.36
// (Apache-2.0).
import {
  flagText,
  selectorCell,
  selectorText,
  labelsText,
  templateCells,
  type LabelSelector,
  type PodTemplate,
} from './cells.ts';
import { humanDuration } from '../../lib/text/human-duration.ts';
import { printer, type Printers } from './printer.ts';
import { metricsCell, type MetricSpec, type MetricStatus } from './metrics.ts';

interface Workload {
  readonly spec?: { readonly replicas?: number; readonly selector?: LabelSelector; readonly template?: PodTemplate };
  readonly status?: { readonly readyReplicas?: number };
}

const ready = ({ spec, status }: Workload): string => `${status?.readyReplicas ?? 0}/${spec?.replicas ?? 0}`;
const ofTemplate = templateCells<Workload>(({ spec }) => spec?.template);

interface Job {
  readonly spec?: {
    readonly completions?: number;
    readonly parallelism?: number;
    readonly selector?: LabelSelector;
    readonly template?: PodTemplate;
  };
  readonly status?: {
    readonly succeeded?: number;
    readonly startTime?: string;
    readonly completionTime?: string;
    readonly conditions?: readonly { readonly type?: string; readonly status?: string }[];
  };
}

function jobState(job: Job, isDeleted: boolean): string {
  const has = (type: string): boolean => job.status?.conditions?.find((c) => c.type === type)?.status === 'True';
  if (has('Complete')) return 'Complete';
  if (has('Failed')) return 'Failed';
  if (isDeleted) return 'Terminating';
  return ['Suspended', 'FailureTarget', 'SuccessCriteriaMet'].find(has) ?? 'Running';
}

function jobCompletions({ spec, status }: Job): string {
  const succeeded = status?.succeeded ?? 0;
  if (spec?.completions !== undefined) return `${succeeded}/${spec.completions}`;
  const parallelism = spec?.parallelism ?? 0;
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}

function jobDuration({ status }: Job, since: (timestamp: string) => string): string {
  if (status?.startTime === undefined) return '';
  if (status.completionTime === undefined) return since(status.startTime);
  return humanDuration(Date.parse(status.completionTime) - Date.parse(status.startTime));
}

export const workloadPrinters: Printers = {
  'deployments.apps': printer<Workload>(
    `Name:string:name | @name
Ready:string | Number of the pod with ready state
Up-to-date:string = status.updatedReplicas ?? 0 | Total number of non-terminating pods targeted by this deployment that have the desired template spec.
Available:string = status.availableReplicas ?? 0 | Total number of available non-terminating pods (ready for at least minReadySeconds) targeted by this deployment.
Age:string | @age
Containers:string::1 | Names of each container in the template.
Images:string::1 | Images referenced by each container in the template.
Selector:string::1 | Label selector for pods. Existing ReplicaSets whose pods are selected by this will be the ones affected by this deployment. It must match the pod template's labels.`,
    { Ready: ready, ...ofTemplate, Selector: ({ spec }) => selectorText(spec?.selector) },
  ),
  'replicasets.apps': printer<Workload>(
    `Name:string:name | @name
Desired:integer = spec.replicas ?? 0 | Replicas is the number of desired pods. This is a pointer to distinguish between explicit zero and unspecified. Defaults to 1. More info: https://kubernetes.io/docs/concepts/workloads/controllers/replicaset
Current:integer = status.replicas ?? 0 | Replicas is the most recently observed number of non-terminating pods. More info: https://kubernetes.io/docs/concepts/workloads/controllers/replicaset
Ready:integer = status.readyReplicas ?? 0 | The number of non-terminating pods targeted by this ReplicaSet with a Ready Condition.
Age:string | @age
Containers:string::1 | Names of each container in the template.
Images:string::1 | Images referenced by each container in the template.
Selector:string::1 | Selector is a label query over pods that should match the replica count. Label keys and values that must match in order to be controlled by this replica set. It must match the pod template's labels. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors`,
    { ...ofTemplate, Selector: ({ spec }) => selectorCell(spec?.selector) },
  ),
  'statefulsets.apps': printer<Workload>(
    `Name:string:name | @name
Ready:string | Number of the pod with ready state
Age:string | @age
Containers:string::1 | Names of each container in the template.
Images:string::1 | Images referenced by each container in the template.`,
    { Ready: ready, ...ofTemplate },
  ),
  'daemonsets.apps': printer<Workload>(
    `Name:string:name | @name
Desired:integer = status.desiredNumberScheduled ?? 0 | The total number of nodes that should be running the daemon pod (including nodes correctly running the daemon pod). More info: https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/
Current:integer = status.currentNumberScheduled ?? 0 | The number of nodes that are running at least 1 daemon pod and are supposed to run the daemon pod. More info: https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/
Ready:integer = status.numberReady ?? 0 | numberReady is the number of nodes that should be running the daemon pod and have one or more of the daemon pod running with a Ready Condition.
Up-to-date:integer = status.updatedNumberScheduled ?? 0 | The total number of nodes that are running updated daemon pod
Available:integer = status.numberAvailable ?? 0 | The number of nodes that should be running the daemon pod and have one or more of the daemon pod running and available (ready for at least spec.minReadySeconds)
Node Selector:string | NodeSelector is a selector which must be true for the pod to fit on a node. Selector which must match a node's labels for the pod to be scheduled on that node. More info: https://kubernetes.io/docs/concepts/configuration/assign-pod-node/
Age:string | @age
Containers:string::1 | Names of each container in the template.
Images:string::1 | Images referenced by each container in the template.
Selector:string::1 | A label query over pods that are managed by the daemon set. Must match in order to be controlled. It must match the pod template's labels. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors`,
    {
      'Node Selector': ({ spec }) => labelsText(spec?.template?.spec?.nodeSelector),
      ...ofTemplate,
      Selector: ({ spec }) => selectorCell(spec?.selector),
    },
  ),
  'controllerrevisions.apps': printer(
    `Name:string:name | @name
Controller:string | Controller of the object
Revision:string = revision ?? 0 | Revision indicates the revision of the state represented by Data.
Age:string | @age`,
    {
      Controller: ({ metadata }) => {
        const owner = metadata?.ownerReferences?.find(({ controller }) => controller === true);
        const group = owner?.apiVersion?.includes('/') === true ? `.${owner.apiVersion.split('/')[0]}` : '';
        return owner === undefined ? '<none>' : `${`${owner.kind}${group}`.toLowerCase()}/${owner.name}`;
      },
    },
  ),
  'jobs.batch': printer<Job>(
    `Name:string:name | @name
Status:string | Status of the job.
Completions:string | The number of pods which reached phase Succeeded. The value increases monotonically for a given spec. However, it may decrease in reaction to scale down of elastic indexed jobs.
Duration:string | Time required to complete the job.
Age:string | @age
Containers:string::1 | Names of each container in the template.
Images:string::1 | Images referenced by each container in the template.
Selector:string::1 | A label query over pods that should match the pod count. Normally, the system sets this field for you. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors`,
    {
      Status: (job) => jobState(job, Boolean(job.metadata?.deletionTimestamp)),
      Completions: jobCompletions,
      Duration: (job, ages) => jobDuration(job, ages.since),
      ...templateCells(({ spec }) => spec?.template),
      Selector: ({ spec }) => selectorCell(spec?.selector),
    },
  ),
  'cronjobs.batch': printer<{
    readonly spec?: { readonly suspend?: boolean; readonly jobTemplate?: { readonly spec?: Job['spec'] } };
    readonly status?: { readonly active?: readonly object[]; readonly lastScheduleTime?: string };
  }>(
    `Name:string:name | @name
Schedule:string = spec.schedule | The schedule in Cron format, see https://en.wikipedia.org/wiki/Cron.
Timezone:string = spec.timeZone ?? <none> | The time zone name for the given schedule, see https://en.wikipedia.org/wiki/List_of_tz_database_time_zones. If not specified, this will default to the time zone of the kube-controller-manager process. The set of valid time zone names and the time zone offset is loaded from the system-wide time zone database by the API server during CronJob validation and the controller manager during execution. If no system-wide time zone database can be found a bundled version of the database is used instead. If the time zone name becomes invalid during the lifetime of a CronJob or due to a change in host configuration, the controller will stop creating new new Jobs and will create a system event with the reason UnknownTimeZone. More information can be found in https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/#time-zones
Suspend:boolean | This flag tells the controller to suspend subsequent executions, it does not apply to already started executions.  Defaults to false.
Active:integer | A list of pointers to currently running jobs.
Last Schedule:string | Information when was the last time the job was successfully scheduled.
Age:string | @age
Containers:string::1 | Names of each container in the template.
Images:string::1 | Images referenced by each container in the template.
Selector:string::1 | A label query over pods that should match the pod count. Normally, the system sets this field for you. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors`,
    {
      Suspend: ({ spec }) => flagText(spec?.suspend),
      Active: ({ status }) => status?.active?.length ?? 0,
      'Last Schedule': ({ status }, ages) =>
        status?.lastScheduleTime === undefined ? '<none>' : ages.since(status.lastScheduleTime),
      ...templateCells(({ spec }) => spec?.jobTemplate?.spec?.template),
      Selector: ({ spec }) => selectorCell(spec?.jobTemplate?.spec?.selector),
    },
  ),
  'horizontalpodautoscalers.autoscaling': printer<{
    readonly spec?: {
      readonly scaleTargetRef?: { readonly kind?: string; readonly name?: string };
      readonly minReplicas?: number;
      readonly metrics?: readonly MetricSpec[];
    };
    readonly status?: { readonly currentMetrics?: readonly MetricStatus[] | null };
  }>(
    `Name:string:name | @name
Reference:string | scaleTargetRef points to the target resource to scale, and is used to the pods for which metrics should be collected, as well as to actually change the replica count.
Targets:string | metrics contains the specifications for which to use to calculate the desired replica count (the maximum replica count across all metrics will be used).  The desired replica count is calculated multiplying the ratio between the target value and the current value by the current number of pods.  Ergo, metrics used must decrease as the pod count is increased, and vice-versa.  See the individual metric source types for more information about how each type of metric must respond. If not set, the default metric will be set to 80% average CPU utilization.
MinPods:string | minReplicas is the lower limit for the number of replicas to which the autoscaler can scale down.  It defaults to 1 pod.  minReplicas is allowed to be 0 if the alpha feature gate HPAScaleToZero is enabled and at least one Object or External metric is configured.  Scaling is active as long as at least one metric value is available.
MaxPods:string = spec.maxReplicas ?? 0 | maxReplicas is the upper limit for the number of replicas to which the autoscaler can scale up. It cannot be less that minReplicas.
Replicas:string = status.currentReplicas ?? 0 | currentReplicas is current number of replicas of pods managed by this autoscaler, as last seen by the autoscaler.
Age:string | @age`,
    {
      Reference: ({ spec }) => `${spec?.scaleTargetRef?.kind ?? ''}/${spec?.scaleTargetRef?.name ?? ''}`,
      Targets: ({ spec, status }) => metricsCell(spec?.metrics ?? [], status?.currentMetrics ?? []),
      MinPods: ({ spec }) => String(spec?.minReplicas ?? '<unset>'),
    },
  ),
};
