// Handles one ManifestWork once: applies its manifests, records its objects in the AppliedManifestWork, and writes the
// results into the work's status.
import { isDeepStrictEqual } from 'node:util';
import { findCondition, type Condition, type Finding } from '../../kube/objects/conditions.ts';
import { HubRefusal, setFinalizer } from '../../kube/objects/object-writer.ts';
import type { ControllerLog } from '../../controllers/queue/logged-queue.ts';
import type { Outcome } from '../../controllers/queue/work-queue.ts';
import { faultOf } from '../apply/apply-fault.ts';
import { ownerReferenceTo } from '../apply/owners.ts';
import type { AppliedWorks } from '../inventory/applied-works.ts';
import { announceObjects, keepInventory } from '../inventory/keep-inventory.ts';
import { ExecutorRefused, executorOf, ownExecutor, type Executor } from '../member/executor-identity.ts';
import type { ObjectName } from '../member/member-objects.ts';
import type { MemberSession } from '../member/member-session.ts';
import { acceptedBefore } from '../stamp/authors.ts';
import { historyAnnotation, isRecorded, withRevision } from '../../lib/work-history.ts';
import { objectAt } from '../../lib/objects/json-object.ts';
import { completeType } from '../work/manifest-config.ts';
import { manifestWorks, objectKey, workFinalizer } from '../work/manifest-work.ts';
import { readWork, type Work } from '../work/work.ts';
import { isTooDeep, mostLevels } from '../../lib/json/nesting.ts';
import { statusOf, withOwnConditions, type ManifestResult } from '../work/work-status.ts';
import { applyManifests, type ApplyResult } from './apply-manifests.ts';
import { rightOf, type Right } from './executor-right.ts';
import type { KnownObjects } from './known-objects.ts';
import type { WorkSettings } from './settings.ts';

export interface ReconcileParts {
  readonly settings: WorkSettings;
  readonly session: MemberSession;
  readonly appliedWorks: AppliedWorks;
  readonly known: KnownObjects;
  readonly log: Pick<ControllerLog, 'warn'>;
}

/**
 * Milliseconds until a ManifestWork is handled again while its objects are being deleted, or after it has become
 * complete.
 */
const pendingMs = 1_000;
const refusedMs = 60_000;

/** Handles one ManifestWork once. @throws HubRefusal, GatewayError */
export async function reconcileWork(parts: ReconcileParts, work: Work): Promise<Outcome> {
  const { settings } = parts;
  if (!work.hasFinalizer) {
    // The event of the changed finalizer causes the next call. Nothing is applied before the finalizer is set, since
    // nothing would delete the objects again.
    await setFinalizer(settings.writer, manifestWorks, work.object, { finalizer: workFinalizer, wanted: true });
    return 'done';
  }
  const deep = depthFault(work);
  if (deep !== undefined) {
    await writeStatus(settings, shallow(work), refusedResults(work, deep), acceptedBefore(work.object));
    return { afterMs: refusedMs };
  }
  // Until the hub's admission policies have been read, it is not known whether the author is proven. A work is not
  // refused for that; it is handled again a moment later.
  if (settings.authors?.isReading() === true) return { afterMs: pendingMs };
  const { executor, refused, conditions } = await chosenExecutor(settings, work);
  if (executor === undefined || refused !== undefined) {
    await writeStatus(settings, work, refusedResults(work, refused ?? ''), conditions);
    return { afterMs: refusedMs };
  }
  return await executeAs(parts, work, executor, conditions);
}

/**
 * Why a work is nested too deeply to be handled; undefined when it is not. Called before anything else, since hashing,
 * comparing and copying a work use recursive functions, which a deep work would make fail.
 */
function depthFault({ object, manifests }: Work): string | undefined {
  if (!isTooDeep(object)) return undefined;
  const ordinal = manifests.findIndex((manifest) => isTooDeep(manifest.object));
  const what = ordinal < 0 ? 'the work' : `manifest ${ordinal}`;
  return `${what} is nested deeper than ${mostLevels} levels, which this gateway does not handle`;
}

