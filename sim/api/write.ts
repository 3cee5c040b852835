// Creates and updates objects: metadata, optimistic concurrency, the separate status, dry run
// (apiserver/pkg/registry/generic/registry/store.go). A write to the main resource keeps the stored status. A write to
// /status keeps everything except the status.
import { sendObject } from '../call/answer.ts';
import { sendShaped } from './list.ts';
import { readKind } from '../call/body.ts';
import type { Call } from '../call/cluster.ts';
import { toStored, toVersion } from '../wire/conversion.ts';
import { valueFaults } from '../defaults/custom.ts';
import { admit, createDefaults, updateDefaults } from '../defaults/defaults.ts';
import { checkBody, requiredFaults } from '../apply/field-check.ts';
import { trackUpdate } from '../apply/managed-fields.ts';
import { generatedName, metadataFaults } from '../store/names.ts';
import type { Resource } from '../store/resources.ts';
import {
  alreadyExists,
  badRequest,
  conflict,
  forbidden,
  invalid,
  invalidField,
  notFound,
  objectModified,
  type FieldFault,
  StatusError,
  unexplained,
} from '../model/status-error.ts';
import { canonical } from '../store/store.ts';
import { copy, timestamp, type KubeObject, type ObjectMeta } from '../model/types.ts';
import { updateFaults, validate } from '../validate/validate.ts';
import { checkEscalation } from './escalation.ts';
import { finishDeletion } from './delete.ts';
import { isDryRun } from './dry-run.ts';

/** Answers POST to a collection. */
export async function createOne(call: Call, resource: Resource): Promise<void> {
  const body = await readKind(call, resource);
  const object = insertNew(call, resource, body, { operation: 'Update' });
  await sendShaped(call, resource, 201, object);
}

/**
 * How a write is recorded in managedFields. `Apply` is server-side apply; its caller passes the new `managedFields`,
 * which are otherwise computed here.
 */
export interface WriteOptions {
  readonly operation: 'Update' | 'Apply';
  readonly managedFields?: ObjectMeta['managedFields'];
}

/** Validates and stores a new object. Returns it as it was stored. */
export function insertNew(call: Call, resource: Resource, body: KubeObject, options: WriteOptions): KubeObject {
  const { cluster, info } = call;
  const { store } = cluster;
  let object = toStored(resource, copy(checkBody(call, resource, body)));
  const metadata: Partial<ObjectMeta> & { name: string } = object.metadata;
  fillNamespace(resource, metadata, info.namespace);
  if ((metadata.resourceVersion ?? '') !== '')
    throw unexplained('resourceVersion should not be set on objects to be created');
  if ((metadata.name ?? '') === '' && (metadata.generateName ?? '') !== '')
    metadata.name = generatedName(metadata.generateName ?? '');
  for (const field of [
    'uid',
    'creationTimestamp',
    'deletionTimestamp',
    'deletionGracePeriodSeconds',
    'generation',
    'resourceVersion',
    'selfLink',
  ] as const)
    delete (metadata as Record<string, unknown>)[field];
  if (resource.namespaced) checkNamespace(call, resource, metadata.name, metadata.namespace ?? '');
  object = createDefaults(cluster, resource, object);
  const faults = [...metadataFaults(resource, metadata), ...contentFaults(call, resource, object)];
  if (faults.length > 0) throw invalid(resource, metadata.name ?? '', faults);
  checkEscalation(call, resource, object);
  if (store.get(resource.key, metadata.namespace ?? '', metadata.name) !== undefined)
    throw alreadyExists(resource, metadata.name);
  const managedFields =
    options.managedFields ??
    trackUpdate(call, resource, undefined, toVersion(resource, object), object.metadata.managedFields);
  if (managedFields !== undefined) object.metadata.managedFields = managedFields;
  admit(cluster, resource, object);
  if (isDryRun(call)) {
    const preview = { ...object.metadata, uid: crypto.randomUUID(), creationTimestamp: timestamp(cluster.now()) };
    return { ...object, metadata: preview };
  }
  return store.insert(resource.key, object);
}

