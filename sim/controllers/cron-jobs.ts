// Runs CronJobs: creates a Job whenever the schedule is due, and removes old Jobs.
import type { Cluster } from '../call/cluster.ts';
import { timestamp, type KubeObject } from '../model/types.ts';
import { conditionIs, createOwned, edit, ownedBy, ownedObjects, recordNormal, removeOwned } from './objects.ts';
import { isDue } from '../validate/cron-schedule.ts';

const key = 'batch/cronjobs';
const periodMs = 5_000;
/** Starts to check every five seconds whether a CronJob is due. */
export function startCronJobs(cluster: Cluster): void {
  let lastMinute = Math.floor(cluster.now().getTime() / 60_000);
  cluster.timers.every(periodMs, () => {
    const minute = Math.floor(cluster.now().getTime() / 60_000);
    for (const cronJob of cluster.store.list(key)) {
      if (
        minute > lastMinute &&
        cronJob['spec']?.suspend !== true &&
        isDue(cronJob['spec']?.schedule ?? '', new Date(minute * 60_000))
      )
        runNow(cluster, cronJob, minute);
      settle(cluster, cronJob);
    }
    lastMinute = Math.max(minute, lastMinute);
  });
}

function runNow(cluster: Cluster, cronJob: KubeObject, minute: number): void {
  const active = ownedObjects(cluster, 'batch/jobs', cronJob).filter((job) => !hasEnded(job));
  if (active.length > 0 && cronJob['spec'].concurrencyPolicy === 'Forbid') return;
  if (cronJob['spec'].concurrencyPolicy === 'Replace')
    for (const job of active) removeOwned(cluster, 'batch/jobs', job);
  const { metadata = {}, spec } = cronJob['spec'].jobTemplate;
  const job = createOwned(cluster, {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      ...metadata,
      name: `${cronJob.metadata.name}-${minute}`,
      namespace: cronJob.metadata.namespace,
      ownerReferences: [ownedBy(cronJob)],
    },
    spec,
  });
  if (job === undefined) return;
  recordNormal(cluster, cronJob, 'SuccessfulCreate', `Created job ${job.metadata.name}`);
  edit(cluster, key, cronJob, (next) => {
    next['status'] = { ...next['status'], lastScheduleTime: timestamp(new Date(minute * 60_000)) };
  });
}

function hasEnded(job: KubeObject): boolean {
  return conditionIs(job, 'Complete', 'True') || conditionIs(job, 'Failed', 'True');
}

function settle(cluster: Cluster, cronJob: KubeObject): void {
  const jobs = ownedObjects(cluster, 'batch/jobs', cronJob).toSorted((a, b) =>
    a.metadata.creationTimestamp < b.metadata.creationTimestamp ? 1 : -1,
  );
  const { successfulJobsHistoryLimit = 3, failedJobsHistoryLimit = 1 } = cronJob['spec'];
  const good = jobs.filter((job) => conditionIs(job, 'Complete', 'True'));
  const bad = jobs.filter((job) => conditionIs(job, 'Failed', 'True'));
  for (const job of [...good.slice(successfulJobsHistoryLimit), ...bad.slice(failedJobsHistoryLimit)])
    removeOwned(cluster, 'batch/jobs', job, { propagationPolicy: 'Background' });
  const active = jobs.filter((job) => !hasEnded(job));
  edit(cluster, key, cronJob, (next) => {
    const { active: _active, ...status } = next['status'] ?? {};
    const references = active.map(({ apiVersion, kind, metadata: { name, namespace, uid } }) => ({
      apiVersion,
      kind,
      name,
      namespace,
      uid,
    }));
    const lastSuccess = good[0]?.['status']?.completionTime;
    next['status'] = {
      ...status,
      ...(references.length > 0 && { active: references }),
      ...(lastSuccess && { lastSuccessfulTime: lastSuccess }),
    };
  });
}