/** Returns the work with an empty status if its status is nested too deeply; the status is then written anew. */
function shallow(work: Work): Work {
  return isTooDeep(work.object['status']) ? readWork({ ...work.object, status: {} }) : work;
}

/** Returns the executor of the ManifestWork, and whether it may write the work's objects. */
async function chosenExecutor(settings: WorkSettings, work: Work): Promise<Right & { readonly executor?: Executor }> {
  try {
    const executor = executorOf(work.executor, settings.defaultExecutor);
    return { executor, ...(await rightOf(settings, work, executor)) };
  } catch (error) {
    if (error instanceof ExecutorRefused) return { refused: error.message, conditions: acceptedBefore(work.object) };
    throw error;
  }
}

async function executeAs(
  parts: ReconcileParts,
  given: Work,
  executor: Executor,
  conditions: readonly Finding[],
): Promise<Outcome> {
  const { settings, session, appliedWorks } = parts;
  const hasEnded = given.isComplete;
  const work = hasEnded ? given : await keepRevision(settings, given);
  const ensured = await appliedWorks.ensure(work, executor.key);
  // Somebody is deleting the AppliedManifestWork in the member. The objects that it records are deleted first. The
  // event of its deletion causes the next call, which creates a new AppliedManifestWork.
  if (ensured.isDeleting) return 'done';
  const appliedWork = hasEnded ? ensured : await announceObjects(appliedWorks, ensured, work, session.kinds);
  const owner = ownerReferenceTo(appliedWork);
  const objects = session.objects(executor, work);
  const { rawJson, ruleEvaluator, holdOnDenied } = settings;
  const known = parts.known.of(work.name);
  const before = new Set(known.keys());
  const applied = await applyManifests({
    ...{ work, executor, session, objects, known, owner },
    ...{ rawJson, ruleEvaluator, recorded: appliedWork.resources },
  });
  session.follow(executor, work.name, applied.objects, applied.denied);
  if (hasEnded) {
    const written = await writeStatus(settings, work, applied.results, conditions);
    // The condition rules were just evaluated again and the work is not complete: somebody else had written the
    // condition Complete.
    if (findCondition(written, completeType)?.status !== 'True') return { afterMs: pendingMs };
    return sooner(outcomeOf(applied, false), await expire(settings, work));
  }
  const ownObjects = holdOnDenied ? undefined : session.objects(ownExecutor, work);
  const isOfWork = ({ kind, namespace, name }: ObjectName): boolean =>
    before.has(objectKey({ group: kind.group, resource: kind.resource, namespace, name }));
  const inventory = { kinds: session.kinds, objects, ownObjects, isOfWork, owner, appliedWorks, appliedWork, work };
  const { held, isPending } = await keepInventory(inventory, applied.results);
  const own = held === undefined ? conditions : [...conditions, held];
  const written = await writeStatus(settings, work, applied.results, own);
  // A ManifestWork that has just become complete is handled once more soon, since complete works are handled
  // differently.
  const endsNow = findCondition(written, completeType)?.status === 'True';
  return endsNow ? { afterMs: pendingMs } : outcomeOf(applied, isPending);
}

/**
 * Records the spec that is about to be executed in the ManifestWork's annotation, once for each generation, for people
 * who want to go back to it.
 * @returns the work as it is afterwards
 * @throws HubRefusal, with status 409 when the work has changed since it was read
 */
async function keepRevision({ writer, historyLimit: limit }: WorkSettings, work: Work): Promise<Work> {
  const { generation: revision, object } = work;
  const { annotations = {}, resourceVersion } = object.metadata;
  if (limit === 0 || revision === undefined || isRecorded(annotations, revision)) return work;
  const time = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  const text = await withRevision(annotations, { revision, time, spec: objectAt(object, 'spec') }, limit);
  const metadata = { resourceVersion, annotations: { [historyAnnotation]: text } };
  return readWork(await writer.patch(manifestWorks, object, { metadata }));
}

