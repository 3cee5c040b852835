// YAML in and out, and the difference of two objects as a JSON merge patch (RFC 7386). Loaded when a text is shown.
import { parseDocument, stringify } from 'yaml';

type Fields = Record<string, unknown>;

/**
 * The object that a text says.
 * @throws Error with line and column for what is not YAML, or not one object
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

/** The merge patch that makes `to` of `from`; undefined when they are the same. A key that is gone is null in it. */
export function difference(from: unknown, to: unknown): Fields | undefined {
  const patch = isFields(from) && isFields(to) ? fieldsPatch(from, to) : {};
  return Object.keys(patch).length === 0 ? undefined : patch;
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