/** The errors of an object: missing required fields, then invalid values of other fields. */
function contentFaults(call: Call, resource: Resource, object: KubeObject): FieldFault[] {
  const { schemas } = call.cluster.registry;
  const written = toVersion(resource, object);
  const required = requiredFaults(schemas, resource, written);
  const own =
    resource.definition === undefined
      ? validate(resource, object)
      : valueFaults(schemas, schemas[resource.schemaName ?? ''], written);
  const known = new Set(required.map((fault) => fault.field));
  return [...required, ...own.filter((fault) => !known.has(fault.field))];
}

function fillNamespace(resource: Resource, metadata: { namespace?: string }, namespace: string): void {
  if (!resource.namespaced) {
    delete metadata.namespace;
    return;
  }
  if ((metadata.namespace ?? '') !== '' && metadata.namespace !== namespace)
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  metadata.namespace = namespace;
}

/** Refuses a new object when its namespace is missing or being deleted (admission plugin NamespaceLifecycle). */
function checkNamespace(call: Call, resource: Resource, name: string, namespace: string): void {
  const found = call.cluster.store.get('/namespaces', '', namespace);
  if (found === undefined) throw notFound({ group: '', plural: 'namespaces' }, namespace);
  if (found.metadata.deletionTimestamp === undefined) return;
  const failure = forbidden(
    resource,
    name ?? '',
    `unable to create new content in namespace ${namespace} because it is being terminated`,
  );
  const message = `namespace ${namespace} is being terminated`;
  const causes = [{ reason: 'NamespaceTerminating', message, field: 'metadata.namespace' }];
  throw new StatusError(failure.code, failure.reason, failure.message, { ...failure.details, causes });
}

/** Answers PUT of an object or of its status. */
export async function updateOne(call: Call, resource: Resource): Promise<void> {
  const body = await readKind(call, resource);
  const { store } = call.cluster;
  const name = body.metadata.name ?? '';
  if (name !== '' && name !== call.info.name)
    throw badRequest(`the name of the object (${name}) does not match the name on the URL (${call.info.name})`);
  const current = store.get(resource.key, call.info.namespace, call.info.name);
  if (current === undefined) {
    if (call.info.subresource === '' && upsertable.has(resource.key) && (body.metadata.resourceVersion ?? '') === '') {
      body.metadata.name = call.info.name;
      await sendShaped(call, resource, 201, insertNew(call, resource, body, { operation: 'Update' }));
      return;
    }
    throw notFound(resource, call.info.name);
  }
  const changed = replaceExisting(call, resource, current, body, { operation: 'Update' });
  await sendShaped(call, resource, 200, changed);
}

/** Resources for which PUT may create the object (AllowCreateOnUpdate). */
const upsertable = new Set([
  'coordination.k8s.io/leases',
  '/events',
  '/endpoints',
  '/limitranges',
  'rbac.authorization.k8s.io/roles',
  'rbac.authorization.k8s.io/clusterroles',
  'rbac.authorization.k8s.io/rolebindings',
  'rbac.authorization.k8s.io/clusterrolebindings',
]);

/**
 * Validates and stores a changed object. `body` is in the API version of the request. Returns the object as it was
 * stored.
 */
