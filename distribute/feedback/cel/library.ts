// Where the functions that Kubernetes adds to CEL are registered. The CEL package has functions of its own for some of
// the names, which count UTF-16 units, run JavaScript's patterns and cost nothing; those of this folder take their
// place, under names that only expression.ts writes.
import type { Environment } from '@marcbachmann/cel-js';
import type { Steps } from './steps.ts';

/** What registers functions of one library. */
export interface Library {
  readonly steps: Steps;
  /**
   * Registers one overload of a function.
   * @param signature as the CEL package has it, such as `string.find(string): string`
   */
  add(signature: string, handler: (...values: never[]) => unknown): void;
  /** Registers a macro: a method whose arguments the handler gets as parts of the syntax tree. */
  addMacro(signature: string, expand: (call: MacroCall) => object): void;
  /** Registers a type, with the name that `type()` gives for it. */
  addType(name: string, type: new (...values: never[]) => object): void;
  /** Registers a name whose members are functions, such as `sets` in `sets.contains(…)`. */
  addNamespace(name: string, type: string): void;
}

/** A call of a macro. */
export interface MacroCall {
  readonly receiver: unknown;
  readonly args: readonly { readonly op: string; readonly args: unknown }[];
}

/** Names of functions that are registered under another name, by whether they are called on a value. */
export interface OwnNames {
  readonly functions: Set<string>;
  readonly methods: Set<string>;
}

/** Begins the names under which the CEL package knows the functions of this folder. No name of an author begins so. */
export const ownPrefix = 'k8s_own_';

/** Steps for a call of one of the functions, beside what it pays for itself. */
const stepsOfCall = 5;

/** @param ownNames gets the names of all functions that are registered */
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
      // Lets the type check pass; expression.ts compares.
      environment.registerOperator(`${name} == ${name}`, () => false);
    },
    addNamespace(name, type) {
      const Type = namespaceType(name);
      environment.registerType(type, Type);
      environment.registerConstant(name, type, new Type());
    },
  };
}

/** Each namespace is a type of its own, as its functions are methods for the CEL package. */
function namespaceType(name: string): new () => object {
  return class {
    readonly name = name;
  };
}
