// Deletes an object or a collection, with grace periods of pods, finalizers and propagation (apiserver
// pkg/registry/generic/registry/store.go, rest/delete.go). An object with finalizers is not removed at once but gets a
// deletionTimestamp. The write that removes its last finalizer removes the object.
import { sendObject, sendPieces, successStatus } from '../call/answer.ts';
import { readObject } from '../call/body.ts';
import type { Call, Cluster } from '../call/cluster.ts';
import { sendShaped } from './list.ts';
import type { Resource } from '../store/resources.ts';
import { matcherOf } from '../store/selectors.ts';
import { badRequest, conflict, invalidOption, notFound } from '../model/status-error.ts';
import { timestamp, type JsonObject, type KubeObject } from '../model/types.ts';
import { listPieces } from '../wire/wire.ts';
import { isDryRun } from './dry-run.ts';

/** The options of a deletion (metav1.DeleteOptions). */
export interface DeleteOptions {
  readonly gracePeriodSeconds?: number;
  readonly propagationPolicy?: string;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly dryRun?: readonly string[];
}

const orphanFinalizer = 'orphan';
const foregroundFinalizer = 'foregroundDeletion';

/** Resources whose dependents are orphaned unless the client sends another propagation policy. */
const orphansByDefault = new Set(['batch/jobs', '/replicationcontrollers']);
/** Resources for which the answer to a completed deletion is the deleted object; for others it is a Status. */
const returnsObject = new Set([
  '/pods',
  '/services',
  '/persistentvolumes',
  '/persistentvolumeclaims',
  '/resourcequotas',
  '/podtemplates',
]);

/** Answers DELETE of one object. */
export async function deleteOne(call: Call, resource: Resource): Promise<void> {
  const options = await readOptions(call, resource);
  const { store } = call.cluster;
  const object = store.get(resource.key, call.info.namespace, call.info.name);
  if (object === undefined) throw notFound(resource, call.info.name);
  checkPreconditions(resource, object, options);
  const isDry = isDryRun(call, options.dryRun);
  const outcome = isDry
    ? { isGone: object.metadata.finalizers === undefined, object }
    : startDeletion(call.cluster, resource, object, options);
  if (outcome.isGone && !returnsObject.has(resource.key)) {
    const { name, uid } = object.metadata;
    const group = resource.group === '' ? {} : { group: resource.group };
    await sendObject(call, 200, successStatus({ name, ...group, kind: resource.plural, uid }));
  } else await sendShaped(call, resource, 200, outcome.object);
}

/** Answers DELETE of a collection: deletes all selected objects and answers with a list of them. */
export async function deleteMany(call: Call, resource: Resource): Promise<void> {
  const options = await readOptions(call, resource);
  const matches = matcherOf(call.query, resource);
  const { store } = call.cluster;
  const objects = store.list(resource.key, call.info.namespace).filter(matches);
  if (!isDryRun(call, options.dryRun))
    for (const object of objects) startDeletion(call.cluster, resource, object, options);
  const table = { includeObject: 'Metadata', now: call.cluster.now() };
  const metadata = { resourceVersion: String(store.revision) };
  await sendPieces(call, 200, 'application/json', listPieces(resource, objects, metadata, call.accept, table));
}

async function readOptions(call: Call, resource: Resource): Promise<DeleteOptions> {
  const body: JsonObject = (await readObject(call)) ?? {};
  const { query } = call;
  const grace = body['gracePeriodSeconds'] ?? query.get('gracePeriodSeconds') ?? undefined;
  const propagationPolicy = policyOf(body, query) ?? (orphansByDefault.has(resource.key) ? 'Orphan' : undefined);
  if (grace !== undefined && !/^-?\d+$/.test(String(grace)))
    throw badRequest(`gracePeriodSeconds: invalid value ${String(grace)}`);
  return {
    ...(grace === undefined ? {} : { gracePeriodSeconds: Math.max(Number(grace), Number(grace) < 0 ? 1 : 0) }),
    ...(propagationPolicy === undefined ? {} : { propagationPolicy }),
    ...(body['preconditions'] === undefined ? {} : { preconditions: body['preconditions'] }),
    ...(body['dryRun'] === undefined ? {} : { dryRun: body['dryRun'] }),
  };
}

/**
 * The propagation policy that the client requested, also by the older `orphanDependents`; undefined when it requested
 * none.
 */
function policyOf(body: JsonObject, query: URLSearchParams): string | undefined {
  const policy: string | undefined = body['propagationPolicy'] ?? query.get('propagationPolicy') ?? undefined;
  if (policy !== undefined && !['Orphan', 'Background', 'Foreground'].includes(policy)) {
    const supported = 'supported values: "Background", "Foreground", "Orphan"';
    const fault = {
      reason: 'FieldValueNotSupported',
      message: `Unsupported value: "${policy}": ${supported}`,
      field: 'propagationPolicy',
    };
    throw invalidOption('DeleteOptions', fault);
  }
  const orphans: unknown = body['orphanDependents'] ?? query.get('orphanDependents') ?? undefined;
  if (policy !== undefined || orphans === undefined) return policy;
  return String(orphans) === 'true' ? 'Orphan' : 'Background';
}

