// Evaluates one CEL expression in the same environment as OCM's agent, with a limit on its steps. Easy to get wrong: in
// CEL, `||` and `exists` swallow an error of one operand. The error for too many steps must not be swallowed: it must
// end the whole expression, which must then never be true.
import { Environment } from '@marcbachmann/cel-js';
import { addAddresses } from './addresses.ts';
import { isEqual, isMap, isMember, numberOf } from './equality.ts';
import { compileFault, runFault } from './faults.ts';
import { addFormats } from './formats.ts';
import { makeLibrary, ownPrefix, type OwnNames } from './library.ts';
import { addLists, addSets } from './lists.ts';
import { addOptionals } from './optionals.ts';
import { addPatterns, checkPattern } from './patterns.ts';
import { addQuantities } from './quantities.ts';
import { CelFault, mostSteps, noOverload, ProgramFault, Steps } from './steps.ts';
import { allNodes, countNodes, type Handle, type SyntaxNode } from './syntax.ts';
import { checkFormat } from './text-format.ts';
import { addTexts } from './texts.ts';
import { addUrls } from './urls.ts';
import { addVersions } from './versions.ts';

/** Evaluates CEL expressions that all have the same variables and functions. */
export interface Expressions {
  /**
   * Evaluates an expression.
   * @param budget the steps that this and further expressions may take together; the steps of this one are subtracted
   * @throws CelFault whose message begins as cel-go's does
   */
  run(expression: string, variables: Readonly<Record<string, unknown>>, budget: Budget): unknown;
}

/** The steps that are left for several expressions. */
export interface Budget {
  steps: number;
}

/**
 * Methods that the CEL package adds although CEL does not have them. They are hidden, since cel-go would report them as
 * unknown.
 */
const noMethods: ReadonlySet<string> = new Set(['json', 'hex', 'string', 'base64', 'at']);

/**
 * Makes an environment.
 * @param declare adds the variables, and functions in addition to those of Kubernetes
 */
export function makeExpressions(declare: (environment: Environment) => void): Expressions {
  const steps = new Steps();
  const own: OwnNames = { functions: new Set(), methods: new Set() };
  const environment = new Environment({
    unlistedVariablesAreDyn: false,
    enableOptionalTypes: true,
    homogeneousAggregateLiterals: false,
    limits: { maxAstNodes: 500, maxDepth: 30, maxListElements: 200, maxMapEntries: 50, maxCallArguments: 8 },
  });
  declare(environment);
  const library = makeLibrary(environment, steps, own);
  for (const add of [addLists, addSets, addTexts, addPatterns, addUrls, addQuantities, addVersions]) add(library);
  for (const add of [addAddresses, addFormats, addOptionals]) add(library);
  const typeOf = (call: string): unknown => environment.evaluate(`type(${ownPrefix}${call})`);
  const net = { IP: typeOf("ip('::')"), CIDR: typeOf("cidr('::/0')") };
  environment.registerConstant('net', 'map<string, type>', net);
  const names = new Set(environment.getDefinitions().functions.map(({ name }) => name.replace(ownPrefix, '')));
  for (const name of noMethods) if (!own.functions.has(name)) names.delete(name);

  const compile = (expression: string): ((variables: object) => unknown) => {
    try {
      const program = environment.parse(expression);
      const nodes = allNodes(program.ast as unknown as SyntaxNode);
      for (const node of nodes) rename(node, own);
      const { valid, error } = program.check();
      if (!valid) throw error!;
      for (const node of nodes) checkWritten(node);
      countNodes(nodes, steps);
      for (const node of nodes) chargeFor(node, steps);
      return program;
    } catch (error) {
      throw compileFault(error, names);
    }
  };
  return {
    run(expression, variables, budget) {
      if (budget.steps <= 0) throw new CelFault('CEL evaluation budget exceeded');
      const program = compile(expression);
      const most = Math.min(mostSteps, budget.steps);
      steps.start(most);
      try {
        const value = program(variables);
        // `||` or `exists` may have swallowed the error for too many steps. Then this throws it again.
        steps.spend(0);
        return value;
      } catch (error) {
        if (steps.left < 0) steps.spend(0);
        throw runFault(error);
      } finally {
        budget.steps -= most - Math.max(0, steps.left);
      }
    },
  };
}

