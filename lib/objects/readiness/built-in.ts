// Kubernetes' own kinds, and a few others, whose readiness needs more than a rule: after kstatus, Argo CD and Helm.
// Where these differ, a comment says which one holds here and why.
import { parseExact } from '../../json/exact-json.ts';
import { Conditions } from './conditions.ts';
import { countAt, generationAt, itemsAt, placeAt, textAt, textOf, valueAt, type Place } from './fields.ts';
import { failed, ready, Unreadable, waiting, type Readiness } from './verdict.ts';

/** What a judge of a kind gets: parts of an object, checked for their form. */
export interface Parts {
  readonly metadata: Place;
  readonly spec: Place;
  readonly status: Place;
  readonly conditions: Conditions;
}

/** Tells whether an object of one kind is ready. @throws Unreadable when a field does not have the expected type */
export type Judge = (parts: Parts) => Readiness;

/** The judges by kind and group. */
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
  // A paused Deployment may be as it should be. If it is not, that is why: its pods are not replaced.
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
  // A paused one has Unknown here.
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
  // Argo CD calls this degraded. It is waited for, as kstatus does: the controller tries again, and a quota may grow.
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
  // As with a StatefulSet, nobody replaces the pods of the update strategy OnDelete.
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
  // Ready, as kstatus has it: the spec says that it must not run, and the controller has seen to that. Whoever resumes
  // it changes the spec, and then it is waited for.
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
  // kstatus and Argo CD end at CrashLoopBackOff. It is waited for: what a pod needs is often there a little later, and
  // the kubelet goes on trying. The same holds for a pod that no node has room for.
  return waiting(held === undefined ? `is ${phase ?? 'not scheduled'}` : textOf(held));
}

function claim({ status }: Parts): Readiness {
  const phase = textAt(status, 'phase');
  if (phase === 'Lost') return failed('volume is Lost');
  return phase === 'Bound' ? ready : waiting(`volume is ${phase ?? 'not there'}`);
}

/** Helm and Argo CD wait for the address of a load balancer; kstatus does not. Other types are there at once. */
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

/** Ready once its controller has seen it, as kstatus has it. That it allows no disruption now is no fault. */
function disruptionBudget({ status, conditions }: Parts): Readiness {
  if (!isSeen(status)) return unseen;
  const reason = conditions.get('DisruptionAllowed')?.['reason'];
  return reason === 'SyncFailed' ? waiting(conditions.text('DisruptionAllowed')) : ready;
}

/** Where autoscaling/v1 keeps the conditions. */
const annotation = 'autoscaling.alpha.kubernetes.io/conditions';
const scalingFaults: readonly (readonly [type: string, reasons: readonly string[]])[] = [
  ['AbleToScale', ['FailedGetScale', 'FailedUpdateScale']],
  ['ScalingActive', ['InvalidSelector']],
];

/**
 * Argo CD's rule, but for metrics: without them an autoscaler leaves the number of pods as it is, and in a cluster
 * without a metrics server they never come. Helm and kstatus wait for no autoscaler at all.
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

/** Argo CD's rule. A pause is waited for: somebody goes on with the rollout, or aborts it. */
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

/** What is said when fewer are there than should be; undefined when there are enough. */
function short(count: number, all: number, what: string): Readiness | undefined {
  return count >= all ? undefined : waiting(`${count} of ${all} ${what}`);
}

/** As `short`, of a field that not all controllers write. */
function shortIfTold(status: Place, field: string, all: number, what: string): Readiness | undefined {
  return valueAt(status, field) === undefined ? undefined : short(countAt(status, field), all, what);
}

function enough(count: number, all: number, what: string): Readiness {
  return short(count, all, what) ?? ready;
}
