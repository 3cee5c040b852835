// Updates a pod when one of its containers ends: the container is restarted if the pod's restartPolicy says so, and
// otherwise the pod ends when all its containers have ended. An ephemeral container is never restarted, and its end
// does not end the pod.
import type { Cluster } from '../call/cluster.ts';
import { timestamp, type JsonObject, type KubeObject } from '../model/types.ts';
import { edit } from './objects.ts';

/** The value of `state.terminated` in a container status. */
export function terminated(startedAt: string, finishedAt: string, exitCode: number): JsonObject {
  return { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error', startedAt, finishedAt };
}

/** Updates the pod after a container ended with an exit code. */
export function containerExited(cluster: Cluster, pod: KubeObject, name: string, exitCode: number): void {
  const now = timestamp(cluster.now());
  edit(cluster, '/pods', pod, (next) => {
    const status: JsonObject = next['status'] ?? {};
    const ephemeral = ((status['ephemeralContainerStatuses'] ?? []) as JsonObject[]).find(
      (entry) => entry['name'] === name,
    );
    if (ephemeral !== undefined) {
      end(ephemeral, now, exitCode);
      return;
    }
    const statuses: JsonObject[] = status['containerStatuses'] ?? [];
    const entry = statuses.find((candidate) => candidate['name'] === name);
    if (entry?.['state']?.running === undefined) return;
    const policy: string = next['spec']?.restartPolicy ?? 'Always';
    if (policy === 'Always' || (policy === 'OnFailure' && exitCode !== 0)) {
      entry['lastState'] = { terminated: terminated(entry['state'].running.startedAt ?? now, now, exitCode) };
      Object.assign(entry, { restartCount: (entry['restartCount'] ?? 0) + 1, state: { running: { startedAt: now } } });
      return;
    }
    end(entry, now, exitCode);
    if (statuses.every((candidate) => candidate['state']?.terminated !== undefined)) endPod(status, statuses, now);
  });
}

function end(entry: JsonObject, now: string, exitCode: number): void {
  const startedAt: string = entry['state']?.running?.startedAt ?? now;
  Object.assign(entry, { ready: false, started: false, state: { terminated: terminated(startedAt, now, exitCode) } });
}

/** Sets the status of a pod whose containers have all ended. Changes `status`. */
export function endPod(status: JsonObject, statuses: readonly JsonObject[], now: string): void {
  const hasFailed = statuses.some((entry) => entry['state']?.terminated?.exitCode !== 0);
  status['phase'] = hasFailed ? 'Failed' : 'Succeeded';
  for (const condition of (status['conditions'] ?? []) as JsonObject[]) {
    if (!['Ready', 'ContainersReady', 'PodReadyToStartContainers'].includes(condition['type'])) continue;
    Object.assign(condition, { status: 'False', lastTransitionTime: now });
    if (condition['type'] !== 'PodReadyToStartContainers')
      condition['reason'] = hasFailed ? 'PodFailed' : 'PodCompleted';
  }
}
