// Parses the JSON of a token strictly, so that it cannot be understood in two ways. When a key is repeated, JSON.parse
// keeps the last value but other parsers keep the first; JSON.parse also accepts keys such as `__proto__`. Here
// repeated keys are an error, and objects become Maps.

/** A parsed JSON value. Objects are Maps, so that no key has a special meaning in JavaScript. */
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

/** Whether a value of {@link readStrictJson} is an object. */
export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return value instanceof Map;
}

/**
 * Parses JSON. Undefined when the source is not valid, repeats a key, is nested deeper than {@link maxDepth}, or has a
 * number too large for JavaScript.
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
  // Checks character codes and uses no pattern, for speed: a token from an unknown caller is parsed before its
  // signature is checked, and may consist of tens of thousands of tiny values.
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
