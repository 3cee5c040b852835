// Decides from an object's status alone whether the object is ready, that is, does what it was applied for. The rules
// are those of kstatus (sigs.k8s.io/cli-utils), except that a Job is ready when it is complete, not when it has begun.
import { isJsonObject, type JsonObject } from './json-object.ts';
import { groupKindOf } from './group-kind.ts';

/**
 * What the status of an object says. `waiting` may become `ready` later; `failed` does not without a change. `reason`
 * is a text for people.
 */
export type Readiness = { readonly state: 'ready' } | { readonly state: 'waiting' | 'failed'; readonly reason: string };

const ready: Readiness = { state: 'ready' };
const waiting = (reason: string): Readiness => ({ state: 'waiting', reason });
const failed = (reason: string): Readiness => ({ state: 'failed', reason });

/** Kinds whose objects are ready as soon as they exist, and whose status is not read. */
const timeless = new Set([
  'ConfigMap',
  'Secret',
  'ServiceAccount',
  'Service',
  'CronJob.batch',
  ...['Role', 'ClusterRole', 'RoleBinding', 'ClusterRoleBinding'].map((kind) => `${kind}.rbac.authorization.k8s.io`),
]);

/** Whether an object of this kind may exist and not be ready yet, so that waiting for it makes sense. */
export function canBeUnready(object: { readonly apiVersion: string; readonly kind: string }): boolean {
  return !timeless.has(groupKindOf(object));
}

/**
 * Decides whether an object is ready.
 * @param object the object as a server sent it
 */
export function readinessOf(object: JsonObject): Readiness {
  const metadata = objectAt(object, 'metadata');
  const status = objectAt(object, 'status');
  if (metadata['deletionTimestamp'] !== undefined) return waiting('is being deleted');
  const seen = status['observedGeneration'];
  if (typeof seen === 'number' && seen < numberAt(metadata, 'generation')) {
    return waiting('its controller has not seen the change');
  }
  const apiVersion = String(object['apiVersion']);
  const judge = judges[groupKindOf({ apiVersion, kind: String(object['kind']) })];
  return judge?.(objectAt(object, 'spec'), status) ?? byConditions(status);
}

type Judge = (spec: JsonObject, status: JsonObject) => Readiness;

const judges: Readonly<Record<string, Judge>> = {
  'Deployment.apps': deployment,
  'StatefulSet.apps': statefulSet,
  'ReplicaSet.apps': (spec, status) => enough(numberAt(status, 'readyReplicas'), wanted(spec), 'ready'),
  'DaemonSet.apps': daemonSet,
  'Job.batch': job,
  Pod: pod,
  PersistentVolumeClaim: (_, status) =>
    status['phase'] === 'Bound' ? ready : waiting(`volume is ${String(status['phase'] ?? 'not there')}`),
  Namespace: (_, status) => (status['phase'] === 'Terminating' ? waiting('is being deleted') : ready),
  'CustomResourceDefinition.apiextensions.k8s.io': definition,
};

function deployment(spec: JsonObject, status: JsonObject): Readiness {
  const progressing = condition(status, 'Progressing');
  if (progressing?.['reason'] === 'ProgressDeadlineExceeded') return failed(textOf(progressing));
  const count = wanted(spec);
  const updated = numberAt(status, 'updatedReplicas');
  if (status['observedGeneration'] === undefined) return waiting('its controller has not seen it');
  if (updated < count) return enough(updated, count, 'updated');
  if (numberAt(status, 'replicas') > updated) {
    return waiting(`${numberAt(status, 'replicas') - updated} old replicas are still there`);
  }
  return enough(numberAt(status, 'availableReplicas'), count, 'available');
}

