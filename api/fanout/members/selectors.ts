// Label and field selectors, for the gateway's own API and for requests to many clusters. They are read as strictly as
// kube-apiserver reads them. A looser reading would select clusters that the caller did not mean.
import { GatewayError } from '../../../model/errors.ts';
import { parseLabelSelector } from '../../../query/selectors/label-selector.ts';
import { compileLabel } from '../../../query/match.ts';

export type Labels = Readonly<Record<string, string>>;
export type LabelMatcher = (labels: Labels) => boolean;

/**
 * Parses a label selector.
 * @returns a test of an object's labels; undefined for an empty selector, which selects everything
 * @throws GatewayError BAD_REQUEST, with the message kube-apiserver gives
 */
export function labelMatcher(selector: string): LabelMatcher | undefined {
  const tests = parseLabelSelector(selector).map(compileLabel);
  if (tests.length === 0) return undefined;
  return (labels) => {
    const found = new Map(Object.entries(labels));
    return tests.every((test) => test(found));
  };
}

const nameTerm = /^metadata\.name(==|=|!=)([^\s!=]*)$/;

/**
 * Parses a field selector and returns a test of an object's name. `metadata.name` is the only supported field.
 * @throws GatewayError BAD_REQUEST for any other field
 */
export function nameMatcher(selector: string): (name: string) => boolean {
  const terms = selector
    .split(',')
    .map((term) => term.trim())
    .filter((term) => term !== '');
  const tests = terms.map((term) => {
    const match = nameTerm.exec(term);
    if (match === null)
      throw new GatewayError('BAD_REQUEST', `field selector "${term}" is not supported: only metadata.name is`);
    return (name: string) => (name === match[2]) === (match[1] !== '!=');
  });
  return (name) => tests.every((test) => test(name));
}
