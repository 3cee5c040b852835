// Decides from an object alone whether it is ready, that is, does what it was applied for. Kubernetes' own kinds have
// judges (built-in.ts), those of many operators have rules (kinds.ts), and all others follow the
// conditions that kstatus (sigs.k8s.io/cli-utils) reads. What cannot be read is not ready.
import { isJsonObject, type JsonObject } from '../json-object.ts';
import { groupKindOf } from '../group-kind.ts';
import { builtInKinds } from './built-in.ts';
import { Conditions } from './conditions.ts';
import { generationAt, placeAt, wholeAt, type Place } from './fields.ts';
import { ruleOf } from './kinds.ts';
import { isIdle, judgeByRule } from './rule.ts';
import { failed, ready, Unreadable, waiting, type Readiness } from './verdict.ts';

export type { Readiness } from './verdict.ts';

/**
 * Kinds whose objects are ready as soon as they exist, and whose status is not read. What a CronJob starts is other
 * objects' business. Argo CD waits until an Ingress has an address; kstatus and Helm do not, and neither is done here:
 * many controllers never publish one.
 */
const timeless = new Set([
  ...['ConfigMap', 'Secret', 'ServiceAccount', 'CronJob.batch', 'Ingress.networking.k8s.io'],
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
  try {
    return judge(object);
  } catch (error) {
    if (error instanceof Unreadable) return waiting(error.message);
    throw error;
  }
}

function judge(object: JsonObject): Readiness {
  const whole: Place = { path: '', value: object };
  const metadata = placeAt(whole, 'metadata');
  if (metadata.value['deletionTimestamp'] !== undefined) return waiting('is being deleted');
  const kind = { apiVersion: String(object['apiVersion']), kind: String(object['kind']) };
  if (!canBeUnready(kind)) return ready;
  const status = placeAt(whole, 'status');
  const spec = specOf(object);
  const groupKind = groupKindOf(kind);
  const rule = ruleOf(groupKind);
  if (rule !== undefined && isIdle(rule, spec)) return ready;
  const generation = wholeAt(metadata, 'generation');
  const observed = generationAt(status, 'observedGeneration');
  const conditions = new Conditions(rule?.foreign === true ? { path: status.path, value: {} } : status, generation);
  const seen = (rule?.seen === undefined ? observed : generationAt(status, rule.seen)) ?? conditions.newest;
  const unsettled = unseenBy(generation, seen, observed) ?? unsettledBy(conditions);
  if (unsettled !== undefined) return unsettled;
  if (rule !== undefined) {
    const isDated = seen !== undefined || generation === undefined || generation <= 1n;
    return judgeByRule(rule, { status, conditions, generation, isDated });
  }
  return builtInKinds.get(groupKind)?.({ metadata, spec, status, conditions }) ?? byConditions(conditions);
}

/** The spec; kinds that are no workloads may have another value there, which no judge reads. */
function specOf(object: JsonObject): Place {
  const spec = object['spec'];
  return { path: 'spec', value: isJsonObject(spec) ? spec : {} };
}

/** Whether the status is about another generation; undefined when it is about this one, or nobody knows. */
function unseenBy(
  generation: bigint | undefined,
  seen: bigint | undefined,
  observed: bigint | undefined,
): Readiness | undefined {
  if (generation === undefined) return undefined;
  if (seen !== undefined && seen < generation) return waiting('its controller has not seen the change');
  return observed !== undefined && observed > generation
    ? waiting(`status.observedGeneration ${observed} is beyond metadata.generation ${generation}`)
    : undefined;
}

/** What kstatus' own conditions say of an object of any kind; undefined when they say nothing. */
function unsettledBy(conditions: Conditions): Readiness | undefined {
  if (conditions.isTrue('Stalled')) return failed(conditions.text('Stalled'));
  return conditions.isTrue('Reconciling') ? waiting(conditions.text('Reconciling')) : undefined;
}

/**
 * Judges objects of all other kinds by the conditions that many controllers set: Ready, Available, and Synced beside
 * Ready, as all objects of Crossplane have it. An object without any of them is ready, as kstatus has it: whether its
 * controller will ever write a status cannot be seen.
 */
function byConditions(conditions: Conditions): Readiness {
  const types = ['Ready', 'Available', ...(conditions.get('Ready') === undefined ? [] : ['Synced'])];
  const type = types.find((each) => conditions.get(each) !== undefined && !conditions.isTrue(each));
  return type === undefined ? ready : waiting(conditions.fault(type)!);
}
