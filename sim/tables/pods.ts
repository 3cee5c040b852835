// Table columns of pods. STATUS is not the pod's phase but the most specific reason of a container. A pod that is being
// deleted shows Terminating.
import type { Column } from './column.ts';
import type { JsonObject, KubeObject } from '../types.ts';
import { age, ageColumn, nameColumn, orNone, text, wide } from './cells.ts';

interface PodSummary {
  readonly ready: string;
  readonly status: string;
  readonly restarts: number;
  readonly lastRestart: string;
}

/** Computes the cells of a pod as kubectl shows them (kube-apiserver's printPod). */
export function summarize(pod: KubeObject): PodSummary {
  const status: JsonObject = pod['status'] ?? {};
  const spec: JsonObject = pod['spec'] ?? {};
  const sidecars = new Set(
    ((spec['initContainers'] ?? []) as JsonObject[])
      .filter((c) => c['restartPolicy'] === 'Always')
      .map((c) => c['name']),
  );
  const total = (spec['containers'] ?? []).length + sidecars.size;
  let reason: string = status['reason'] || status['phase'] || '';
  const conditions: readonly JsonObject[] = status['conditions'] ?? [];
  const isTrue = (type: string): boolean => conditions.some((c) => c['type'] === type && c['status'] === 'True');
  if (conditions.some((c) => c['type'] === 'PodScheduled' && c['reason'] === 'SchedulingGated'))
    reason = 'SchedulingGated';

  const init = summarizeInit(status['initContainerStatuses'] ?? [], sidecars, (spec['initContainers'] ?? []).length);
  let { ready, restarts, lastRestart } = init;
  if (init.reason !== undefined) reason = init.reason;
  if (init.reason === undefined || isTrue('Initialized')) {
    const main = summarizeMain(status['containerStatuses'] ?? [], reason, isTrue('Ready'));
    reason = main.reason;
    ready += main.ready;
    restarts = init.sidecarRestarts + main.restarts;
    lastRestart = main.lastRestart;
  }
  const isOver = status['phase'] === 'Succeeded' || status['phase'] === 'Failed';
  if (pod.metadata.deletionTimestamp !== undefined) {
    if (status['reason'] === 'NodeLost') reason = 'Unknown';
    else if (!isOver) reason = 'Terminating';
  }
  return { ready: `${ready}/${total}`, status: reason, restarts, lastRestart };
}

function endReason(terminated: JsonObject): string {
  if ((terminated['reason'] ?? '') !== '') return terminated['reason'];
  return (terminated['signal'] ?? 0) === 0
    ? `ExitCode:${terminated['exitCode'] ?? 0}`
    : `Signal:${terminated['signal']}`;
}

function later(a: string, b: string | undefined): string {
  return b !== undefined && b > a ? b : a;
}

function summarizeInit(statuses: readonly JsonObject[], sidecars: ReadonlySet<unknown>, total: number) {
  const out = { ready: 0, restarts: 0, sidecarRestarts: 0, lastRestart: '', reason: undefined as string | undefined };
  for (const [index, container] of statuses.entries()) {
    const isSidecar = sidecars.has(container['name']);
    out.restarts += container['restartCount'] ?? 0;
    if (isSidecar) out.sidecarRestarts += container['restartCount'] ?? 0;
    out.lastRestart = later(out.lastRestart, container['lastState']?.terminated?.finishedAt);
    const { terminated, waiting } = container['state'] ?? {};
    if (terminated !== undefined && (terminated.exitCode ?? 0) === 0) continue;
    if (isSidecar && container['started'] === true) {
      if (container['ready'] === true) out.ready += 1;
      continue;
    }
    if (terminated !== undefined) out.reason = `Init:${endReason(terminated)}`;
    else if ((waiting?.reason ?? '') !== '' && waiting.reason !== 'PodInitializing')
      out.reason = `Init:${waiting.reason}`;
    else out.reason = `Init:${index}/${total}`;
    break;
  }
  return out;
}

function summarizeMain(statuses: readonly JsonObject[], startReason: string, isPodReady: boolean) {
  const out = { ready: 0, restarts: 0, lastRestart: '', reason: startReason };
  let isRunning = false;
  let errorReason = '';
  for (const container of statuses.toReversed()) {
    out.restarts += container['restartCount'] ?? 0;
    out.lastRestart = later(out.lastRestart, container['lastState']?.terminated?.finishedAt);
    const { waiting, terminated, running } = container['state'] ?? {};
    if ((waiting?.reason ?? '') !== '') out.reason = waiting.reason;
    else if (terminated !== undefined) {
      out.reason = endReason(terminated);
      if ((terminated.exitCode ?? 0) !== 0) errorReason = out.reason;
    } else if (container['ready'] === true && running !== undefined) {
      isRunning = true;
      out.ready += 1;
    }
  }
  if (out.reason === 'Completed') {
    if (isRunning && isPodReady) out.reason = 'Running';
    else if (errorReason !== '') out.reason = errorReason;
    else if (isRunning) out.reason = 'NotReady';
  }
  return out;
}

function readinessGates(pod: KubeObject): string {
  const gates: readonly JsonObject[] = pod['spec']?.readinessGates ?? [];
  if (gates.length === 0) return '<none>';
  const conditions: readonly JsonObject[] = pod['status']?.conditions ?? [];
  const met = gates.filter((gate) =>
    conditions.some((c) => c['type'] === gate['conditionType'] && c['status'] === 'True'),
  );
  return `${met.length}/${gates.length}`;
}

/** The columns of pods. */
export const podColumns: readonly Column[] = [
  nameColumn,
  text('Ready', (pod) => summarize(pod).ready),
  text('Status', (pod) => summarize(pod).status),
  text('Restarts', (pod, now) => {
    const { restarts, lastRestart } = summarize(pod);
    return restarts === 0 || lastRestart === '' ? String(restarts) : `${restarts} (${age(lastRestart, now)} ago)`;
  }),
  ageColumn,
  wide('IP', (pod) => orNone(pod['status']?.podIPs?.[0]?.ip ?? pod['status']?.podIP)),
  wide('Node', (pod) => orNone(pod['spec']?.nodeName)),
  wide('Nominated Node', (pod) => orNone(pod['status']?.nominatedNodeName)),
  wide('Readiness Gates', readinessGates),
];
