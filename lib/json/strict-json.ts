// Reads the JSON of a token so that it has only one meaning. JSON.parse keeps the last of equal names while others keep
// the first, and sets `__proto__` on objects; here equal names are a fault and objects are Maps.

/** What JSON can say. Objects are Maps, so that no name means anything to JavaScript. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;
export type JsonObject = ReadonlyMap<string, JsonValue>;

const maxDepth = 32;
const text = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const numeral = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const literals: readonly (readonly [string, null | boolean])[] = [
  ['true', true],
  ['false', false],
  ['null', null],
];

/** True for an object of {@link readStrictJson}. */
export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return value instanceof Map;
}

/**
 * The value, or undefined when the source is no JSON, repeats a name, nests too deep, or has a number that is none in
 * JavaScript.
 */
export function readStrictJson(source: string): JsonValue | undefined {
  let at = 0;
  const skip = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    if (!pattern.test(source)) return undefined;
    const start = at;
    at = pattern.lastIndex;
    return source.slice(start, at);
  };
  // Letter by letter: a stranger's token is read before its signature is, and holds tens of thousands of these.
  const skipSpace = (): void => {
    for (;;) {
      const code = source.charCodeAt(at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
      at += 1;
    }
  };
  const take = (character: string): boolean => {
    skipSpace();
    if (source[at] !== character) return false;
    at += 1;
    return true;
  };
  const readText = (): string | undefined => {
    const found = skip(text);
    if (found === undefined) return undefined;
    return found.includes('\\') ? (JSON.parse(found) as string) : found.slice(1, -1);
  };
  const readObject = (depth: number): JsonObject | undefined => {
    const members = new Map<string, JsonValue>();
    if (take('}')) return members;
    do {
      skipSpace();
      const name = readText();
      if (name === undefined || members.has(name) || !take(':')) return undefined;
      const value = readValue(depth);
      if (value === undefined) return undefined;
      members.set(name, value);
    } while (take(','));
    return take('}') ? members : undefined;
  };
  const readList = (depth: number): readonly JsonValue[] | undefined => {
    const items: JsonValue[] = [];
    if (take(']')) return items;
    do {
      const value = readValue(depth);
      if (value === undefined) return undefined;
      items.push(value);
    } while (take(','));
    return take(']') ? items : undefined;
  };
  const readLiteral = (): null | boolean | undefined => {
    for (const [word, value] of literals) {
      if (!source.startsWith(word, at)) continue;
      at += word.length;
      return value;
    }
    return undefined;
  };
  const readValue = (depth: number): JsonValue | undefined => {
    if (depth > maxDepth) return undefined;
    if (take('{')) return readObject(depth + 1);
    if (take('[')) return readList(depth + 1);
    if (source[at] === '"') return readText();
    if (source.charCodeAt(at) > 0x39) return readLiteral();
    const found = skip(numeral);
    if (found === undefined || found === '') return undefined;
    const value = Number(found);
    return Number.isFinite(value) ? value : undefined;
  };
  const value = readValue(0);
  skipSpace();
  return at === source.length ? value : undefined;
}
