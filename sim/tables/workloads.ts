// Table columns of apps, batch, autoscaling and policy. A Deployment shows READY as a text such as `2/3`, a ReplicaSet
// shows three numbers.
import type { Column } from './column.ts';
import type { JsonObject, KubeObject } from '../types.ts';
import {
  age,
  ageColumn,
  containerColumns,
  humanDuration,
  integer,
  nameColumn,
  orNone,
  selectorCell,
  text,
  wide,
} from './cells.ts';

const template = (object: KubeObject): JsonObject | undefined => object['spec']?.template?.spec;
const status = (object: KubeObject, field: string): number => object['status']?.[field] ?? 0;
const selector = wide('Selector', (object) => selectorCell(object['spec']?.selector));

const replicaSets: readonly Column[] = [
  nameColumn,
  integer('Desired', (object) => object['spec']?.replicas ?? 0),
  integer('Current', (object) => status(object, 'replicas')),
  integer('Ready', (object) => status(object, 'readyReplicas')),
  ageColumn,
  ...containerColumns(template),
  selector,
];

function jobCompletions(job: KubeObject): string {
  const succeeded = status(job, 'succeeded');
  const { completions, parallelism = 0 } = job['spec'] ?? {};
  if (completions !== undefined && completions !== null) return `${succeeded}/${completions}`;
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}

function jobStatus(job: KubeObject): string {
  const has = (type: string): boolean =>
    ((job['status']?.conditions ?? []) as JsonObject[]).some((c) => c['type'] === type && c['status'] === 'True');
  if (has('Complete')) return 'Complete';
  if (has('Failed')) return 'Failed';
  if (job.metadata.deletionTimestamp !== undefined) return 'Terminating';
  return ['Suspended', 'FailureTarget', 'SuccessCriteriaMet'].find(has) ?? 'Running';
}

function jobDuration(job: KubeObject, now: Date): string {
  const { startTime, completionTime } = job['status'] ?? {};
  if (startTime === undefined) return '';
  return humanDuration(
    (completionTime === undefined ? now.getTime() : Date.parse(completionTime)) - Date.parse(startTime),
  );
}

function hpaTargets(hpa: KubeObject): string {
  const specs: readonly JsonObject[] = hpa['spec']?.metrics ?? [];
  if (specs.length === 0) return '<none>';
  const current: readonly JsonObject[] = hpa['status']?.currentMetrics ?? [];
  return specs
    .map((spec, index) => {
      const { name, target = {} } = spec['resource'] ?? {};
      const now = current[index]?.['resource']?.current ?? {};
      if (target.averageUtilization === undefined)
        return `${now.averageValue ?? '<unknown>'}/${target.averageValue ?? '<unknown>'}`;
      const seen = now.averageUtilization === undefined ? '<unknown>' : `${now.averageUtilization}%`;
      return `${name}: ${seen}/${target.averageUtilization}%`;
    })
    .join(', ');
}

/** The table columns of each resource, by storage key such as `apps/deployments`. */
export const workloadColumns: Readonly<Record<string, readonly Column[]>> = {
  'apps/deployments': [
    nameColumn,
    text('Ready', (object) => `${status(object, 'readyReplicas')}/${object['spec']?.replicas ?? 0}`),
    text('Up-to-date', (object) => status(object, 'updatedReplicas')),
    text('Available', (object) => status(object, 'availableReplicas')),
    ageColumn,
    ...containerColumns(template),
    selector,
  ],
  'apps/replicasets': replicaSets,
  '/replicationcontrollers': replicaSets,
  'apps/statefulsets': [
    nameColumn,
    text('Ready', (object) => `${status(object, 'readyReplicas')}/${object['spec']?.replicas ?? 0}`),
    ageColumn,
    ...containerColumns(template),
  ],
  'apps/daemonsets': [
    nameColumn,
    integer('Desired', (object) => status(object, 'desiredNumberScheduled')),
    integer('Current', (object) => status(object, 'currentNumberScheduled')),
    integer('Ready', (object) => status(object, 'numberReady')),
    integer('Up-to-date', (object) => status(object, 'updatedNumberScheduled')),
    integer('Available', (object) => status(object, 'numberAvailable')),
    text('Node Selector', (object) => selectorCell({ matchLabels: template(object)?.['nodeSelector'] ?? {} })),
    ageColumn,
    ...containerColumns(template),
    selector,
  ],
  'apps/controllerrevisions': [
    nameColumn,
    text('Controller', (object) => {
      const owner = (object.metadata.ownerReferences ?? []).find((reference) => reference.controller === true);
      return owner === undefined ? '<none>' : `${owner.kind.toLowerCase()}.apps/${owner.name}`;
    }),
    text('Revision', (object) => object['revision'] ?? 0),
    ageColumn,
  ],
  'batch/jobs': [
    nameColumn,
    text('Status', jobStatus),
    text('Completions', jobCompletions),
    text('Duration', jobDuration),
    ageColumn,
    ...containerColumns(template),
    selector,
  ],
  'batch/cronjobs': [
    nameColumn,
    text('Schedule', (object) => object['spec']?.schedule),
    text('Timezone', (object) => orNone(object['spec']?.timeZone)),
    {
      name: 'Suspend',
      type: 'boolean',
      cell: (object) =>
        object['spec']?.suspend === undefined ? '<unset>' : object['spec'].suspend === true ? 'True' : 'False',
    },
    integer('Active', (object) => (object['status']?.active ?? []).length),
    text('Last Schedule', (object, now) =>
      object['status']?.lastScheduleTime === undefined ? '<none>' : age(object['status'].lastScheduleTime, now),
    ),
    ageColumn,
    ...containerColumns((object) => object['spec']?.jobTemplate?.spec?.template?.spec),
    wide('Selector', (object) => selectorCell(object['spec']?.jobTemplate?.spec?.selector)),
  ],
  'autoscaling/horizontalpodautoscalers': [
    nameColumn,
    text('Reference', (object) => `${object['spec']?.scaleTargetRef?.kind}/${object['spec']?.scaleTargetRef?.name}`),
    text('Targets', hpaTargets),
    text('MinPods', (object) => object['spec']?.minReplicas ?? '<unset>'),
    text('MaxPods', (object) => object['spec']?.maxReplicas),
    text('Replicas', (object) => status(object, 'currentReplicas')),
    ageColumn,
  ],
  'policy/poddisruptionbudgets': [
    nameColumn,
    text('Min Available', (object) => object['spec']?.minAvailable ?? 'N/A'),
    text('Max Unavailable', (object) => object['spec']?.maxUnavailable ?? 'N/A'),
    integer('Allowed Disruptions', (object) => status(object, 'disruptionsAllowed')),
    ageColumn,
  ],
};
