// Jobs: pods until enough of them succeeded, or too many failed. The pods of a finished Job are kept, so that their
// logs can be read.
import type { Cluster } from '../cluster.ts';
import { timestamp, type JsonObject, type KubeObject } from '../types.ts';
import { isOver, isReady, ownedObjects, randomSuffix, recordEvent, removeOwned, setStatus } from './objects.ts';
import { createPod } from './replica-sets.ts';

const key = 'batch/jobs';

/** Brings a Job one step nearer to its end. */
export function reconcileJob(cluster: Cluster, job: KubeObject): void {
  if (job.metadata.deletionTimestamp !== undefined) return;
  const status: JsonObject = job['status'] ?? {};
  const hasEnded = ((status['conditions'] ?? []) as JsonObject[]).some(
    (c) => c['type'] === 'Complete' || c['type'] === 'Failed',
  );
  if (hasEnded) return;
  const { completions, parallelism = 1, backoffLimit = 6, suspend } = job['spec'];
  const now = timestamp(cluster.now());
  const pods = ownedObjects(cluster, '/pods', job);
  const succeeded = pods.filter((pod) => pod['status']?.phase === 'Succeeded').length;
  const failed = pods.filter((pod) => pod['status']?.phase === 'Failed').length;
  const active = pods.filter((pod) => !isOver(pod) && pod.metadata.deletionTimestamp === undefined);
  const needed: number = completions ?? (succeeded > 0 ? succeeded : 1);
  const isSuspended = suspend === true;
  const hasFailed = failed > backoffLimit;
  const isComplete = !hasFailed && succeeded >= needed && (completions !== undefined || active.length === 0);
  if (isSuspended || hasFailed) for (const pod of active) removeOwned(cluster, '/pods', pod);
  else if (!isComplete) {
    const open = Math.min(parallelism, completions === undefined ? parallelism : needed - succeeded) - active.length;
    for (let i = 0; i < open; i++) {
      const pod = createPod(cluster, job, `${job.metadata.name}-${randomSuffix()}`);
      if (pod !== undefined)
        recordEvent(cluster, job, 'Normal', 'SuccessfulCreate', `Created pod: ${pod.metadata.name}`, 'job-controller');
    }
  }
  const left = ownedObjects(cluster, '/pods', job).filter(
    (pod) => !isOver(pod) && pod.metadata.deletionTimestamp === undefined,
  );
  const at = (type: string, reason: string, message: string, value = 'True'): JsonObject => ({
    type,
    status: value,
    lastProbeTime: now,
    lastTransitionTime: now,
    reason,
    message,
  });
  const conditions: JsonObject[] = ((status['conditions'] ?? []) as JsonObject[]).filter(
    (c) => c['type'] !== 'Suspended' || isSuspended,
  );
  if (isSuspended && conditions.length === 0) conditions.push(at('Suspended', 'JobSuspended', 'Job suspended'));
  if (isComplete) {
    const message = 'Reached expected number of succeeded pods';
    conditions.push(
      at('SuccessCriteriaMet', 'CompletionsReached', message),
      at('Complete', 'CompletionsReached', message),
    );
    recordEvent(cluster, job, 'Normal', 'Completed', 'Job completed', 'job-controller');
  } else if (hasFailed) {
    const message = 'Job has reached the specified backoff limit';
    conditions.push(
      at('FailureTarget', 'BackoffLimitExceeded', message),
      at('Failed', 'BackoffLimitExceeded', message),
    );
    recordEvent(cluster, job, 'Warning', 'BackoffLimitExceeded', message, 'job-controller');
  }
  const hasStopped = isComplete || hasFailed || isSuspended;
  setStatus(cluster, key, job, {
    ...(status['startTime'] === undefined && isSuspended ? {} : { startTime: status['startTime'] ?? now }),
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
