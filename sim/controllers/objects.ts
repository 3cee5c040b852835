// What controllers do to objects: create what they own, set status, record events. A status is written onto the
// newest object, never onto the one the reconciler began with.
import { randomBytes } from 'node:crypto';
import type { Cluster } from '../cluster.ts';
import { admit, createDefaults } from '../defaults/defaults.ts';
import { startDeletion, type DeleteOptions } from '../api/delete.ts';
import { parseApiVersion } from '../store/resources.ts';
import { canonical } from '../store/store.ts';
import { matchesSelectorObject } from '../store/selectors.ts';
import { copy, timestamp, type JsonObject, type KubeObject, type OwnerReference } from '../types.ts';

/** A controlling owner reference to `owner`. */
export function ownedBy(owner: KubeObject): OwnerReference {
  const { apiVersion, kind, metadata } = owner;
  return { apiVersion, kind, name: metadata.name, uid: metadata.uid, controller: true, blockOwnerDeletion: true };
}

/** Creates an object as a controller does: defaults filled, no checks; undefined when the name is taken. */
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

/** Deletes an object by storage key. */
export function removeOwned(cluster: Cluster, key: string, object: KubeObject, options: DeleteOptions = {}): void {
  const slash = key.indexOf('/');
  const resource = cluster.registry.findPlural(key.slice(0, slash), key.slice(slash + 1));
  if (resource !== undefined) startDeletion(cluster, resource, object, options);
}

/** Changes the newest version of an object; `change` gets a copy. */
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

/** Sets the status of an object, when it differs. */
export function setStatus(cluster: Cluster, key: string, object: KubeObject, status: JsonObject): void {
  edit(cluster, key, object, (next) => {
    next['status'] = status;
  });
}

/** Objects of a namespace controlled by `owner`. */
export function ownedObjects(cluster: Cluster, key: string, owner: KubeObject): readonly KubeObject[] {
  return cluster.store
    .list(key, owner.metadata.namespace)
    .filter((object) =>
      (object.metadata.ownerReferences ?? []).some((ref) => ref.controller === true && ref.uid === owner.metadata.uid),
    );
}

/** Pods controlled by `owner`, after adopting orphans its selector matches. */
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

/** Whether a pod counts as ready. */
export function isReady(pod: KubeObject): boolean {
  return conditionIs(pod, 'Ready', 'True') && pod.metadata.deletionTimestamp === undefined;
}

/** Whether a condition has a status. */
function conditionIs(object: KubeObject, type: string, status: string): boolean {
  return ((object['status']?.conditions ?? []) as JsonObject[]).some(
    (c) => c['type'] === type && c['status'] === status,
  );
}

/** Whether a pod has ended. */
export function isOver(pod: KubeObject): boolean {
  const phase: unknown = pod['status']?.phase;
  return phase === 'Succeeded' || phase === 'Failed';
}

/** A condition; keeps the transition time of the old one when nothing changed but the message. */
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

/** A short text made from a hash of a value: the same value gives the same text. It may be part of an object name. */
export function hashText(value: unknown): string {
  let hash = 2166136261;
  for (const character of canonical(value)) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 16777619) >>> 0;
  let text = '';
  for (let rest = hash; text.length < 9; rest = Math.imul(rest ^ (rest >>> 7), 2654435761) >>> 0)
    text += alphabet[rest % alphabet.length];
  return text;
}

/** A random name suffix. */
export function randomSuffix(length = 5): string {
  return [...randomBytes(length)].map((byte) => alphabet[byte % alphabet.length]).join('');
}

/** Records an Event about an object; repeated ones are counted. */
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
  const involvedObject = {
    apiVersion: about.apiVersion,
    kind: about.kind,
    name,
    namespace: about.metadata.namespace,
    uid,
    resourceVersion,
  };
  cluster.store.insert('/events', {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `${name}.${id}`, namespace },
    involvedObject,
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

/** The owner that controls an object, if any. */
export function controllerOf(object: KubeObject): OwnerReference | undefined {
  return (object.metadata.ownerReferences ?? []).find((owner) => owner.controller === true);
}
