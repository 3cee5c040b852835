// The type of a rule that says when the objects of a kind are ready, and the function that applies a rule. The rules
// themselves are data (argo-kinds.ts, argo-data-kinds.ts, api-kinds.ts).
import { Conditions } from './conditions.ts';
import { countAt, itemsAt, scalarAt, textAt, valueAt, type Place } from './fields.ts';
import { failed, ready, waiting, type Readiness } from './verdict.ts';

/** For each field, given by its path, a list of values. */
export type Values = Readonly<Record<string, readonly (string | number | boolean)[]>>;

/**
 * What must be true of the status of an object, or of each item of a list in it. Where a text may name several
 * condition types or fields, they are separated by spaces.
 */
export interface Demands {
  /** Types of conditions that the object must have, all with status True. */
  readonly needs?: string;
  /** Types of conditions of which one must be True. */
  readonly oneOf?: string;
  /** Types of conditions that must be True if the object has them; `*` for all conditions of the object. */
  readonly holds?: string;
  /** Types of conditions that must not be True. */
  readonly waits?: string;
  /** Type of a condition that must be True; False means failure. */
  readonly ends?: string;
  /** Types of conditions that mean failure when they are True. */
  readonly fails?: string;
  /** Reasons of conditions, by type, that mean failure. */
  readonly failedReasons?: Readonly<Record<string, readonly string[]>>;
  /** For each condition type, the reasons of which the condition must have one. */
  readonly reasons?: Readonly<Record<string, readonly string[]>>;
  /** Fields that must each have one of these values. */
  readonly ready?: Values;
  /** Fields that must not have one of these values. */
  readonly waiting?: Values;
  /** Fields with the values that mean failure. */
  readonly failed?: Values;
  /** Fields that must be there and be neither empty nor 0. */
  readonly has?: string;
  /** Fields that must be missing, empty or 0. */
  readonly lacks?: string;
  /** Pairs of counts that must be equal. */
  readonly equal?: readonly (readonly [string, string])[];
  /** Pairs of texts that must be there and be equal. */
  readonly same?: readonly (readonly [string, string])[];
  /** A text such as `2/3` whose two numbers must be equal. */
  readonly ratio?: string;
}

/**
 * When the objects of a kind are ready. While their status lacks a demanded field or condition, they count as waiting.
 */
export interface Rule extends Demands {
  /**
   * Fields of the spec, with values that tell the controller to do nothing. An object with such a value is ready at
   * once.
   */
  readonly idle?: Values;
  /**
   * Demands on each item of the list (or each value of the map) in the status field `at`. With `some`, there must be at
   * least one item.
   */
  readonly each?: Demands & { readonly at: string; readonly some?: true };
  /** Whether no status is needed: a controller writes one only when something is wrong. */
  readonly quiet?: true;
  /**
   * Whether objects of the kind run only once. A failure is then final, even if the generation of the object has
   * changed since.
   */
  readonly once?: true;
  /** Status field with the generation that the controller has seen, if its name is not observedGeneration. */
  readonly seen?: string;
  /** Kinds that are excepted from a rule for all kinds of a group. */
  readonly except?: string;
  /** Whether `status.conditions` of the kind is no list of metav1.Conditions; it is then not read. */
  readonly foreign?: true;
}

/**
 * Rules of the kinds of a group. Kinds are separated by spaces; `*` means all kinds of the group. A group
 * `*.example.com` means all groups that end in `.example.com`.
 */
export type KindRow = readonly [group: string, kinds: string, rule: Rule];

/** Whether the spec tells the controller to do nothing, so that the status need not be read. */
export function isIdle({ idle }: Rule, spec: Place): boolean {
  return idle !== undefined && firstOf(idle, spec) !== undefined;
}

/** The parts of an object that a rule reads. */
export interface Judged {
  readonly status: Place;
  readonly conditions: Conditions;
  readonly generation: bigint | undefined;
  /**
   * Whether the status is known to be about the present generation: it says so, or the object never had another one.
   */
  readonly isDated: boolean;
}

/**
 * Decides by a rule whether an object is ready.
 * @throws Unreadable when a field of the status has another form than it must have
 */
export function judgeByRule(rule: Rule, { status, conditions, generation, isDated }: Judged): Readiness {
  const { each, quiet } = rule;
  if (quiet !== true && Object.keys(status.value).length === 0) return waiting('has no status yet');
  const trusts = isDated || rule.once === true;
  const failure = failureOf(rule, status, conditions);
  // Without an observedGeneration, the failure may be about the spec before a change, which the controller has not
  // handled yet. So it counts as waiting only.
  if (failure !== undefined) return trusts || failure.isDated ? failed(failure.reason) : waiting(failure.reason);
  const fault = faultOf(rule, status, conditions);
  if (fault !== undefined) return waiting(fault);
  if (each === undefined) return ready;
  const items = itemsAt(status, each.at);
  if (items.length === 0 && each.some === true) return waiting(`status.${each.at} is empty`);
  for (const item of items) {
    const reason = faultOf(each, item, new Conditions(item, generation));
    if (reason !== undefined) return waiting(`${item.path}: ${reason}`);
  }
  return ready;
}