/**
 * Renames a call in the syntax tree, so that it calls the function of this folder and not the CEL package's own
 * function of that name.
 */
function rename(node: SyntaxNode, { functions, methods }: OwnNames): void {
  if (node.op !== 'call' && node.op !== 'rcall') return;
  const parts = node.args as [name: string, ...unknown[]];
  const [name] = parts;
  const isOwn = (node.op === 'call' ? functions : methods).has(name);
  if (isOwn) parts[0] = `${ownPrefix}${name}`;
  // The function is not part of CEL. It gets a name that no function has, so that the CEL package reports it as
  // unknown.
  else if (name.startsWith(ownPrefix) || (node.op === 'rcall' && noMethods.has(name))) parts[0] = `${name}_`;
}

/**
 * Checks literals in the expression that cel-go checks before it evaluates anything: format strings, and patterns of
 * `find` and `findAll`.
 */
function checkWritten({ op, args }: SyntaxNode): void {
  if (op !== 'rcall') return;
  const [name, receiver, [first]] = args as [name: string, receiver: SyntaxNode, values: readonly SyntaxNode[]];
  if (name === `${ownPrefix}format` && receiver.op === 'value' && first?.op === 'list')
    checkFormat(String(receiver.args), (first.args as readonly unknown[]).length);
  if (!searches.has(name) || first?.op !== 'value' || typeof first.args !== 'string') return;
  try {
    checkPattern(first.args);
  } catch (error) {
    throw new ProgramFault((error as Error).message);
  }
}

const searches: ReadonlySet<string> = new Set(['find', 'findAll'].map((name) => `${ownPrefix}${name}`));

/** Makes an operator, call or loop count steps for the length of its operands and its result. */
function chargeFor(node: SyntaxNode, steps: Steps): void {
  const { handle } = node;
  if (handle === undefined) return;
  const charged = charges[node.op];
  if (charged !== undefined) node.handle = charged(handle, steps);
}

const charges: Readonly<Record<string, (handle: Handle, steps: Steps) => Handle>> = {
  '==': (_, steps) => (left, right) => isEqual(left, right, steps),
  '!=': (_, steps) => (left, right) => !isEqual(left, right, steps),
  in: (_, steps) => (left, right) => isIn(left, right, steps),
  '<': ordered,
  '<=': ordered,
  '>': ordered,
  '>=': ordered,
  '+': (handle, steps) => (left, right, node, evaluator) => {
    pay(left, steps);
    pay(right, steps);
    return handle(left, right, node, evaluator);
  },
  // The CEL package does not check these two operators for overflow of 64 bits.
  '-_': checked,
  '/': checked,
  call: called,
  rcall: called,
  comprehension:
    (handle, steps) =>
    (items, ...others) => {
      pay(isMap(items) ? Object.keys(items) : items, steps);
      return handle(items, ...others);
    },
};

function ordered(handle: Handle, steps: Steps): Handle {
  return (left, right, node, evaluator) => {
    if (typeof left === 'string' && typeof right === 'string') steps.spendText(Math.min(left.length, right.length));
    return handle(left, right, node, evaluator);
  };
}

function checked(handle: Handle): Handle {
  return (...given) => within64Bits(handle(...given));
}

function within64Bits(value: unknown): unknown {
  if (typeof value === 'bigint' && BigInt.asIntN(64, value) !== value) throw new CelFault('integer overflow');
  return value;
}

function called(handle: Handle, steps: Steps): Handle {
  return (values, ...others) => {
    for (const value of values as readonly unknown[]) if (!Array.isArray(value)) pay(value, steps);
    const result = handle(values, ...others);
    pay(result, steps);
    return within64Bits(result);
  };
}

function pay(value: unknown, steps: Steps): void {
  if (typeof value === 'string' || Array.isArray(value) || value instanceof Uint8Array) steps.spendText(value.length);
}

function isIn(value: unknown, collection: unknown, steps: Steps): boolean {
  if (Array.isArray(collection)) return isMember(value, collection, steps);
  if (!isMap(collection)) throw noOverload();
  // The CEL package stores all map keys as strings, even those that an expression writes as numbers.
  const key = typeof value === 'string' ? value : String(numberOf(value) ?? '');
  return key !== '' || value === '' ? Object.hasOwn(collection, key) : false;
}
