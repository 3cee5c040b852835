// Functions of optional values that cel-go has (cel/library.go) and the CEL package lacks.
import { Optional } from '@marcbachmann/cel-js';
import { isEqual, isMap, numberOf } from './equality.ts';
import type { Library, MacroCall } from './library.ts';
import { CelFault, noOverload } from './steps.ts';

/** Registers `first`, `last`, `unwrapOpt`, `optional.unwrap`, `optional.ofNonZeroValue`, `optMap` and `optFlatMap`. */
export function addOptionals({ add, addMacro, steps }: Library): void {
  addMacro('optional.optMap(ast, ast): optional<dyn>', (call) => mapped(call, (value) => Optional.of(value)));
  addMacro('optional.optFlatMap(ast, ast): optional<dyn>', (call) => mapped(call, (value) => value));
  const memberAt = (list: readonly unknown[], at: number): Optional =>
    list.length === 0 ? Optional.none() : Optional.of(list.at(at));
  add('list.first(): optional<dyn>', (list: readonly unknown[]) => memberAt(list, 0));
  add('list.last(): optional<dyn>', (list: readonly unknown[]) => memberAt(list, -1));
  const unwrapped = (list: readonly unknown[]): readonly unknown[] => {
    steps.spend(list.length);
    return list.flatMap((each) => {
      if (!(each instanceof Optional)) throw noOverload();
      return each.hasValue() ? [each.value()] : [];
    });
  };
  add('list.unwrapOpt(): list<dyn>', unwrapped);
  add('OptionalNamespace.unwrap(list): list<dyn>', (_: unknown, list: readonly unknown[]) => unwrapped(list));
  add('OptionalNamespace.ofNonZeroValue(dyn): optional<dyn>', (_: unknown, value: unknown) =>
    isZero(value) ? Optional.none() : Optional.of(value),
  );

  function isZero(value: unknown): boolean {
    const number = numberOf(value);
    if (number !== undefined) return isEqual(number, 0n, steps);
    if (value === null || value === false || value === '') return true;
    if (Array.isArray(value) || value instanceof Uint8Array) return value.length === 0;
    return isMap(value) && Object.keys(value).length === 0;
  }
}

interface CheckedType {
  readonly kind: string;
  readonly valueType?: CheckedType;
}
interface Checker {
  check(node: unknown, context: Context): CheckedType;
  getType(name: string): CheckedType;
}
interface Context {
  forkWithVariable(name: string, type: CheckedType): Context;
  reuse(outer: Context): Context;
  setIterValue(value: unknown, evaluator: Evaluator): Context;
}
interface Evaluator {
  run(node: unknown, context: Context): unknown;
}
interface OptionalMacro {
  /**
   * The expression in which the macro's variable is known. The type check sets `inner`, the context with this variable.
   */
  readonly body: unknown;
  inner: Context | undefined;
  readonly receiver: unknown;
}

/**
 * Makes the macro object that the CEL package expects for `optMap` and `optFlatMap`: if the optional has a value, the
 * second argument is evaluated with the variable set to this value.
 */
function mapped({ receiver, args }: MacroCall, resultOf: (value: unknown) => unknown): object {
  const [variable, body] = args;
  if (variable?.op !== 'id') throw new CelFault('the variable name must be a simple identifier');
  return {
    receiver,
    body,
    inner: undefined,
    async: false,
    typeCheck(checker: Checker, macro: OptionalMacro, context: Context): CheckedType {
      const type = checker.check(macro.receiver, context);
      const inside = (type.kind === 'optional' && type.valueType) || checker.getType('dyn');
      macro.inner = context.forkWithVariable(variable.args as string, inside);
      checker.check(macro.body, macro.inner);
      return checker.getType('optional');
    },
    evaluate(evaluator: Evaluator, macro: OptionalMacro, context: Context): unknown {
      const value = evaluator.run(macro.receiver, context);
      if (!(value instanceof Optional)) throw noOverload();
      if (!value.hasValue()) return value;
      return resultOf(evaluator.run(macro.body, macro.inner!.reuse(context).setIterValue(value.value(), evaluator)));
    },
  };
}