function statefulSet(spec: JsonObject, status: JsonObject): Readiness {
  const strategy = objectAt(spec, 'updateStrategy');
  if (status['observedGeneration'] === undefined) return waiting('its controller has not seen it');
  const count = wanted(spec);
  if (numberAt(status, 'readyReplicas') < count) return enough(numberAt(status, 'readyReplicas'), count, 'ready');
  // With the update strategy OnDelete, pods are replaced only after somebody deletes them, so there is nothing to wait
  // for.
  if (strategy['type'] === 'OnDelete') return ready;
  const partition = numberAt(objectAt(strategy, 'rollingUpdate'), 'partition');
  if (partition > 0) return enough(numberAt(status, 'updatedReplicas'), count - partition, 'updated');
  return status['currentRevision'] === status['updateRevision'] ? ready : waiting('pods of the old revision remain');
}

function daemonSet(_spec: JsonObject, status: JsonObject): Readiness {
  if (status['observedGeneration'] === undefined) return waiting('its controller has not seen it');
  const count = numberAt(status, 'desiredNumberScheduled');
  const updated = numberAt(status, 'updatedNumberScheduled');
  return updated < count
    ? enough(updated, count, 'updated')
    : enough(numberAt(status, 'numberAvailable'), count, 'available');
}

function job(_spec: JsonObject, status: JsonObject): Readiness {
  const failure = condition(status, 'Failed');
  if (failure?.['status'] === 'True') return failed(textOf(failure));
  return condition(status, 'Complete')?.['status'] === 'True' ? ready : waiting('has not completed');
}

function pod(_spec: JsonObject, status: JsonObject): Readiness {
  if (status['phase'] === 'Succeeded') return ready;
  if (status['phase'] === 'Failed') return failed(textOf(status));
  const isReady = condition(status, 'Ready');
  if (isReady?.['status'] === 'True') return ready;
  const containers = [listAt(status, 'initContainerStatuses'), listAt(status, 'containerStatuses')].flat();
  const held = containers.map((one) => objectAt(objectAt(one, 'state'), 'waiting')).find((one) => 'reason' in one);
  return waiting(held === undefined ? `is ${String(status['phase'] ?? 'not scheduled')}` : textOf(held));
}

function definition(_spec: JsonObject, status: JsonObject): Readiness {
  const names = condition(status, 'NamesAccepted');
  if (names?.['status'] === 'False') return failed(textOf(names));
  return condition(status, 'Established')?.['status'] === 'True' ? ready : waiting('is not established');
}

/**
 * Judges objects of all other kinds by the conditions that many controllers set: Stalled, Reconciling, Ready,
 * Available. An object without any of them is ready.
 */
function byConditions(status: JsonObject): Readiness {
  const stalled = condition(status, 'Stalled');
  if (stalled?.['status'] === 'True') return failed(textOf(stalled));
  const reconciling = condition(status, 'Reconciling');
  if (reconciling?.['status'] === 'True') return waiting(textOf(reconciling));
  for (const type of ['Ready', 'Available']) {
    const found = condition(status, type);
    if (found !== undefined && found['status'] !== 'True') return waiting(`${type} is not True: ${textOf(found)}`);
  }
  return ready;
}

function enough(count: number, all: number, what: string): Readiness {
  return count >= all ? ready : waiting(`${count} of ${all} ${what}`);
}

/** Number of replicas that a workload should have; 1 when `spec.replicas` is missing. */
function wanted(spec: JsonObject): number {
  return typeof spec['replicas'] === 'number' ? spec['replicas'] : 1;
}

function condition(status: JsonObject, type: string): JsonObject | undefined {
  return listAt(status, 'conditions').find((one) => one['type'] === type);
}

/** Reason and message of a condition or of a waiting container. */
function textOf({ reason, message }: JsonObject): string {
  return [reason, message].filter((part) => typeof part === 'string' && part !== '').join(': ') || 'no reason given';
}

function objectAt(object: JsonObject, field: string): JsonObject {
  const value = object[field];
  return isJsonObject(value) ? value : {};
}

function listAt(object: JsonObject, field: string): readonly JsonObject[] {
  const value = object[field];
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

function numberAt(object: JsonObject, field: string): number {
  const value = object[field];
  return typeof value === 'number' ? value : 0;
}
