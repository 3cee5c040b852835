// Reads and writes YAML, and compares two objects as a JSON merge patch (RFC 7386). This file is loaded only when a
// view shows YAML.
import { parseDocument, stringify } from 'yaml';

type Fields = Record<string, unknown>;

/**
 * Parses a YAML text that holds one object.
 * @throws Error with line and column when the text is not YAML, or not exactly one object
 */
export function read(text: string): Fields {
  const document = parseDocument(text, { version: '1.2', uniqueKeys: true });
  const [fault] = document.errors;
  if (fault !== undefined) throw fault;
  const value: unknown = document.toJS({ maxAliasCount: 100 });
  if (!isFields(value)) throw new Error('This is not one object.');
  return value;
}

export function write(object: unknown): string {
  return stringify(object, { lineWidth: 0, aliasDuplicateObjects: false });
}

/**
 * Returns the merge patch that turns `from` into `to`, with null for removed keys; undefined when both are equal.
 * @throws Error for a patch with a whole number beyond 2^53: a browser has read it as another number, also where it
 *   stands in a list of which something else was changed
 */
export function difference(from: unknown, to: unknown): Fields | undefined {
  const patch = isFields(from) && isFields(to) ? fieldsPatch(from, to) : {};
  if (hasInexact(patch))
    throw new Error('This change would send a number beyond 2^53, which a browser cannot read exactly: use kubectl.');
  return Object.keys(patch).length === 0 ? undefined : patch;
}

function hasInexact(value: unknown): boolean {
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
    else if (JSON.stringify(was) !== JSON.stringify(is)) patch[key] = is;
  }
  return patch;
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
