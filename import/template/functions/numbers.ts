// Arithmetic (sprig's numeric.go). Every argument is converted to a number first; a value that cannot be converted
// becomes 0.
import { readInteger, wrapped } from '../values/go-literals.ts';
import { TemplateError } from '../values/template-error.ts';
import { type Value } from '../values/values.ts';
import type { Budget } from '../values/limits.ts';
import { fixed, variadic, type Functions } from './callable.ts';

/** Converts to a whole number as spf13/cast's ToInt64 does. */
export function toInt(value: Value): bigint {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? wrapped(BigInt(Math.trunc(value))) : 0n;
  if (typeof value === 'boolean') return value ? 1n : 0n;
  if (typeof value !== 'string') return 0n;
  return readInteger(value.replace(/\.0*$/, '')) ?? 0n;
}

/** Converts to a float as spf13/cast's ToFloat64 does. */
function toFloat(value: Value): number {
  if (typeof value === 'number') return value;
  if (typeof value === 'bigint') return Number(value);
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (typeof value !== 'string' || !/^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(value)) return 0;
  return Number(value);
}

const whole = (run: (one: bigint, other: bigint) => bigint): ReturnType<typeof fixed> =>
  fixed(['any', 'any'], ([one, other]) => wrapped(run(toInt(one), toInt(other))));

function nonZero(value: bigint): bigint {
  if (value === 0n) throw new TemplateError('integer divide by zero');
  return value;
}

const folded = (start: bigint, run: (one: bigint, other: bigint) => bigint): ReturnType<typeof variadic> =>
  variadic([], 'any', (_, args) => args.reduce<bigint>((sum, arg) => wrapped(run(sum, toInt(arg))), start));

function range(start: bigint, stop: bigint, step: bigint, budget: Budget): readonly bigint[] {
  const numbers: bigint[] = [];
  if (step === 0n || (step > 0n ? stop < start : stop > start)) return numbers;
  for (let at = start; step > 0n ? at < stop : at > stop; at += step) {
    budget.step();
    numbers.push(at);
  }
  return numbers;
}

export const numbers: Functions = {
  int: fixed(['any'], ([value]) => toInt(value)),
  int64: fixed(['any'], ([value]) => toInt(value)),
  float64: fixed(['any'], ([value]) => toFloat(value)),
  atoi: fixed(['string'], ([text]) =>
    /^[+-]?\d+$/.test(text) ? (readInteger(text.replace(/^([+-]?)0+(?=\d)/, '$1')) ?? 0n) : 0n,
  ),
  add: folded(0n, (sum, value) => sum + value),
  add1: fixed(['any'], ([value]) => wrapped(toInt(value) + 1n)),
  sub: whole((one, other) => one - other),
  mul: variadic(['any'], 'any', ([first], rest) =>
    rest.reduce<bigint>((product, value) => wrapped(product * toInt(value)), toInt(first)),
  ),
  div: whole((one, other) => one / nonZero(other)),
  mod: whole((one, other) => one % nonZero(other)),
  max: variadic(['any'], 'any', ([first], rest) =>
    rest.reduce<bigint>((most, value) => (toInt(value) > most ? toInt(value) : most), toInt(first)),
  ),
  min: variadic(['any'], 'any', ([first], rest) =>
    rest.reduce<bigint>((least, value) => (toInt(value) < least ? toInt(value) : least), toInt(first)),
  ),
  floor: fixed(['any'], ([value]) => Math.floor(toFloat(value))),
  ceil: fixed(['any'], ([value]) => Math.ceil(toFloat(value))),
  until: fixed(['int'], ([count], budget) => range(0n, count, count < 0n ? -1n : 1n, budget)),
  untilStep: fixed(['int', 'int', 'int'], ([start, stop, step], budget) => range(start, stop, step, budget)),
};
