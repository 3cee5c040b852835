// Parses Clusterpedia's enhanced field selectors. Unlike kube-apiserver's, they accept any path, including paths
// through lists, and the operators of label selectors. `!=` and `notin` also match an object that lacks the path. Each
// requirement also keeps the text as the client wrote it.
import { GatewayError } from '../../model/errors.ts';
import { readComparable } from '../comparable.ts';
import { goQuote, maxRequirements, maxSelectorLength, operators as labelOperators } from './label-selector.ts';
import { SelectorError, parseRequirements, type WrittenRequirement } from './lexer.ts';
import type { FieldRequirement } from '../list-query.ts';
import { parsePath } from '../path.ts';
import { shortened } from '../../lib/text/shortened.ts';

/** The requirements in the order in which the client wrote them: each as written, and as a condition on objects. */
export type FieldSelector = readonly {
  readonly written: WrittenRequirement;
  readonly requirement: FieldRequirement;
}[];

const operators: Readonly<Record<WrittenRequirement['operator'], FieldRequirement['operator']>> = {
  ...labelOperators,
  '=': 'Equals',
  '==': 'Equals',
  '!=': 'NotEquals',
};

/**
 * Parses a field selector. In a value, a backslash takes the next character literally if it is one of `\ , = ! ( ) < >`
 * or white space (as in k8s.io/apimachinery/pkg/fields).
 * @throws GatewayError BAD_REQUEST for an invalid selector or path, and when the operand of `>` or `<` is not a number,
 * quantity or time
 */
export function parseFieldSelector(text: string): FieldSelector {
  if (text.length > maxSelectorLength)
    throw new GatewayError('BAD_REQUEST', `the field selector is longer than ${maxSelectorLength} characters`);
  try {
    const grammar = { keyMode: 'path', valueMode: 'value', checkKey: parsePath, maxRequirements } as const;
    return parseRequirements(text, grammar).map((written) => ({ written, requirement: toRequirement(written) }));
  } catch (error) {
    if (error instanceof SelectorError)
      throw new GatewayError('BAD_REQUEST', `invalid field selector: ${error.message}`);
    throw error;
  }
}

function toRequirement({ key, operator, values }: WrittenRequirement): FieldRequirement {
  const read = values.map(unescape);
  if (operator === '>' || operator === '<') checkOperand(key, read[0]!);
  return { path: parsePath(key), operator: operators[operator], values: read };
}

/** Checks the operand of `>` or `<`. @throws GatewayError BAD_REQUEST when it is not a number, a quantity or a time */
export function checkOperand(key: string, operand: string): void {
  if (readComparable(operand) === undefined) {
    const shown = goQuote(shortened(operand, 100));
    const message = `${key}: ${shown} cannot be compared with > or <: give a number, a quantity (100m, 1Gi) or an RFC 3339 time`;
    throw new GatewayError('BAD_REQUEST', message);
  }
}

function unescape(value: string): string {
  return value.replaceAll(/\\([\\,=!()<> \t\r\n])/g, '$1');
}
