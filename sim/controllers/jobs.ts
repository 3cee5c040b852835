// Maintains Jobs: creates pods until enough of them have succeeded, or too many have failed. The pods of a finished Job
// are kept, so that their logs can be read.
import type { Cluster } from '../call/cluster.ts';
import { randomSuffix } from '../store/names.ts';
import { timestamp, type JsonObject, type KubeObject } from '../model/types.ts';
import { isOver, isReady, ownedObjects, recordEvent, recordNormal, removeOwned, setStatus } from './objects.ts';
import { createPod } from './replica-sets.ts';

const key = 'batch/jobs';

/** Makes the next changes that bring a Job closer to its completion. */
export function reconcileJob(cluster: Cluster, job: KubeObject): void {
  if (job.metadata.deletionTimestamp !== undefined || hasEnded(job)) return;
  const progress = progressOf(cluster, job);
  if (progress.isSuspended || progress.hasFailed) for (const pod of progress.active) removeOwned(cluster, '/pods', pod);
  else if (!progress.isComplete) makePods(cluster, job, progress);
  announce(cluster, job, progress);
  writeStatus(cluster, job, progress);
}

/** How far a Job has come, counted from its pods. */
interface Progress {
  readonly succeeded: number;
  readonly failed: number;
  readonly active: readonly KubeObject[];
  /** How many pods must succeed. */
  readonly needed: number;
  readonly isSuspended: boolean;
  readonly hasFailed: boolean;
  readonly isComplete: boolean;
}

function conditionsOf(job: KubeObject): readonly JsonObject[] {
  return job['status']?.conditions ?? [];
}

function hasEnded(job: KubeObject): boolean {
  return conditionsOf(job).some((c) => c['type'] === 'Complete' || c['type'] === 'Failed');
}

function isActive(pod: KubeObject): boolean {
  return !isOver(pod) && pod.metadata.deletionTimestamp === undefined;
}

function progressOf(cluster: Cluster, job: KubeObject): Progress {
  const { completions, backoffLimit = 6, suspend } = job['spec'];
  const pods = ownedObjects(cluster, '/pods', job);
  const succeeded = pods.filter((pod) => pod['status']?.phase === 'Succeeded').length;
  const failed = pods.filter((pod) => pod['status']?.phase === 'Failed').length;
  const active = pods.filter(isActive);
  const needed: number = completions ?? (succeeded > 0 ? succeeded : 1);
  const hasFailed = failed > backoffLimit;
  const isComplete = !hasFailed && succeeded >= needed && (completions !== undefined || active.length === 0);
  return { succeeded, failed, active, needed, isSuspended: suspend === true, hasFailed, isComplete };
}

function makePods(cluster: Cluster, job: KubeObject, { succeeded, active, needed }: Progress): void {
  const { completions, parallelism = 1 } = job['spec'];
  const open = Math.min(parallelism, completions === undefined ? parallelism : needed - succeeded) - active.length;
  for (let i = 0; i < open; i++) {
    const pod = createPod(cluster, job, `${job.metadata.name}-${randomSuffix()}`);
    if (pod !== undefined) recordNormal(cluster, job, 'SuccessfulCreate', `Created pod: ${pod.metadata.name}`);
  }
}

const completed = 'Reached expected number of succeeded pods';
const givenUp = 'Job has reached the specified backoff limit';

function announce(cluster: Cluster, job: KubeObject, { isComplete, hasFailed }: Progress): void {
  if (isComplete) recordNormal(cluster, job, 'Completed', 'Job completed');
  else if (hasFailed) recordEvent(cluster, job, 'Warning', 'BackoffLimitExceeded', givenUp, 'job-controller');
}

function writeStatus(cluster: Cluster, job: KubeObject, progress: Progress): void {
  const { succeeded, failed, isSuspended, hasFailed, isComplete } = progress;
  const now = timestamp(cluster.now());
  const left = ownedObjects(cluster, '/pods', job).filter(isActive);
  const conditions = nextConditions(job, progress, now);
  const startTime: unknown = job['status']?.startTime;
  const hasStopped = isComplete || hasFailed || isSuspended;
  setStatus(cluster, key, job, {
    ...(startTime === undefined && isSuspended ? {} : { startTime: startTime ?? now }),
    ...(isComplete ? { completionTime: now } : {}),
    ...(left.length > 0 && !hasStopped ? { active: left.length } : {}),
    ...(succeeded > 0 ? { succeeded } : {}),
    ...(failed > 0 ? { failed } : {}),
    ready: left.filter(isReady).length,
    terminating: 0,
    uncountedTerminatedPods: {},
    ...(conditions.length > 0 ? { conditions } : {}),
  });
}

function nextConditions(job: KubeObject, progress: Progress, now: string): readonly JsonObject[] {
  const { isSuspended, hasFailed, isComplete } = progress;
  const at = (type: string, reason: string, message: string): JsonObject => ({
    type,
    status: 'True',
    lastProbeTime: now,
    lastTransitionTime: now,
    reason,
    message,
  });
  const conditions = conditionsOf(job).filter((c) => c['type'] !== 'Suspended' || isSuspended);
  if (isSuspended && conditions.length === 0) conditions.push(at('Suspended', 'JobSuspended', 'Job suspended'));
  if (isComplete)
    conditions.push(
      at('SuccessCriteriaMet', 'CompletionsReached', completed),
      at('Complete', 'CompletionsReached', completed),
    );
  else if (hasFailed)
    conditions.push(
      at('FailureTarget', 'BackoffLimitExceeded', givenUp),
      at('Failed', 'BackoffLimitExceeded', givenUp),
    );
  return conditions;
}
