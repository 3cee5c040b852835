// Parses Kubernetes label selectors with the same rules and error messages as kube-apiserver, so that a selector that a
// member cluster would refuse is refused here in the same words. `x in ()` is read as `x in ("")`, which matches an
// empty label value. The operators gt and lt are written `>` and `<`, and compare integers only.
import { GatewayError } from '../../model/errors.ts';
import { SelectorError, parseRequirements, type WrittenRequirement } from './lexer.ts';
import type { LabelRequirement } from '../list-query.ts';

/**
 * The most characters of a selector; a longer one is refused. kubectl sends far less. This length is parsed in a few
 * milliseconds.
 */
export const maxSelectorLength = 32 * 1024;
export const maxRequirements = 256;

/** The meaning of each operator as it is written. */
export const operators: Readonly<Record<WrittenRequirement['operator'], LabelRequirement['operator']>> = {
  in: 'In',
  '=': 'In',
  '==': 'In',
  notin: 'NotIn',
  '!=': 'NotIn',
  '>': 'Gt',
  '<': 'Lt',
  exists: 'Exists',
  '!': 'DoesNotExist',
};

/**
 * Parses a label selector. As in kube-apiserver, requirements are sorted by key, and values are sorted without
 * duplicates.
 * @throws GatewayError BAD_REQUEST with kube-apiserver's message (apimachinery/pkg/labels.Parse)
 */
export function parseLabelSelector(text: string): readonly LabelRequirement[] {
  if (text.length > maxSelectorLength)
    throw new GatewayError('BAD_REQUEST', `the label selector is longer than ${maxSelectorLength} characters`);
  try {
    const written = parseRequirements(text, {
      keyMode: 'plain',
      valueMode: 'plain',
      checkKey,
      checkRequirement,
      maxRequirements,
    });
    return written.map(toRequirement).sort(({ key: one }, { key: other }) => (one < other ? -1 : one > other ? 1 : 0));
  } catch (error) {
    if (error instanceof SelectorError) throw new GatewayError('BAD_REQUEST', error.message);
    throw error;
  }
}

function checkKey(key: string): void {
  const faults = labelKeyFaults(key);
  if (faults.length > 0)
    throw new SelectorError(`unable to parse requirement: <nil>: Invalid value: ${goQuote(key)}: ${faults.join('; ')}`);
}

function toRequirement({ key, operator, values }: WrittenRequirement): LabelRequirement {
  return { key, operator: operators[operator], values: sortedSet(values) };
}

function sortedSet(values: readonly string[]): readonly string[] {
  return [...new Set(values)].sort();
}

function checkRequirement({ key, operator, values }: WrittenRequirement): void {
  const sorted = sortedSet(values);
  const faults: string[] = [];
  if ((operator === '>' || operator === '<') && !isInt64(sorted[0]!)) {
    const why = "for 'Gt', 'Lt' operators, the value must be an integer";
    faults.push(`values[0]: Invalid value: ${goQuote(sorted[0]!)}: ${why}`);
  }
  for (const [i, value] of sorted.entries()) {
    const found = labelValueFaults(value);
    if (found.length > 0) faults.push(`values[${i}][${key}]: Invalid value: ${goQuote(value)}: ${found.join('; ')}`);
  }
  if (faults.length > 0) {
    const text = faults.length === 1 ? faults[0]! : `[${faults.join(', ')}]`;
    throw new SelectorError(`unable to parse requirement: ${text}`);
  }
}

const signedDigits = /^[+-]?\d{1,40}$/;

/** Whether strconv.ParseInt(text, 10, 64) would succeed. */
function isInt64(text: string): boolean {
  if (!signedDigits.test(text)) return false;
  const value = BigInt(text.startsWith('+') ? text.slice(1) : text);
  return value <= 2n ** 63n - 1n && value >= -(2n ** 63n);
}

const namePattern = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const subdomainPattern = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;
const nameRegex = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
const characters =
  "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. ";
const nameFault = `must consist of ${characters}'MyName',  or 'my.name',  or '123-abc', regex used for validation is '${nameRegex}')`;
const valueFault = `a valid label must be an empty string or consist of ${characters}'MyValue',  or 'my_value',  or '12345', regex used for validation is '(${nameRegex})?')`;
const subdomainFault =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an " +
  "alphanumeric character (e.g. 'example.com', regex used for validation is " +
  "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/** The errors of an invalid label key; empty for a valid one (apimachinery/pkg/api/validate/content.IsLabelKey). */
export function labelKeyFaults(key: string): readonly string[] {
  const parts = key.split('/');
  if (parts.length > 2)
    return [`a valid label key ${nameFault} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`];
  const faults: string[] = [];
  const name = parts.at(-1)!;
  if (parts.length === 2) faults.push(...prefixFaults(parts[0]!));
  if (name === '') faults.push('name part must be non-empty');
  else if (Buffer.byteLength(name) > 63) faults.push('name part must be no more than 63 bytes');
  if (!namePattern.test(name)) faults.push(`name part ${nameFault}`);
  return faults;
}

function prefixFaults(prefix: string): readonly string[] {
  if (prefix === '') return ['prefix part must be non-empty'];
  const faults: string[] = [];
  if (Buffer.byteLength(prefix) > 253) faults.push('prefix part must be no more than 253 bytes');
  if (!subdomainPattern.test(prefix)) faults.push(`prefix part ${subdomainFault}`);
  return faults;
}

/** The errors of an invalid label value; empty for a valid one (apimachinery content.IsLabelValue). */
export function labelValueFaults(value: string): readonly string[] {
  const faults: string[] = [];
  if (Buffer.byteLength(value) > 63) faults.push('must be no more than 63 bytes');
  if (value !== '' && !namePattern.test(value)) faults.push(valueFault);
  return faults;
}

/** Quotes a text for a message, as Go's %q does. */
export function goQuote(text: string): string {
  return JSON.stringify(text).replaceAll(
    /\\u00([01][0-9a-f])|\u007f/g,
    (_, hex: string | undefined) => `\\x${hex ?? '7f'}`,
  );
}

/** Prints requirements as kube-apiserver does (apimachinery labels.Requirement.String). */
export function printLabelSelector(requirements: readonly LabelRequirement[]): string {
  return requirements.map(printRequirement).join(',');
}

function printRequirement({ key, operator, values }: LabelRequirement): string {
  switch (operator) {
    case 'Exists':
      return key;
    case 'DoesNotExist':
      return `!${key}`;
    case 'Gt':
      return `${key}>${values[0]}`;
    case 'Lt':
      return `${key}<${values[0]}`;
    case 'In':
      return values.length === 1 ? `${key}=${values[0]}` : `${key} in (${values.join(',')})`;
    case 'NotIn':
      return values.length === 1 ? `${key}!=${values[0]}` : `${key} notin (${values.join(',')})`;
  }
}
