// Reconciles one ClusterImportPolicy: keeps a PediaClusterLifecycle for each source object that it selects, deletes its
// other lifecycles, and writes the policy's conditions.
import { isDeepStrictEqual } from 'node:util';
import { listed } from '../../lib/text/listed.ts';
import type { ApiObject, ApiObjects, WatchedResource } from '../../kube/types.ts';
import { resourceLabel } from '../../kube/paths.ts';
import { conditionsOf, generationOf, withConditions, type Finding } from '../../kube/objects/conditions.ts';
import type { RestMapper } from '../../kube/discovery/rest-mapper.ts';
import { resolveType, UnservedType, type WantedType } from '../hub/discovery.ts';
import type { FollowedTypes } from '../../kube/reflector/followed-types.ts';
import type { ObjectWriter } from '../../kube/objects/object-writer.ts';
import type { ResourceType } from '../../kube/objects/objects.ts';
import type { TemplateRenderer } from '../render/renderer.ts';
import { isDeleting } from '../../kube/objects/objects.ts';
import { policies } from '../hub/objects.ts';
import { setFinalizer } from '../../kube/objects/object-writer.ts';
import type { Outcome } from '../../controllers/queue/work-queue.ts';
import { chooseSources, type Choice, type Verdicts } from './choose-sources.ts';
import { specOf, type LifecycleReference } from './lifecycle-object.ts';
import { selectorsOf } from './policy-options.ts';
import { InvalidPolicy, readPolicySpec, type PolicySpec } from './policy-spec.ts';
import { sourceOfOwned, writeLifecycles, type WriteFaults } from './write-lifecycles.ts';

export interface PolicyControllerParts {
  readonly writer: ObjectWriter;
  readonly discovery: RestMapper;
  readonly types: FollowedTypes;
  readonly templates: TemplateRenderer;
  readonly policies: () => ApiObjects;
  readonly lifecycles: () => ApiObjects;
  /** Returns the milliseconds after which the hub's discovery is asked again for a type that the hub does not serve. */
  readonly unservedMs: () => number;
  /**
   * Called when another set of types is watched for a ClusterImportPolicy, so that its PediaClusterLifecycles are
   * reconciled again.
   */
  readonly onBound: (policy: string) => void;
}

export interface PolicyController {
  reconcile(name: string): Promise<Outcome>;
}

const finalizer = 'clusterpedia.io/cluster-import-policy-controller';
/** Maximum number of errors that the message of a condition names; of the rest only the number is given. */
const reported = 5;

/**
 * What was parsed and computed for a ClusterImportPolicy. It is used until the policy's UID or generation changes;
 * `state` holds both.
 */
interface Known {
  readonly state: string;
  readonly spec: PolicySpec;
  readonly verdicts: Verdicts;
}

interface Result {
  /**
   * The condition Validated. If `reconciling` is undefined, the ClusterImportPolicy is invalid, and all other
   * conditions are removed.
   */
  readonly validated: Finding;
  readonly reconciling?: Finding;
  readonly outcome: Outcome;
}

export function makePolicyController(parts: PolicyControllerParts): PolicyController {
  const known = new Map<string, Known>();
  return {
    async reconcile(name) {
      const policy = parts.policies().get(name);
      if (policy === undefined || isDeleting(policy)) {
        known.delete(name);
        bind(parts, name, []);
        if (policy !== undefined) await setFinalizer(parts.writer, policies, policy, { finalizer, wanted: false });
        return 'done';
      }
      await setFinalizer(parts.writer, policies, policy, { finalizer, wanted: true });
      const { validated, reconciling, outcome } = await apply(parts, policy, () =>
        remembered(known, policy, parts.templates),
      );
      await tell(parts.writer, policy, validated, reconciling);
      return outcome;
    },
  };
}

/**
 * Returns the parsed spec and the verdicts of a ClusterImportPolicy; parses the spec again if the policy has changed.
 * @throws InvalidPolicy (rejects)
 */
async function remembered(known: Map<string, Known>, policy: ApiObject, templates: TemplateRenderer): Promise<Known> {
  const state = JSON.stringify([policy.metadata.uid, generationOf(policy)]);
  const before = known.get(policy.metadata.name);
  if (before?.state === state) return before;
  const fresh = { state, spec: await readPolicySpec(policy, templates), verdicts: new WeakMap() as Verdicts };
  known.set(policy.metadata.name, fresh);
  return fresh;
}

