// CEL expressions over the claims of a token, or over the user made from them. Easy to get wrong: an expression that is
// evaluated differently than in kube-apiserver can give a caller somebody else's identity. So only syntax known to have
// the same meaning is supported; anything else is refused when the file is read.
import type { ASTNode, Environment, ParseResult } from '@marcbachmann/cel-js';
import { addPattern, makeClaimEnvironment, ownMethods, ownName, setFunctions } from './claim-functions.ts';
import type { Patterns } from './claim-functions.ts';
import { PatternError } from '../../lib/text/go-pattern.ts';
import { isJsonObject } from '../../lib/json/strict-json.ts';
import type { JsonObject, JsonValue } from '../../lib/json/strict-json.ts';

/** The one variable of an expression: the `claims` of a token, or the `user` made from them. */
export type ExpressionSubject = 'claims' | 'user';

/** A parsed CEL expression. */
export interface ClaimExpression {
  /** The members of the variable that the expression uses, for example `email` for `claims.email`. */
  readonly names: ReadonlySet<string>;
  /** Whether the result is a boolean for every possible input. */
  readonly isBoolean: boolean;
  /**
   * Evaluates the expression; `subject` is the value of the variable.
   * @throws Error of any class when it cannot be evaluated
   */
  evaluate(subject: JsonObject): unknown;
}

/** Why an expression is refused, with its position where known. */
export class ExpressionError extends Error {
  constructor(reason: string, node?: { readonly start?: number }) {
    super(node?.start === undefined ? reason : `${reason} (at character ${node.start + 1} of the expression)`);
    this.name = 'ExpressionError';
  }
}

/**
 * kube-apiserver stops an expression after this many steps (PerCallLimit). Here the steps are estimated from the
 * nesting of loops before evaluation; if they are too many, the token is refused.
 */
const maxSteps = 1_000_000;
const maxExpressionLength = 4_096;
/** Matches names that kube-apiserver unescapes (apiserver:pkg/cel/escaping.go) and the CEL library in use does not. */
const escapedName = /__[a-z]+__/;
const userFields: ReadonlySet<string> = new Set(['username', 'uid', 'groups', 'extra']);
const macros: ReadonlySet<string> = new Set(['all', 'exists', 'exists_one', 'map', 'filter']);
/** Supported functions of `optional`, with their numbers of arguments. */
const optionalFunctions: ReadonlyMap<string, number> = new Map([
  ['none', 0],
  ['of', 1],
]);
/** Methods of the CEL library that work exactly as in cel-go, with their numbers of arguments. */
const plainMethods: ReadonlyMap<string, number> = new Map([
  ['startsWith', 1],
  ['endsWith', 1],
  ['contains', 1],
  ['size', 0],
  ['hasValue', 0],
  ['value', 0],
  ['or', 1],
  ['orValue', 1],
]);

/**
 * Parses an expression.
 * @throws ExpressionError when it is not valid CEL, has a type error, or uses syntax that is not known to work as in
 *   kube-apiserver
 */
export function readExpression(source: string, subject: ExpressionSubject): ClaimExpression {
  if (source.length > maxExpressionLength) throw new ExpressionError('is too long');
  const patterns: Patterns = new Map();
  const environment = makeClaimEnvironment(subject, patterns);
  const reading: Reading = { subject, patterns, names: new Set(), depth: 0, deepest: 0, variables: [] };
  const text = written(parsed(environment, source).ast, reading);
  const program = parsed(environment, text);
  const { valid, type, error } = program.check();
  if (!valid) throw new ExpressionError(reasonOf(error));
  const loops = reading.deepest;
  return {
    names: reading.names,
    isBoolean: type === 'bool',
    evaluate(value) {
      if (loops > 1 && longestList(value) ** loops > maxSteps) throw new ExpressionError('would take too long');
      return program({ [subject]: value });
    },
  };
}

/** State while an expression is being checked and rewritten. */
interface Reading {
  readonly subject: ExpressionSubject;
  readonly patterns: Patterns;
  readonly names: Set<string>;
  /** Number of loops around the current node. */
  depth: number;
  deepest: number;
  readonly variables: string[];
}

function parsed(environment: Environment, source: string): ParseResult {
  try {
    return environment.parse(source);
  } catch (error) {
    throw new ExpressionError(reasonOf(error));
  }
}

function reasonOf(error: unknown): string {
  const { summary } = error as { readonly summary?: unknown };
  return `is not valid: ${typeof summary === 'string' ? summary : 'it cannot be read'}`;
}

