// Label and field selectors for our own `clusters` API (apimachinery labels.Parse). Easy to get wrong: `!=` and `notin` also match objects
// that lack the label.
import { GatewayError } from '../../cache/errors.ts';

export type Labels = Readonly<Record<string, string>>;
export type LabelMatcher = (labels: Labels) => boolean;

const setTerm = /^([^\s!=(),]+)\s+(in|notin)\s+\(([^()]*)\)$/;
const equalTerm = /^([^\s!=(),]+)\s*(==|=|!=)\s*([^\s!=(),]*)$/;
const existsTerm = /^(!?)\s*([^\s!=(),]+)$/;

/**
 * Parses a label selector.
 * @throws GatewayError BAD_REQUEST naming the term that cannot be read
 */
export function labelMatcher(selector: string): LabelMatcher {
  const matchers = terms(selector).map(labelTerm);
  return (labels) => matchers.every((matches) => matches(labels));
}

function labelTerm(term: string): LabelMatcher {
  const set = setTerm.exec(term);
  if (set !== null) {
    const values = new Set(set[3]!.split(',').map((value) => value.trim()));
    const wanted = set[2] === 'in';
    return (labels) => valueOf(labels, set[1]!, (value) => value !== undefined && values.has(value)) === wanted;
  }
  const equal = equalTerm.exec(term);
  if (equal !== null) {
    const wanted = equal[2] !== '!=';
    return (labels) => valueOf(labels, equal[1]!, (value) => value === equal[3]) === wanted;
  }
  const exists = existsTerm.exec(term);
  if (exists !== null)
    return (labels) => valueOf(labels, exists[2]!, (value) => value !== undefined) === (exists[1] === '');
  throw new GatewayError('BAD_REQUEST', `unable to parse requirement "${term}" of the label selector`);
}

function valueOf(labels: Labels, key: string, test: (value: string | undefined) => boolean): boolean {
  return test(Object.hasOwn(labels, key) ? labels[key] : undefined);
}

/** Splits at commas outside parentheses: those from which no `)` comes before the next `(`. From the end, since that is one pass. */
function terms(selector: string): string[] {
  const found: string[] = [];
  let end = selector.length;
  let isInside = false;
  for (let at = end - 1; at >= -1; at--) {
    const char = selector[at];
    if (char === ')') isInside = true;
    else if (char === '(') isInside = false;
    else if (at < 0 || (char === ',' && !isInside)) {
      found.push(selector.slice(at + 1, end).trim());
      end = at;
    }
  }
  return found.toReversed().filter((term) => term !== '');
}

/**
 * Parses a field selector; `metadata.name` is the only field.
 * @throws GatewayError BAD_REQUEST for any other field
 */
export function nameMatcher(selector: string): (name: string) => boolean {
  const tests = terms(selector).map((term) => {
    const match = equalTerm.exec(term);
    if (match === null || match[1] !== 'metadata.name') {
      throw new GatewayError('BAD_REQUEST', `field selector "${term}" is not supported: only metadata.name is`);
    }
    return (name: string) => (name === match[3]) === (match[2] !== '!=');
  });
  return (name) => tests.every((test) => test(name));
}
