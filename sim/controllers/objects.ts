// Functions that controllers use to change objects: create dependents, set a status, record Events. Changes are made to
// the newest version of an object, not to the version that the controller read at first.
import type { Cluster } from '../call/cluster.ts';
import { admit, createDefaults } from '../defaults/defaults.ts';
import { startDeletion } from '../api/delete.ts';
import { parseApiVersion } from '../store/resources.ts';
import { canonical } from '../store/store.ts';
import { matchesSelectorObject } from '../store/selectors.ts';
import { copy, timestamp, type JsonObject, type KubeObject, type OwnerReference } from '../model/types.ts';

/** An owner reference with which an object names `owner` as its controller. */
export function ownedBy(owner: KubeObject): OwnerReference {
  const { apiVersion, kind, metadata } = owner;
  return { apiVersion, kind, name: metadata.name, uid: metadata.uid, controller: true, blockOwnerDeletion: true };
}

/**
 * Creates an object with its defaults filled in, but without validation. Returns undefined when an object of that name
 * exists.
 */
export function createOwned(cluster: Cluster, object: JsonObject): KubeObject | undefined {
  const { group, version } = parseApiVersion(object['apiVersion']);
  const resource = cluster.registry.findKind(group, version, object['kind']);
  if (resource === undefined) throw new Error(`no such kind: ${object['kind']}`);
  const { namespace = '', name } = object['metadata'];
  if (cluster.store.get(resource.key, namespace, name) !== undefined) return undefined;
  const filled = createDefaults(cluster, resource, copy(object) as KubeObject);
  admit(cluster, resource, filled);
  if (object['status'] !== undefined) filled['status'] = object['status'];
  return cluster.store.insert(resource.key, filled);
}

/** Deletes an object. `key` is the storage key of its resource, such as `apps/deployments`. */
export function removeOwned(cluster: Cluster, key: string, object: KubeObject): void {
  const slash = key.indexOf('/');
  const resource = cluster.registry.findPlural(key.slice(0, slash), key.slice(slash + 1));
  if (resource !== undefined) startDeletion(cluster, resource, object);
}

/**
 * Changes the newest version of an object: `change` gets a copy that it edits. Returns undefined when the object is
 * gone.
 */
export function edit(
  cluster: Cluster,
  key: string,
  object: KubeObject,
  change: (copied: KubeObject) => void,
): KubeObject | undefined {
  const { namespace = '', name, uid } = object.metadata;
  const current = cluster.store.get(key, namespace, name);
  if (current === undefined || current.metadata.uid !== uid) return undefined;
  const next = copy(current);
  change(next);
  return cluster.store.replace(key, next);
}

/** Sets the status of an object. When the status is the same as before, the store changes nothing. */
export function setStatus(cluster: Cluster, key: string, object: KubeObject, status: JsonObject): void {
  edit(cluster, key, object, (next) => {
    next['status'] = status;
  });
}

/** The objects in the owner's namespace that `owner` controls. */
export function ownedObjects(cluster: Cluster, key: string, owner: KubeObject): readonly KubeObject[] {
  return cluster.store
    .list(key, owner.metadata.namespace)
    .filter((object) =>
      (object.metadata.ownerReferences ?? []).some((ref) => ref.controller === true && ref.uid === owner.metadata.uid),
    );
}

/**
 * The pods that `owner` controls. Before that, pods without a controller that the owner's selector matches get an owner
 * reference to it.
 */
export function podsOf(cluster: Cluster, owner: KubeObject): readonly KubeObject[] {
  const selector: JsonObject | undefined = owner['spec']?.selector;
  for (const pod of cluster.store.list('/pods', owner.metadata.namespace)) {
    const hasController = (pod.metadata.ownerReferences ?? []).some((ref) => ref.controller === true);
    if (
      hasController ||
      pod.metadata.deletionTimestamp !== undefined ||
      !matchesSelectorObject(selector, pod.metadata.labels)
    )
      continue;
    edit(cluster, '/pods', pod, (next) => {
      next.metadata.ownerReferences = [...(next.metadata.ownerReferences ?? []), ownedBy(owner)];
    });
  }
  return ownedObjects(cluster, '/pods', owner);
}