/** Why an object has failed, and whether the condition that says so has an observedGeneration. */
function failureOf(
  { fails, ends, failedReasons = {}, failed: values = {} }: Demands,
  place: Place,
  conditions: Conditions,
): { readonly reason: string; readonly isDated: boolean } | undefined {
  const type =
    typesOf(fails).find((each) => conditions.isTrue(each)) ??
    typesOf(ends).find((each) => conditions.get(each)?.['status'] === 'False') ??
    Object.keys(failedReasons).find((each) => hasReason(conditions, each, failedReasons[each]!));
  if (type !== undefined) return { reason: `${type}: ${conditions.text(type)}`, isDated: conditions.isDated(type) };
  const reason = firstOf(values, place);
  return reason === undefined ? undefined : { reason, isDated: false };
}

/** Why the status or item does not meet the demands, apart from failures; undefined when it does. */
function faultOf(demands: Demands, place: Place, conditions: Conditions): string | undefined {
  return conditionFault(demands, conditions) ?? fieldFault(demands, place);
}

function conditionFault(demands: Demands, conditions: Conditions): string | undefined {
  const { needs, oneOf, holds, waits, ends, reasons = {} } = demands;
  const busy = typesOf(waits).find((type) => conditions.isTrue(type));
  if (busy !== undefined) return `${busy}: ${conditions.text(busy)}`;
  const held = holds === '*' ? [...conditions.types()] : typesOf(holds).filter((type) => conditions.get(type));
  const wanted = [...typesOf(needs), ...typesOf(ends), ...held];
  const other = Object.entries(reasons).find(([type, some]) => !hasReason(conditions, type, some))?.[0];
  if (other !== undefined) return `${other}: ${conditions.text(other)}`;
  const fault = wanted.map((type) => conditions.fault(type)).find((each) => each !== undefined);
  if (fault !== undefined || oneOf === undefined || typesOf(oneOf).some((type) => conditions.isTrue(type)))
    return fault;
  const there = typesOf(oneOf).find((type) => conditions.get(type));
  return there === undefined ? `has no condition ${typesOf(oneOf).join(' or ')} yet` : conditions.fault(there);
}

function fieldFault(demands: Demands, place: Place): string | undefined {
  const { ready: wanted = {}, waiting: unwanted = {}, has, lacks } = demands;
  for (const [path, values] of Object.entries(wanted)) {
    const value = scalarAt(place, path);
    if (value === undefined) return `has no ${path} yet`;
    if (!values.includes(value as string)) return `${path} is ${reported(value)}`;
  }
  const reason = firstOf(unwanted, place);
  if (reason !== undefined) return reason;
  const missing = typesOf(has).find((path) => isEmpty(scalarAt(place, path)));
  if (missing !== undefined) return `has no ${missing} yet`;
  const there = typesOf(lacks).find((path) => !isEmpty(scalarAt(place, path)));
  if (there !== undefined) return `${there} is ${reported(scalarAt(place, there))}`;
  return pairFault(demands, place);
}

/** Why a pair of fields that must be equal is not; undefined when all pairs are. */
function pairFault({ equal = [], same = [], ratio }: Demands, place: Place): string | undefined {
  for (const [left, right] of equal) {
    const [a, b] = [countAt(place, left), countAt(place, right)];
    if (a !== b) return `${left} is ${a}, ${right} is ${b}`;
  }
  for (const [left, right] of same) {
    const [a, b] = [textAt(place, left), textAt(place, right)];
    if (a === undefined || a !== b) return `${left} is not ${right}`;
  }
  if (ratio === undefined) return undefined;
  const [, part, all] = /^(\d+)\/(\d+)$/.exec(textAt(place, ratio) ?? '') ?? [];
  return part !== undefined && part === all ? undefined : `${ratio} is ${reported(scalarAt(place, ratio))}`;
}

function hasReason(conditions: Conditions, type: string, reasons: readonly string[]): boolean {
  return reasons.includes(conditions.get(type)?.['reason'] as string);
}

/**
 * A text such as `phase is Pending` for the first field that has one of the values listed for it; undefined when none
 * has.
 */
function firstOf(values: Values, place: Place): string | undefined {
  for (const [path, some] of Object.entries(values)) {
    const value = valueAt(place, path);
    if (some.includes(value as string)) return `${path} is ${reported(value)}`;
  }
  return undefined;
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === '' || value === 0;
}

/** Formats a value for the text of a reason. */
function reported(value: unknown): string {
  return String(value ?? 'not there');
}

function typesOf(types: string | undefined): readonly string[] {
  return types?.split(' ') ?? [];
}
