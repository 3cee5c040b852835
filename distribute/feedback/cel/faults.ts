// Error messages of CEL expressions. Known messages of the CEL package are replaced by the wording of cel-go; all
// others stay as the package words them.
import { ownPrefix } from './library.ts';
import { CelFault } from './steps.ts';

/** The fields of an error of the CEL package. */
interface PackageFault {
  readonly summary?: string;
  readonly name?: string;
  readonly node?: FaultyNode;
}

interface FaultyNode {
  readonly op?: string;
  readonly args?: unknown;
  readonly pos?: number;
  readonly end?: number;
  readonly input?: string;
}

/**
 * Turns an error of parsing or type checking into a CelFault with cel-go's wording and position. @param functions names
 * of all functions that exist, to tell an unknown function from wrong arguments
 */
export function compileFault(error: unknown, functions: ReadonlySet<string>): CelFault {
  if (error instanceof CelFault) return error;
  const { name, node } = error as PackageFault;
  const words = compileWords(summaryOf(error), functions);
  const before = node?.input?.slice(0, placeOf(node)).split('\n') ?? [''];
  const place = `ERROR: <input>:${before.length}:${[...before.at(-1)!].length + 1}: `;
  return new CelFault(`${place}${name === 'ParseError' ? 'Syntax error: ' : ''}${words}`);
}

/** The position that cel-go reports for an error: the opening bracket of a call, or the sign of an operator. */
function placeOf({ op = '', args, pos = 0, input = '' }: FaultyNode): number {
  const first = Array.isArray(args) ? (args as readonly unknown[])[op === 'rcall' ? 1 : 0] : undefined;
  const { end: behind = pos } = op === 'call' ? {} : ((first ?? {}) as FaultyNode);
  if (op !== 'call' && op !== 'rcall' && !/^[^\w[?.]/.test(op)) return pos;
  return Math.max(pos, input.indexOf(op.endsWith('call') ? '(' : op, behind));
}

/** The CEL package's message for a call that matches no overload. */
const call = /^found no matching overload for '(?:([\w.<>]+)\.)?(\w+)\((.*)\)'$/;

/**
 * The namespace of a function such as `sets.contains`, which the CEL package has as a method of the type
 * `SetsNamespace`: `sets`. Undefined for other types.
 */
function namespaceOf(receiver: string | undefined): string | undefined {
  return /^(\w+)Namespace$/.exec(receiver ?? '')?.[1]?.toLowerCase();
}

function compileWords(words: string, functions: ReadonlySet<string>): string {
  const undeclared = (name: string): string => `undeclared reference to '${name}' (in container '')`;
  const [, variable] = /^Unknown variable: (.*)$/.exec(words) ?? [];
  if (variable !== undefined) return undeclared(variable);
  const [, receiver, name = '', types = ''] = call.exec(words) ?? [];
  if (name !== '') {
    if (!functions.has(name)) return undeclared(name.replace(/_$/, ''));
    const given = `(${types.replace(/<([^<>]*)>/g, '($1)')})`;
    const namespace = namespaceOf(receiver);
    if (namespace !== undefined) return `found no matching overload for '${namespace}.${name}' applied to '${given}'`;
    return `found no matching overload for '${name}' applied to '${receiver === undefined ? '' : `${receiver}.`}${given}'`;
  }
  const [, left, operator, right] = /^no such overload: (.+) (\S+) (.+)$/.exec(words) ?? [];
  if (operator !== undefined) return `found no matching overload for '_${operator}_' applied to '(${left}, ${right})'`;
  const [, unary, type] = /^no such overload: ([-!])(.+)$/.exec(words) ?? [];
  if (unary !== undefined) return `found no matching overload for '${unary}_' applied to '(${type})'`;
  return words;
}

/** Turns an error during the evaluation of an expression into a CelFault with cel-go's wording. */
export function runFault(error: unknown): CelFault {
  if (error instanceof CelFault) return error;
  const words = summaryOf(error);
  const [, receiver, name = '', types = ''] = call.exec(words) ?? [];
  if (name !== '') {
    const namespace = namespaceOf(receiver);
    const given = [namespace === undefined ? receiver : undefined, types].filter(Boolean).join(', ');
    const plain = given.replace(/(list|map)<.*?>+/g, '$1').replace(/\bnull\b/g, 'null_type');
    return new CelFault(`no such overload: ${namespace === undefined ? '' : `${namespace}.`}${name}(${plain})`);
  }
  return new CelFault(rewordings.reduce((text, [pattern, by]) => text.replace(pattern, by), words));
}

const rewordings: readonly (readonly [RegExp, string])[] = [
  [/^No such key: index out of bounds, index (-?\d+).*$/, 'index out of bounds: $1'],
  [/^No such key/, 'no such key'],
  [/^(integer overflow): .*$/, '$1'],
  [/^(?:Ternary condition must be bool|Logical operator requires bool operands).*$/, 'no such overload'],
  [/^Optional value is not present$/, 'optional.none() dereference'],
];

function summaryOf(error: unknown): string {
  const { summary } = error as PackageFault;
  const words = summary ?? (error instanceof Error ? error.message : 'unknown fault');
  return words
    .split('\n')[0]!
    .replaceAll(ownPrefix, '')
    .replace(/dyn<([\w.]+)>/g, '$1');
}
