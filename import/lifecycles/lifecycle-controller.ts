// Reconciles one PediaClusterLifecycle: creates its PediaCluster once the `creationCondition` holds, and keeps address
// and credentials of the PediaCluster equal to what the template prints.
import { textAt } from '../../lib/objects/json-object.ts';
import { isDeepStrictEqual } from 'node:util';
import type { ApiObject, ApiObjects } from '../../kube/types.ts';
import {
  conditionsOf,
  findCondition,
  generationOf,
  withConditions,
  type Finding,
} from '../../kube/objects/conditions.ts';
import { clusterGroup, policyGroup } from '../definitions/clusterpedia.ts';
import type { FollowedTypes } from '../../kube/reflector/followed-types.ts';
import { HubRefusal, isConflict, type ObjectWriter } from '../../kube/objects/object-writer.ts';
import { controllerOf, isDeleting, ownersOf, type OwnerReference } from '../../kube/objects/objects.ts';
import { isPolicy, lifecycles, pediaClusters } from '../hub/objects.ts';
import { setFinalizer } from '../../kube/objects/object-writer.ts';
import { lifecycleFinalizer as finalizer, type Dependency } from '../policies/lifecycle-object.ts';
import { isTrue } from '../policies/choose-sources.ts';
import type { Outcome } from '../../controllers/queue/work-queue.ts';
import { TemplateError } from '../template/template.ts';
import { followsTemplate } from '../policies/policy-options.ts';
import { followedAnnotations, templatePatch } from './follow-template.ts';
import { gatherData, type TemplateData } from './gather-data.ts';
import { followedFields, UnreadableBody, type PediaClusterBody } from '../render/pedia-cluster-body.ts';
import type { TemplateRenderer } from '../render/renderer.ts';

/**
 * Annotation of a PediaCluster that its PediaClusterLifecycle did not make: the UID of the lifecycle whose template it
 * follows in address and credentials all the same.
 */
const handedTo = 'import.portcullis.io/handed-to';

export interface LifecycleControllerParts {
  readonly writer: ObjectWriter;
  readonly types: FollowedTypes;
  readonly templates: TemplateRenderer;
  readonly policies: () => ApiObjects;
  readonly lifecycles: () => ApiObjects;
  readonly pediaClusters: () => ApiObjects;
  /**
   * Called with all objects on which a PediaClusterLifecycle depends. A change of one must cause the lifecycle to be
   * reconciled again.
   */
  readonly onDependencies: (lifecycle: string, dependencies: readonly Dependency[]) => void;
}

export interface LifecycleController {
  reconcile(name: string): Promise<Outcome>;
}

/** The result of one attempt to create or update a PediaCluster, for the conditions of the lifecycle. */
interface Step {
  readonly reason: string;
  readonly message?: string;
  /**
   * What was done to the PediaCluster; undefined when the attempt stopped before it could create, patch or compare it.
   */
  readonly done?: 'created' | 'patched' | 'unchanged';
  readonly outcome?: Outcome;
}

interface Seen {
  readonly step: Step;
  /** The referenced objects, to be written into the status; undefined leaves the list in the status as it is. */
  readonly references?: readonly Dependency[] | undefined;
}

export function makeLifecycleController(parts: LifecycleControllerParts): LifecycleController {
  return {
    async reconcile(name) {
      const lifecycle = parts.lifecycles().get(name);
      if (lifecycle === undefined || isDeleting(lifecycle)) {
        parts.onDependencies(name, []);
        if (lifecycle !== undefined)
          await setFinalizer(parts.writer, lifecycles, lifecycle, { finalizer, wanted: false });
        return 'done';
      }
      const cluster = parts.pediaClusters().get(name);
      // The event that tells of the PediaCluster's end causes the PediaClusterLifecycle to be reconciled again.
      if (cluster !== undefined && isDeleting(cluster)) return 'done';
      await setFinalizer(parts.writer, lifecycles, lifecycle, { finalizer, wanted: true });
      const { step, references } = await advance(parts, lifecycle, cluster);
      // The event of the new PediaCluster causes the PediaClusterLifecycle to be reconciled again, which then writes
      // the conditions Created and Updating at once.
      if (step.done !== 'created') await tell(parts.writer, lifecycle, cluster, step, references);
      return step.outcome ?? 'done';
    },
  };
}

