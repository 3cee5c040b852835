// How functions of templates are declared. Each function declares the types of its parameters and is only called with
// arguments of these types. A wrong number or type of arguments fails as in Go (text/template, evalCall and
// validateType).
import type { Budget } from '../values/limits.ts';
import { TemplateError } from '../values/template-error.ts';
import { isList, isMap, typeName, type GoMap, type Value } from '../values/values.ts';

/** A function that a template can call. */
export interface Callable {
  readonly call: (args: readonly Value[], budget: Budget) => Value;
}

/** Functions by the name that templates use. */
export type Functions = Readonly<Record<string, Callable>>;

/** The type of a parameter in Go; `any` is interface{}. */
export type Parameter = 'any' | 'string' | 'int' | 'bool' | 'map' | 'list';

interface Types {
  readonly any: Value;
  readonly string: string;
  readonly int: bigint;
  readonly bool: boolean;
  readonly map: GoMap;
  readonly list: readonly Value[];
}

type Arguments<P extends readonly Parameter[]> = { readonly [K in keyof P]: Types[P[K]] };

/** Makes a function that takes exactly these parameters. */
export function fixed<const P extends readonly Parameter[]>(
  parameters: P,
  run: (args: Arguments<P>, budget: Budget) => Value,
): Callable {
  return {
    call(args, budget) {
      if (args.length !== parameters.length) throw wrongCount(`${parameters.length}`, args.length);
      return run(args.map((arg, i) => checked(arg, parameters[i]!)) as unknown as Arguments<P>, budget);
    },
  };
}

/** Makes a function that takes these parameters, followed by any number of arguments of type `rest`. */
export function variadic<const P extends readonly Parameter[], R extends Parameter>(
  parameters: P,
  rest: R,
  run: (args: Arguments<P>, others: readonly Types[R][], budget: Budget) => Value,
): Callable {
  return {
    call(args, budget) {
      if (args.length < parameters.length) throw wrongCount(`at least ${parameters.length}`, args.length);
      const all = args.map((arg, i) => checked(arg, parameters[i] ?? rest));
      const count = parameters.length;
      return run(all.slice(0, count) as unknown as Arguments<P>, all.slice(count) as Types[R][], budget);
    },
  };
}

/** Go's nil map, which can be read but not written. */
export const nilMap: GoMap = new Map();

function wrongCount(wanted: string, got: number): TemplateError {
  return new TemplateError(`wrong number of arguments: want ${wanted} got ${got}`);
}

const checks: Readonly<Record<Parameter, (value: Value) => boolean>> = {
  any: () => true,
  string: (value) => typeof value === 'string',
  int: (value) => typeof value === 'bigint',
  bool: (value) => typeof value === 'boolean',
  map: isMap,
  list: isList,
};

const goTypes: Readonly<Record<Parameter, string>> = {
  any: 'interface {}',
  string: 'string',
  int: 'int',
  bool: 'bool',
  map: 'map[string]interface {}',
  list: '[]interface {}',
};

function checked(value: Value, parameter: Parameter): Value {
  // Where a map is expected, a missing key is passed as Go's nil map.
  if (value === undefined && parameter === 'map') return nilMap;
  if (!checks[parameter](value))
    throw new TemplateError(`wrong type for value; expected ${goTypes[parameter]}; got ${typeName(value)}`);
  return value === undefined ? null : value;
}
