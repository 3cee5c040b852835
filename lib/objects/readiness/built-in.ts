// Readiness of Kubernetes' own kinds and a few others that need code instead of a rule as data. The code follows
// kstatus, Argo CD and Helm. Where these three differ, a comment says which is followed and why.
import { parseExact } from '../../json/exact-json.ts';
import { Conditions } from './conditions.ts';
import { countAt, generationAt, itemsAt, placeAt, textAt, textOf, valueAt, type Place } from './fields.ts';
import { failed, ready, Unreadable, waiting, type Readiness } from './verdict.ts';

/** The parts of an object that a judge gets. Their types have been checked. */
export interface Parts {
  readonly metadata: Place;
  readonly spec: Place;
  readonly status: Place;
  readonly conditions: Conditions;
}

/** Tells whether an object of one kind is ready. @throws Unreadable when a field does not have the expected type */
export type Judge = (parts: Parts) => Readiness;

/** The function that judges each kind, by kind and group such as `Deployment.apps`. */
export const builtInKinds: ReadonlyMap<string, Judge> = new Map<string, Judge>([
  ['Deployment.apps', deployment],
  ['StatefulSet.apps', statefulSet],
  ['StatefulSet.apps.kruise.io', statefulSet],
  ['ReplicaSet.apps', replicaSet],
  ['ReplicationController', replicaSet],
  ['DaemonSet.apps', daemonSet],
  ['DaemonSet.apps.kruise.io', daemonSet],
  ['CloneSet.apps.kruise.io', cloneSet],
  ['Job.batch', job],
  ['Pod', pod],
  ['PersistentVolumeClaim', claim],
  ['Service', service],
  ['Namespace', namespace],
  ['PodDisruptionBudget.policy', disruptionBudget],
  ['HorizontalPodAutoscaler.autoscaling', autoscaler],
  ['Rollout.argoproj.io', rollout],
  ['CustomResourceDefinition.apiextensions.k8s.io', definition],
]);

const unseen = waiting('its controller has not seen it');

function deployment({ spec, status, conditions }: Parts): Readiness {
  if (conditions.get('Progressing')?.['reason'] === 'ProgressDeadlineExceeded') {
    return failed(conditions.text('Progressing'));
  }
  if (!isSeen(status)) return unseen;
  const rollout = deploymentRollout(spec, status, conditions);
  // A paused Deployment can be ready. If it is not, the pause is named as the reason, since paused Deployments do not
  // replace pods.
  if (rollout.state === 'ready' || valueAt(spec, 'paused') !== true) return rollout;
  return { ...rollout, reason: `is paused, ${rollout.reason}` };
}

function deploymentRollout(spec: Place, status: Place, conditions: Conditions): Readiness {
  const count = wanted(spec);
  const updated = countAt(status, 'updatedReplicas');
  if (updated < count) return enough(updated, count, 'updated');
  const old = countAt(status, 'replicas') - updated;
  if (old > 0) return waiting(`${old} old replicas are still there`);
  const unavailable = short(countAt(status, 'availableReplicas'), count, 'available');
  if (unavailable !== undefined) return unavailable;
  if (conditions.get('Available') && !conditions.isTrue('Available')) return waiting(conditions.fault('Available')!);
  // A paused Deployment has status Unknown here, which does not count as stuck.
  const isStuck = conditions.get('Progressing')?.['status'] === 'False';
  return isStuck ? waiting(conditions.fault('Progressing')!) : ready;
}

function statefulSet({ spec, status }: Parts): Readiness {
  if (!isSeen(status)) return unseen;
  const strategy = placeAt(spec, 'updateStrategy');
  const count = wanted(spec);
  const shortfall = short(countAt(status, 'readyReplicas'), count, 'ready');
  if (shortfall !== undefined) return shortfall;
  const unavailable = shortIfTold(status, 'availableReplicas', count, 'available');
  if (unavailable !== undefined) return unavailable;
  const extra = countAt(status, 'replicas') - count;
  if (extra > 0) return waiting(`${extra} replicas too many are still there`);
  // With the update strategy OnDelete, pods are replaced only after somebody deletes them, so there is nothing to wait
  // for.
  if (textAt(strategy, 'type') === 'OnDelete') return ready;
  const partition = countAt(placeAt(strategy, 'rollingUpdate'), 'partition');
  if (partition > 0) return enough(countAt(status, 'updatedReplicas'), count - partition, 'updated');
  const isCurrent = textAt(status, 'currentRevision') === textAt(status, 'updateRevision');
  if (!isCurrent) return waiting('pods of the old revision remain');
  return shortIfTold(status, 'currentReplicas', count, 'current') ?? ready;
}