async function advance(
  parts: LifecycleControllerParts,
  lifecycle: ApiObject,
  cluster: ApiObject | undefined,
): Promise<Seen> {
  const owner = controllerOf(lifecycle);
  const policy = owner !== undefined && isPolicy(owner) ? parts.policies().get(owner.name) : undefined;
  if (owner === undefined || policy === undefined || policy.metadata.uid !== owner.uid) {
    parts.onDependencies(lifecycle.metadata.name, []);
    return { step: { reason: 'OrphanLifecycle', message: orphanMessage(owner) } };
  }
  const waiting = waitFor(parts.types, owner.name);
  if (waiting !== undefined) return { step: { reason: 'WaitDependentResourceSynced', message: waiting } };
  const { dependencies, references, result } = await gatherData(lifecycle, parts, owner.name);
  parts.onDependencies(lifecycle.metadata.name, dependencies);
  if ('reason' in result) return { step: result, references };
  const follows = followsTemplate(policy);
  const given: Given = { policy: owner.name, data: result.data, follows };
  const step =
    cluster === undefined ? await create(parts, lifecycle, given) : await update(parts, lifecycle, cluster, given);
  return { step, references };
}

function orphanMessage(owner: OwnerReference | undefined): string {
  if (owner === undefined) return 'not found owner controller';
  return isPolicy(owner)
    ? 'owner controller is a ClusterImportPolicy that is gone; one of the same name is another one'
    : 'owner controller is not policy.ClusterImportPolicy';
}

/**
 * Returns why the objects that a ClusterImportPolicy needs cannot be read, '' while they are still being listed;
 * undefined when they can be read.
 */
function waitFor(types: FollowedTypes, policy: string): string | undefined {
  const followed = types.typesOf(policy);
  if (followed.length === 0) return `ClusterImportPolicy ${policy} is not in effect`;
  for (const type of followed) {
    const state = types.state(type);
    if (state?.fault?.reason === 'Forbidden') return state.fault.message;
    if (state?.synced !== true) return '';
  }
  return undefined;
}

/** What the PediaCluster of a PediaClusterLifecycle is made from, besides the lifecycle. */
interface Given {
  /** Name of the ClusterImportPolicy. */
  readonly policy: string;
  readonly data: TemplateData;
  /** Whether the PediaCluster follows the whole template, not only address and credentials. */
  readonly follows: boolean;
}

type Making = Pick<LifecycleControllerParts, 'writer' | 'templates'>;

async function create({ writer, templates }: Making, lifecycle: ApiObject, given: Given): Promise<Step> {
  const { policy, data, follows } = given;
  try {
    if (!isTrue(await templates.render(policy, textAt(lifecycle, 'spec', 'creationCondition'), data)))
      return { reason: 'WaitCreationCondition' };
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    return { reason: 'WaitCreationCondition', message: `creationCondition: ${error.message}` };
  }
  const body = await bodyOf(templates, lifecycle, given);
  if ('reason' in body) return body;
  try {
    const annotations = follows ? followedAnnotations(body) : body.annotations;
    await writer.create(pediaClusters, pediaClusterObject(lifecycle, { ...body, annotations }));
  } catch (error) {
    // After a conflict somebody else has created the PediaCluster; the queue tries again and finds it.
    if (!(error instanceof HubRefusal) || isConflict(error)) throw error;
    return { reason: 'CreationFailure', message: error.message, outcome: 'retry' };
  }
  return { reason: 'PediaClusterCreated', done: 'created' };
}

async function update(
  { writer, templates }: Making,
  lifecycle: ApiObject,
  cluster: ApiObject,
  given: Given,
): Promise<Step> {
  if (!isMadeBy(lifecycle, cluster) && cluster.metadata.annotations?.[handedTo] !== lifecycle.metadata.uid)
    return { reason: 'PediaClusterNotOwned', message: notOwned(lifecycle) };
  const body = await bodyOf(templates, lifecycle, given);
  if ('reason' in body) return body;
  const access = accessPatch(cluster, body);
  // If this PediaClusterLifecycle did not create the PediaCluster, only address and credentials are updated.
  const further = given.follows && isMadeBy(lifecycle, cluster) ? templatePatch(cluster, body) : undefined;
  if (access === undefined && further === undefined) return { reason: 'PediaClusterUpdated', done: 'unchanged' };
  try {
    // After a conflict the queue tries again, since somebody may have taken the PediaCluster away from the lifecycle.
    const metadata = { ...further?.metadata, resourceVersion: cluster.metadata.resourceVersion };
    await writer.patch(pediaClusters, cluster, { metadata, spec: { ...further?.spec, ...access } });
  } catch (error) {
    if (!(error instanceof HubRefusal) || isConflict(error)) throw error;
    return { reason: 'FailedPatchPediaCluster', message: error.message, outcome: 'retry' };
  }
  return { reason: 'PediaClusterUpdated', done: 'patched' };
}

