// Which values of `whereSQL` can be compared, and what a literal means beside another value. PostgreSQL decides: a text
// literal takes the type of the other side, and two values of different types are an error. Only JSON_EXTRACT compares
// with any literal, as in MySQL.
import { canonicalJson } from '../json-text.ts';
import { readTimeMs } from '../times.ts';
import type { Comparison, Leaf, Literal, Operand, ValueType } from '../predicate.ts';

/** The result of a comparison with NULL, which is neither true nor false. */
export interface Unknown {
  readonly kind: 'unknown';
}

export const unknown: Unknown = { kind: 'unknown' };

/** Why two values cannot be compared. The parser adds their position in the expression to the message. */
export class NotComparable extends Error {}

/**
 * The comparison of two values.
 * @param name of the parameter, for messages about times
 * @throws NotComparable when PostgreSQL (or MySQL, for JSON_EXTRACT) would refuse it, or would not compare what is
 *   meant; GatewayError BAD_REQUEST for a text that is not a time
 */
export function comparison(name: string, operator: Comparison, left: Operand, right: Operand): Leaf | Unknown {
  if (left.type === 'null' || right.type === 'null') return unknown;
  const one = coerced(name, left, right.type);
  const other = coerced(name, right, left.type);
  requireComparable(operator, one.type, other.type);
  if (one.kind === 'literal' && other.kind !== 'literal')
    return { kind: 'compare', operator: mirrored[operator], left: other, right: one };
  return { kind: 'compare', operator, left: one, right: other };
}

/** The operator with both sides exchanged, so that a literal stands on the right. */
const mirrored: Readonly<Record<Comparison, Comparison>> = {
  '=': '=',
  '<>': '<>',
  '<': '>',
  '<=': '>=',
  '>': '<',
  '>=': '<=',
};

/** A text literal, read as a value of the type with which it is compared. */
function coerced(name: string, operand: Operand, type: Operand['type']): Operand {
  if (operand.kind !== 'literal' || operand.type !== 'text') return operand;
  if (type === 'time') return { kind: 'literal', type, value: readTimeMs(name, operand.value) };
  if (type === 'jsonb') return { kind: 'literal', type, value: jsonOf(operand.value) };
  return operand;
}

function jsonOf(text: string): string {
  const json = canonicalJson(Buffer.from(text));
  if (json !== undefined) return json;
  throw new NotComparable('-> gives JSON, and the text beside it is none: use ->> to compare with a text');
}

const names: Readonly<Record<ValueType | 'null', string>> = {
  text: 'a text',
  number: 'a number',
  boolean: 'a boolean',
  time: 'a time',
  jsonb: 'JSON (->)',
  json: 'JSON (JSON_EXTRACT)',
  null: 'NULL',
};

function requireComparable(operator: Comparison, left: Operand['type'], right: Operand['type']): void {
  const types = new Set([left, right]);
  if (types.has('json') && !types.has('jsonb') && !types.has('time')) return;
  if (left !== right) {
    const hint = types.has('number') && types.has('text') ? ': write the number in quotes to compare texts' : '';
    throw new NotComparable(`${names[left]} and ${names[right]} cannot be compared${hint}`);
  }
  if (left === 'jsonb' && operator !== '=' && operator !== '<>')
    throw new NotComparable(`${operator} cannot compare JSON: use ->> to compare texts`);
}

const opposites: Readonly<Record<Comparison, Comparison>> = {
  '=': '<>',
  '<>': '=',
  '<': '>=',
  '>=': '<',
  '>': '<=',
  '<=': '>',
};

/** The condition that is true where this one is false. Both are false where a value is NULL. */
export function opposite(leaf: Leaf): Leaf {
  switch (leaf.kind) {
    case 'compare':
      return { ...leaf, operator: opposites[leaf.operator] };
    case 'constant':
      return { ...leaf, value: !leaf.value };
    default:
      return { ...leaf, isNegated: !leaf.isNegated };
  }
}

/** A value of a parameter as a literal. */
export function literalOf(value: string | number | bigint | boolean | null): Literal {
  if (value === null) return { kind: 'literal', type: 'null', value };
  if (typeof value === 'boolean') return { kind: 'literal', type: 'boolean', value };
  if (typeof value === 'string') return { kind: 'literal', type: 'text', value };
  return { kind: 'literal', type: 'number', value: String(value) };
}
