// CronJobs: a Job at each time the schedule names, old ones removed. Easy to get wrong: day of month and day of week are alternatives
// when both are restricted.
import type { Cluster } from '../cluster.ts';
import { timestamp, type JsonObject, type KubeObject } from '../types.ts';
import { createOwned, edit, ownedBy, ownedObjects, recordEvent, removeOwned } from './objects.ts';

const key = 'batch/cronjobs';
const periodMs = 5_000;
const ranges: readonly (readonly [number, number])[] = [
  [0, 59],
  [0, 23],
  [1, 31],
  [1, 12],
  [0, 7],
];
const macros: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

/** The values of each of the five fields, or undefined when the schedule cannot be read. */
export function parseSchedule(schedule: string): readonly ReadonlySet<number>[] | undefined {
  const fields = (macros[schedule.trim()] ?? schedule).trim().split(/\s+/);
  if (fields.length !== 5) return undefined;
  const sets = fields.map((field, index) => parseField(field, ranges[index] ?? [0, 0]));
  return sets.every((set) => set !== undefined) ? sets : undefined;
}

const names = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const months = ['', 'jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

function parseField(field: string, [low, high]: readonly [number, number]): Set<number> | undefined {
  const values = new Set<number>();
  const numberOf = (text: string): number => {
    const list = high === 12 ? months : high === 7 ? names : [];
    const index = list.indexOf(text.toLowerCase());
    return index >= 0 ? index : /^\d+$/.test(text) ? Number(text) : Number.NaN;
  };
  for (const part of field.split(',')) {
    const [, range = '', step = '1'] = /^([^/]+)(?:\/(\d+))?$/.exec(part) ?? [];
    const [from, to] = range === '*' || range === '?' ? [low, high] : range.split('-').map(numberOf);
    const last = to ?? (part.includes('/') ? high : from);
    if (from === undefined || last === undefined || !(from >= low && last <= high && from <= last) || Number(step) < 1)
      return undefined;
    for (let value = from; value <= last; value += Number(step)) values.add(high === 7 ? value % 7 : value);
  }
  return values;
}

/** Whether the schedule names this minute (UTC). */
export function isDue(schedule: string, minute: Date): boolean {
  const [minutes, hours, days, monthSet, weekdays] = parseSchedule(schedule) ?? [];
  if (
    minutes === undefined ||
    hours === undefined ||
    days === undefined ||
    monthSet === undefined ||
    weekdays === undefined
  )
    return false;
  if (
    !minutes.has(minute.getUTCMinutes()) ||
    !hours.has(minute.getUTCHours()) ||
    !monthSet.has(minute.getUTCMonth() + 1)
  )
    return false;
  const byDay = days.has(minute.getUTCDate());
  const byWeekday = weekdays.has(minute.getUTCDay());
  if (days.size < 31 && weekdays.size < 7) return byDay || byWeekday;
  return byDay && byWeekday;
}

/** Starts looking at all CronJobs every few seconds. */
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
  recordEvent(cluster, cronJob, 'Normal', 'SuccessfulCreate', `Created job ${job.metadata.name}`, 'cronjob-controller');
  edit(cluster, key, cronJob, (next) => {
    next['status'] = { ...next['status'], lastScheduleTime: timestamp(new Date(minute * 60_000)) };
  });
}

function conditionOf(job: KubeObject, type: string): boolean {
  return ((job['status']?.conditions ?? []) as JsonObject[]).some((c) => c['type'] === type && c['status'] === 'True');
}

function hasEnded(job: KubeObject): boolean {
  return conditionOf(job, 'Complete') || conditionOf(job, 'Failed');
}

function settle(cluster: Cluster, cronJob: KubeObject): void {
  const jobs = ownedObjects(cluster, 'batch/jobs', cronJob).toSorted((a, b) =>
    a.metadata.creationTimestamp < b.metadata.creationTimestamp ? 1 : -1,
  );
  const { successfulJobsHistoryLimit = 3, failedJobsHistoryLimit = 1 } = cronJob['spec'];
  const good = jobs.filter((job) => conditionOf(job, 'Complete'));
  const bad = jobs.filter((job) => conditionOf(job, 'Failed'));
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