/** Returns a merge patch of address and credentials; undefined when the PediaCluster has the wanted ones already. */
function accessPatch(cluster: ApiObject, { spec }: PediaClusterBody): object | undefined {
  if (followedFields.every((field) => (spec[field] ?? '') === textAt(cluster, 'spec', field))) return undefined;
  return Object.fromEntries(followedFields.map((field) => [field, spec[field] ?? (field === 'apiserver' ? '' : null)]));
}

/**
 * Whether this very PediaClusterLifecycle is the only owner of the PediaCluster. The name says nothing: it is the same
 * for every lifecycle that this cluster has had.
 */
function isMadeBy(lifecycle: ApiObject, cluster: ApiObject): boolean {
  const owners = ownersOf(cluster);
  return owners.length === 1 && owners[0]?.uid === lifecycle.metadata.uid;
}

function notOwned({ metadata: { name, uid } }: ApiObject): string {
  return (
    'the PediaCluster is not, or not only, owned by this lifecycle, so its address and credentials stay as they are; ' +
    `to hand it over: kubectl annotate pediacluster ${name} ${handedTo}=${uid}`
  );
}

async function bodyOf(
  templates: TemplateRenderer,
  lifecycle: ApiObject,
  { policy, data }: Given,
): Promise<PediaClusterBody | Step> {
  try {
    return await templates.renderPediaCluster(policy, textAt(lifecycle, 'spec', 'template'), data);
  } catch (error) {
    const reason = 'FailedResolveAndDecodePediaCluster';
    if (error instanceof UnreadableBody) return { reason, message: error.message };
    if (error instanceof TemplateError) return { reason, message: `template: ${error.message}` };
    throw error;
  }
}

function pediaClusterObject({ metadata: { name, uid } }: ApiObject, { labels, annotations, spec }: PediaClusterBody) {
  const owner: OwnerReference = { apiVersion: `${policyGroup}/v1alpha1`, kind: 'PediaClusterLifecycle', name, uid };
  return {
    apiVersion: `${clusterGroup}/v1alpha2`,
    kind: 'PediaCluster',
    metadata: { name, labels, annotations, ownerReferences: [owner] },
    spec,
  };
}

async function tell(
  writer: ObjectWriter,
  lifecycle: ApiObject,
  cluster: ApiObject | undefined,
  step: Step,
  references: readonly Dependency[] | undefined,
): Promise<void> {
  const before = conditionsOf(lifecycle);
  const kept = cluster === undefined ? before.filter(({ type }) => type !== 'Updating') : before;
  const found = cluster === undefined ? [createdOf(step)] : [existsOf(lifecycle, cluster), updatingOf(before, step)];
  const conditions = withConditions(kept, found, generationOf(lifecycle));
  const old = (lifecycle['status'] as { readonly references?: unknown } | undefined)?.references;
  const isSame = references === undefined || isDeepStrictEqual(references, old ?? []);
  if (isSame && isDeepStrictEqual(conditions, before)) return;
  const status = { conditions, ...(references === undefined ? {} : { references }) };
  await writer.patchStatus(lifecycles, lifecycle, status);
}

function createdOf({ reason, message = '' }: Step): Finding {
  return { type: 'Created', status: 'False', reason, message };
}

/**
 * Returns the condition Created for an existing PediaCluster. The reason tells whether this PediaClusterLifecycle
 * created the PediaCluster.
 */
function existsOf(lifecycle: ApiObject, cluster: ApiObject): Finding {
  const reason = isMadeBy(lifecycle, cluster) ? 'PediaClusterCreated' : 'PediaClusterExisted';
  return { type: 'Created', status: 'True', reason, message: '' };
}

/**
 * Returns the condition Updating. It becomes True with a patch of the PediaCluster, and stays True until an attempt
 * fails.
 */
function updatingOf(before: ReturnType<typeof conditionsOf>, { reason, message = '', done }: Step): Finding {
  const old = findCondition(before, 'Updating');
  const isTrueStill = done === 'unchanged' && old?.reason === reason && old.status === 'True';
  return { type: 'Updating', status: done === 'patched' || isTrueStill ? 'True' : 'False', reason, message };
}
