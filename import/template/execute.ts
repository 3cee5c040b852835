// Runs a parsed template (text/template, exec.go). As in Go, a missing key prints nothing, but a field of null, or of
// anything that is not a map, is an error.
import { type Budget, templateLimits } from './values/limits.ts';
import type { Callable } from './functions/callable.ts';
import type { Command, Node, Operand, Pipeline, Tree } from './syntax.ts';
import { TemplateError } from './values/template-error.ts';
import { isList, isMap, isTrue, printed, sortedKeys, typeName, type Value } from './values/values.ts';

/** A call of a function costs one step of the budget for this many bytes of its text arguments. */
const bytesPerStep = 128;

/**
 * Why the execution of a list of nodes ended early: `{{break}}` or `{{continue}}` was reached. Undefined when it did
 * not end early.
 */
type Flow = 'break' | 'continue' | undefined;

/** A piece of a template's output. */
export interface Part {
  readonly text: string;
  /**
   * Whether an action printed the text, so that it may be data. False for the template's own text, and for a constant
   * such as `{{ "{{" }}`.
   */
  readonly isValue: boolean;
}

interface Variable {
  readonly name: string;
  value: Value;
}

/**
 * Runs a template with `data` as its dot.
 * @returns the output in its order, with its texts as bytes
 * @throws TemplateError where Go's execution fails, and when a limit of {@link templateLimits} is exceeded
 */
export function executeTemplate(
  tree: Tree,
  data: Value,
  functions: ReadonlyMap<string, Callable>,
  budget: Budget,
): readonly Part[] {
  const execution = new Execution(tree, functions, budget);
  execution.run(tree.body, data);
  return execution.output;
}

class Execution {
  readonly output: Part[] = [];
  readonly #tree: Tree;
  readonly #functions: ReadonlyMap<string, Callable>;
  readonly #budget: Budget;
  #variables: Variable[] = [];
  #depth = 0;

  constructor(tree: Tree, functions: ReadonlyMap<string, Callable>, budget: Budget) {
    this.#tree = tree;
    this.#functions = functions;
    this.#budget = budget;
  }

  /** Runs the body of a template, which sees no variable except `$`, its own data. */
  run(nodes: readonly Node[], data: Value): void {
    const outer = this.#variables;
    this.#variables = [{ name: '$', value: data }];
    this.#depth += 1;
    if (this.#depth > templateLimits.depth)
      throw new TemplateError(`templates call each other deeper than ${templateLimits.depth}`);
    this.#walk(nodes, data);
    this.#depth -= 1;
    this.#variables = outer;
  }

  #walk(nodes: readonly Node[], dot: Value): Flow {
    for (const node of nodes) {
      this.#budget.step();
      const flow = this.#node(node, dot);
      if (flow !== undefined) return flow;
    }
    return undefined;
  }

