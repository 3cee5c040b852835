// Reads and writes YAML as kubectl does, and compares two objects as a JSON merge patch (RFC 7386). This file is loaded
// only when a view shows YAML.
import { readYamlDocuments, writeYaml, YamlFault } from '../../lib/yaml/go-yaml.ts';

type Fields = Record<string, unknown>;

/**
 * Parses a YAML text that holds one object.
 * @throws Error with line and column when the text is not YAML, or not exactly one object
 */
export function read(text: string): Fields {
  let values: readonly unknown[];
  try {
    values = [...readYamlDocuments(text)].map(({ value }) => value);
  } catch (error) {
    if (!(error instanceof YamlFault)) throw error;
    throw new Error(`Line ${error.line}, column ${error.column}: ${error.message}`, { cause: error });
  }
  const [value, ...others] = values.filter((each) => each !== null);
  if (!isFields(value) || others.length > 0) throw new Error('This is not one object.');
  return value;
}

export { writeYaml as write };

/**
 * Returns the merge patch that turns `from` into `to`, with null for removed keys; undefined when both are equal.
 * @throws Error when the patch contains a whole number beyond 2^53: the browser may have rounded it when it read the
 *   object, and the patch would then change it. A merge patch sends a changed list as a whole, so the number may also
 *   be in an unchanged item of that list
 */
export function difference(from: unknown, to: unknown): Fields | undefined {
  const patch = isFields(from) && isFields(to) ? fieldsPatch(from, to) : {};
  if (hasInexact(patch))
    throw new Error('This change would send a number beyond 2^53, which a browser cannot read exactly: use kubectl.');
  return Object.keys(patch).length === 0 ? undefined : patch;
}

function hasInexact(value: unknown): boolean {
  if (typeof value === 'bigint') return true;
  if (typeof value === 'number') return Number.isInteger(value) && !Number.isSafeInteger(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(hasInexact);
}

function fieldsPatch(from: Fields, to: Fields): Fields {
  const patch: Fields = {};
  for (const key of new Set([...Object.keys(from), ...Object.keys(to)])) {
    const [was, is] = [from[key], to[key]];
    if (isFields(was) && isFields(is)) {
      const inner = fieldsPatch(was, is);
      if (Object.keys(inner).length > 0) patch[key] = inner;
    } else if (is === undefined) patch[key] = null;
    else if (!isSame(was, is)) patch[key] = is;
  }
  return patch;
}

/**
 * Whether two values are equal. A whole number may be a `number` in one and a `bigint` in the other: JSON.parse makes
 * numbers, the YAML parser makes a bigint of a large whole number.
 */
function isSame(one: unknown, other: unknown): boolean {
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((each, index) => isSame(each, other[index]));
  if (isFields(one) && isFields(other)) return Object.keys(fieldsPatch(one, other)).length === 0;
  const isNumber = [one, other].every((each) => ['number', 'bigint'].includes(typeof each));
  return isNumber ? String(one) === String(other) : one === other;
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