async function apply(parts: PolicyControllerParts, policy: ApiObject, read: () => Promise<Known>): Promise<Result> {
  let known: Known;
  try {
    known = await read();
  } catch (error) {
    if (!(error instanceof InvalidPolicy)) throw error;
    return { validated: invalid(error.reason, error.message), outcome: 'done' };
  }
  const source = await served(parts, known.spec.source, 'FailedNegotiateSourceResource', '');
  if ('validated' in source) return source;
  const references: LifecycleReference[] = [];
  for (const [index, { versions, ...reference }] of known.spec.references.entries()) {
    const wanted = { group: reference.group, resource: reference.resource, versions };
    const type = await served(parts, wanted, 'FailedNegotiateReferenceResource', `[${index}] `);
    if ('validated' in type) return type;
    references.push({ ...reference, resource: type.resource, version: type.version });
  }
  const validated: Finding = { type: 'Validated', status: 'True', reason: 'Success', message: '' };
  const followed = { ...source, ...selectorsOf(policy, 'source') };
  const wanted = [
    followed,
    ...references.map(({ key, group, version, resource }) => ({
      ...{ group, version, resource },
      ...selectorsOf(policy, `references.${key}`),
    })),
  ];
  bind(parts, policy.metadata.name, wanted);
  const waiting = waitFor(parts, wanted);
  if (waiting !== undefined) return { validated, ...waiting };
  const choice = await chooseSources(
    known.spec,
    (template, data) => parts.templates.render(policy.metadata.name, template, data),
    parts.types.objects(followed) ?? new Map(),
    known.verdicts,
    (name) => sourceOfOwned(policy, parts.lifecycles().get(name)),
  );
  const failures = await writeLifecycles(parts, policy, choice, (object) =>
    specOf(source, object, references, known.spec.copied),
  );
  return { validated, ...reconciled(choice, failures) };
}

/**
 * Returns the type in a version that the hub serves, or the result of the reconciliation when the hub does not serve
 * it.
 */
async function served(
  { discovery, unservedMs }: PolicyControllerParts,
  wanted: WantedType,
  reason: string,
  place: string,
): Promise<ResourceType | Result> {
  try {
    return await resolveType(discovery, wanted);
  } catch (error) {
    if (!(error instanceof UnservedType)) throw error;
    return { validated: invalid(reason, `${place}${error.message}`), outcome: { afterMs: unservedMs() } };
  }
}

/**
 * Watches these types for the policy. Called once the versions of all types are known; the earlier types stay watched
 * until then.
 */
function bind({ types, onBound }: PolicyControllerParts, policy: string, wanted: readonly WatchedResource[]): void {
  if (isDeepStrictEqual(types.typesOf(policy), wanted)) return;
  types.use(policy, wanted);
  onBound(policy);
}

/**
 * Returns a result that says what the ClusterImportPolicy waits for; undefined when the objects of all its types can be
 * read.
 */
function waitFor(
  { types, discovery, unservedMs }: PolicyControllerParts,
  wanted: readonly WatchedResource[],
): Pick<Result, 'reconciling' | 'outcome'> | undefined {
  for (const [index, type] of wanted.entries()) {
    const state = types.state(type);
    if (state?.fault?.reason === 'Forbidden') {
      const reason = index === 0 ? 'FailedListSourceResources' : 'FailedCheckResourceSync';
      return { reconciling: failed(reason, state.fault.message), outcome: 'done' };
    }
    if (state?.phase === 'missing' || state?.synced !== true) {
      // The hub no longer serves this version of the type. Discovery is read again, so that the next attempt finds
      // another version, in which the objects may still exist.
      if (state?.phase === 'missing') discovery.forget(type.group);
      const why = state?.fault === undefined ? 'are not listed yet' : `cannot be listed: ${state.fault.message}`;
      const message = `${resourceLabel(type)} ${why}`;
      return { reconciling: failed('WaitResourceSynced', message), outcome: { afterMs: unservedMs() } };
    }
  }
  return undefined;
}

function reconciled({ faults }: Choice, { kept, removed, lost }: WriteFaults): Pick<Result, 'reconciling' | 'outcome'> {
  // Sorted, so that the same errors always give the same message, and an unchanged status is not written again.
  const all = [...faults, ...lost, ...kept, ...removed].toSorted();
  const outcome = kept.length + removed.length > 0 ? 'retry' : 'done';
  if (all.length === 0) {
    const reason = 'ReconcileSourceResourceAndLifecycle';
    return { reconciling: { type: 'Reconciling', status: 'True', reason, message: '' }, outcome };
  }
  const failedCount = all.length - removed.length;
  const counts = `failed to create or update lifecycle: ${failedCount}, failed to remove lifecycles: ${removed.length}`;
  return { reconciling: failed('FailedReconcile', `${counts}: ${listed(all, reported, '; ')}`), outcome };
}

function invalid(reason: string, message: string): Finding {
  return { type: 'Validated', status: 'False', reason, message };
}

function failed(reason: string, message: string): Finding {
  return { type: 'Reconciling', status: 'False', reason, message };
}

/**
 * Writes the conditions into the ClusterImportPolicy's status, if they have changed. Without `reconciling`, only the
 * condition Validated is kept.
 */
async function tell(
  writer: ObjectWriter,
  policy: ApiObject,
  validated: Finding,
  reconciling: Finding | undefined,
): Promise<void> {
  const before = conditionsOf(policy);
  const kept = reconciling === undefined ? before.filter(({ type }) => type === 'Validated') : before;
  const found = reconciling === undefined ? [validated] : [validated, reconciling];
  const conditions = withConditions(kept, found, generationOf(policy));
  if (isDeepStrictEqual(conditions, before)) return;
  await writer.patchStatus(policies, policy, { conditions });
}