  #node(node: Node, dot: Value): Flow {
    switch (node.kind) {
      case 'text':
        this.#print(node.text, false);
        return undefined;
      case 'action': {
        const value = this.#pipeline(node.pipeline, dot);
        if (node.pipeline.variables.length === 0) this.#print(shown(value, this.#budget), !isConstant(node.pipeline));
        return undefined;
      }
      case 'template': {
        const body = this.#tree.defined.get(node.name);
        if (body === undefined) throw new TemplateError('it calls a template that is not defined');
        this.run(body, node.pipeline === undefined ? undefined : this.#pipeline(node.pipeline, dot));
        return undefined;
      }
      case 'break':
      case 'continue':
        return node.kind;
      case 'range':
        return this.#scoped(() => this.#range(node, dot));
      default:
        return this.#scoped(() => {
          const value = this.#pipeline(node.pipeline, dot);
          if (!isTrue(value)) return this.#walk(node.otherwise, dot);
          return this.#walk(node.body, node.kind === 'with' ? value : dot);
        });
    }
  }

  #scoped(run: () => Flow): Flow {
    const count = this.#variables.length;
    const flow = run();
    this.#variables.length = count;
    return flow;
  }

  #range(node: Extract<Node, { readonly kind: 'if' | 'with' | 'range' }>, dot: Value): Flow {
    const { variables, assigns } = node.pipeline;
    const over = this.#pipeline({ ...node.pipeline, variables: [] }, dot);
    if (typeof over === 'bigint' && variables.length > 1)
      throw new TemplateError(`can't use an ${typeName(over)} to iterate over more than one variable`);
    let count = 0;
    for (const [key, value] of entriesOf(over, this.#budget)) {
      this.#budget.step();
      count += 1;
      const flow = this.#scoped(() => {
        // With one variable, the variable gets the element. With two, the first gets index or key, the second the
        // element.
        const values = variables.length === 1 ? [value] : [key, value];
        for (const [i, name] of variables.entries()) this.#set(name, values[i], assigns);
        return this.#walk(node.body, value);
      });
      if (flow === 'break') break;
    }
    return count === 0 ? this.#walk(node.otherwise, dot) : undefined;
  }

  #pipeline({ variables, assigns, commands }: Pipeline, dot: Value): Value {
    let value: Value;
    for (const [i, command] of commands.entries()) {
      this.#budget.step();
      // From here on null is treated like a missing key, because Go unwraps the result of a pipeline.
      value = this.#command(command, dot, i === 0 ? [] : [value]) ?? undefined;
    }
    for (const name of variables) this.#set(name, value, assigns);
    return value;
  }

  #set(name: string, value: Value, assigns: boolean): void {
    if (!assigns) {
      this.#variables.push({ name, value });
      return;
    }
    this.#find(name).value = value;
  }

  #find(name: string): Variable {
    const found = this.#variables.findLast((variable) => variable.name === name);
    if (found === undefined) throw new TemplateError(`undefined variable ${name}`);
    return found;
  }

  /**
   * Runs one command.
   * @param piped the value of the pipeline's previous stage, which becomes the last argument; empty for the first stage
   */
  #command({ operands }: Command, dot: Value, piped: readonly Value[]): Value {
    const [first, ...rest] = operands as [Operand, ...Operand[]];
    if (first.kind === 'function') return this.#call(first.name, rest, dot, piped);
    if (rest.length > 0 || piped.length > 0) {
      if (first.kind === 'field' || first.kind === 'variable' || first.kind === 'chain') {
        const value = this.#operand(first, dot);
        throw new TemplateError(`can't give arguments to a ${typeName(value)}: it is not a function`);
      }
      throw new TemplateError("can't give argument to non-function");
    }
    if (first.kind === 'nil') throw new TemplateError('nil is not a command');
    return this.#operand(first, dot);
  }

  #operand(operand: Operand, dot: Value): Value {
    this.#budget.step();
    switch (operand.kind) {
      case 'constant':
        return operand.value;
      case 'dot':
        return dot;
      case 'nil':
        return undefined;
      case 'field':
        return fieldsOf(dot, operand.names);
      case 'variable':
        return fieldsOf(this.#find(operand.name).value, operand.fields);
      case 'pipeline':
        return this.#pipeline(operand.pipeline, dot);
      case 'function':
        return this.#call(operand.name, [], dot, []);
      case 'chain':
        return fieldsOf(this.#operand(operand.of, dot), operand.names);
    }
  }

  #call(name: string, operands: readonly Operand[], dot: Value, piped: readonly Value[]): Value {
    // `and` and `or` evaluate an argument only when the arguments before it have not decided the result.
    if (name === 'and' || name === 'or') return this.#shortCircuit(name, operands, dot, piped);
    const args = [...operands.map((operand) => this.#operand(operand, dot)), ...piped];
    const bytes = args.reduce<number>((sum, arg) => sum + (typeof arg === 'string' ? arg.length : 0), 0);
    this.#budget.step(Math.ceil(bytes / bytesPerStep));
    const value = this.#functions.get(name)!.call(args, this.#budget);
    if (typeof value === 'string') this.#budget.make(value.length);
    else if (isList(value)) this.#budget.step(value.length);
    else if (isMap(value)) this.#budget.step(value.size);
    return value;
  }

  #shortCircuit(name: 'and' | 'or', operands: readonly Operand[], dot: Value, piped: readonly Value[]): Value {
    if (operands.length + piped.length === 0)
      throw new TemplateError(`${name}: wrong number of arguments: want 1 or more`);
    let value: Value;
    for (const operand of operands) {
      value = this.#operand(operand, dot);
      if (isTrue(value) === (name === 'or')) return value;
    }
    return piped.length === 0 ? value : piped[0];
  }

  #print(text: string, isValue: boolean): void {
    this.#budget.print(text.length);
    this.output.push({ text, isValue });
  }
}

function isConstant({ commands: [first, ...others] }: Pipeline): boolean {
  return others.length === 0 && first?.operands.length === 1 && first.operands[0]?.kind === 'constant';
}

/**
 * The text that an action such as `{{.x}}` prints for a value. Go prints `<no value>` for a missing one, and
 * Clusterpedia removes that text, so nothing is printed here.
 */
function shown(value: Value, budget: Budget): string {
  return value === undefined || value === null ? '' : printed(value, budget);
}

function fieldsOf(start: Value, names: readonly string[]): Value {
  let value = start;
  for (const name of names) {
    if (value === undefined) return undefined;
    if (value === null) throw new TemplateError(`nil pointer evaluating interface {}.${name}`);
    if (!isMap(value)) throw new TemplateError(`can't evaluate field ${name} in type ${typeName(value)}`);
    value = value.get(name);
  }
  return value;
}

function* entriesOf(value: Value, budget: Budget): Generator<readonly [Value, Value]> {
  if (value === undefined || value === null) return;
  if (isList(value)) {
    for (const [i, item] of value.entries()) yield [BigInt(i), item];
  } else if (isMap(value)) {
    budget.step(value.size);
    for (const key of sortedKeys(value)) yield [key, value.get(key)];
  } else if (typeof value === 'bigint') {
    for (let i = 0n; i < value; i += 1n) yield [i, i];
  } else throw new TemplateError(`range can't iterate over a ${typeName(value)}`);
}
