// Reads the values at some paths of an object, which is given as JSON bytes or as a parsed JavaScript object. In a
// parsed object only own properties count, since a key may be `__proto__` or `constructor`. Only bytes preserve how a
// number was written, such as `1.0` or 2^53+1.
import { compilePaths, readPaths, scalarText, type PathSet } from './json-path.ts';
import type { PathStep } from '../lib/json/raw-json.ts';
import { parseExact } from '../lib/json/exact-json.ts';

/** One value that was found at a path: the text of a scalar; null for JSON null; undefined for an object or a list. */
export type Found = string | null | undefined;

/** Paths prepared for {@link readDocument} and {@link readValues}. */
export interface DocumentPaths {
  readonly paths: readonly (readonly PathStep[])[];
  readonly compiled: PathSet;
  /**
   * One quoted key of each path, such as `"phase"`. A document whose bytes contain none of these keys, and no `\u`
   * escape, has none of the paths. Undefined when some path has no key that JSON can otherwise write in only one way.
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
 * The last key of a path that JSON can write in only one way apart from `\u` escapes, in quotes. The last one is taken
 * because a document without the path most likely lacks its last key.
 */
function tokenOf(path: readonly PathStep[]): Buffer | undefined {
  const step = path.findLast((each) => each.kind === 'key' && plain.test(each.key));
  return step?.kind === 'key' ? Buffer.from(`"${step.key}"`) : undefined;
}

/**
 * Whether the document certainly has none of the paths. Searching the bytes for the paths' keys is many times as fast
 * as parsing.
 */
function lacksAll(document: Uint8Array, { tokens }: DocumentPaths): boolean {
  if (tokens === undefined) return false;
  const bytes = Buffer.from(document.buffer, document.byteOffset, document.byteLength);
  return tokens.every((token) => !bytes.includes(token)) && !bytes.includes(escape);
}

/**
 * The scalar values at each path, as text, in the order of the paths. The document is JSON bytes or a parsed object.
 */
export function readDocument(document: unknown, of: DocumentPaths): readonly (readonly Found[])[] {
  const { paths, compiled } = of;
  if (document instanceof Uint8Array) {
    if (lacksAll(document, of)) return paths.map(() => []);
    return readPaths(document, compiled).map((slices) => slices.map((slice) => scalarText(document, slice)));
  }
  return paths.map((path) => walk(document, path, 0).map(parsedText));
}

/**
 * The values at each path as JSON values, including objects and lists. Of JSON bytes only the values at the paths are
 * parsed.
 */
export function readValues(document: unknown, { paths, compiled }: DocumentPaths): readonly (readonly unknown[])[] {
  if (document instanceof Uint8Array) {
    const bytes = Buffer.from(document.buffer, document.byteOffset, document.byteLength);
    return readPaths(document, compiled).map((slices) =>
      slices.map(({ start, end }) => parseExact(bytes.subarray(start, end))),
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