/** Whether the pod has the condition Ready and is not being deleted. */
export function isReady(pod: KubeObject): boolean {
  const conditions: readonly JsonObject[] = pod['status']?.conditions ?? [];
  const isSet = conditions.some((c) => c['type'] === 'Ready' && c['status'] === 'True');
  return isSet && pod.metadata.deletionTimestamp === undefined;
}

/** Whether a pod has ended, successfully or not. */
export function isOver(pod: KubeObject): boolean {
  const phase: unknown = pod['status']?.phase;
  return phase === 'Succeeded' || phase === 'Failed';
}

/**
 * A condition for a status. `old` has the present conditions: lastTransitionTime is taken from there unless the
 * condition's status changes.
 */
export function condition(
  cluster: Cluster,
  old: readonly JsonObject[],
  type: string,
  status: string,
  reason: string,
  message: string,
): JsonObject {
  const before = old.find((entry) => entry['type'] === type);
  const now = timestamp(cluster.now());
  const isSame = before?.['status'] === status && before['reason'] === reason && before['message'] === message;
  if (isSame && before !== undefined) return before;
  const lastTransitionTime = before?.['status'] === status ? before['lastTransitionTime'] : now;
  return { type, status, lastUpdateTime: now, lastTransitionTime, reason, message };
}

const alphabet = 'bcdfghjklmnpqrstvwxz2456789';

/**
 * A short text computed from a hash of the value, so equal values give equal texts. The text is valid in names of
 * objects.
 */
export function hashText(value: unknown): string {
  let hash = 2166136261;
  for (const character of canonical(value)) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 16777619) >>> 0;
  let text = '';
  for (let rest = hash; text.length < 9; rest = Math.imul(rest ^ (rest >>> 7), 2654435761) >>> 0)
    text += alphabet[rest % alphabet.length];
  return text;
}

/**
 * Records an Event of type Normal, whose source is the controller for the kind of the object, such as `job-controller`.
 */
export function recordNormal(cluster: Cluster, about: KubeObject, reason: string, message: string): void {
  recordEvent(cluster, about, 'Normal', reason, message, `${about.kind.toLowerCase()}-controller`);
}

/**
 * Records an Event about an object. If there already is an Event with the same type, reason, message and source about
 * this object, its count is increased.
 */
export function recordEvent(
  cluster: Cluster,
  about: KubeObject,
  type: string,
  reason: string,
  message: string,
  component: string,
): void {
  const { namespace = 'default', name, uid, resourceVersion } = about.metadata;
  if (cluster.store.get('/namespaces', '', namespace)?.metadata.deletionTimestamp !== undefined) return;
  const now = timestamp(cluster.now());
  const id = hashText([uid, type, reason, message, component]);
  const existing = cluster.store.get('/events', namespace, `${name}.${id}`);
  if (existing !== undefined) {
    edit(cluster, '/events', existing, (next) =>
      Object.assign(next, { count: (next['count'] ?? 1) + 1, lastTimestamp: now }),
    );
    return;
  }
  const { apiVersion, kind } = about;
  cluster.store.insert('/events', {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `${name}.${id}`, namespace },
    involvedObject: { apiVersion, kind, name, namespace: about.metadata.namespace, uid, resourceVersion },
    type,
    reason,
    message,
    source: { component },
    reportingComponent: component,
    reportingInstance: '',
    firstTimestamp: now,
    lastTimestamp: now,
    count: 1,
    eventTime: null,
  });
}

/** The owner reference that names the object's controller; undefined when there is none. */
export function controllerOf(object: KubeObject): OwnerReference | undefined {
  return (object.metadata.ownerReferences ?? []).find((owner) => owner.controller === true);
}
