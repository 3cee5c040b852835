// Registers the functions that Kubernetes adds to CEL. The CEL package has its own functions of some of these names,
// but these count UTF-16 units, use JavaScript's regular expressions and cost no steps. So the functions of this folder
// are registered under names with a prefix, and expression.ts renames calls to them.
import type { Environment } from '@marcbachmann/cel-js';
import type { Steps } from './steps.ts';

/** Registers functions, types and macros in the CEL environment. */
export interface Library {
  readonly steps: Steps;
  /**
   * Registers one overload of a function.
   * @param signature in the CEL package's notation, such as `string.find(string): string`
   */
  add(signature: string, handler: (...values: never[]) => unknown): void;
  /** Registers a macro: a method whose arguments the handler gets as parts of the syntax tree. */
  addMacro(signature: string, expand: (call: MacroCall) => object): void;
  /** Registers a type under the name that CEL's `type()` returns for its values. */
  addType(name: string, type: new (...values: never[]) => object): void;
  /** Registers a name whose members are functions, such as `sets` in `sets.contains(…)`. */
  addNamespace(name: string, type: string): void;
}

/** A call of a macro. */
export interface MacroCall {
  readonly receiver: unknown;
  readonly args: readonly { readonly op: string; readonly args: unknown }[];
}

/**
 * Names of the functions that are registered with {@link ownPrefix}: global functions such as `ip(…)`, and methods such
 * as `text.find(…)`.
 */
export interface OwnNames {
  readonly functions: Set<string>;
  readonly methods: Set<string>;
}

/**
 * Prefix of the names under which the functions of this folder are registered. An author's expression cannot call a
 * name with this prefix.
 */
export const ownPrefix = 'k8s_own_';

/** Steps for each call of a function, in addition to the steps that the function itself counts. */
const stepsOfCall = 5;

/**
 * Makes the registry of functions for an environment. @param ownNames filled with the names of all functions that are
 * registered
 */
export function makeLibrary(environment: Environment, steps: Steps, ownNames: OwnNames): Library {
  return {
    steps,
    add(signature, handler) {
      const [, receiver = '', name = '', rest = ''] = /^(?:([\w.<>]+)\.)?(\w+)(\(.*)$/.exec(signature) ?? [];
      (receiver === '' ? ownNames.functions : ownNames.methods).add(name);
      const own = `${receiver === '' ? '' : `${receiver}.`}${ownPrefix}${name}${rest}`;
      const called = (...values: unknown[]): unknown => {
        steps.spend(stepsOfCall);
        return (handler as (...values: unknown[]) => unknown)(...values);
      };
      environment.registerFunction(own, called, { async: false });
    },
    addMacro(signature, expand) {
      environment.registerFunction(signature, expand as (...values: unknown[]) => unknown, { async: false });
    },
    addType(name, type) {
      environment.registerType(name, type);
      // Only makes the type check accept `==`; the comparison itself is isEqual() in expression.ts.
      environment.registerOperator(`${name} == ${name}`, () => false);
    },
    addNamespace(name, type) {
      const Type = namespaceType(name);
      environment.registerType(type, Type);
      environment.registerConstant(name, type, new Type());
    },
  };
}

/**
 * Makes the type of a namespace such as `sets`: for the CEL package, `sets.contains(…)` is a method of a value of this
 * type.
 */
function namespaceType(name: string): new () => object {
  return class {
    readonly name = name;
  };
}