function refuse(what: string, node: ASTNode): never {
  throw new ExpressionError(`uses ${what}, which this gateway does not support`, node);
}

/**
 * Writes the expression anew from its syntax tree, using only supported syntax. Only this new text is evaluated, so
 * unsupported syntax never is.
 */
function written(node: ASTNode, reading: Reading): string {
  switch (node.op) {
    case 'value':
      return writtenValue(node, node.args);
    case 'id':
      // In kube-apiserver, `claims` and `user` can only be used through their members: not with `in`, size() or in a
      // loop.
      if (isSubject(node, reading)) refuse(`"${node.args}" without a member`, node);
      if (!reading.variables.includes(node.args)) refuse(`"${node.args}"`, node);
      return node.args;
    case '.':
    case '.?': {
      const [from, name] = node.args;
      note(from, name, node, reading);
      return `${writtenSource(from, reading)}${node.op}${name}`;
    }
    case '[]':
    case '[?]': {
      const [from, index] = node.args;
      if (index.op !== 'value' || !['string', 'bigint'].includes(typeof index.args))
        refuse('an index that is not a literal', index);
      if (typeof index.args === 'string') note(from, index.args, node, reading);
      return `${writtenSource(from, reading)}${node.op === '[]' ? '[' : '[?'}${written(index, reading)}]`;
    }
    case 'list':
      return `[${node.args.map((item) => written(item, reading)).join(', ')}]`;
    case 'call':
      return writtenCall(node, ...node.args, reading);
    case 'rcall':
      return writtenMethod(node, ...node.args, reading);
    default:
      return writtenOperator(node, reading);
  }
}

/** Rewrites the expression before a dot or bracket, the only position where `claims` or `user` itself is allowed. */
function writtenSource(node: ASTNode, reading: Reading): string {
  return isSubject(node, reading) ? reading.subject : written(node, reading);
}

function writtenOperator(node: ASTNode, reading: Reading): string {
  const of = (part: ASTNode): string => written(part, reading);
  switch (node.op) {
    case '!_':
      return `!(${of(node.args)})`;
    case '-_':
      return `-(${of(node.args)})`;
    case '?:':
      return `((${of(node.args[0])}) ? (${of(node.args[1])}) : (${of(node.args[2])}))`;
    case '<':
    case '<=':
    case '>':
    case '>=':
      // Go compares strings by bytes and JavaScript by UTF-16 code units, so ordering is supported only for numbers.
      if (!node.args.some(isNumber)) refuse(`"${node.op}" needs a number, and neither side is known to be one`, node);
      return `(${of(node.args[0])} ${node.op} ${of(node.args[1])})`;
    case 'in':
      return looped(reading, 1, () => `(${of(node.args[0])} in ${of(node.args[1])})`);
    case '==':
    case '!=':
    case '&&':
    case '||':
    case '+':
    case '-':
    case '*':
      return `(${of(node.args[0])} ${node.op} ${of(node.args[1])})`;
    default:
      return refuse(node.op === 'map' ? 'a map' : `"${node.op}"`, node);
  }
}

function writtenValue(node: ASTNode, value: unknown): string {
  if (value === null || typeof value === 'boolean' || typeof value === 'bigint') return String(value);
  if (typeof value === 'string') {
    if (escapedName.test(value)) refuse('a name that Kubernetes would unescape', node);
    // JSON's escape sequences are valid in CEL with the same meaning.
    return JSON.stringify(value);
  }
  if (typeof value !== 'number' || !/^\d+(?:\.\d+)?$/.test(String(value))) return refuse('this kind of literal', node);
  return Number.isInteger(value) ? `${value}.0` : String(value);
}

/** Records which member of `claims` or `user` is used, and refuses unknown members of `user`. */
function note(from: ASTNode, name: string, node: ASTNode, { subject, names }: Reading): void {
  if (escapedName.test(name)) refuse('a name that Kubernetes would unescape', node);
  if (from.op !== 'id' || from.args !== subject) return;
  if (subject === 'user' && !userFields.has(name)) throw new ExpressionError(`the user has no "${name}"`, node);
  // kube-apiserver only looks at field access: claims["email"] does not count as a use of claims.email.
  if (node.op === '.' || node.op === '.?') names.add(name);
}

function isSubject(node: ASTNode, { subject }: Reading): boolean {
  return node.op === 'id' && node.args === subject;
}