function replicaSet({ spec, status, conditions }: Parts): Readiness {
  if (!isSeen(status)) return unseen;
  // ReplicaFailure: pods cannot be created. Argo CD counts this as failed; here, as in kstatus, it is waited for, since
  // the controller tries again, and for example a quota may be raised.
  if (conditions.isTrue('ReplicaFailure')) return waiting(conditions.text('ReplicaFailure'));
  const count = wanted(spec);
  const shortfall =
    short(countAt(status, 'readyReplicas'), count, 'ready') ??
    short(countAt(status, 'availableReplicas'), count, 'available');
  if (shortfall !== undefined) return shortfall;
  const extra = countAt(status, 'replicas') - count;
  return extra > 0 ? waiting(`${extra} replicas too many are still there`) : ready;
}

function daemonSet({ spec, status }: Parts): Readiness {
  if (!isSeen(status)) return unseen;
  if (valueAt(status, 'desiredNumberScheduled') === undefined) return waiting('has no desiredNumberScheduled yet');
  const strategy = placeAt(spec, 'updateStrategy');
  const count = countAt(status, 'desiredNumberScheduled');
  // As for a StatefulSet: with the strategy OnDelete, outdated pods stay until somebody deletes them, so they are not
  // waited for.
  if (textAt(strategy, 'type') !== 'OnDelete') {
    const updates = count - countAt(placeAt(strategy, 'rollingUpdate'), 'partition');
    const outdated = short(countAt(status, 'updatedNumberScheduled'), updates, 'updated');
    if (outdated !== undefined) return outdated;
  }
  const unready = shortIfTold(status, 'numberReady', count, 'ready');
  return unready ?? enough(countAt(status, 'numberAvailable'), count, 'available');
}

function cloneSet({ spec, status }: Parts): Readiness {
  if (!isSeen(status)) return unseen;
  const expected = countAt(status, 'expectedUpdatedReplicas');
  const outdated = short(countAt(status, 'updatedReplicas'), expected, 'updated');
  return outdated ?? enough(countAt(status, 'availableReplicas'), wanted(spec), 'available');
}

function job({ spec, conditions }: Parts): Readiness {
  if (conditions.isTrue('Failed')) return failed(conditions.text('Failed'));
  if (conditions.isTrue('Complete')) return ready;
  if (valueAt(spec, 'suspend') !== true) return waiting('has not completed');
  // As in kstatus, a suspended Job is ready: the spec says that it must not run, and the controller has stopped it.
  // When it is resumed, its spec changes, and then its completion is waited for.
  return conditions.isTrue('Suspended') ? ready : waiting('has not been suspended yet');
}

function pod({ status, conditions }: Parts): Readiness {
  const phase = textAt(status, 'phase');
  if (phase === 'Succeeded') return ready;
  if (phase === 'Failed') return failed(textOf(status.value));
  if (phase === 'Running' && conditions.isTrue('Ready')) return ready;
  const containers = [itemsAt(status, 'initContainerStatuses'), itemsAt(status, 'containerStatuses')].flat();
  const held = containers
    .map((each) => placeAt(placeAt(each, 'state'), 'waiting').value)
    .find((each) => 'reason' in each);
  // kstatus and Argo CD count CrashLoopBackOff as failed. Here it is waited for: what the pod needs is often there a
  // little later, and the kubelet keeps restarting it. A pod that cannot be scheduled is waited for too.
  return waiting(held === undefined ? `is ${phase ?? 'not scheduled'}` : textOf(held));
}

function claim({ status }: Parts): Readiness {
  const phase = textAt(status, 'phase');
  if (phase === 'Lost') return failed('volume is Lost');
  return phase === 'Bound' ? ready : waiting(`volume is ${phase ?? 'not there'}`);
}

/**
 * As in Helm and Argo CD, a Service of type LoadBalancer is ready when it has an address; kstatus does not wait for it.
 * Services of other types are ready at once.
 */
function service({ spec, status }: Parts): Readiness {
  if (textAt(spec, 'type') !== 'LoadBalancer') return ready;
  const given = valueAt(spec, 'externalIPs');
  if (Array.isArray(given) && given.length > 0) return ready;
  const addresses = itemsAt(placeAt(status, 'loadBalancer'), 'ingress');
  return addresses.length > 0 ? ready : waiting('its load balancer has no address');
}

