// Finds the values at several paths in the JSON bytes of a stored object, in one pass. Bytes outside the paths are
// skipped without a syntax check, because the sync has checked the object before storing it (with
// lib/json/json-scan.ts). When a key occurs twice in an object, the last one counts, as in JSON.parse. Keys written
// with `\u` escapes are recognised.
import { skipSpace, textOf } from '../lib/json/json-scan.ts';
import type { PathStep } from '../lib/json/raw-json.ts';

/** The position of a value: from byte `start` up to, not including, byte `end`. Quotes and brackets are included. */
export interface Slice {
  readonly start: number;
  readonly end: number;
}

interface Node {
  readonly keys: KeyChild[];
  readonly indexes: Map<number, Node>;
  each: Node | undefined;
  /** The paths that end at this node, as indexes into the caller's list of paths. */
  readonly ends: number[];
  /** The paths that end at this node or below it, as indexes into the caller's list of paths. */
  readonly ids: number[];
}

interface KeyChild {
  readonly key: string;
  readonly bytes: Uint8Array;
  readonly node: Node;
}

/** Several paths as a tree, so that {@link readPaths} can find all their values in one pass. */
export interface PathSet {
  readonly root: Node;
  readonly size: number;
}

/**
 * Prepares paths for {@link readPaths}, which returns results in the same order. An empty path means the whole
 * document.
 */
export function compilePaths(paths: readonly (readonly PathStep[])[]): PathSet {
  const root = emptyNode();
  for (const [id, path] of paths.entries()) {
    let node = root;
    node.ids.push(id);
    for (const step of path) {
      node = childOf(node, step);
      node.ids.push(id);
    }
    node.ends.push(id);
  }
  return { root, size: paths.length };
}

function emptyNode(): Node {
  return { keys: [], indexes: new Map(), each: undefined, ends: [], ids: [] };
}

function childOf(node: Node, step: PathStep): Node {
  if (step.kind === 'each') return (node.each ??= emptyNode());
  if (step.kind === 'index') {
    const known = node.indexes.get(step.index) ?? emptyNode();
    node.indexes.set(step.index, known);
    return known;
  }
  const known = node.keys.find(({ key }) => key === step.key);
  if (known !== undefined) return known.node;
  const child = { key: step.key, bytes: Buffer.from(step.key), node: emptyNode() };
  node.keys.push(child);
  return child.node;
}

/**
 * The values of each path, in the order of the document. Only a path with `[]` can have more than one.
 * @param json one JSON value in UTF-8; white space is permitted
 * @throws SyntaxError when bytes that must be parsed are not JSON; skipped bytes are not checked
 */
export function readPaths(json: Uint8Array, paths: PathSet): readonly (readonly Slice[])[] {
  const bytes = Buffer.from(json.buffer, json.byteOffset, json.byteLength);
  const found: Slice[][] = Array.from({ length: paths.size }, () => []);
  visit(bytes, skipSpace(bytes, 0), paths.root, found);
  return found;
}

/**
 * Reads the value at `start`, and adds it to the results of the paths that end at `node`. Returns the position after
 * the value.
 */
function visit(bytes: Buffer, start: number, node: Node, found: Slice[][]): number {
  const first = bytes[start];
  let end: number;
  if (first === 0x7b && node.keys.length > 0) end = visitObject(bytes, start, node, found);
  else if (first === 0x5b && (node.each !== undefined || node.indexes.size > 0))
    end = visitList(bytes, start, node, found);
  else end = skipValue(bytes, start);
  for (const id of node.ends) found[id]!.push({ start, end });
  return end;
}

function visitObject(bytes: Buffer, start: number, node: Node, found: Slice[][]): number {
  let seen: Map<Node, readonly number[]> | undefined;
  let at = skipSpace(bytes, start + 1);
  if (bytes[at] === 0x7d) return at + 1;
  for (;;) {
    if (bytes[at] !== 0x22) throw broken(at);
    const keyEnd = skipString(bytes, at);
    const child = findKey(bytes, at + 1, keyEnd - 1, node.keys);
    at = skipSpace(bytes, keyEnd);
    if (bytes[at] !== 0x3a) throw broken(at);
    at = skipSpace(bytes, at + 1);
    if (child === undefined) {
      at = skipValue(bytes, at);
    } else {
      const before = seen?.get(child);
      if (before === undefined) {
        const lengths = child.ids.map((id) => found[id]!.length);
        (seen ??= new Map()).set(child, lengths);
      } else {
        for (const [i, id] of child.ids.entries()) found[id]!.length = before[i]!;
      }
      at = visit(bytes, at, child, found);
    }
    at = skipSpace(bytes, at);
    if (bytes[at] === 0x7d) return at + 1;
    if (bytes[at] !== 0x2c) throw broken(at);
    at = skipSpace(bytes, at + 1);
  }
}

