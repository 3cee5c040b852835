// Decides from the content of an object whether it is ready, for example whether all pods of a Deployment run.
// Kubernetes' own kinds have a function each (built-in.ts), kinds of many operators have rules (kinds.ts), and all
// others are judged by the conditions that kstatus (sigs.k8s.io/cli-utils) reads. An object whose fields cannot be read
// is not ready.
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
 * Kinds whose objects are ready as soon as they exist, and whose status is not read. The Jobs that a CronJob starts are
 * not waited for. Argo CD waits until an Ingress has an address; here, as in kstatus and Helm, it is not waited for,
 * since many controllers never publish one.
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

/** The spec; empty if it is no object, which only kinds without a judge can have. */
function specOf(object: JsonObject): Place {
  const spec = object['spec'];
  return { path: 'spec', value: isJsonObject(spec) ? spec : {} };
}

/**
 * Returns `waiting` if the status is about another generation of the object; undefined if it is about this one, or if
 * its generation is not known.
 */
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

/**
 * The result of the conditions Stalled and Reconciling, which kstatus defines for all kinds; undefined when neither is
 * True.
 */
function unsettledBy(conditions: Conditions): Readiness | undefined {
  if (conditions.isTrue('Stalled')) return failed(conditions.text('Stalled'));
  return conditions.isTrue('Reconciling') ? waiting(conditions.text('Reconciling')) : undefined;
}

/**
 * Judges objects of all other kinds by the conditions that many controllers set: Ready, Available, and, if there is
 * Ready, also Synced, which Crossplane sets. As in kstatus, an object without any of them is ready: nobody can know
 * whether its controller will ever write a status.
 */
function byConditions(conditions: Conditions): Readiness {
  const types = ['Ready', 'Available', ...(conditions.get('Ready') === undefined ? [] : ['Synced'])];
  const type = types.find((each) => conditions.get(each) !== undefined && !conditions.isTrue(each));
  return type === undefined ? ready : waiting(conditions.fault(type)!);
}
