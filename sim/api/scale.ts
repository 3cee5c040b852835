// Answers the scale subresource: an `autoscaling/v1` Scale, whose spec.replicas is that of the scaled object. The Scale
// has the resourceVersion of the scaled object.
import { selectorText } from '../../tables/printers/cells.ts';
import { sendObject } from '../call/answer.ts';
import { asKind, readKind } from '../call/body.ts';
import type { Call } from '../call/cluster.ts';
import { applyPatch, readPatch } from './patch.ts';
import type { Resource, ScalePaths } from '../store/resources.ts';
import { conflict, notFound, objectModified } from '../model/status-error.ts';
import { copy, type JsonObject, type KubeObject } from '../model/types.ts';
import { replaceExisting } from './write.ts';

const scaleKind = { group: 'autoscaling', version: 'v1', kind: 'Scale' };

/** Answers GET, PUT and PATCH of a scale subresource. */
export async function serveScale(call: Call, resource: Resource): Promise<void> {
  const { cluster, info } = call;
  const current = cluster.store.get(resource.key, info.namespace, info.name);
  if (current === undefined) throw notFound(resource, info.name);
  if (info.verb === 'get') return sendObject(call, 200, scaleOf(resource, current));
  const scale = await readScale(
    call,
    resource,
    () => cluster.store.get(resource.key, info.namespace, info.name) ?? current,
  );
  const latest = cluster.store.get(resource.key, info.namespace, info.name) ?? current;
  const { resourceVersion } = scale.metadata;
  if ((resourceVersion ?? '') !== '' && resourceVersion !== latest.metadata.resourceVersion)
    throw conflict(resource, info.name, objectModified);
  const replicas: number = scale['spec']?.replicas ?? 0;
  const next = copy(latest);
  setPath(next, (resource.scale ?? builtInPaths).specReplicasPath, replicas);
  const asMain = { ...call, info: { ...info, subresource: '' } };
  await sendObject(
    call,
    200,
    scaleOf(resource, replaceExisting(asMain, resource, latest, next, { operation: 'Update' })),
  );
}

/** The paths of replicas in built-in kinds; a custom resource has its own paths. */
const builtInPaths: ScalePaths = { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' };

function setPath(object: JsonObject, path: string, value: unknown): void {
  const steps = path.split('.').filter((step) => step !== '');
  let at = object;
  for (const step of steps.slice(0, -1)) at = at[step] ??= {};
  at[steps.at(-1) ?? ''] = value;
}

/**
 * The value at a path such as `.spec.replicas`. CustomResourceDefinitions may use no other form of path for the scale
 * subresource.
 */
function valueAt(object: JsonObject, path: string): unknown {
  const steps = path.split('.').filter((step) => step !== '');
  return steps.reduce<unknown>((at, step) => (at as JsonObject | undefined)?.[step], object);
}

function scaleOf(resource: Resource, object: KubeObject): KubeObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const paths = resource.scale ?? builtInPaths;
  const replicas = valueAt(object, paths.specReplicasPath) ?? 0;
  const selector =
    resource.scale === undefined
      ? selectorText(object['spec']?.selector ?? {})
      : valueAt(object, resource.scale.labelSelectorPath ?? '.status.selector');
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { name, ...(namespace === undefined ? {} : { namespace }), uid, resourceVersion, creationTimestamp },
    spec: replicas === 0 ? {} : { replicas },
    status: {
      replicas: valueAt(object, paths.statusReplicasPath) ?? 0,
      ...(typeof selector === 'string' && { selector }),
    },
  };
}

async function readScale(call: Call, resource: Resource, latest: () => KubeObject): Promise<KubeObject> {
  if (call.info.verb === 'update') return readKind(call, scaleKind);
  const text = await readPatch(call, true);
  return asKind(applyPatch(call, scaleOf(resource, latest()), text, undefined), scaleKind);
}