function isNumber(node: ASTNode): boolean {
  if (node.op === 'value') return typeof node.args === 'bigint' || typeof node.args === 'number';
  if (node.op === '-' || node.op === '*' || node.op === '-_') return true;
  return (node.op === 'call' || node.op === 'rcall') && ['size', 'indexOf', 'lastIndexOf'].includes(node.args[0]);
}

function writtenCall(node: ASTNode, name: string, args: readonly ASTNode[], reading: Reading): string {
  const [first] = args;
  if (first !== undefined && args.length === 1) {
    if (name === 'has') {
      if (first.op !== '.' || !isPlainPath(first)) refuse('has() of anything but a field', node);
      return `has(${written(first, reading)})`;
    }
    if (name === 'size' || name === 'dyn') return `${name}(${written(first, reading)})`;
    if (name === 'string') return `${ownName}string(${written(first, reading)})`;
  }
  return refuse(`${name}()`, node);
}

function isPlainPath(node: ASTNode): boolean {
  return node.op === 'id' || (node.op === '.' && isPlainPath(node.args[0]));
}

function writtenMethod(
  node: ASTNode,
  name: string,
  receiver: ASTNode,
  args: readonly ASTNode[],
  reading: Reading,
): string {
  const list = (): string => args.map((arg) => written(arg, reading)).join(', ');
  if (isNamespace(receiver, 'sets', reading)) {
    if (!setFunctions.has(name) || args.length !== 2) refuse(`sets.${name}()`, node);
    return looped(reading, 2, () => `sets.${name}(${list()})`);
  }
  if (isNamespace(receiver, 'optional', reading)) {
    if (optionalFunctions.get(name) !== args.length) refuse(`optional.${name}()`, node);
    return `optional.${name}(${list()})`;
  }
  const of = `(${written(receiver, reading)})`;
  if (macros.has(name)) return `${of}.${name}(${writtenLoop(node, name, args, reading)})`;
  if (name === 'matches') return `${of}.${ownName}matches(${writtenPattern(node, args, reading)})`;
  if (ownMethods.get(name)?.includes(args.length) === true) return `${of}.${ownName}${name}(${list()})`;
  if (plainMethods.get(name) === args.length) return `${of}.${name}(${list()})`;
  return refuse(`.${name}() with ${args.length} arguments`, node);
}

/** Whether the node is the namespace in a call such as `sets.contains`, and not a variable with that name. */
function isNamespace(node: ASTNode, name: 'sets' | 'optional', { variables }: Reading): boolean {
  return node.op === 'id' && node.args === name && !variables.includes(name);
}

/**
 * Rewrites the argument of `matches`. It must be a string literal, so that an invalid pattern is refused when the file
 * is read.
 */
function writtenPattern(node: ASTNode, [pattern, ...more]: readonly ASTNode[], { patterns }: Reading): string {
  if (more.length > 0 || pattern?.op !== 'value' || typeof pattern.args !== 'string')
    return refuse('matches() with a pattern that is not a string literal', node);
  try {
    addPattern(patterns, pattern.args);
  } catch (error) {
    throw error instanceof PatternError ? new ExpressionError(`has a pattern that ${error.message}`, node) : error;
  }
  return JSON.stringify(pattern.args);
}

/** Rewrites the arguments of a macro such as `map`: a variable name, then expressions that may use it. */
function writtenLoop(node: ASTNode, name: string, args: readonly ASTNode[], reading: Reading): string {
  const [variable, ...bodies] = args;
  const counts = name === 'map' ? [1, 2] : [1];
  if (variable?.op !== 'id' || !counts.includes(bodies.length)) return refuse(`this form of ${name}()`, node);
  const taken = [reading.subject, 'sets', 'optional', ...reading.variables];
  if (taken.includes(variable.args)) refuse(`the name "${variable.args}" twice`, variable);
  reading.variables.push(variable.args);
  const text = looped(reading, 1, () => [variable.args, ...bodies.map((body) => written(body, reading))].join(', '));
  reading.variables.pop();
  return text;
}

function looped(reading: Reading, loops: number, write: () => string): string {
  reading.depth += loops;
  reading.deepest = Math.max(reading.deepest, reading.depth);
  const text = write();
  reading.depth -= loops;
  return text;
}

function longestList(value: JsonValue): number {
  if (Array.isArray(value)) return Math.max(value.length, ...value.map(longestList));
  if (isJsonObject(value)) return Math.max(value.size, ...[...value.values()].map(longestList));
  return 1;
}
