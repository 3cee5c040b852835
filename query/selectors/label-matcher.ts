// Tests the labels of one object against a label selector, which is read as strictly as kube-apiserver reads it. A
// looser reading would select clusters that the caller did not mean.
import { compileLabel } from '../match.ts';
import { parseLabelSelector } from './label-selector.ts';

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
