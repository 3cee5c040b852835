// Reads the values of paths from an object, whether it is raw bytes or already parsed. Only own properties of a parsed
// object count, since its keys may be `__proto__` or `constructor`. Only raw bytes still know that a number was written
// `1.0` or 2^53+1.
import { compilePaths, readPaths, scalarText, type PathSet } from './json-path.ts';
import type { PathStep } from '../../lib/json/path-step.ts';

/** A scalar as text, null, or undefined for an object or a list. */
export type Found = string | null | undefined;

/** Paths prepared for {@link readDocument}. */
export interface DocumentPaths {
  readonly paths: readonly (readonly PathStep[])[];
  readonly compiled: PathSet;
  /**
   * One key of each path as a document spells it, for a quick search; undefined when some path has no such key.
   */
  readonly tokens: readonly Buffer[] | undefined;
}

export function documentPaths(paths: readonly (readonly PathStep[])[]): DocumentPaths {
  const tokens = paths.flatMap((path) => tokenOf(path) ?? []);
  return { paths, compiled: compilePaths(paths), tokens: tokens.length === paths.length ? tokens : undefined };
}

const plain = /^[-\w.]+$/;
const escape = Buffer.from(String.raw`\u`);

/**
 * The last key of a path, in its quotes, that JSON spells in one way (but for `\u` escapes). A document without the
 * path most likely lacks its last key.
 */
function tokenOf(path: readonly PathStep[]): Buffer | undefined {
  const step = path.findLast((each) => each.kind === 'key' && plain.test(each.key));
  return step?.kind === 'key' ? Buffer.from(`"${step.key}"`) : undefined;
}

/** Whether a document has none of the paths, by a search for their keys: many times as fast as reading it. */
function lacksAll(document: Uint8Array, { tokens }: DocumentPaths): boolean {
  if (tokens === undefined) return false;
  const bytes = Buffer.from(document.buffer, document.byteOffset, document.byteLength);
  return tokens.every((token) => !bytes.includes(token)) && !bytes.includes(escape);
}

/** The values of each path of an object: bytes of JSON, or what JSON.parse made of them. */
export function readDocument(document: unknown, of: DocumentPaths): readonly (readonly Found[])[] {
  const { paths, compiled } = of;
  if (document instanceof Uint8Array) {
    if (lacksAll(document, of)) return paths.map(() => []);
    return readPaths(document, compiled).map((slices) => slices.map((slice) => scalarText(document, slice)));
  }
  return paths.map((path) => walk(document, path, 0).map(parsedText));
}

/** The values themselves; bytes are parsed value by value. */
export function readValues(document: unknown, { paths, compiled }: DocumentPaths): readonly (readonly unknown[])[] {
  if (document instanceof Uint8Array) {
    const bytes = Buffer.from(document.buffer, document.byteOffset, document.byteLength);
    return readPaths(document, compiled).map((slices) =>
      slices.map(({ start, end }) => JSON.parse(bytes.toString('utf8', start, end)) as unknown),
    );
  }
  return paths.map((path) => walk(document, path, 0));
}

function walk(value: unknown, path: readonly PathStep[], at: number): readonly unknown[] {
  const step = path[at];
  if (step === undefined) return value === undefined ? [] : [value];
  if (typeof value !== 'object' || value === null) return [];
  if (step.kind === 'key') {
    if (Array.isArray(value) || !Object.hasOwn(value, step.key)) return [];
    return walk((value as Readonly<Record<string, unknown>>)[step.key], path, at + 1);
  }
  if (!Array.isArray(value)) return [];
  if (step.kind === 'index') return walk(value[step.index], path, at + 1);
  return value.flatMap((element) => walk(element, path, at + 1));
}

function parsedText(value: unknown): Found {
  if (value === null) return null;
  return typeof value === 'object' ? undefined : String(value);
}
