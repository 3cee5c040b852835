// The functions eq, ne, lt, le, gt, ge and not (text/template, funcs.go). Comparing an int with a float is an error.
// Lists and maps can only be compared with nil.
import { TemplateError } from '../values/template-error.ts';
import { byBytes, isList, isMap, isTrue, typeName, type Value } from '../values/values.ts';
import { fixed, variadic, type Functions } from './callable.ts';

function kindOf(value: Value): string {
  return isMap(value) || isList(value) ? 'other' : typeName(value);
}

function isEqual(one: Value, other: Value): boolean {
  const [kind, otherKind] = [kindOf(one), kindOf(other)];
  if (kind === 'other' && otherKind === 'other')
    throw new TemplateError('non-comparable type: maps and lists cannot be compared');
  if (kind === 'nil' || otherKind === 'nil') return kind === otherKind;
  if (kind !== otherKind) throw new TemplateError('incompatible types for comparison');
  return one === other;
}

function isLess(one: Value, other: Value): boolean {
  const kind = kindOf(one);
  if (kind === 'nil' || kind === 'other' || ['nil', 'other'].includes(kindOf(other)))
    throw new TemplateError('invalid type for comparison');
  if (kind !== kindOf(other)) throw new TemplateError('incompatible types for comparison');
  if (kind === 'bool') throw new TemplateError('invalid type for comparison');
  if (kind === 'string') return byBytes(one as string, other as string) < 0;
  return (one as bigint) < (other as bigint);
}

function order(decide: (one: Value, other: Value) => boolean): ReturnType<typeof fixed> {
  return fixed(['any', 'any'], ([one, other]) => decide(one, other));
}

export const comparisons: Functions = {
  eq: variadic(['any'], 'any', ([one], others) => {
    if (others.length === 0) throw new TemplateError('missing argument for comparison');
    return others.some((other) => isEqual(one, other));
  }),
  ne: order((one, other) => !isEqual(one, other)),
  lt: order(isLess),
  le: order((one, other) => isLess(one, other) || isEqual(one, other)),
  gt: order((one, other) => !(isLess(one, other) || isEqual(one, other))),
  ge: order((one, other) => !isLess(one, other)),
  not: fixed(['any'], ([value]) => !isTrue(value)),
};
