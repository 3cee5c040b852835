// The functions of Kubernetes' CEL environment that claim expressions may use, working as in cel-go. They replace the
// functions of the CEL library in use, which count UTF-16 code units and lower-case all letters; those of cel-go count
// code points and lower-case only ASCII.
import { Environment } from '@marcbachmann/cel-js';
import { compileGoPattern, maxPatternText } from '../../lib/text/go-pattern.ts';
import type { GoPattern } from '../../lib/text/go-pattern.ts';

/**
 * Prefix of the names under which the functions of this file are registered, so that the CEL library's own functions
 * are never called.
 */
export const ownName = 'go_';

/**
 * Methods that expressions may call, with their possible numbers of arguments. makeClaimEnvironment() registers all of
 * them.
 */
export const ownMethods: ReadonlyMap<string, readonly number[]> = new Map([
  ['lowerAscii', [0]],
  ['upperAscii', [0]],
  ['trim', [0]],
  ['charAt', [1]],
  ['indexOf', [1]],
  ['lastIndexOf', [1]],
  ['substring', [1, 2]],
  ['replace', [2, 3]],
  ['split', [1, 2]],
  ['join', [0, 1]],
  ['matches', [1]],
]);

/** Functions of `sets`; each takes two lists. */
export const setFunctions: ReadonlySet<string> = new Set(['contains', 'equivalent', 'intersects']);

/** CEL type of the constant `sets` in `sets.contains(…)`. */
class Sets {
  readonly name = 'sets';
}

/**
 * Compiled patterns of `matches`, by source. They are compiled when the expression is parsed, so that an invalid one is
 * refused then.
 */
export type Patterns = Map<string, GoPattern>;

/** Makes a CEL environment with the functions of this file and one variable, a map with string keys. */
export function makeClaimEnvironment(variable: string, patterns: Patterns): Environment {
  const environment = new Environment({
    enableOptionalTypes: true,
    limits: { maxAstNodes: 1_000, maxDepth: 50, maxListElements: 500, maxMapEntries: 0, maxCallArguments: 4 },
  });
  environment.registerVariable(variable, 'map<string, dyn>');
  registerTextMethods(environment);
  registerMethod(environment, 'string.matches(string): bool', (text: string, pattern: string) => {
    const compiled = patterns.get(pattern);
    // A long text would take long to match, and the compiled pattern does not check its length. A text with line feeds
    // is refused, too.
    if (compiled === undefined || text.length > maxPatternText || text.includes('\n'))
      throw new Error('cannot be matched');
    return compiled(text);
  });
  environment.registerFunction(`${ownName}string(dyn): string`, textOf);
  registerSets(environment);
  return environment;
}

/**
 * Registers a method under its name with the prefix {@link ownName}.
 * @param signature CEL signature of the method, with the name that expressions use
 */
function registerMethod(environment: Environment, signature: string, handler: (...values: never[]) => unknown): void {
  const dot = signature.indexOf('.');
  const named = `${signature.slice(0, dot + 1)}${ownName}${signature.slice(dot + 1)}`;
  environment.registerFunction(named, handler as (...values: unknown[]) => unknown);
}

function registerTextMethods(environment: Environment): void {
  const method = registerMethod.bind(undefined, environment);
  method('string.lowerAscii(): string', (text: string) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase()));
  method('string.upperAscii(): string', (text: string) => text.replace(/[a-z]/g, (letter) => letter.toUpperCase()));
  method('string.trim(): string', (text: string) => text.replace(outerSpace, ''));
  method('string.charAt(int): string', (text: string, at: bigint) => {
    const points = [...text];
    return points[indexIn(points, at)] ?? '';
  });
  method('string.indexOf(string): int', (text: string, part: string) => pointsBefore(text, text.indexOf(part)));
  method('string.lastIndexOf(string): int', (text: string, part: string) => pointsBefore(text, text.lastIndexOf(part)));
  method('string.substring(int): string', (text: string, from: bigint) => {
    const points = [...text];
    return points.slice(indexIn(points, from)).join('');
  });
  method('string.substring(int, int): string', (text: string, from: bigint, to: bigint) => {
    const points = [...text];
    if (from > to) throw new Error('index out of range');
    return points.slice(indexIn(points, from), indexIn(points, to)).join('');
  });
  method('string.replace(string, string): string', (text: string, old: string, by: string) =>
    replaced(text, old, by, -1n),
  );
  method('string.replace(string, string, int): string', replaced);
  method('string.split(string): list<string>', (text: string, by: string) => split(text, by));
  method('string.split(string, int): list<string>', (text: string, by: string, limit: bigint) => {
    const parts = split(text, by);
    if (limit < 0n || BigInt(parts.length) <= limit) return parts;
    const whole = Number(limit) - 1;
    return limit === 0n ? [] : [...parts.slice(0, whole), parts.slice(whole).join(by)];
  });
  method('list.join(): string', (list: readonly unknown[]) => texts(list).join(''));
  method('list.join(string): string', (list: readonly unknown[], by: string) => texts(list).join(by));
}