export function replaceExisting(
  call: Call,
  resource: Resource,
  current: KubeObject,
  body: KubeObject,
  options: WriteOptions,
): KubeObject {
  const { cluster, info } = call;
  let next = toStored(resource, copy(checkBody(call, resource, body)));
  fillNamespace(resource, next.metadata, info.namespace);
  next.metadata.name = current.metadata.name;
  const { uid, resourceVersion } = next.metadata;
  if ((uid ?? '') !== '' && uid !== current.metadata.uid)
    throw conflict(
      resource,
      info.name,
      `StorageError: invalid object, Code: 4, Key: /registry/${resource.plural}/${info.namespace}/${info.name}, ` +
        `ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ${uid}, UID in object meta: ${current.metadata.uid}`,
    );
  if ((resourceVersion ?? '') !== '' && resourceVersion !== current.metadata.resourceVersion)
    throw conflict(resource, info.name, objectModified);
  if (
    (resourceVersion ?? '') === '' &&
    mustHaveVersion(resource) &&
    options.operation === 'Update' &&
    call.info.verb === 'update'
  )
    throw invalid(resource, info.name, [
      invalidField('metadata.resourceVersion', 0, 'must be specified for an update'),
    ]);
  const sent = next.metadata.managedFields;
  next.metadata = keptMetadata(current, next);
  next = splitStatus(resource, info.subresource, current, next);
  next = updateDefaults(cluster, resource, current, next);
  setGeneration(resource, current, next);
  const faults = [
    ...metadataFaults(resource, next.metadata),
    ...contentFaults(call, resource, next),
    ...updateFaults(resource, current, next),
  ];
  if (faults.length > 0) throw invalid(resource, info.name, faults);
  checkEscalation(call, resource, next);
  const managedFields =
    options.managedFields ?? trackUpdate(call, resource, toVersion(resource, current), toVersion(resource, next), sent);
  if (managedFields === undefined) delete next.metadata.managedFields;
  else next.metadata.managedFields = managedFields;
  if (isDryRun(call)) return next;
  const stored = cluster.store.replace(resource.key, next);
  return finishDeletion(cluster, resource, stored) ?? stored;
}

/**
 * Whether an update must contain a resourceVersion. kube-apiserver requires it for custom resources and a few built-in
 * resources.
 */
function mustHaveVersion(resource: Resource): boolean {
  return resource.definition !== undefined || resource.plural === 'customresourcedefinitions';
}

/** The metadata of `next`, with the fields that clients cannot change taken from `current`. */
export function keptMetadata(current: KubeObject, next: KubeObject): ObjectMeta {
  const now = current.metadata;
  const metadata: ObjectMeta = {
    ...next.metadata,
    uid: now.uid,
    creationTimestamp: now.creationTimestamp,
    resourceVersion: now.resourceVersion,
  };
  for (const field of ['generateName', 'generation', 'deletionTimestamp', 'deletionGracePeriodSeconds'] as const) {
    if (now[field] === undefined) delete metadata[field];
    else Object.assign(metadata, { [field]: now[field] });
  }
  delete (metadata as { selfLink?: string }).selfLink;
  return metadata;
}

function splitStatus(resource: Resource, subresource: string, current: KubeObject, next: KubeObject): KubeObject {
  if (subresource === 'status') {
    const { labels, annotations } = next.metadata;
    const metadata = { ...current.metadata, ...(labels && { labels }), ...(annotations && { annotations }) };
    return { ...copy(current), metadata, status: next['status'] };
  }
  if (!resource.hasStatus) return next;
  const { status: _ignored, ...rest } = next;
  return (current['status'] === undefined ? rest : { ...rest, status: copy(current['status']) }) as KubeObject;
}

/**
 * Increases metadata.generation when anything but metadata and status changed. An object without a generation does not
 * get one.
 */
export function setGeneration(resource: Resource, current: KubeObject, next: KubeObject): void {
  if (current.metadata.generation === undefined) return;
  const essence = (object: KubeObject): string => {
    const { metadata: _metadata, status, ...rest } = object;
    return canonical(resource.hasStatus ? rest : { ...rest, status });
  };
  next.metadata.generation = current.metadata.generation + (essence(current) === essence(next) ? 0 : 1);
}

/** Answers POST to pods/binding, which assigns a node to a pod. */
export async function bindPod(call: Call, resource: Resource): Promise<void> {
  const { cluster, info } = call;
  const body = await readKind(call, { group: '', version: 'v1', kind: 'Binding' });
  const pod = cluster.store.get(resource.key, info.namespace, info.name);
  if (pod === undefined) throw notFound(resource, info.name);
  const bound: string = pod['spec']?.nodeName ?? '';
  if (bound !== '')
    throw conflict(
      { group: '', plural: 'pods/binding' },
      info.name,
      `pod ${info.name} is already assigned to node "${bound}"`,
    );
  if (!isDryRun(call))
    cluster.store.replace(resource.key, { ...pod, spec: { ...pod['spec'], nodeName: body['target']?.name ?? '' } });
  await sendObject(call, 201, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 });
}