function visitList(bytes: Buffer, start: number, node: Node, found: Slice[][]): number {
  let at = skipSpace(bytes, start + 1);
  if (bytes[at] === 0x5d) return at + 1;
  for (let index = 0; ; index++) {
    const exact = node.indexes.get(index);
    let end: number | undefined;
    if (exact !== undefined) end = visit(bytes, at, exact, found);
    if (node.each !== undefined) end = visit(bytes, at, node.each, found);
    at = skipSpace(bytes, end ?? skipValue(bytes, at));
    if (bytes[at] === 0x5d) return at + 1;
    if (bytes[at] !== 0x2c) throw broken(at);
    at = skipSpace(bytes, at + 1);
  }
}

function findKey(bytes: Buffer, start: number, end: number, keys: readonly KeyChild[]): Node | undefined {
  const length = end - start;
  if (hasEscape(bytes, start, end)) {
    const key = JSON.parse(bytes.toString('utf8', start - 1, end + 1)) as string;
    return keys.find((child) => child.key === key)?.node;
  }
  for (const child of keys) {
    if (child.bytes.length !== length) continue;
    let i = 0;
    while (i < length && child.bytes[i] === bytes[start + i]) i++;
    if (i === length) return child.node;
  }
  return undefined;
}

function hasEscape(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (bytes[at] === 0x5c) return true;
  return false;
}

/**
 * Skips a JSON string.
 * @param start position of the opening quote
 * @returns the position after the closing quote
 */
function skipString(bytes: Buffer, start: number): number {
  const near = Math.min(bytes.length, start + nearBytes);
  let at = start + 1;
  for (; at < near; at++) {
    const byte = bytes[at];
    if (byte === 0x22) return at + 1;
    if (byte === 0x5c) at++;
  }
  // The rest of a long text is not read byte by byte. A quote closes the text when an even number of backslashes
  // precedes the quote.
  for (let quote = bytes.indexOf(0x22, at); quote >= 0; quote = bytes.indexOf(0x22, quote + 1)) {
    let slash = quote;
    while (slash > at && bytes[slash - 1] === 0x5c) slash--;
    if ((quote - slash) % 2 === 0) return quote + 1;
  }
  throw broken(bytes.length);
}

/** The first 24 bytes of a JSON string are compared one by one; in short strings that is faster than Buffer.indexOf. */
const nearBytes = 24;

/** Returns the position after the value at `start`. Uses no recursion, so deep nesting cannot overflow the stack. */
function skipValue(bytes: Buffer, start: number): number {
  const first = bytes[start];
  if (first === 0x22) return skipString(bytes, start);
  if (first !== 0x7b && first !== 0x5b) return skipWord(bytes, start);
  let depth = 0;
  for (let at = start; at < bytes.length;) {
    const byte = bytes[at]!;
    if (byte === 0x22) {
      at = skipString(bytes, at);
      continue;
    }
    if (byte === 0x7b || byte === 0x5b) depth++;
    else if (byte === 0x7d || byte === 0x5d) depth--;
    at++;
    if (depth === 0) return at;
  }
  throw broken(bytes.length);
}

function skipWord(bytes: Buffer, start: number): number {
  let at = start;
  for (; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (byte === 0x2c || byte === 0x7d || byte === 0x5d || byte <= 0x20) break;
  }
  if (at === start) throw broken(at);
  return at;
}

function broken(at: number): SyntaxError {
  return new SyntaxError(`unexpected character at byte offset ${at} of a JSON document`);
}

/** The text of a scalar; null for JSON null; undefined for an object or a list, which are not compared as text. */
export function scalarText(json: Uint8Array, { start, end }: Slice): string | null | undefined {
  const bytes = Buffer.from(json.buffer, json.byteOffset, json.byteLength);
  const first = bytes[start];
  if (first === 0x22) return textOf(bytes, start, end);
  if (first === 0x7b || first === 0x5b) return undefined;
  const word = bytes.toString('latin1', start, end);
  return word === 'null' ? null : word;
}