function registerSets(environment: Environment): void {
  environment.registerType('Sets', Sets);
  environment.registerConstant('sets', 'Sets', new Sets());
  const set = (name: string, holds: (one: readonly unknown[], other: readonly unknown[]) => boolean): void => {
    environment.registerFunction(`Sets.${name}(list, list): bool`, (_, one: unknown, other: unknown) =>
      holds(one as readonly unknown[], other as readonly unknown[]),
    );
  };
  set('contains', containsAll);
  set('equivalent', (one, other) => containsAll(one, other) && containsAll(other, one));
  set('intersects', (one, other) => other.some((item) => one.some((mine) => isEqual(mine, item))));
}

/**
 * Compiles a pattern for `matches`.
 * @throws PatternError when Go would refuse it or it is not supported
 */
export function addPattern(patterns: Patterns, source: string): void {
  patterns.set(source, compileGoPattern(source));
}

/** The characters of Go's unicode.IsSpace, which strings.TrimSpace removes. */
const spaces = '\\t-\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000';
const outerSpace = new RegExp(`^[${spaces}]+|[${spaces}]+$`, 'g');

function indexIn(points: readonly string[], index: bigint): number {
  if (index < 0n || index > BigInt(points.length)) throw new Error('index out of range');
  return Number(index);
}

function pointsBefore(text: string, at: number): bigint {
  return at < 0 ? -1n : BigInt([...text.slice(0, at)].length);
}

/** Replaces text as Go's strings.Replace does: an empty `old` matches before every code point and at the end. */
function replaced(text: string, old: string, by: string, limit: bigint): string {
  const parts = old === '' ? ['', ...text, ''] : text.split(old);
  // The number of matches of `old`, one less than the parts between them.
  const separators = parts.length - 1;
  const count = limit < 0n || limit > BigInt(separators) ? separators : Number(limit);
  return parts.map((part, i) => (i === 0 ? '' : i <= count ? by : old) + part).join('');
}

function split(text: string, by: string): string[] {
  return by === '' ? [...text] : text.split(by);
}

function texts(list: readonly unknown[]): readonly string[] {
  if (!list.every((item) => typeof item === 'string')) throw new Error('only strings can be joined');
  return list;
}

/** CEL's `string()` for the values that a claim can have; numbers are formatted as with Go's `%g`. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean' || typeof value === 'bigint') return String(value);
  if (typeof value !== 'number') throw new Error('no such overload');
  if (Object.is(value, -0)) return '-0';
  const [digits = '', exponent = '0'] = value.toExponential().split('e');
  const power = Number(exponent);
  if (power >= -4 && power < 6) return String(value);
  return `${digits}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
}

function isEqual(one: unknown, other: unknown): boolean {
  if (typeof one === 'object' || typeof other === 'object') {
    if (!Array.isArray(one) || !Array.isArray(other)) {
      if (one === null && other === null) return true;
      throw new Error('only strings, numbers, booleans and lists of them can be compared as members of sets');
    }
    return one.length === other.length && one.every((item, i) => isEqual(item, other[i]));
  }
  // oxlint-disable-next-line eqeqeq -- 1 and 1.0 are equal in CEL, a bigint and a number here.
  return typeof one === typeof other ? one === other : isNumeric(one) && isNumeric(other) && one == other;
}

function isNumeric(value: unknown): boolean {
  return typeof value === 'number' || typeof value === 'bigint';
}

function containsAll(list: readonly unknown[], wanted: readonly unknown[]): boolean {
  return wanted.every((item) => list.some((mine) => isEqual(mine, item)));
}