function checkPreconditions(resource: Resource, object: KubeObject, options: DeleteOptions): void {
  const { uid, resourceVersion } = options.preconditions ?? {};
  const { metadata } = object;
  if (uid !== undefined && uid !== metadata.uid)
    throw conflict(
      resource,
      metadata.name,
      `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${metadata.uid}`,
    );
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion)
    throw conflict(
      resource,
      metadata.name,
      `Precondition failed: ResourceVersion in precondition: ${resourceVersion}, ResourceVersion in object meta: ${metadata.resourceVersion}`,
    );
}

/**
 * Starts the deletion of a stored object, for requests and for controllers. Returns the object after that; `isGone` is
 * true when it was removed at once.
 */
export function startDeletion(
  cluster: Cluster,
  resource: Resource,
  object: KubeObject,
  options: DeleteOptions = {},
): { readonly isGone: boolean; readonly object: KubeObject } {
  const { store } = cluster;
  const { metadata } = object;
  const finalizers = finalizersFor(metadata.finalizers ?? [], options.propagationPolicy);
  const grace = graceOf(resource, object, options);
  const isHeld = finalizers.length > 0 || grace > 0 || isNamespace(resource);
  if (!isHeld) {
    if (resource.key === '/pods') store.replace(resource.key, marked(cluster, resource, object, finalizers, 0));
    const last = store.remove(resource.key, metadata.namespace ?? '', metadata.name);
    return { isGone: true, object: last ?? object };
  }
  const held = metadata.deletionGracePeriodSeconds ?? grace;
  const isFirst = metadata.deletionTimestamp === undefined;
  if (!isFirst && grace >= held && finalizers.length === (metadata.finalizers ?? []).length)
    return { isGone: false, object };
  const seconds = isFirst ? grace : Math.min(grace, held);
  return { isGone: false, object: store.replace(resource.key, marked(cluster, resource, object, finalizers, seconds)) };
}

/**
 * A copy of the object with the fields of an object that is being deleted: deletionTimestamp, grace period and
 * finalizers.
 */
function marked(
  cluster: Cluster,
  resource: Resource,
  object: KubeObject,
  finalizers: readonly string[],
  seconds: number,
): KubeObject {
  const { metadata } = object;
  const isFirst = metadata.deletionTimestamp === undefined;
  const result: KubeObject = {
    ...object,
    metadata: {
      ...metadata,
      deletionTimestamp: timestamp(new Date(cluster.now().getTime() + seconds * 1000)),
      ...(isNamespace(resource) ? {} : { deletionGracePeriodSeconds: seconds }),
      ...(metadata.generation === undefined ? {} : { generation: metadata.generation + (isFirst ? 1 : 0) }),
    },
    ...(isNamespace(resource) ? { status: { ...object['status'], phase: 'Terminating' } } : {}),
  };
  if (finalizers.length > 0) result.metadata.finalizers = [...finalizers];
  else delete result.metadata.finalizers;
  return result;
}

function finalizersFor(current: readonly string[], policy: string | undefined): string[] {
  if (policy === undefined) return [...current];
  const others = current.filter((name) => name !== orphanFinalizer && name !== foregroundFinalizer);
  if (policy === 'Orphan') return [...others, orphanFinalizer];
  return policy === 'Foreground' ? [...others, foregroundFinalizer] : others;
}

function graceOf(resource: Resource, object: KubeObject, options: DeleteOptions): number {
  if (resource.key !== '/pods') return 0;
  const phase: unknown = object['status']?.phase;
  if ((object['spec']?.nodeName ?? '') === '' || phase === 'Succeeded' || phase === 'Failed') return 0;
  return options.gracePeriodSeconds ?? object['spec']?.terminationGracePeriodSeconds ?? 30;
}

function isNamespace(resource: Resource): boolean {
  return resource.key === '/namespaces';
}

/**
 * Removes an object that is being deleted, when no finalizer and no grace period is left. Returns the removed object;
 * undefined when it was not removed.
 */
export function finishDeletion(cluster: Cluster, resource: Resource, object: KubeObject): KubeObject | undefined {
  const { metadata } = object;
  if (metadata.deletionTimestamp === undefined || (metadata.finalizers ?? []).length > 0) return undefined;
  if ((metadata.deletionGracePeriodSeconds ?? 0) > 0) return undefined;
  if (isNamespace(resource) && (object['spec']?.finalizers ?? []).length > 0) return undefined;
  return cluster.store.remove(resource.key, metadata.namespace ?? '', metadata.name);
}
