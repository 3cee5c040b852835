// Reads a metav1.LabelSelector out of an object that somebody wrote, and says whether labels match it. A selector often
// decides where something is granted, so one that Kubernetes would refuse is refused as a whole: an expression that is
// left out, or NotIn without values, would select more than was meant.
import { isSubdomain } from './api-names.ts';
import { isJsonObject } from './json-object.ts';

/** A metav1.LabelSelector; all parts must match, and one without parts matches everything. */
export interface LabelSelector {
  readonly matchLabels: readonly (readonly [key: string, value: string])[];
  readonly matchExpressions: readonly {
    readonly key: string;
    readonly operator: (typeof operators)[number];
    readonly values: readonly string[];
  }[];
}

/** Thrown for a value that is not a valid label selector. The message says why, and names the field of the selector. */
export class LabelSelectorFault extends Error {
  override readonly name = 'LabelSelectorFault';
}

const operators = ['In', 'NotIn', 'Exists', 'DoesNotExist'] as const;
const word = /^[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/;

/**
 * Why the key and value are not a valid Kubernetes label (apimachinery `validation.IsQualifiedName`,
 * `IsValidLabelValue`); undefined when they are.
 */
export function labelFault(key: string, value: string): string | undefined {
  const slash = key.indexOf('/');
  const prefix = key.slice(0, Math.max(slash, 0));
  if (!word.test(key.slice(slash + 1))) return `"${key}" is not a label key`;
  if (slash !== -1 && !isSubdomain(prefix)) return `"${key}" has a bad label key prefix`;
  if (value !== '' && !word.test(value)) return `the value of "${key}" is not a label value`;
  return undefined;
}

/**
 * Reads a label selector by the rules of apimachinery's LabelSelectorAsSelector.
 * @throws LabelSelectorFault for anything else, including null and undefined: the caller must decide whether an absent
 *   selector selects everything or nothing
 */
export function readLabelSelector(selector: unknown): LabelSelector {
  if (!isJsonObject(selector)) throw new LabelSelectorFault('it is no object');
  const matchLabels = selector['matchLabels'] ?? {};
  const matchExpressions = selector['matchExpressions'] ?? [];
  if (!isJsonObject(matchLabels)) throw new LabelSelectorFault('matchLabels is no object');
  if (!Array.isArray(matchExpressions)) throw new LabelSelectorFault('matchExpressions is no list');
  const labels = Object.entries(matchLabels).map(([key, value]) => {
    if (typeof value !== 'string') throw new LabelSelectorFault(`matchLabels: the value of "${key}" is no text`);
    requireLabel('matchLabels', key, value);
    return [key, value] as const;
  });
  return { matchLabels: labels, matchExpressions: matchExpressions.map(readExpression) };
}

function readExpression(expression: unknown, index: number): LabelSelector['matchExpressions'][number] {
  const at = `matchExpressions[${index}]`;
  const { key, operator: written, values = [] } = isJsonObject(expression) ? expression : {};
  const operator = operators.find((known) => known === written);
  if (operator === undefined) throw new LabelSelectorFault(`${at}: operator is none of ${operators.join(', ')}`);
  if (typeof key !== 'string') throw new LabelSelectorFault(`${at} has no key`);
  const isTexts =
    (values === null || Array.isArray(values)) && (values ?? []).every((each) => typeof each === 'string');
  if (!isTexts) throw new LabelSelectorFault(`${at}: values is no list of texts`);
  const texts = (values ?? []) as readonly string[];
  for (const value of ['', ...texts]) requireLabel(at, key, value);
  if (operator.endsWith('In') !== texts.length > 0)
    throw new LabelSelectorFault(`${at}: In and NotIn need values, Exists and DoesNotExist take none`);
  return { key, operator, values: texts };
}

function requireLabel(at: string, key: string, value: string): void {
  const fault = labelFault(key, value);
  if (fault !== undefined) throw new LabelSelectorFault(`${at}: ${fault}`);
}

/**
 * Evaluates a label selector as apimachinery's LabelSelectorAsSelector does: all parts must match; NotIn and
 * DoesNotExist also match when the label is missing.
 */
export function selectorMatches(selector: LabelSelector, labels: Readonly<Record<string, string>>): boolean {
  const label = (key: string) => (Object.hasOwn(labels, key) ? labels[key] : undefined);
  if (!selector.matchLabels.every(([key, value]) => label(key) === value)) return false;
  return selector.matchExpressions.every(({ key, operator, values }) => {
    const value = label(key);
    if (operator === 'Exists') return value !== undefined;
    if (operator === 'DoesNotExist') return value === undefined;
    const listed = value !== undefined && values.includes(value);
    return operator === 'In' ? listed : !listed;
  });
}
