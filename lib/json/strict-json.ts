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
  return new StrictReader(source).readAll();
}

class StrictReader {
  readonly #source: string;
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  readAll(): JsonValue | undefined {
    const value = this.#readValue(0);
    this.#skipSpace();
    return this.#at === this.#source.length ? value : undefined;
  }

  #readValue(depth: number): JsonValue | undefined {
    if (depth > maxDepth) return undefined;
    if (this.#take('{')) return this.#readObject(depth + 1);
    if (this.#take('[')) return this.#readList(depth + 1);
    if (this.#source[this.#at] === '"') return this.#readText();
    if (this.#source.charCodeAt(this.#at) > 0x39) return this.#readLiteral();
    const found = this.#match(numeral);
    if (found === undefined || found === '') return undefined;
    const value = Number(found);
    return Number.isFinite(value) ? value : undefined;
  }

  #readObject(depth: number): JsonObject | undefined {
    const members = new Map<string, JsonValue>();
    if (this.#take('}')) return members;
    do {
      this.#skipSpace();
      const name = this.#readText();
      if (name === undefined || members.has(name) || !this.#take(':')) return undefined;
      const value = this.#readValue(depth);
      if (value === undefined) return undefined;
      members.set(name, value);
    } while (this.#take(','));
    return this.#take('}') ? members : undefined;
  }

  #readList(depth: number): readonly JsonValue[] | undefined {
    const items: JsonValue[] = [];
    if (this.#take(']')) return items;
    do {
      const value = this.#readValue(depth);
      if (value === undefined) return undefined;
      items.push(value);
    } while (this.#take(','));
    return this.#take(']') ? items : undefined;
  }

  #readText(): string | undefined {
    const found = this.#match(text);
    if (found === undefined) return undefined;
    return found.includes('\\') ? (JSON.parse(found) as string) : found.slice(1, -1);
  }

  #readLiteral(): null | boolean | undefined {
    for (const [word, value] of literals) {
      if (!this.#source.startsWith(word, this.#at)) continue;
      this.#at += word.length;
      return value;
    }
    return undefined;
  }

  /**
   * Returns the text that the sticky pattern matches at the current position, and moves behind that text; undefined
   * without a match.
   */
  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    if (!pattern.test(this.#source)) return undefined;
    const start = this.#at;
    this.#at = pattern.lastIndex;
    return this.#source.slice(start, this.#at);
  }

  #take(character: string): boolean {
    this.#skipSpace();
    if (this.#source[this.#at] !== character) return false;
    this.#at += 1;
    return true;
  }

  // Checks character codes and uses no pattern, for speed: a token from an unknown caller is parsed before its
  // signature is checked, and may consist of tens of thousands of tiny values.
  #skipSpace(): void {
    for (;;) {
      const code = this.#source.charCodeAt(this.#at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
      this.#at += 1;
    }
  }
}