/** Deletes a complete ManifestWork once `ttlSecondsAfterFinished` seconds have passed since it was complete. */
async function expire({ writer }: WorkSettings, work: Work): Promise<Outcome> {
  const { ttlSeconds } = work.deleteOption;
  const end = findCondition(work.conditions, completeType)?.lastTransitionTime;
  // A work that a ManifestWorkReplicaSet made stays: the ManifestWorkReplicaSet would only create it again.
  if (ttlSeconds === undefined || end === undefined || work.isOfReplicaSet) return 'done';
  const leftMs = Date.parse(end) + ttlSeconds * 1000 - Date.now();
  if (leftMs > 0) return { afterMs: leftMs };
  await writer.remove(manifestWorks, work.object);
  return 'done';
}

function sooner(one: Outcome, other: Outcome): Outcome {
  if (one === 'retry' || other === 'done') return one;
  if (typeof one === 'string' || typeof other === 'string') return other;
  return { afterMs: Math.min(one.afterMs, other.afterMs) };
}

function outcomeOf({ failed, againMs }: ApplyResult, isPending: boolean): Outcome {
  if (failed) return 'retry';
  if (isPending) return { afterMs: Math.min(pendingMs, againMs ?? pendingMs) };
  return againMs === undefined ? 'done' : { afterMs: againMs };
}

/** Returns a failed result for each manifest, for a ManifestWork whose executor is refused. */
function refusedResults({ manifests }: Work, message: string): readonly ManifestResult[] {
  const { reason, message: words } = faultOf(new Error(message), undefined);
  return manifests.map(({ meta }) => ({
    meta,
    applied: { reason, message: words },
    seen: { state: 'unserved' },
  }));
}

/**
 * Writes conditions whose types begin with the gateway's prefix into the status of a work that is not applied now.
 * Sends no request when the status has these conditions already.
 */
export async function writeOwnConditions(
  { writer }: Pick<WorkSettings, 'writer'>,
  work: Work,
  own: readonly Finding[],
): Promise<void> {
  const { object } = work;
  const conditions = withOwnConditions(work, [...own, ...acceptedBefore(object)]);
  if (isDeepStrictEqual(conditions, work.conditions)) return;
  await writer.patchStatus(manifestWorks, object, { conditions });
}

async function writeStatus(
  { writer }: WorkSettings,
  work: Work,
  results: readonly ManifestResult[],
  own: readonly Finding[],
): Promise<readonly Condition[]> {
  const { object } = work;
  const write = async (reported: readonly ManifestResult[]): Promise<readonly Condition[]> => {
    const status = statusOf(work, reported, own);
    const { conditions, resourceStatus } = (object['status'] ?? {}) as {
      conditions?: unknown;
      resourceStatus?: unknown;
    };
    if (isDeepStrictEqual({ conditions, resourceStatus }, status)) return status.conditions;
    await writer.patchStatus(manifestWorks, object, status);
    return status.conditions;
  };
  try {
    return await write(results);
  } catch (error) {
    if (!isRefusedContent(error)) throw error;
    // The hub refused the status because of values from the member's objects. Without these values, the rest of the
    // status can still be written.
    return await write(results.map((result) => withoutValues(result, error.message)));
  }
}

/** Whether the hub refuses the content of the status (422) or its size (413, or an error of etcd). */
function isRefusedContent(error: unknown): error is HubRefusal {
  if (!(error instanceof HubRefusal)) return false;
  return error.status === 422 || error.status === 413 || /too large/.test(error.message);
}

/**
 * Returns the result without the values and conditions that were read from the object, and with the hub's reason for
 * refusing them.
 */
function withoutValues(result: ManifestResult, refused: string): ManifestResult {
  if (result.seen.state !== 'present') return result;
  const { observation } = result.seen;
  const hasAny = observation.feedback.values.length > 0 || observation.rules.length > 0;
  if (!hasAny) return result;
  const feedback = { values: [], outcome: { fault: `the hub refuses the status with its values: ${refused}` } };
  return { ...result, seen: { ...result.seen, observation: { ...observation, feedback, rules: [] } } };
}