function namespace({ status }: Parts): Readiness {
  return textAt(status, 'phase') === 'Terminating' ? waiting('is being deleted') : ready;
}

/**
 * As in kstatus, a PodDisruptionBudget is ready once its controller has seen it, even if it allows no disruption now.
 */
function disruptionBudget({ status, conditions }: Parts): Readiness {
  if (!isSeen(status)) return unseen;
  const reason = conditions.get('DisruptionAllowed')?.['reason'];
  return reason === 'SyncFailed' ? waiting(conditions.text('DisruptionAllowed')) : ready;
}

/** Annotation in which API version autoscaling/v1 returns the conditions of an autoscaler, as JSON. */
const annotation = 'autoscaling.alpha.kubernetes.io/conditions';
const scalingFaults: readonly (readonly [type: string, reasons: readonly string[]])[] = [
  ['AbleToScale', ['FailedGetScale', 'FailedUpdateScale']],
  ['ScalingActive', ['InvalidSelector']],
];

/**
 * Argo CD's rule, except that missing metrics are no fault: the autoscaler then leaves the number of pods as it is, and
 * in a cluster without a metrics server there will never be any. Helm and kstatus do not wait for autoscalers at all.
 */
function autoscaler({ metadata, conditions: own }: Parts): Readiness {
  const conditions = annotatedConditions(metadata) ?? own;
  for (const [type, reasons] of scalingFaults) {
    if (reasons.includes(String(conditions.get(type)?.['reason']))) return waiting(conditions.text(type));
  }
  if (conditions.isTrue('AbleToScale') || conditions.isTrue('ScalingLimited')) return ready;
  return waiting(conditions.fault('AbleToScale') ?? 'is not able to scale');
}

function annotatedConditions(metadata: Place): Conditions | undefined {
  const text = placeAt(metadata, 'annotations').value[annotation];
  if (text === undefined) return undefined;
  try {
    return new Conditions({ path: 'annotated', value: { conditions: parseExact(String(text)) } }, undefined);
  } catch (error) {
    if (error instanceof SyntaxError) throw new Unreadable(`the annotation ${annotation} is not JSON`);
    throw error;
  }
}

/** Annotation of a Rollout with the generation of the workload that its `workloadRef` names. */
const workloadGeneration = 'rollout.argoproj.io/workload-generation';

/**
 * Argo CD's rule for Rollouts of Argo Rollouts. A paused Rollout is waited for, until somebody promotes or aborts it.
 */
function rollout({ metadata, spec, status }: Parts): Readiness {
  const workload = placeAt(metadata, 'annotations').value[workloadGeneration];
  const seen = generationAt(status, 'workloadObservedGeneration');
  if (valueAt(spec, 'workloadRef') !== undefined && workload !== undefined && workload !== String(seen)) {
    return waiting('its controller has not seen the change of its workload');
  }
  const phase = textAt(status, 'phase');
  if (phase === 'Healthy') return ready;
  if (phase === 'Degraded') return failed(textOf({ message: textAt(status, 'message') }));
  return waiting(phase === undefined ? 'has no phase yet' : `is ${phase}`);
}

function definition({ conditions }: Parts): Readiness {
  if (conditions.get('NamesAccepted')?.['status'] === 'False') return failed(conditions.text('NamesAccepted'));
  return conditions.isTrue('Established') ? ready : waiting('is not established');
}

function isSeen(status: Place): boolean {
  return valueAt(status, 'observedGeneration') !== undefined;
}

/** Number of replicas that a workload should have; 1 when `spec.replicas` is missing. */
function wanted(spec: Place): number {
  return valueAt(spec, 'replicas') === undefined ? 1 : countAt(spec, 'replicas');
}

/** Returns `waiting` with a reason such as `2 of 3 ready` when fewer than `all` replicas exist; otherwise undefined. */
function short(count: number, all: number, what: string): Readiness | undefined {
  return count >= all ? undefined : waiting(`${count} of ${all} ${what}`);
}

/** Does the same as `short` for a status field, and returns undefined if the controller does not write this field. */
function shortIfTold(status: Place, field: string, all: number, what: string): Readiness | undefined {
  return valueAt(status, field) === undefined ? undefined : short(countAt(status, field), all, what);
}

function enough(count: number, all: number, what: string): Readiness {
  return short(count, all, what) ?? ready;
}
